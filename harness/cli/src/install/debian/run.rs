//! Programs of the system, run quietly; what they said is kept for the error.

use super::Cause;
use std::process::{Command, Stdio};

/// Whether a program of this name is on `PATH`.
pub(super) fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs it to its end and returns its standard output, or the last lines that it said if it
/// failed.
pub(super) fn checked(
    program: &str,
    arguments: impl FnOnce(&mut Command) -> &mut Command,
) -> Result<String, Cause> {
    let mut command = Command::new(program);
    arguments(&mut command)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .env("DEBIAN_FRONTEND", "noninteractive");
    let output = command.output().map_err(|error| Cause::Missing {
        what: program.to_owned(),
        hint: format!(" ({error})"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let verb = command
        .get_args()
        .filter_map(|argument| argument.to_str())
        .find(|argument| !argument.starts_with(['-', '/']))
        .unwrap_or_default();
    Err(Cause::Command {
        command: format!("{program} {verb}").trim_end().to_owned(),
        status: output.status,
        said: last_lines(&output.stderr, 4),
    })
}

fn last_lines(said: &[u8], count: usize) -> String {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(count)..].join(" | ")
}
