//! What the demo has measured: as a table for a person, and as JSON with units in its names.

use crate::screen::{self, Paint, Table, duration, grouped};
use boltwright::Msat;
use boltwright::host::disk;
use boltwright::prelude::Amount;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// All of it.
#[derive(Debug)]
pub(super) struct Summary {
    pub implementation: &'static str,
    pub optimised: Option<bool>,
    pub bitcoind: String,
    pub seed: String,
    pub setup: Setup,
    pub channels: Channels,
    pub amount: Amount,
    pub wanted: u32,
    /// From the first invoice to the last payment.
    pub paying: Duration,
    /// Of the payments that arrived, from the call to its answer, in the order of the payments.
    pub latencies: Vec<Duration>,
    pub failures: BTreeMap<String, u32>,
    /// What the payer paid in fees.
    pub fees: Msat,
    pub holdings: Vec<Holding>,
    pub dir: PathBuf,
    pub disk: disk::Kind,
    pub kept: bool,
    pub teardown: Duration,
    pub total: Duration,
}

/// How long it took until everything stood.
#[derive(Debug)]
pub(super) struct Setup {
    pub chain: Duration,
    pub nodes: Duration,
    pub channels: Duration,
}

/// How the channels are.
#[derive(Debug)]
pub(super) struct Channels {
    pub capacity: Amount,
    pub announced: bool,
}

/// What a node owned in its channels.
#[derive(Debug)]
pub(super) struct Holding {
    pub node: String,
    pub id: String,
    pub before: Msat,
    pub after: Msat,
}

impl Summary {
    /// For a person.
    pub fn text(&self, paint: Paint) -> String {
        let Setup {
            chain,
            nodes,
            channels,
        } = self.setup;
        let mut text = format!("\n{}\n", paint.strong("summary"));
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {}  {value}", paint.faint(format!("{name:12}")));
        };
        line(
            "set-up",
            format!(
                "{} (chain {}, nodes {}, channels {})",
                duration(chain + nodes + channels),
                duration(chain),
                duration(nodes),
                duration(channels)
            ),
        );
        line("payments", self.counts(paint));
        line(
            "rate",
            format!("{:.1} payments/s, one at a time", self.per_second()),
        );
        if let Some([min, median, p95, max]) = self.quantiles() {
            let [min, median, p95, max] = [min, median, p95, max].map(duration);
            line(
                "latency",
                format!("min {min}, median {median}, p95 {p95}, max {max}"),
            );
        }
        line("fees", format!("{} to bob", sat(self.fees)));
        let handling = if self.kept { "kept" } else { "removed" };
        line(
            "directory",
            format!("{} ({}), {handling}", self.dir.display(), self.disk),
        );
        line("teardown", duration(self.teardown));
        line("total", duration(self.total));
        let _ = writeln!(text, "\n{}", self.balances().render(paint).trim_end());
        if self.optimised == Some(false) {
            let _ = writeln!(
                text,
                "\n{} the nodes run unoptimised code: build with --release, or with the profile \
                 settings of `boltwright init`",
                paint.bad("note:")
            );
        }
        text.push_str(&self.next(paint));
        text
    }

    fn counts(&self, paint: Paint) -> String {
        let failed: u32 = self.failures.values().sum();
        let arrived = format!("{} succeeded", self.latencies.len());
        let (arrived, failed) = if failed == 0 {
            (paint.good(arrived), "0 failed".to_owned())
        } else {
            (arrived, paint.bad(self.failures_in_words()))
        };
        format!(
            "{} of {} sat over two hops: {arrived}, {failed}",
            self.wanted,
            grouped(self.amount.to_sat())
        )
    }

    /// `3 payments failed (no route: 3)`.
    pub fn failures_in_words(&self) -> String {
        let all: u32 = self.failures.values().sum();
        let reasons = self
            .failures
            .iter()
            .map(|(reason, count)| format!("{reason}: {count}"));
        let payments = if all == 1 { "payment" } else { "payments" };
        format!(
            "{all} {payments} failed ({})",
            reasons.collect::<Vec<_>>().join(", ")
        )
    }

    fn balances(&self) -> Table {
        let mut table = Table::new(&["in channels", ">before", ">after", ">change"]);
        for Holding {
            node,
            before,
            after,
            ..
        } in &self.holdings
        {
            let change = match after.checked_sub(*before) {
                Some(Msat::ZERO) => "0 sat".to_owned(),
                Some(more) => format!("+{}", sat(more)),
                None => format!("-{}", sat(*before - *after)),
            };
            table.row([node.clone(), sat(*before), sat(*after), change]);
        }
        table
    }

    fn next(&self, paint: Paint) -> String {
        let me = screen::me();
        let mut steps = vec![
            (
                format!("{me} up"),
                "the same network, kept running for you".to_owned(),
            ),
            (
                format!("{me} init DIR"),
                "adds Boltwright and an example test to a crate".to_owned(),
            ),
            (
                format!("{me} doctor"),
                "what this machine has and lacks".to_owned(),
            ),
        ];
        if self.kept {
            let logs = format!("{me} logs {}", screen::quoted(&self.dir));
            steps.insert(
                0,
                (logs, "everything that happened, in one timeline".to_owned()),
            );
        }
        format!(
            "\n{}\n{}",
            paint.strong("next steps"),
            screen::listed(&steps)
        )
    }

    fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.paying.as_secs_f64()
    }

    /// Minimum, median, 95th percentile and maximum, by nearest rank.
    fn quantiles(&self) -> Option<[Duration; 4]> {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let rank = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
        Some([first, rank(50), rank(95), last])
    }

    /// For a program.
    pub fn json(&self) -> Value {
        let seconds = |duration: Duration| round(duration.as_secs_f64(), 6);
        let Setup {
            chain,
            nodes,
            channels,
        } = self.setup;
        let latency = self.quantiles().map(|quantiles| {
            let [min, median, p95, max] =
                quantiles.map(|latency| round(latency.as_secs_f64() * 1000.0, 3));
            json!({"min": min, "median": median, "p95": p95, "max": max})
        });
        json!({
            "boltwright_version": env!("CARGO_PKG_VERSION"),
            "bitcoind_version": self.bitcoind,
            "implementation": self.implementation,
            "optimised": self.optimised,
            "seed": self.seed,
            "setup": {
                "chain_s": seconds(chain),
                "nodes_s": seconds(nodes),
                "channels_s": seconds(channels),
                "total_s": seconds(chain + nodes + channels),
            },
            "channels": {
                "count": 2,
                "capacity_sat": self.channels.capacity.to_sat(),
                "announced": self.channels.announced,
            },
            "payments": {
                "hops": 2,
                "amount_sat": self.amount.to_sat(),
                "attempted": self.wanted,
                "succeeded": self.latencies.len(),
                "failed": self.failures.values().sum::<u32>(),
                "failures_by_reason": self.failures,
                "elapsed_s": seconds(self.paying),
                "succeeded_per_s": round(self.per_second(), 3),
            },
            "latency_ms": latency,
            "fees_paid_msat": self.fees.to_msat(),
            "nodes": self.holdings.iter().map(|holding| json!({
                "name": holding.node,
                "id": holding.id,
                "in_channels_before_msat": holding.before.to_msat(),
                "in_channels_after_msat": holding.after.to_msat(),
            })).collect::<Vec<_>>(),
            "directory": {
                "path": self.dir,
                "disk": self.disk.to_string(),
                "kept": self.kept,
            },
            "teardown_s": seconds(self.teardown),
            "total_s": seconds(self.total),
        })
    }
}

/// Without the digits that mean nothing.
fn round(number: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (number * scale).round() / scale
}

/// `25,000 sat`, with the thousandths that there are.
fn sat(amount: Msat) -> String {
    let (whole, rest) = (amount.to_msat() / 1000, amount.to_msat() % 1000);
    match rest {
        0 => format!("{} sat", grouped(whole)),
        _ => format!("{}.{rest:03} sat", grouped(whole)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three payments tried, of which one arrived.
    fn summary() -> Summary {
        let second = Duration::from_secs(1);
        Summary {
            implementation: "ldk",
            optimised: Some(true),
            bitcoind: "v29".to_owned(),
            seed: "0x1".to_owned(),
            setup: Setup {
                chain: second,
                nodes: second,
                channels: second,
            },
            channels: Channels {
                capacity: Amount::from_sat(1_000_000),
                announced: false,
            },
            amount: Amount::from_sat(10_000),
            wanted: 3,
            paying: second,
            latencies: vec![Duration::from_millis(20)],
            failures: BTreeMap::from([("no route".to_owned(), 2)]),
            fees: Msat::new(1_000),
            holdings: Vec::new(),
            dir: PathBuf::from("/tmp/bw-1"),
            disk: disk::Kind::Ram,
            kept: false,
            teardown: second,
            total: second * 5,
        }
    }

    #[test]
    fn failed_payments_are_counted_with_their_reason() {
        let summary = summary();
        let text = summary.text(Paint::PLAIN);
        let line = "3 of 10,000 sat over two hops: 1 succeeded, 2 payments failed (no route: 2)";
        assert!(text.contains(line), "{text}");
        let json = summary.json();
        assert_eq!(json["payments"]["failed"], 2);
        assert_eq!(json["payments"]["failures_by_reason"]["no route"], 2);
        assert_eq!(json["payments"]["succeeded_per_s"], 1.0);
    }

    #[test]
    fn quantiles_are_by_nearest_rank_and_there_are_none_of_nothing() {
        let mut summary = summary();
        summary.latencies = (1..=100).rev().map(Duration::from_millis).collect();
        let expected = [1, 50, 95, 100].map(Duration::from_millis);
        assert_eq!(summary.quantiles(), Some(expected));
        summary.latencies.clear();
        assert_eq!(summary.quantiles(), None);
        assert_eq!(summary.json()["latency_ms"], Value::Null);
    }

    #[test]
    fn an_amount_shows_thousandths_only_where_there_are_some() {
        assert_eq!(sat(Msat::from_sat(25_000)), "25,000 sat");
        assert_eq!(sat(Msat::new(1_000_007)), "1,000.007 sat");
    }
}
