//! The end of a lab: pause, stop, checks, report, and what becomes of its directory.

use super::world::World;
use super::{Lab, Result, checks, report};
use crate::host::{interrupt, settings};
use crate::node::{Node, NodeState, bad_stop};
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
    /// Runs a test in a lab of its own and concludes that, however the test ends: what
    /// `#[boltwright::test]` does, for plain `#[test]`s.
    ///
    /// ```no_run
    /// use boltwright::prelude::*;
    ///
    /// #[test]
    /// fn a_payment_arrives() -> Result {
    ///     Lab::run(|lab| {
    ///         let [alice, bob] = lab.line(Amount::from_sat(1_000_000))?;
    ///         alice.pay(&bob.invoice(Msat::from_sat(5_000), "tea")?)?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    pub fn run<T>(
        test: impl FnOnce(&Lab) -> crate::prelude::Result<T>,
    ) -> crate::prelude::Result<T> {
        let lab = Lab::new()?;
        // A panic on the way is concluded when the lab is dropped.
        match test(&lab) {
            Ok(value) => {
                lab.finish()?;
                Ok(value)
            }
            Err(error) => {
                // The test's own error is the one to return; the report was printed.
                let _ = lab.conclude(Outcome::Failed(error.to_string()));
                Err(error)
            }
        }
    }

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
        if self.world.is_ending() {
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
    if world.begin_end() {
        return Ok(());
    }
    let concluded = end(world, outcome);
    world.finish_end();
    concluded
}

fn end(world: &World, outcome: Outcome) -> std::result::Result<(), Failed> {
    let mut findings = Vec::new();
    let own = match outcome {
        Outcome::Passed => None,
        Outcome::Failed(error) => Some(error),
        Outcome::Panicked(message) => Some(format!("panicked: {message}")),
    };
    // The deadline or a signal may have spoken first, and be still speaking; what the test said
    // then is its consequence.
    let mut verdict = world.early_verdict().or(own);
    world.note_own_ends();
    if verdict.is_none() {
        findings.extend(checks::run(world, checks::When::Alive));
    }
    if settings().is_ok_and(|settings| settings.pause) {
        let first = findings.first().map(ToString::to_string);
        report::pause(world, verdict.as_deref().or(first.as_deref()));
    }
    let mut table = Vec::new();
    if verdict.is_none() && findings.is_empty() {
        stop(world);
        findings.extend(checks::run(world, checks::When::Stopped));
    } else {
        table = report::table(&world.nodes());
    }
    if let Err(error) = world.site.kill_all() {
        verdict.get_or_insert_with(|| error.to_string());
    }
    findings.extend(checks::run(world, checks::When::Ended));
    let verdict = world.early_verdict().or(verdict);
    let first = verdict.or_else(|| findings.first().map(|finding| finding.to_string()));
    let Some(first) = first else {
        return end_well(world);
    };
    let kept = world.site.keep(&world.name);
    let dir = kept.unwrap_or_else(|_| world.site.dir().to_owned());
    if world.tell_once() {
        let text = report::text(world, &first, &findings, &table, &dir);
        // Not a bare write: libtest captures this for its own failure section.
        eprint!("{text}");
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

/// Stops the nodes in parallel, then the chain that they stand on. How that went is what the check
/// of exit codes looks at.
fn stop(world: &World) {
    let nodes = world.nodes();
    std::thread::scope(|scope| {
        for node in nodes
            .iter()
            .filter(|node| node.state() == NodeState::Running)
        {
            scope.spawn(|| stop_node(world, node));
        }
    });
    // One that has ended in the last moment was not yet known to.
    world.note_own_ends();
    match world.chain.stop() {
        Ok((exit, by)) => {
            if let Some(problem) = bad_stop(exit, by) {
                world.note_problem("bitcoind", problem);
            }
        }
        Err(error) => world.note_problem("bitcoind", error.to_string()),
    }
}

fn stop_node(world: &World, node: &Node) {
    let resumed = match node.is_suspended() {
        true => node.resume(),
        false => Ok(()),
    };
    if let Err(error) = resumed.and_then(|()| node.stop().map(drop)) {
        world.note_problem(&node.title(), error.to_string());
    }
}
