//! Daemons end when they are asked to, with exit code 0, and not by themselves.

use super::{Check, Finding, When};
use crate::host::{Exit, Process, State, process::StoppedBy};
use crate::lab::world::World;

pub(super) const CHECK: Check = Check {
    name: NAME,
    when: When::Alive,
    find,
};

pub(in crate::lab) const NAME: &str = "exit codes";

/// Those that ended before anyone asked them to.
fn find(world: &World) -> Vec<Finding> {
    let nodes = world.nodes();
    let nodes = nodes.iter().filter(|node| !node.was_asked_to_end());
    let nodes = nodes.filter_map(|node| Some((node.title(), node.process().ok()?)));
    let chain =
        (!world.chain.was_asked_to_end()).then(|| ("bitcoind".to_owned(), world.chain.process()));
    nodes
        .chain(chain)
        .filter_map(|(title, process)| ended_by_itself(title, &process))
        .collect()
}

fn ended_by_itself(title: String, process: &Process) -> Option<Finding> {
    match process.state() {
        State::Running => None,
        State::Exited(_) => {
            let death = process.alive().err()?;
            Some(Finding::new(NAME, title, death.to_string()))
        }
    }
}

/// What is wrong with the way in which an orderly stop went, if anything.
pub(in crate::lab) fn problem_of_stop(exit: Exit, by: StoppedBy) -> Option<String> {
    match by {
        StoppedBy::Already => None,
        StoppedBy::Request if exit == Exit::Code(0) => None,
        StoppedBy::Request => Some(format!("stopped when asked, but {exit}")),
        later => Some(format!(
            "did not stop when asked by its RPC and took {later:?} to end ({exit})"
        )),
    }
}
