//! The top floor: how tests are registered, multiplied, listed, skipped and run.
//!
//! A function under [`#[boltwright::test]`](crate::test) becomes a *case*, registered by the linker
//! before `main`. A case has one *cell*, or, with a matrix, one for each combination of
//! implementations and values; each cell is a *trial* with a name of its own. Two runners take the
//! same trials through the same steps (a seed, a lab, the function, the lab's end checks):
//!
//! - [`main!`](crate::main) runs them through `libtest-mimic`, in a test target with
//!   `harness = false`. Every trial is a test of its own: nextest gives each a process, `cargo test`
//!   a thread.
//! - Without `harness = false`, the `#[test]` that the attribute also writes runs them under
//!   libtest. A matrix is one test there, and its trials run in turn.
//!
//! # Names
//!
//! A trial is named as libtest would name its function, `module::function` without the crate, and
//! after its cell: `interop::pays::cln_to_ldk`, `storage::restarts::ldk::sqlite`. Names do not
//! depend on the machine, and are listed in an order that does not either.
//!
//! # What cannot run here
//!
//! A trial that needs an implementation that is not installed is *listed as ignored*, and fails
//! with the reason if it is run nevertheless (`--include-ignored`). `BOLTWRIGHT_REQUIRE=cln,lnd`
//! makes such a trial an ordinary one, which then fails: in CI nothing goes missing unseen. A
//! missing `bitcoind` is never a skip: without it nothing would be tested at all.
//!
//! A list has no room for reasons. `BOLTWRIGHT_SKIPS=1 TEST-BINARY --list` prints one JSON object
//! a line, `{"trial": "…", "reason": "…"}`, for each ignored trial and nothing else; that is what
//! `boltwright doctor --skips` reads.
//!
//! # Exit codes
//!
//! Those of libtest: 0, or 101 if a trial failed. Ill-formed environment variables end a run with
//! 2 before anything starts (a list is printed even so).
//!
//! # Known limitations
//!
//! - `libtest-mimic` captures no output: under `cargo test` the output of parallel tests mixes.
//!   nextest captures it for each test.
//! - It takes one filter, where libtest takes several, and not every option of libtest's.
//! - Under libtest, a matrix of which no cell can run fails, for libtest knows no skip at run time.
//! - `BOLTWRIGHT_SKIPS` is heard by `main!` only.
//! - The command that replays a trial repeats no cargo features, profiles or other variables.
//! - `BOLTWRIGHT_REQUIRE` knows Boltwright's own implementations, and a user's own only in the
//!   test binaries whose matrices name it.

#[doc(hidden)]
pub mod __private;
mod case;
mod gate;
mod label;
mod libtest;
mod matrix;
mod mimic;
mod panics;
mod replay;
mod returned;
mod runner;
mod skips;
#[cfg(test)]
#[path = "../../tests/suite_stub/mod.rs"]
mod stub;
mod trial;

pub use mimic::main;

/// Writes the `main` of a test target with `harness = false`: it runs every
/// [`#[boltwright::test]`](crate::test) of the target.
///
/// ```toml
/// [[test]]
/// name = "payments"
/// harness = false
/// ```
///
/// It understands libtest's usual options: `--list`, a filter, `--exact`, `--skip`, `--ignored`,
/// `--include-ignored`, `--nocapture`, `--test-threads`, `--format`. In a target without
/// `harness = false` it does no harm: libtest puts its own `main` in place of this one.
#[macro_export]
macro_rules! main {
    () => {
        fn main() -> ::std::process::ExitCode {
            $crate::suite::main()
        }
    };
}
