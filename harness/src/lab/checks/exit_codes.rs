//! Daemons end when they are asked to, with exit code 0, and not by themselves.
//!
//! Each end is judged when it happens: a node that a test restarts after a crash has crashed all the
//! same.

use super::{Check, Finding, When};
use crate::lab::world::World;

pub(super) const CHECK: Check = Check {
    name: "exit codes",
    when: When::Ended,
    find,
};

fn find(world: &World) -> Vec<Finding> {
    let problems = world.problems().into_iter();
    problems
        .map(|(who, problem)| Finding::new(CHECK.name, who, problem))
        .collect()
}
