//! The attribute under libtest: a test target whose author left out `harness = false`.
//!
//! The cases in [`fixture`] are tests of this target like any other; those that fail on purpose
//! are ignored, and run by the tests below, which start this binary again and look at what it does.

// The attribute's expansion must be clean under whatever lints its users set.
#![deny(
    missing_docs,
    unused,
    nonstandard_style,
    future_incompatible,
    clippy::all
)]
#![forbid(unsafe_code)]

#[path = "../suite_stub/mod.rs"]
mod stub;

use std::{
    env,
    process::{Command, Output},
};

mod fixture {
    use crate::stub::{Absent, Here};
    use boltwright::prelude::*;

    /// It does no harm here, and is what the author did not forget.
    #[boltwright::test]
    fn passes(lab: &Lab) -> Result {
        assert_eq!(lab.name(), "fixture::passes");
        Ok(())
    }

    #[boltwright::test]
    #[ignore = "fails on purpose"]
    fn fails(_lab: &Lab) -> Result {
        Err("no route to carol".into())
    }

    #[boltwright::test]
    #[ignore = "fails on purpose"]
    fn panics(_lab: &Lab) {
        panic!("no funds");
    }

    #[boltwright::test]
    #[should_panic(expected = "no funds")]
    fn panics_as_it_should(_lab: &Lab) {
        panic!("no funds");
    }

    #[boltwright::test(nodes = every_pair, among = [&Here, &Absent])]
    fn pays(lab: &Lab, [payer, payee]: [Kind; 2]) {
        assert_eq!((payer.name(), payee.name()), ("here", "here"));
        assert_eq!(lab.name(), "fixture::pays::here_to_here");
    }

    #[boltwright::test(each = 1..=3)]
    #[ignore = "fails on purpose"]
    fn counts(_lab: &Lab, number: u32) -> Result<(), String> {
        if number == 2 {
            Ok(())
        } else {
            Err(format!("{number} is not 2"))
        }
    }

    #[boltwright::test(nodes = every, among = [&Absent])]
    #[ignore = "fails on purpose"]
    fn never(_lab: &Lab, _kind: Kind) {}

    mod short {
        use boltwright::{lab::Lab, test};

        #[test]
        fn passes(_lab: &Lab) {}
    }
}

boltwright::main!();

/// Runs one test of this binary; its exit code and its whole output. What failing labs keep goes
/// with the directory that they are given.
fn run(test: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env::current_exe().expect("a test knows where it is"));
    command.args(["--include-ignored", "--exact", test]);
    for variable in [
        "NEXTEST",
        "CARGO_PKG_NAME",
        "BOLTWRIGHT_REQUIRE",
        "BOLTWRIGHT_SEED",
    ] {
        command.env_remove(variable);
    }
    let usual = env::var_os("TEST_DIR").map_or_else(env::temp_dir, Into::into);
    let dir = tempfile::tempdir_in(usual).expect("a directory can be made");
    command
        .env("TEST_DIR", dir.path())
        .envs(variables.iter().copied());
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("it starts");
    let told = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), told.concat())
}

#[track_caller]
fn fails_with(test: &str, variables: &[(&str, &str)], expected: &[&str]) {
    let (code, told) = run(test, variables);
    assert_eq!(code, Some(101), "{told}");
    for words in expected {
        assert!(told.contains(words), "no {words:?} in:\n{told}");
    }
}

#[test]
fn every_function_is_one_test_under_its_own_name() {
    let list = Command::new(env::current_exe().expect("a test knows where it is"))
        .args(["--list", "fixture::"])
        .output()
        .expect("it starts");
    let list = String::from_utf8_lossy(&list.stdout);
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .collect();
    assert_eq!(
        names,
        [
            "fixture::counts",
            "fixture::fails",
            "fixture::never",
            "fixture::panics",
            "fixture::panics_as_it_should",
            "fixture::passes",
            "fixture::pays",
            "fixture::short::passes",
        ]
    );
}

#[test]
fn a_failing_test_is_reported_with_the_command_that_replays_it() {
    let seeded = ("BOLTWRIGHT_SEED", "42");
    let again = "cargo test -p wallet -- --exact fixture::fails --include-ignored";
    fails_with(
        "fixture::fails",
        &[seeded, ("CARGO_PKG_NAME", "wallet")],
        &[
            "no route to carol",
            "BOLTWRIGHT_SEED=0x000000000000002a",
            again,
        ],
    );
    fails_with(
        "fixture::panics",
        &[],
        &["panicked: ", "suite_libtest/main.rs:", ":9: no funds"],
    );
}

#[test]
fn every_cell_of_a_matrix_runs_and_those_that_fail_are_named() {
    fails_with(
        "fixture::counts",
        &[("NEXTEST", "1")],
        &[
            "2 of 3 trials failed:",
            "fixture::counts::1: 1 is not 2",
            "fixture::counts::3: 3 is not 2",
            "cargo nextest run -E 'test(=fixture::counts)' --run-ignored all",
        ],
    );
}

#[test]
fn what_cannot_run_is_never_passed_in_silence() {
    let missing = "absent not found (looked at: PATH); install it by hand";
    fails_with("fixture::never", &[], &["harness = false", missing]);
    fails_with(
        "fixture::pays",
        &[("BOLTWRIGHT_REQUIRE", "absent")],
        &[
            "3 of 4 trials failed:",
            "fixture::pays::here_to_absent: required by",
            missing,
        ],
    );
}

#[test]
fn an_ill_formed_environment_is_a_failure_in_clear_words() {
    fails_with("fixture::passes", &[("TIMEOUT", "abc")], &["TIMEOUT=abc: "]);
    let misspelt = [("BOLTWRIGHT_REQUIRE", "absnt")];
    fails_with(
        "fixture::passes",
        &misspelt,
        &["BOLTWRIGHT_REQUIRE=absnt: no implementation"],
    );
}
