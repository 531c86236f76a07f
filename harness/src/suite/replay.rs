//! The command that runs a trial again. (The lab's report puts the seed in front of it.)

use super::trial::Trial;
use crate::host::knobs;
use std::env;

/// Who runs the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    /// `boltwright::main!()`: every trial has its own name.
    Mimic,
    /// libtest: the trials of a matrix share the name of their function.
    Libtest,
}

/// The command for this trial, in the words of the tool that runs this process.
pub(crate) fn command(trial: &Trial, runner: Runner) -> String {
    let name = match runner {
        Runner::Mimic => &trial.name,
        Runner::Libtest => &trial.test,
    };
    let variable = |name: &str| knobs::variable(name)?.into_string().ok();
    Tool::of(variable).command(name, trial.ignored.is_some())
}

/// What started this test binary.
#[derive(Debug, PartialEq, Eq)]
enum Tool {
    /// `cargo nextest run`, for this package.
    Nextest(Option<String>),
    /// `cargo test`, for this package.
    CargoTest(String),
    /// A person or a script.
    Direct,
}

impl Tool {
    fn of(variable: impl Fn(&str) -> Option<String>) -> Tool {
        let package = variable("CARGO_PKG_NAME");
        match (variable("NEXTEST"), package) {
            (Some(_), package) => Tool::Nextest(package),
            (None, Some(package)) => Tool::CargoTest(package),
            (None, None) => Tool::Direct,
        }
    }

    fn command(&self, name: &str, ignored: bool) -> String {
        match self {
            Tool::Nextest(package) => {
                let package = package.as_ref().map(|p| format!(" -p {p}"));
                let ignored = if ignored { " --run-ignored all" } else { "" };
                let package = package.unwrap_or_default();
                format!("cargo nextest run{package} -E 'test(={name})'{ignored}")
            }
            Tool::CargoTest(package) => {
                let ignored = if ignored { " --include-ignored" } else { "" };
                format!("cargo test -p {package} -- --exact {name}{ignored}")
            }
            Tool::Direct => {
                let ignored = if ignored { " --include-ignored" } else { "" };
                let binary = env::current_exe().map_or_else(
                    |_| "TEST-BINARY".to_owned(),
                    |path| path.display().to_string(),
                );
                format!("{binary} --exact {name}{ignored}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(variables: &[(&str, &str)]) -> Tool {
        Tool::of(|asked| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_tool_that_runs_the_test_is_the_one_that_replays_it() {
        let nextest = tool(&[("NEXTEST", "1"), ("CARGO_PKG_NAME", "wallet")]);
        assert_eq!(
            nextest.command("pay::hops::ldk", false),
            "cargo nextest run -p wallet -E 'test(=pay::hops::ldk)'"
        );
        let cargo = tool(&[("CARGO_PKG_NAME", "wallet")]);
        assert_eq!(
            cargo.command("pay::hops::ldk", false),
            "cargo test -p wallet -- --exact pay::hops::ldk"
        );
        assert!(tool(&[]).command("pay", false).ends_with(" --exact pay"));
    }

    #[test]
    fn an_ignored_trial_is_replayed_although_it_is_ignored() {
        let nextest = tool(&[("NEXTEST", "1")]);
        assert_eq!(
            nextest.command("pay", true),
            "cargo nextest run -E 'test(=pay)' --run-ignored all"
        );
        let cargo = tool(&[("CARGO_PKG_NAME", "wallet")]);
        assert!(
            cargo
                .command("pay", true)
                .ends_with("--exact pay --include-ignored")
        );
    }
}
