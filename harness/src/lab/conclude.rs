//! The end of a lab: pause, stop, checks, report, and what becomes of its directory.

use super::world::{World, lock};
use super::{Lab, Result, checks, report};
use crate::host::{interrupt, settings};
use crate::node::{Node, NodeState};
use std::sync::Arc;

/// How the test itself ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It returned.
    Passed,
    /// It returned an error.
    Failed(String),
    /// It panicked.
    Panicked(String),
}

/// A lab that did not pass: the first error. The whole story was printed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Failed(String);

impl Lab {
    /// Ends the lab of a test that has passed: stops everything in order, checks what every lab is
    /// checked for, and removes its directory. If a check finds something, the report is printed,
    /// the directory is kept, and the error says what was found first.
    pub fn finish(self) -> Result<()> {
        Ok(self.conclude(Outcome::Passed)?)
    }

    /// Ends the lab of a test that has ended in this way.
    pub fn conclude(mut self, outcome: Outcome) -> std::result::Result<(), Failed> {
        let watch = self.watch.take();
        let concluded = conclude(&self.world, outcome);
        drop(watch);
        concluded
    }
}

impl Drop for Lab {
    /// A lab that was not finished did not pass: a test returned early, or panicked.
    fn drop(&mut self) {
        if self.world.is_ended() {
            return;
        }
        let outcome = if std::thread::panicking() {
            Outcome::Panicked("the test panicked (see above)".to_owned())
        } else {
            Outcome::Failed(
                "the lab was dropped without `finish()`: did the test return early?".to_owned(),
            )
        };
        // The report was printed; there is nobody left to return the error to.
        let _ = conclude(&self.world, outcome);
        self.watch = None;
    }
}

/// The whole end, once.
fn conclude(world: &Arc<World>, outcome: Outcome) -> std::result::Result<(), Failed> {
    // A test that fails because a signal has ended its lab must not end the process with its own
    // exit code before the signal does.
    interrupt::step_aside();
    if world.end() {
        return Ok(());
    }
    let mut findings = Vec::new();
    let mut verdict = match outcome {
        Outcome::Passed => None,
        Outcome::Failed(error) => Some(error),
        Outcome::Panicked(message) => Some(format!("panicked: {message}")),
    };
    // The deadline or a signal may have spoken first, and be still speaking; what the test said
    // then is its consequence.
    verdict = lock(&world.verdict).take().or(verdict);
    if verdict.is_none() {
        findings.extend(checks::run(world, checks::When::Alive));
    }
    if settings().is_ok_and(|settings| settings.pause) {
        let story = verdict
            .as_deref()
            .or(findings.first().map(|first| first.problem.as_str()));
        report::pause(world, story);
    }
    let table = report::table(&world.nodes());
    if verdict.is_none() {
        findings.extend(stop(world));
        findings.extend(checks::run(world, checks::When::Stopped));
    }
    if let Err(error) = world.site.kill_all() {
        verdict.get_or_insert_with(|| error.to_string());
    }
    findings.extend(checks::run(world, checks::When::Ended));
    let first = verdict.or_else(|| findings.first().map(|finding| finding.to_string()));
    let Some(first) = first else {
        return end_well(world);
    };
    let kept = world.site.keep(&world.name);
    let dir = kept.unwrap_or_else(|_| world.site.dir().to_owned());
    if world.tell_once() {
        report::print(world, &first, &findings, &table, &dir);
    }
    Err(Failed(first.lines().next().unwrap_or_default().to_owned()))
}

fn end_well(world: &World) -> std::result::Result<(), Failed> {
    let failed = |error: crate::host::Error| Failed(error.to_string());
    if world.keep {
        let dir = world.site.keep(&world.name).map_err(failed)?;
        eprintln!("{}: passed; directory kept: {}", world.name, dir.display());
        return Ok(());
    }
    world.site.remove().map_err(failed)
}

/// Stops the nodes in parallel, then the chain that they stand on.
fn stop(world: &World) -> Vec<checks::Finding> {
    let nodes = world.nodes();
    let mut problems = Vec::new();
    std::thread::scope(|scope| {
        let stops: Vec<_> = nodes
            .iter()
            .filter(|node| node.state() == NodeState::Running)
            .map(|node| scope.spawn(|| (node.title(), problem_of_stop(node))))
            .collect();
        for stop in stops {
            match stop.join() {
                Ok((title, problem)) => problems.extend(problem.map(|problem| (title, problem))),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    if let Err(error) = world.chain.stop() {
        problems.push(("bitcoind".to_owned(), error.to_string()));
    }
    if checks::is_waived(world, checks::exit_codes::NAME) {
        return Vec::new();
    }
    let finding =
        |(subject, problem)| checks::Finding::new(checks::exit_codes::NAME, subject, problem);
    problems.into_iter().map(finding).collect()
}

/// Stops a node; what is wrong with how that went, if anything.
fn problem_of_stop(node: &Node) -> Option<String> {
    if node.is_suspended()
        && let Err(error) = node.resume()
    {
        return Some(error.to_string());
    }
    match node.stop() {
        Ok((exit, by)) => checks::exit_codes::problem_of_stop(exit, by),
        Err(error) => Some(error.to_string()),
    }
}
