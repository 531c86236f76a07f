//! `boltwright demo`: everything at work, from nothing to a summary.
//!
//! Three nodes in a line, alice → bob → carol, and payments from alice to carol across both hops,
//! one at a time. What is measured is wall time as a user of the library would see it; benchmarks
//! with statistics are another matter.

mod summary;

use crate::attended::{self, Signal};
use crate::error::{Error, Result};
use crate::screen::{self, Paint, Progress};
use boltwright::Msat;
use boltwright::host::{Origin, Step};
use boltwright::lab::Lab;
use boltwright::node::{self, KINDS, Kind, Node, NodeOptions, Payment};
use boltwright::prelude::Amount;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use summary::{Channels, Holding, Setup, Summary};

const EXAMPLES: &str = "\
Examples:
  boltwright demo                            100 payments of 10,000 sat over two hops
  boltwright demo --payments 1000            more of them
  boltwright demo --private                  private channels: one confirmation, no gossip
  boltwright demo --json > demo.json         the figures for a program; progress stays on stderr
  boltwright demo --keep                     keep the logs: `boltwright logs DIR` shows them

Nothing is left running, however it ends.

Exit codes: 0 all payments arrived, 1 something failed, 2 bad usage.";

/// Shows everything at work: three nodes, two channels, payments across both hops, a summary.
///
/// Installs bitcoind if this machine has none, starts it on regtest with three nodes, opens,
/// confirms and announces the channels alice → bob → carol, pays from alice to carol, and ends it
/// all.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// How many payments.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    payments: u32,

    /// The amount of each payment.
    #[arg(long, value_name = "SAT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    amount_sat: u64,

    /// Keep the channels private: one confirmation instead of six, and no gossip to wait for.
    #[arg(long)]
    private: bool,

    /// Which implementation the nodes are of.
    #[arg(long, value_name = "NAME", default_value = "ldk", value_parser = implementation)]
    implementation: Kind,

    /// Print one JSON object on standard output instead of the summary.
    #[arg(long)]
    json: bool,

    /// Keep the lab's directory, with all logs.
    #[arg(long)]
    keep: bool,
}

impl Demo {
    /// Runs it from nothing to the summary.
    pub fn run(&self) -> Result<()> {
        let started = Instant::now();
        attended::provide_bitcoind()?;
        let builder = Lab::builder().name("demo");
        let chain = Instant::now();
        let (mut summary, teardown) = attended::run(builder, self.keep, Signal::Aborts, |lab| {
            let chain_ready = chain.elapsed();
            told(
                "chain",
                chain_ready,
                &format!(
                    "{} at block {}",
                    lab.chain().version(),
                    lab.chain().tip()?.height
                ),
            );
            self.work(lab, chain_ready)
        })?;
        summary.teardown = teardown;
        summary.total = started.elapsed();
        if self.json {
            screen::print_json(&summary.json())?;
        } else {
            screen::print(&summary.text(Paint::stdout()))?;
        }
        if summary.failures.is_empty() {
            Ok(())
        } else {
            Err(Error::Failed(summary.failures_in_words()))
        }
    }

    fn work(&self, lab: &Lab, chain: Duration) -> Result<Summary> {
        let begun = Instant::now();
        let nodes =
            lab.start_nodes([(); 3].map(|()| (self.implementation, NodeOptions::default())))?;
        let nodes_ready = begun.elapsed();
        told(
            "nodes",
            nodes_ready,
            &format!(
                "alice, bob and carol answer ({})",
                self.implementation.name()
            ),
        );

        let begun = Instant::now();
        let mut topology = lab.topology().capacity(self.capacity());
        if !self.private {
            topology = topology.announced();
        }
        topology.open(&nodes, [(0, 1), (1, 2)])?;
        let channels_usable = begun.elapsed();
        told(
            "channels",
            channels_usable,
            &format!(
                "alice → bob → carol, {} sat each, {}",
                screen::grouped(self.capacity().to_sat()),
                if self.private { "private" } else { "announced" },
            ),
        );

        let before = holdings(&nodes)?;
        let begun = Instant::now();
        let (latencies, failures, fees) = self.pay(&nodes)?;
        let paying = begun.elapsed();
        told(
            "payments",
            paying,
            &format!("{} of {} arrived", latencies.len(), self.payments),
        );
        nodes.iter().try_for_each(settle)?;
        let after = holdings(&nodes)?;
        Ok(Summary {
            implementation: self.implementation.name(),
            optimised: optimised(self.implementation),
            bitcoind: lab.chain().version().to_owned(),
            seed: lab.seed().to_string(),
            setup: Setup {
                chain,
                nodes: nodes_ready,
                channels: channels_usable,
            },
            channels: Channels {
                capacity: self.capacity(),
                announced: !self.private,
            },
            amount: Amount::from_sat(self.amount_sat),
            wanted: self.payments,
            paying,
            latencies,
            failures,
            fees,
            holdings: nodes
                .iter()
                .zip(before.into_iter().zip(after))
                .map(|(node, (before, after))| Holding {
                    node: node.name(),
                    id: node.id().to_string(),
                    before,
                    after,
                })
                .collect(),
            dir: lab.dir().to_owned(),
            disk: boltwright::host::disk::kind(lab.dir())?,
            kept: self.keep,
            teardown: Default::default(),
            total: Default::default(),
        })
    }
}

/// What the payments did: how long each took that arrived, why others failed and how often, and
/// the fees paid.
type Paid = (Vec<Duration>, BTreeMap<String, u32>, Msat);

impl Demo {
    /// Pays from the first node to the last, one payment after the other.
    fn pay(&self, nodes: &[Node; 3]) -> Result<Paid> {
        let [alice, _, carol] = nodes;
        let mut latencies = Vec::with_capacity(self.payments as usize);
        let mut failures = BTreeMap::new();
        let mut fees = Msat::ZERO;
        let mut progress = Progress::new("payments", self.payments.into());
        for number in 1..=self.payments {
            let invoice =
                carol.invoice(Msat::from_sat(self.amount_sat), &format!("demo {number}"))?;
            let begun = Instant::now();
            match alice.pay(&invoice) {
                Ok(Payment { fee, .. }) => {
                    latencies.push(begun.elapsed());
                    fees = fees + fee;
                }
                // A payment may fail; a node that has died, or does not answer, is another matter.
                Err(node::Error::PaymentFailed { reason, .. }) => {
                    nodes.iter().try_for_each(alive)?;
                    *failures.entry(reason.to_string()).or_insert(0) += 1;
                }
                Err(error) => return Err(error.into()),
            }
            progress.step();
        }
        Ok((latencies, failures, fees))
    }

    /// Enough for all payments, and what a channel needs besides: its reserve of one percent, the
    /// commitment transaction's fee, and fees for forwarding.
    fn capacity(&self) -> Amount {
        const ROUND: u64 = 100_000;
        let all = u64::from(self.payments) * (self.amount_sat + 2);
        let needed = all + all / 20 + ROUND;
        Amount::from_sat(needed.max(1_000_000).next_multiple_of(ROUND))
    }
}

/// Tells on standard error that a step is done.
fn told(step: &str, took: Duration, what: &str) {
    eprintln!("{step:9} {:>8}  {what}", screen::duration(took));
}

/// What each node owns in its channels.
fn holdings(nodes: &[Node]) -> Result<Vec<Msat>> {
    let owned = |node: &Node| Ok(node.balance()?.channels);
    nodes.iter().map(owned).collect()
}

/// That its process still runs.
fn alive(node: &Node) -> Result<()> {
    Ok(node.process()?.alive().map_err(node::Error::from)?)
}

/// Waits until nothing of the payments is on its way any more: the payer knows that a payment has
/// arrived a moment before the channel's two ends have agreed on their new balance.
fn settle(node: &Node) -> Result<()> {
    node.wait_until("its HTLCs to be settled", |node| {
        let pending: usize = node
            .channels()?
            .iter()
            .map(|channel| channel.pending_htlcs)
            .sum();
        Ok(match pending {
            0 => Step::Done(()),
            some => Step::NotYet(format!("{some} HTLCs")),
        })
    })?;
    Ok(())
}

/// Whether the node was compiled with optimisation, where that can be known: for the embedded one.
fn optimised(kind: Kind) -> Option<bool> {
    let embedded = kind
        .find()
        .is_ok_and(|program| program.origin == Origin::Role);
    embedded.then(node::ldk::is_optimised)
}

fn implementation(name: &str) -> std::result::Result<Kind, String> {
    node::kind(name).ok_or_else(|| {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name()).collect();
        format!("there is: {}", known.join(", "))
    })
}
