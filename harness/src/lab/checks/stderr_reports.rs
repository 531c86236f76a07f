//! No sanitizer, valgrind or panic report stands on a daemon's stderr.

use super::{Check, Finding, When, is_allowed};
use crate::host::{Mark, Process};
use crate::lab::world::World;

pub(super) const CHECK: Check = Check {
    name: "stderr reports",
    when: When::Ended,
    find,
};

/// What such reports have in their first line.
const SIGNS: &[&str] = &[
    "AddressSanitizer",
    "LeakSanitizer",
    "MemorySanitizer",
    "ThreadSanitizer",
    "UndefinedBehaviorSanitizer",
    ": runtime error: ",
    "== Invalid read of size",
    "== Invalid write of size",
    "panicked at ",
    "panic: ",
];

fn find(world: &World) -> Vec<Finding> {
    let processes = world.site.processes();
    let mut seen = std::collections::BTreeSet::new();
    let first_run = processes
        .iter()
        .filter(|process| seen.insert(process.name().to_owned()));
    first_run
        .filter_map(|process| report(world, process))
        .collect()
}

fn report(world: &World, process: &Process) -> Option<Finding> {
    let stderr = process.stderr();
    let lines = stderr.lines_from(Mark::START).ok()?;
    let is_sign = |line: &str| SIGNS.iter().any(|sign| line.contains(sign));
    let line = lines
        .into_iter()
        .find(|line| is_sign(line) && !is_allowed(world, line))?;
    let problem = format!("{line} ({})", stderr.path().display());
    Some(Finding::new(
        "stderr reports",
        process.name().to_owned(),
        problem,
    ))
}
