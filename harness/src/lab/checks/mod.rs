//! What is asserted of every lab at its end: one file for each check, one line for each in the
//! list of this file.
//!
//! All of them run, all findings are collected, and the first one is the lab's error if the test
//! itself had none. [`Lab::allow`] waives one by its name, [`Lab::allow_lines`] some error lines.

mod crash_files;
mod error_lines;
mod exit_codes;
mod leaked_processes;
mod stderr_reports;
mod stuck_htlcs;
mod unexpected_disconnects;

use super::world::{World, lock};
use super::{Error, Lab, Result};
use regex_lite::Regex;
use std::collections::BTreeSet;
use std::fmt;

/// One check.
pub(super) struct Check {
    /// Its name, as reports and [`Lab::allow`] call it.
    name: &'static str,
    /// When it is made.
    when: When,
    /// What it found: for each thing that is wrong, who it is about and what it is.
    find: fn(&World) -> Vec<Finding>,
}

/// When a check is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// While everything still runs, after a test that has passed.
    Alive,
    /// After an orderly stop of everything, before what is left is killed.
    Stopped,
    /// When nothing runs any more, however the test ended.
    Ended,
}

/// All checks, in the order in which they are made.
const CHECKS: &[Check] = &[
    exit_codes::CHECK,
    stuck_htlcs::CHECK,
    unexpected_disconnects::CHECK,
    leaked_processes::CHECK,
    error_lines::CHECK,
    stderr_reports::CHECK,
    crash_files::CHECK,
];

/// Something that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub check: &'static str,
    pub subject: String,
    pub problem: String,
}

impl Finding {
    pub fn new(check: &'static str, subject: String, problem: String) -> Finding {
        Finding {
            check,
            subject,
            problem,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.check, self.subject, self.problem)
    }
}

/// What a test has waived.
#[derive(Debug, Default)]
pub(super) struct Waivers {
    checks: BTreeSet<&'static str>,
    lines: Vec<Regex>,
}

/// Makes all checks of this moment that are not waived.
pub(super) fn run(world: &World, when: When) -> Vec<Finding> {
    let waived = lock(&world.state.waivers).checks.clone();
    let wanted = |check: &&Check| check.when == when && !waived.contains(check.name);
    CHECKS
        .iter()
        .filter(wanted)
        .flat_map(|check| (check.find)(world))
        .collect()
}

/// Whether a test has allowed this line of a log.
fn is_allowed(world: &World, line: &str) -> bool {
    let waivers = lock(&world.state.waivers);
    waivers.lines.iter().any(|pattern| pattern.is_match(line))
}

impl Lab {
    /// Waives an end check for this lab, by its name: `exit codes`, `stuck HTLCs`,
    /// `unexpected disconnects`, `leaked processes`, `error lines`, `stderr reports` or
    /// `crash files`.
    pub fn allow(&self, check: &str) -> Result<()> {
        let known = CHECKS.iter().map(|known| known.name);
        let Some(name) = known.clone().find(|name| *name == check) else {
            let known: Vec<&str> = known.collect();
            return Err(Error::Invalid(format!(
                "there is no end check {check:?}; there are: {}",
                known.join(", ")
            )));
        };
        lock(&self.world.state.waivers).checks.insert(name);
        Ok(())
    }

    /// Allows error lines in the nodes' logs that match this regular expression.
    pub fn allow_lines(&self, pattern: &str) -> Result<()> {
        let regex = Regex::new(pattern)
            .map_err(|error| Error::Invalid(format!("pattern {pattern:?}: {error}")))?;
        lock(&self.world.state.waivers).lines.push(regex);
        Ok(())
    }
}
