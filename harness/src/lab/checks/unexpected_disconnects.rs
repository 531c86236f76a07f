//! Peers stay connected unless the test itself broke something.

use super::{Check, Finding, When};
use crate::host::Mark;
use crate::lab::world::World;
use crate::node::LogLine;

pub(super) const CHECK: Check = Check {
    name: "unexpected disconnects",
    when: When::Alive,
    find,
};

fn find(world: &World) -> Vec<Finding> {
    if world.journal.is_disturbed() {
        return Vec::new();
    }
    let lost = |node: &crate::node::Node| {
        let lines = node.log().lines_from(Mark::START).ok()?;
        let line = lines
            .into_iter()
            .find(|line| node.kind().classify(line) == LogLine::Disconnect)?;
        let problem = format!("lost a connection that nobody had cut: {line}");
        Some(Finding::new(
            "unexpected disconnects",
            node.title(),
            problem,
        ))
    };
    world.nodes().iter().filter_map(lost).collect()
}
