//! What it does with what cannot or shall not run.

use crate::binary::{fixture, run};

const CANNOT_RUN: [&str; 2] = ["--exact", "fixture::pays::here_to_absent"];

pub fn an_ignored_cell_is_told_with_its_reason_and_fails_nothing() {
    run(&mut fixture(&CANNOT_RUN))
        .exits(0)
        .prints("1 ignored")
        .prints("absent not found (looked at: PATH); install it by hand");
}

pub fn an_ignored_cell_fails_with_the_reason_if_it_is_run() {
    for all in ["--include-ignored", "--ignored"] {
        run(fixture(&CANNOT_RUN).arg(all))
            .exits(101)
            .prints("1 failed")
            .prints("absent not found (looked at: PATH); install it by hand");
    }
}

pub fn a_required_cell_that_cannot_run_fails_with_the_reason() {
    run(fixture(&CANNOT_RUN).env("BOLTWRIGHT_REQUIRE", "ldk, absent"))
        .exits(101)
        .prints("1 failed")
        .prints("required by BOLTWRIGHT_REQUIRE=absent: absent not found");
}

pub fn a_misspelt_requirement_ends_the_run_before_it_begins() {
    let ended = run(fixture(&["passes"]).env("BOLTWRIGHT_REQUIRE", "absnt")).exits(2);
    assert_eq!(ended.out, "", "nothing was run");
    assert!(
        ended
            .err
            .starts_with("error: BOLTWRIGHT_REQUIRE=absnt: no implementation")
    );
    assert!(
        ended.err.contains("absent") && ended.err.contains("ldk"),
        "{}",
        ended.err
    );
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
}

pub fn an_ill_formed_environment_ends_the_run_with_one_clear_error() {
    let ended = run(fixture(&["passes"]).env("TIMEOUT", "abc")).exits(2);
    assert_eq!(ended.out, "", "nothing was run");
    assert!(
        ended.err.starts_with("error: TIMEOUT=abc: "),
        "{}",
        ended.err
    );
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
}

pub fn an_ignored_test_runs_if_it_is_asked_for() {
    run(&mut fixture(&["fixture::slow"]))
        .exits(0)
        .prints("takes an hour")
        .prints("2 ignored");
    run(&mut fixture(&["fixture::slow", "--ignored"]))
        .exits(0)
        .prints("2 passed");
}
