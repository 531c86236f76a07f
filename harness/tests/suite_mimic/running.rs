//! What it does with what runs: each of these has a real bitcoind in its lab.

use crate::binary::{fixture, run};
use std::env;

pub fn the_cells_of_a_matrix_run_side_by_side_in_one_process() {
    run(&mut fixture(&["fixture::stores", "--test-threads", "2"]))
        .exits(0)
        .prints("2 passed");
    run(&mut fixture(&["fixture::counts"]))
        .exits(0)
        .prints("3 passed");
    run(&mut fixture(&["fixture::pays", "--nocapture"]))
        .exits(0)
        .prints("1 passed")
        .prints("3 ignored");
}

pub fn a_failing_test_is_reported_with_the_command_that_replays_it() {
    const EXACT: [&str; 2] = ["--exact", "fixture::fails"];
    let seeded = |command: &mut std::process::Command| run(command.env("BOLTWRIGHT_SEED", "0x2a"));
    seeded(&mut fixture(&EXACT))
        .exits(101)
        .prints("no route to carol")
        .prints("1 failed")
        .reports("no route to carol")
        .reports("BOLTWRIGHT_SEED=0x000000000000002a /")
        .reports("--exact fixture::fails");
    seeded(fixture(&EXACT).env("CARGO_PKG_NAME", "wallet"))
        .exits(101)
        .reports(
            "BOLTWRIGHT_SEED=0x000000000000002a cargo test -p wallet -- --exact fixture::fails",
        );
    seeded(fixture(&EXACT).env("NEXTEST", "1"))
        .exits(101)
        .reports("BOLTWRIGHT_SEED=0x000000000000002a cargo nextest run -E 'test(=fixture::fails)'");
}

pub fn a_panic_is_reported_with_its_message_and_place() {
    run(&mut fixture(&["--exact", "fixture::panics"]))
        .exits(101)
        .prints("panicked: harness/tests/suite_mimic/fixture.rs:")
        .prints(":5: assertion `left == right` failed: sums")
        .reports("thread 'fixture::panics'")
        .reports("panicked: ");
}

pub fn a_test_that_should_panic_passes_only_with_the_expected_panic() {
    run(&mut fixture(&["--exact", "fixture::panics_as_it_should"])).exits(0);
    run(&mut fixture(&["--exact", "fixture::panics_otherwise"]))
        .exits(101)
        .prints("no funds (the test should have panicked with \"to carol\")");
    run(&mut fixture(&["--exact", "fixture::does_not_panic"]))
        .exits(101)
        .prints("the test should have panicked");
}

pub fn a_missing_bitcoind_is_a_failure_that_says_how_to_get_it() {
    let nowhere = env::temp_dir().join("boltwright-nobody-made-this");
    let mut passes = fixture(&["--exact", "fixture::passes"]);
    passes
        .env_remove("BITCOIND_EXE")
        .env("XDG_CACHE_HOME", &nowhere)
        .env("PATH", &nowhere);
    run(&mut passes)
        .exits(101)
        .prints("bitcoind not found")
        .prints("boltwright install bitcoind");
}
