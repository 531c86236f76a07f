//! Every end check finds what it is for, and lets itself be waived: what it looks for is planted in a
//! lab of its own.

use boltwright::host::Exit;
use boltwright::prelude::*;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

const CAPACITY: Amount = Amount::from_sat(1_000_000);

/// What is planted.
type Plant = fn(&Lab) -> Result;

/// The check that must find it, a word that it must say, and what is planted.
const PLANTED: [(&str, &str, Plant); 9] = [
    ("exit codes", "alice (ldk)", a_node_that_dies),
    ("exit codes", "SIGKILL", a_node_that_dies_and_is_restarted),
    ("exit codes", "bitcoind", a_bitcoind_that_dies),
    ("exit codes", "bitcoind", a_bitcoind_that_dies_at_the_end),
    ("stuck HTLCs", "1 HTLCs pending", an_htlc_to_a_frozen_node),
    (
        "unexpected disconnects",
        "disconnected",
        a_cut_that_the_harness_knows_nothing_of,
    ),
    ("error lines", "a planted error", an_error_line),
    ("stderr reports", "AddressSanitizer", a_sanitizers_report),
    ("crash files", "core.123", a_core_dump),
];

#[boltwright::test(each = 0..PLANTED.len())]
fn a_check_finds_what_is_planted_for_it(_lab: &Lab, index: usize) -> Result {
    let (check, word, plant) = PLANTED[index];
    let lab = Lab::builder()
        .name("a lab with something planted")
        .start()?;
    let dir = lab.dir().to_owned();
    plant(&lab)?;
    let words = lab.finish().expect_err("nothing was found").to_string();
    std::fs::remove_dir_all(dir)?;
    assert!(
        words.starts_with(check) && words.contains(word),
        "{check}: {words}"
    );
    Ok(())
}

#[boltwright::test(each = 0..PLANTED.len())]
fn a_check_that_is_waived_finds_nothing(_lab: &Lab, index: usize) -> Result {
    let (check, _, plant) = PLANTED[index];
    let lab = Lab::builder().name("a lab with a waiver").start()?;
    plant(&lab)?;
    lab.allow(check)?;
    lab.finish()?;
    Ok(())
}

#[boltwright::test]
fn an_error_line_can_be_allowed_by_what_it_says(_lab: &Lab) -> Result {
    let lab = Lab::builder().name("a lab with an allowed line").start()?;
    an_error_line(&lab)?;
    lab.allow_lines("a planted .*rror")?;
    lab.finish()?;
    Ok(())
}

#[boltwright::test]
fn a_check_that_does_not_exist_cannot_be_waived(lab: &Lab) -> Result {
    let words = lab.allow("exit code").expect_err("a typo").to_string();
    assert!(words.contains("exit codes"), "{words}");
    assert!(lab.allow_lines("(").is_err());
    Ok(())
}

fn a_node_that_dies(lab: &Lab) -> Result {
    let process = lab.node()?.process()?;
    process.signal(9)?;
    assert_eq!(
        process.wait_exit(std::time::Duration::from_secs(5))?,
        Exit::Signal(9)
    );
    Ok(())
}

fn a_node_that_dies_and_is_restarted(lab: &Lab) -> Result {
    a_node_that_dies(lab)?;
    lab.get("alice").ok_or("no alice")?.restart()?;
    Ok(())
}

fn a_bitcoind_that_dies(lab: &Lab) -> Result {
    let process = lab.chain().process();
    process.signal(9)?;
    process.wait_exit(std::time::Duration::from_secs(5))?;
    Ok(())
}

fn a_bitcoind_that_dies_at_the_end(lab: &Lab) -> Result {
    lab.node()?; // takes longer to stop than bitcoind to die
    lab.chain().process().signal(9)?;
    Ok(())
}

fn an_htlc_to_a_frozen_node(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    let invoice = bob.invoice(Msat::from_sat(5_000), "never")?;
    bob.suspend()?;
    let limits = PayLimits {
        timeout: std::time::Duration::from_millis(300),
        ..PayLimits::default()
    };
    let error = alice.pay_with(&invoice, &limits).expect_err("it is frozen");
    assert_eq!(
        error.payment_failure(),
        Some(&FailureReason::TimedOut),
        "{error}"
    );
    Ok(())
}

fn a_cut_that_the_harness_knows_nothing_of(lab: &Lab) -> Result {
    let [alice, bob] = lab.nodes()?;
    alice.connect(&bob)?;
    let mark = alice.log().mark()?;
    alice.rpc("disconnect", json!({"id": bob.id()}))?;
    alice.wait_for_log(mark, "disconnected$")?;
    Ok(())
}

fn an_error_line(lab: &Lab) -> Result {
    let node = lab.node()?;
    append(
        node.log().path(),
        "2026-11-30T12:00:00.000000Z ERROR test: a planted error",
    )
}

fn a_sanitizers_report(lab: &Lab) -> Result {
    let node = lab.node()?;
    let stderr = node.process()?.stderr();
    append(
        stderr.path(),
        "==1==ERROR: AddressSanitizer: heap-use-after-free",
    )
}

fn a_core_dump(lab: &Lab) -> Result {
    let node = lab.node()?;
    std::fs::write(node.dir().join("data/core.123"), "")?;
    Ok(())
}

fn append(path: &Path, line: &str) -> Result {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{line}")?;
    Ok(())
}

boltwright::main!();
