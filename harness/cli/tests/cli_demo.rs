//! `boltwright demo`, on real daemons.

mod command;
#[path = "command/living.rs"]
mod living;

use command::{boltwright, expect_code, out};
use living::{entries, expect_nothing_living};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

fn demo(dir: &tempfile::TempDir, options: &[&str]) -> Command {
    let mut command = boltwright(&[&["demo"], options].concat());
    command.env("TEST_DIR", dir.path());
    command
}

#[test]
fn payments_cross_two_hops_and_the_figures_add_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = demo(&dir, &["--json", "--payments", "5"])
        .output()
        .expect("it runs");
    expect_code(&output, 0);
    let figures: Value =
        serde_json::from_str(&out(&output)).expect("one JSON object and nothing else");
    let payments = &figures["payments"];
    assert_eq!(payments["attempted"], 5);
    assert_eq!(payments["succeeded"], 5);
    assert_eq!(payments["failed"], 0);
    let nodes = figures["nodes"].as_array().expect("nodes");
    let msat = |node: &Value, when: &str| node[when].as_i64().expect("an amount");
    let changes: Vec<i64> = nodes
        .iter()
        .map(|node| msat(node, "in_channels_after_msat") - msat(node, "in_channels_before_msat"))
        .collect();
    let (arrived, fees) = (
        5 * 10_000_000,
        figures["fees_paid_msat"].as_i64().expect("fees"),
    );
    assert!(fees > 0);
    assert_eq!(changes, [-arrived - fees, fees, arrived]);
    let latency = &figures["latency_ms"];
    let ordered: Vec<f64> = ["min", "median", "p95", "max"]
        .iter()
        .map(|quantile| latency[quantile].as_f64().expect("a number"))
        .collect();
    assert!(ordered.is_sorted() && ordered[0] > 0.0, "{ordered:?}");
    let total = figures["total_s"].as_f64().expect("a number");
    assert!(figures["setup"]["total_s"].as_f64().expect("a number") < total);
    assert_eq!(
        entries(dir.path()),
        [""; 0],
        "the directory of a demo that went well is removed"
    );
    expect_nothing_living(dir.path(), Duration::from_secs(2));
}

#[test]
fn a_person_gets_a_summary_and_the_next_steps_and_the_logs_if_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = demo(&dir, &["--payments", "2", "--keep"])
        .output()
        .expect("it runs");
    expect_code(&output, 0);
    let summary = out(&output);
    for words in [
        "2 succeeded",
        "payments/s",
        "median",
        "bob",
        "next steps",
        "logs ",
    ] {
        assert!(summary.contains(words), "{words}: {summary}");
    }
    let kept = entries(dir.path());
    assert_eq!(kept.len(), 1, "{kept:?}");
    let kept = dir.path().join(&kept[0]);
    let logs = boltwright(&[
        "logs",
        kept.to_str().expect("a plain path"),
        "--node",
        "harness",
    ])
    .output()
    .expect("it runs");
    expect_code(&logs, 0);
    assert!(out(&logs).contains("alice has paid"), "{}", out(&logs));
}

#[test]
fn a_signal_in_the_middle_leaves_nothing() {
    use nix::sys::signal::{Signal, kill};
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut child = demo(&dir, &["--payments", "100000"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(child.stderr.take().expect("its stderr")).lines();
        let mut said = Vec::new();
        while !said
            .last()
            .is_some_and(|line: &String| line.starts_with("channels"))
        {
            said.push(lines.next().expect("it goes on").expect("text"));
        }
        kill(nix::unistd::Pid::from_raw(child.id() as i32), signal).expect("sent");
        said.extend(lines.map(|line| line.expect("text")));
        let status = child.wait().expect("its end");
        assert_eq!(status.signal(), Some(signal as i32), "{said:?}");
        assert!(
            said.last()
                .is_some_and(|last| last.contains("nothing is left running")),
            "{said:?}"
        );
        assert!(!said.iter().any(|line| line.contains("FAILED")), "{said:?}");
        expect_nothing_living(dir.path(), Duration::from_secs(2));
        assert_eq!(entries(dir.path()), [""; 0]);
    }
}
