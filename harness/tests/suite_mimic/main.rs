//! `boltwright::main!()` from outside: what a test binary lists, skips, runs, prints and exits with.
//!
//! This binary plays two parts. With `SUITE_FIXTURE` set it is a test binary like a user's, of which
//! some cases fail on purpose ([`fixture`]). Without, it runs the tests of the other modules, which
//! start it again in its first part and look at what it does. Cases that run need bitcoind; none
//! needs a node.

// The attribute's expansion must be clean under whatever lints its users set.
#![deny(
    missing_docs,
    unused,
    nonstandard_style,
    future_incompatible,
    clippy::all
)]
#![forbid(unsafe_code)]

use libtest_mimic::{Arguments, Trial};
use std::{env, process::ExitCode};

mod binary;
mod fixture;
mod gating;
mod listing;
mod running;
#[path = "../suite_stub/mod.rs"]
mod stub;

macro_rules! trials {
    ($($module:ident :: $test:ident),* $(,)?) => {
        vec![$(Trial::test(
            concat!(stringify!($module), "::", stringify!($test)),
            || {
                $module::$test();
                Ok(())
            },
        )),*]
    };
}

fn main() -> ExitCode {
    if env::var_os(binary::FIXTURE).is_some() {
        return boltwright::suite::main();
    }
    let trials = trials![
        gating::a_misspelt_requirement_ends_the_run_before_it_begins,
        gating::a_required_cell_that_cannot_run_fails_with_the_reason,
        gating::an_ill_formed_environment_ends_the_run_with_one_clear_error,
        gating::an_ignored_cell_fails_with_the_reason_if_it_is_run,
        gating::an_ignored_cell_is_told_with_its_reason_and_fails_nothing,
        gating::an_ignored_test_runs_if_it_is_asked_for,
        listing::a_filter_an_exact_name_and_a_skip_choose_among_the_names,
        listing::an_ill_formed_environment_does_not_keep_it_from_listing,
        listing::every_cell_is_listed_whatever_is_installed,
        listing::nextest_is_told_which_are_ignored,
        listing::reasons_are_listed_for_programs,
        running::a_failing_test_is_reported_with_the_command_that_replays_it,
        running::a_missing_bitcoind_is_a_failure_that_says_how_to_get_it,
        running::a_panic_is_reported_with_its_message_and_place,
        running::a_test_that_should_panic_passes_only_with_the_expected_panic,
        running::the_cells_of_a_matrix_run_side_by_side_in_one_process,
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
