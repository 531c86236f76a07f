//! When the daemons have stopped, so have all processes that they had started.

use super::{Check, Finding, When};
use crate::lab::world::World;

pub(super) const CHECK: Check = Check {
    name: "leaked processes",
    when: When::Stopped,
    find,
};

fn find(world: &World) -> Vec<Finding> {
    let helpers = world.site.processes();
    let helpers = helpers.iter().flat_map(|process| process.leftovers());
    let living = world.site.living();
    living
        .into_iter()
        .chain(helpers)
        .map(|(pid, command)| {
            let problem = format!("outlived the daemon that started it: {command}");
            Finding::new("leaked processes", format!("pid {pid}"), problem)
        })
        .collect()
}
