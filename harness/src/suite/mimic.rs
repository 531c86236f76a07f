//! `boltwright::main!()`: the trials run by `libtest-mimic`.
//!
//! Its `with_kind` and `Trial::bench` are not used: nextest knows neither.

use super::{case::Case, gate::Gate, replay::Runner, returned::chain, runner, skips, trial::Trial};
use crate::host;
use libtest_mimic::{Arguments, Completion, Failed};
use std::{collections::BTreeSet, error::Error, io, process::ExitCode, thread};

/// The exit code of a run that never began.
const UNUSABLE: u8 = 2;

/// Runs, or lists, all trials of this binary as its command line says.
pub fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match prepare(arguments.list) {
        Ok(trials) if arguments.list && skips::asked() => {
            match skips::write(&trials, io::stdout().lock()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => unusable(&error),
            }
        }
        Ok(trials) => {
            let trials = trials
                .into_iter()
                .map(|trial| mimic(trial, &arguments))
                .collect();
            libtest_mimic::run(&arguments, trials).exit_code()
        }
        Err(error) => unusable(&*error),
    }
}

/// Gathers the trials. A list is to be had even where the environment is ill-formed: then nothing
/// is required.
fn prepare(list: bool) -> Result<Vec<Trial>, Box<dyn Error>> {
    let require = match host::settings() {
        Ok(settings) => settings.require.as_slice(),
        Err(_) if list => &[],
        Err(error) => return Err(error.into()),
    };
    let cases = Case::all();
    let gate = Gate::new(require);
    if !list {
        gate.check(&cases)?;
    }
    let trials = Trial::all(&cases, &gate);
    let mut names = BTreeSet::new();
    match trials.iter().find(|trial| !names.insert(&trial.name)) {
        None => Ok(trials),
        Some(twice) => Err(format!("two trials are called {}: rename one", twice.name).into()),
    }
}

fn unusable(error: &(dyn Error + 'static)) -> ExitCode {
    eprintln!("error: {}", chain(error));
    ExitCode::from(UNUSABLE)
}

/// A trial as libtest-mimic takes it.
///
/// Where ignored ones do not run anyway, it is asked to "run" them and is told at once that they
/// are ignored, since so the reason stands in its output. Lists carry the flag instead, and what
/// is listed as ignored is never counted as passed.
fn mimic(trial: Trial, arguments: &Arguments) -> libtest_mimic::Trial {
    let name = trial.name.clone();
    let only_told = !(arguments.list || arguments.ignored || arguments.include_ignored);
    match &trial.ignored {
        Some(ignored) if only_told => {
            let reason = ignored.reason().to_owned();
            libtest_mimic::Trial::ignorable_test(name, || Ok(Completion::ignored_with(reason)))
        }
        ignored => {
            let is_ignored = ignored.is_some();
            libtest_mimic::Trial::test(name, || in_own_thread(trial)).with_ignored_flag(is_ignored)
        }
    }
}

/// Runs a trial in a thread that bears its name, as libtest does, so that the standard library's
/// words about a panic say in which test it was.
fn in_own_thread(trial: Trial) -> Result<(), Failed> {
    let thread = thread::Builder::new()
        .name(trial.name.clone())
        .spawn(|| runner::run(trial, Runner::Mimic))
        .map_err(|error| format!("starting a thread for the test: {error}"))?;
    match thread.join() {
        Ok(result) => result.map_err(Failed::from),
        Err(payload) => std::panic::resume_unwind(payload),
    }
}
