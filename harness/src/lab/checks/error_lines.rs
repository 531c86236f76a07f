//! No daemon's log says that something is wrong with the daemon.

use super::{Check, Finding, When, is_allowed};
use crate::host::Mark;
use crate::lab::world::World;
use crate::node::{LogLine, Node};

pub(super) const CHECK: Check = Check {
    name: "error lines",
    when: When::Ended,
    find,
};

/// So many of them are quoted.
const QUOTED: usize = 3;

fn find(world: &World) -> Vec<Finding> {
    let nodes = world.nodes();
    nodes
        .iter()
        .filter_map(|node| errors(world, node))
        .collect()
}

fn errors(world: &World, node: &Node) -> Option<Finding> {
    let mut lines = node.log().lines_from(Mark::START).ok()?;
    lines.retain(|line| node.kind().classify(line) == LogLine::Error && !is_allowed(world, line));
    let (first, more) = lines.split_at(lines.len().min(QUOTED));
    if first.is_empty() {
        return None;
    }
    let mut problem = first.join("\n    ");
    if !more.is_empty() {
        problem.push_str(&format!("\n    and {} more", more.len()));
    }
    Some(Finding::new("error lines", node.title(), problem))
}
