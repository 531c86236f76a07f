//! The trials run by libtest, in a test target whose author left out `harness = false`.
//!
//! libtest knows functions only. So a matrix is one test: its trials run in turn, all of them even
//! if one fails, and those that failed are named. What libtest decides by itself (filters,
//! `#[ignore]`) is decided before this is called.

use super::{
    case::Case,
    gate::Gate,
    replay::Runner,
    returned::chain,
    runner,
    trial::{Ignored, Trial},
};
use crate::host;
use std::process::{ExitCode, Termination};

/// What the `#[test]` returns: the failure, if there is one, has been told on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concluded {
    passed: bool,
}

impl Termination for Concluded {
    fn report(self) -> ExitCode {
        if self.passed {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// Runs the trials of the case that this function registered.
pub fn libtest(module: &str, name: &str) -> Concluded {
    let told = match Case::of(module, name) {
        Some(case) => run(case),
        None => Err(format!(
            "{module}::{name} is not registered: the linker dropped it"
        )),
    };
    if let Err(words) = &told {
        eprintln!("{words}");
    }
    Concluded {
        passed: told.is_ok(),
    }
}

fn run(case: &Case) -> Result<(), String> {
    let settings = host::settings().map_err(|error| chain(&error))?;
    let gate = Gate::new(&settings.require);
    gate.check(&Case::all()).map_err(|error| chain(&error))?;

    let mut tally = Tally::default();
    for trial in Trial::of(case, &gate) {
        let name = trial.name.clone();
        match &trial.ignored {
            Some(Ignored::Missing(reason)) => tally.skipped.push(format!("{name}: {reason}")),
            _ => match runner::run(trial, Runner::Libtest) {
                Ok(()) => tally.passed += 1,
                Err(error) => tally.failed.push(format!("{name}: {error}")),
            },
        }
    }
    tally.conclude()
}

/// What became of the trials of one case.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
}

impl Tally {
    fn conclude(&self) -> Result<(), String> {
        for skipped in &self.skipped {
            eprintln!("skipped {skipped}");
        }
        let ran = self.passed + self.failed.len();
        match self.failed.as_slice() {
            [] if ran == 0 => Err(format!(
                "nothing of this test can run here, and libtest cannot skip it: set \
                 `harness = false` for its target and add `boltwright::main!();`, so that it is \
                 listed as ignored; {}",
                self.skipped.join("; ")
            )),
            [] => Ok(()),
            [only] if ran == 1 => Err(only.clone()),
            several => Err(format!(
                "{} of {ran} trials failed:\n  {}",
                several.len(),
                several.join("\n  ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: usize, failed: &[&str], skipped: &[&str]) -> Result<(), String> {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let tally = Tally {
            passed,
            failed: owned(failed),
            skipped: owned(skipped),
        };
        tally.conclude()
    }

    #[test]
    fn every_trial_that_failed_is_named() {
        assert_eq!(
            tally(1, &["a: no route", "b: no funds"], &["c: not here"]),
            Err("2 of 3 trials failed:\n  a: no route\n  b: no funds".to_owned())
        );
        assert_eq!(
            tally(0, &["a: no route"], &[]),
            Err("a: no route".to_owned())
        );
    }

    #[test]
    fn skipped_trials_do_not_make_a_test_fail_unless_nothing_is_left() {
        assert_eq!(tally(1, &[], &["c: not here"]), Ok(()));
        let nothing = tally(0, &[], &["c: not here"]).expect_err("nothing ran");
        assert!(nothing.contains("harness = false") && nothing.contains("c: not here"));
    }
}
