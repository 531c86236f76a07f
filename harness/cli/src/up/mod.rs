//! `boltwright up`: a network to play with, until Ctrl-C.

mod guide;

use crate::attended::{self, Signal};
use crate::error::Result;
use crate::screen::{self, counted, duration, grouped};
use boltwright::host::{Exit, State, Step, Wait, interrupt, wait};
use boltwright::lab::Lab;
use boltwright::node::Node;
use boltwright::prelude::Amount;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  boltwright up                              alice → bob → carol, funded and usable
  boltwright up --nodes 5 --topology ring    five nodes in a circle
  boltwright up --mine-every 10              a block every ten seconds
  boltwright up --announced                  channels that all nodes know from gossip

It prints the commands to talk to each of them; `boltwright rpc` and `boltwright logs --follow`
in another terminal find the newest running lab by themselves.

Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 failed, 2 bad usage.";

/// Keeps a lab running for you: bitcoind, funded nodes and channels, until Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Up {
    /// How many nodes.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=100))]
    nodes: u8,

    /// How channels connect them.
    #[arg(long, value_enum, default_value_t)]
    topology: Shape,

    /// The capacity of every channel.
    #[arg(long, value_name = "SAT", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(20_000..=10_000_000_000))]
    capacity_sat: u64,

    /// Announce the channels, and wait until all nodes have heard of all of them by gossip.
    #[arg(long)]
    announced: bool,

    /// Mine a block every so many seconds; without it, blocks come when you mine them.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    mine_every: Option<Duration>,

    /// Keep the lab's directory at the end, with all logs.
    #[arg(long)]
    keep: bool,
}

/// A shape of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Shape {
    /// A row: a channel from each to the next.
    #[default]
    Line,
    /// A hub with a channel to each of the others.
    Star,
    /// A row, and a channel from the last to the first; three nodes or more.
    Ring,
    /// A channel between every two.
    Mesh,
}

impl Up {
    /// Starts it, tells how to use it, and stays until a signal comes.
    pub fn run(&self) -> Result<()> {
        if self.topology == Shape::Ring && self.nodes < 3 {
            return Err(crate::error::Error::Usage(format!(
                "a ring has at least 3 nodes, not {}",
                self.nodes
            )));
        }
        attended::provide_bitcoind()?;
        let started = Instant::now();
        eprintln!(
            "starting bitcoind and {}",
            counted(self.nodes.into(), "node")
        );
        let builder = Lab::builder().name("up");
        attended::run(builder, self.keep, Signal::Ends, |lab| {
            let nodes = self.build(lab)?;
            let channels = nodes
                .iter()
                .map(|node| Ok(node.channels()?.len()))
                .sum::<Result<usize>>()?
                / 2;
            let head = format!(
                "ready after {}: bitcoind, {} and {} of {} sat, in {}",
                duration(started.elapsed()),
                counted(nodes.len(), "node"),
                counted(channels, "channel"),
                grouped(self.capacity_sat),
                lab.dir().display()
            );
            screen::print(&guide::text(lab, &nodes, &head, screen::Paint::stdout()))?;
            self.stay(lab)
        })?;
        Ok(())
    }

    fn build(&self, lab: &Lab) -> Result<Vec<Node>> {
        let mut topology = lab.topology().capacity(Amount::from_sat(self.capacity_sat));
        if self.announced {
            topology = topology.announced();
        }
        let nodes = usize::from(self.nodes);
        Ok(match self.topology {
            Shape::Line => topology.line_of(nodes),
            Shape::Star => topology.star_of(nodes),
            Shape::Ring => topology.ring_of(nodes),
            Shape::Mesh => topology.mesh_of(nodes),
        }?)
    }

    /// Mines, if that was asked for, and tells if something ends by itself. Only a signal ends it.
    fn stay(&self, lab: &Lab) -> Result<()> {
        // Whatever ends from here on ends as an experiment of the person's.
        lab.journal().disturb();
        let interval = self.mine_every.unwrap_or(Duration::from_secs(3600));
        let mut ended: Vec<u32> = Vec::new();
        let mut next = Instant::now() + interval;
        loop {
            let news = Wait::for_("something to end")
                .timeout(next.saturating_duration_since(Instant::now()))
                .until(|| {
                    let mut processes = lab.site().processes().into_iter();
                    let fresh = processes.find(|process| {
                        process.state() != State::Running && !ended.contains(&process.pid())
                    });
                    match fresh {
                        Some(process) => Step::Done(process),
                        None => Step::NotYet("all run".to_owned()),
                    }
                });
            match news {
                Ok(process) => {
                    ended.push(process.pid());
                    if let Err(death) = process.alive() {
                        interrupt::step_aside();
                        match death.exit {
                            // Somebody has stopped it, and knows.
                            Exit::Code(0) => eprintln!("{} has stopped", death.name),
                            _ => eprintln!("{death}"),
                        }
                    }
                }
                Err(wait::Failure::TimedOut { .. }) => {
                    next = Instant::now() + interval;
                    if self.mine_every.is_some() {
                        mine(lab);
                    }
                }
                Err(failure) => return Err(boltwright::host::Error::from(failure).into()),
            }
        }
    }
}

/// Mines a block; that a node does not follow, say because somebody has stopped it, is told and no
/// reason to end.
fn mine(lab: &Lab) {
    match lab.chain().mine(1).and_then(|_| lab.chain().tip()) {
        Ok(tip) => eprintln!("mined block {}", tip.height),
        Err(error) => {
            interrupt::step_aside();
            eprintln!("cannot mine: {error}");
        }
    }
}

fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .filter(|&seconds: &f64| (0.1..=86_400.0).contains(&seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "a number of seconds from 0.1 to 86400".to_owned())
}
