//! This binary started again as the fixture.

use std::{
    env,
    process::{Command, Output},
};

/// The variable that makes it the fixture.
pub const FIXTURE: &str = "SUITE_FIXTURE";

/// How a run of the fixture ended.
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The fixture with these arguments, in a plain environment.
pub fn fixture(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().expect("a test knows where it is"));
    command.args(arguments).env(FIXTURE, "1");
    for variable in [
        "BOLTWRIGHT_REQUIRE",
        "BOLTWRIGHT_SEED",
        "BOLTWRIGHT_SKIPS",
        "BOLTWRIGHT_ARTIFACTS",
        "CARGO_PKG_NAME",
        "NEXTEST",
        "TIMEOUT",
    ] {
        command.env_remove(variable);
    }
    command
}

/// Runs it, in a directory that takes with it what its failing labs keep.
pub fn run(command: &mut Command) -> Run {
    let usual = env::var_os("TEST_DIR").map_or_else(env::temp_dir, Into::into);
    let dir = tempfile::tempdir_in(usual).expect("a directory can be made");
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .env("TEST_DIR", dir.path())
        .output()
        .expect("the fixture starts");
    Run {
        code: status.code(),
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

impl Run {
    /// Checks the exit code; shows everything if it is another.
    #[track_caller]
    pub fn exits(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// Checks that stdout says this.
    #[track_caller]
    pub fn prints(self, words: &str) -> Run {
        assert!(self.out.contains(words), "no {words:?} in:\n{}", self.out);
        self
    }

    /// Checks that stderr says this.
    #[track_caller]
    pub fn reports(self, words: &str) -> Run {
        assert!(self.err.contains(words), "no {words:?} in:\n{}", self.err);
        self
    }

    /// The names of a list.
    #[track_caller]
    pub fn names(&self) -> Vec<&str> {
        let name = |line: &'_ str| {
            line.ends_with(": test")
                .then(|| line.len() - ": test".len())
        };
        self.out
            .lines()
            .map(|line| &line[..name(line).unwrap_or_else(|| panic!("not a test: {line}"))])
            .collect()
    }
}
