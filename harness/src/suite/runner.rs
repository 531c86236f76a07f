//! One trial from its lab to its end: the way that both runners take.

use super::{
    panics::{self, Panicked},
    replay::{self, Runner},
    returned::chain,
    trial::{Trial, Work},
};
use crate::lab::{Lab, Outcome};

/// Runs a trial; the error is its first one, in short. The whole report has then been printed.
pub(crate) fn run(trial: Trial, runner: Runner) -> Result<(), String> {
    let replay = replay::command(&trial, runner);
    let (body, should_panic) = match trial.work {
        Work::Run { body, should_panic } => (body, should_panic),
        Work::Fail(words) => return Err(words),
    };
    let lab = Lab::builder()
        .name(&trial.name)
        .replay(&replay)
        .start()
        .map_err(|error| chain(&error))?;
    let ended = panics::catch(|| body(&lab));
    lab.conclude(outcome(ended, should_panic))
        .map_err(|failed| failed.to_string())
}

/// What the way in which a test ended means, given what its author expects of it.
fn outcome(ended: Result<Result<(), String>, Panicked>, should_panic: Option<&str>) -> Outcome {
    match (ended, should_panic) {
        (Ok(Ok(())), None) => Outcome::Passed,
        (Ok(Ok(())), Some(_)) => Outcome::Failed("the test should have panicked".to_owned()),
        (Ok(Err(error)), _) => Outcome::Failed(error),
        (Err(panicked), None) => Outcome::Panicked(panicked.to_string()),
        (Err(panicked), Some(expected)) if panicked.message.contains(expected) => Outcome::Passed,
        (Err(panicked), Some(expected)) => Outcome::Panicked(format!(
            "{panicked} (the test should have panicked with {expected:?})"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panicked(message: &str) -> Result<Result<(), String>, Panicked> {
        Err(Panicked {
            message: message.to_owned(),
            place: Some("tests/pay.rs:3:5".to_owned()),
        })
    }

    #[test]
    fn a_test_passes_if_it_returns_well_and_nothing_else_was_expected() {
        assert_eq!(outcome(Ok(Ok(())), None), Outcome::Passed);
        let error = outcome(Ok(Err("no route".to_owned())), None);
        assert_eq!(error, Outcome::Failed("no route".to_owned()));
        let panic = outcome(panicked("no route"), None);
        assert_eq!(
            panic,
            Outcome::Panicked("tests/pay.rs:3:5: no route".to_owned())
        );
    }

    #[test]
    fn a_test_that_should_panic_passes_only_with_the_expected_panic() {
        assert_eq!(outcome(panicked("no route"), Some("")), Outcome::Passed);
        assert_eq!(
            outcome(panicked("no route"), Some("route")),
            Outcome::Passed
        );
        assert!(matches!(
            outcome(panicked("no funds"), Some("route")),
            Outcome::Panicked(words) if words.contains("no funds") && words.contains("\"route\"")
        ));
        assert!(matches!(outcome(Ok(Ok(())), Some("")), Outcome::Failed(_)));
    }
}
