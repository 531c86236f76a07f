//! `boltwright doctor`: what it finds, and what it says about what it does not.

mod command;

use command::{boltwright, expect_code, out};
use serde_json::Value;
use std::process::Command;

fn doctor(options: &[&str]) -> Command {
    boltwright(&[&["doctor"], options].concat())
}

fn findings(command: &mut Command, code: i32) -> Value {
    let output = command.output().expect("it runs");
    expect_code(&output, code);
    serde_json::from_str(&out(&output)).expect("one JSON object and nothing else")
}

fn finding<'a>(all: &'a Value, section: &str, subject: &str) -> &'a Value {
    let list = all[section].as_array().expect("a list");
    let found = list.iter().find(|finding| finding["subject"] == subject);
    found.unwrap_or_else(|| panic!("{subject}: {all:#}"))
}

#[test]
fn it_finds_what_labs_need_and_says_by_which_rule() {
    let all = findings(&mut doctor(&["--json"]), 0);
    assert_eq!(all["ok"], true);
    let bitcoind = finding(&all, "programs", "bitcoind");
    assert_eq!(bitcoind["found"], true);
    assert!(
        bitcoind["version"]
            .as_str()
            .is_some_and(|version| version.contains("version"))
    );
    // Embedded; a note where it was compiled without optimisation.
    assert_eq!(finding(&all, "programs", "ldk")["rule"], "embedded");
    assert!(finding(&all, "machine", "lab directories")["free_bytes"].as_u64() > Some(0));
    assert!(finding(&all, "machine", "open files")["hard"].as_u64() > Some(0));
    assert_eq!(finding(&all, "machine", "loopback")["verdict"], "ok");
}

#[test]
fn a_missing_bitcoind_is_bad_and_the_cure_is_named() {
    let nowhere = tempfile::tempdir().expect("a directory");
    let mut command = doctor(&["--json"]);
    command
        .env("XDG_CACHE_HOME", nowhere.path())
        .env("PATH", "/nonexistent")
        .env_remove("BITCOIND_EXE");
    let all = findings(&mut command, 1);
    assert_eq!(all["ok"], false);
    let bitcoind = finding(&all, "programs", "bitcoind");
    assert_eq!(bitcoind["verdict"], "bad");
    assert!(
        bitcoind["cure"]
            .as_str()
            .is_some_and(|cure| cure.contains("install bitcoind"))
    );
}

#[test]
fn a_variable_that_names_no_program_is_bad_and_no_other_one_is_taken() {
    let mut command = doctor(&["--json"]);
    command.env("BITCOIND_EXE", "/nonexistent/bitcoind");
    let all = findings(&mut command, 1);
    let bitcoind = finding(&all, "programs", "bitcoind");
    assert_eq!(bitcoind["found"], false);
    assert!(
        bitcoind["words"]
            .as_str()
            .is_some_and(|words| words.contains("/nonexistent/bitcoind"))
    );
}

#[test]
fn a_slip_in_a_variables_name_is_told_and_a_bad_value_is_bad() {
    let mut command = doctor(&["--json"]);
    command.env("BOLTWRIGHT_KEPE", "1");
    let all = findings(&mut command, 0);
    let slip = finding(&all, "environment", "BOLTWRIGHT_KEPE");
    assert_eq!(slip["verdict"], "note");
    assert_eq!(slip["cure"], "did you mean BOLTWRIGHT_KEEP?");

    let mut command = doctor(&["--json"]);
    command.env("TIMEOUT", "soon");
    let all = findings(&mut command, 1);
    let bad = finding(&all, "environment", "settings");
    assert!(
        bad["words"]
            .as_str()
            .is_some_and(|words| words.contains("TIMEOUT=soon"))
    );
}

#[test]
fn a_person_gets_sections_and_a_verdict() {
    let output = doctor(&[]).output().expect("it runs");
    expect_code(&output, 0);
    let text = out(&output);
    for heading in [
        "programs\n",
        "machine\n",
        "labs\n",
        "environment\n",
        "labs can run here",
    ] {
        assert!(text.contains(heading), "{heading}: {text}");
    }
}
