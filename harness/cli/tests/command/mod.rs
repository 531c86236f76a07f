//! The command as a process, for all tests of it.
#![allow(dead_code, reason = "each test target uses its own part of this")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// `boltwright` with these arguments, without what the caller's environment sets for it.
pub fn boltwright(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boltwright"));
    command.args(args).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("BOLTWRIGHT_") && name != "BOLTWRIGHT_LDK_EXE" || name == "TEST_DIR" {
            command.env_remove(name);
        }
    }
    command
}

/// Runs it to its end.
pub fn run(args: &[&str]) -> Output {
    boltwright(args).output().expect("the command runs")
}

/// Runs it in this directory.
pub fn run_in(dir: &Path, args: &[&str]) -> Output {
    let mut command = boltwright(args);
    command.current_dir(dir).output().expect("the command runs")
}

/// What it wrote to standard output.
pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// What it wrote to standard error.
pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Its exit code, where it was not killed.
#[track_caller]
pub fn code(output: &Output) -> i32 {
    output
        .status
        .code()
        .unwrap_or_else(|| panic!("killed: {output:?}"))
}

/// Fails with all that was said if the exit code is another one.
#[track_caller]
pub fn expect_code(output: &Output, expected: i32) {
    assert_eq!(
        code(output),
        expected,
        "stdout: {}\nstderr: {}",
        out(output),
        err(output)
    );
}
