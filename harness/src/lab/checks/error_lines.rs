//! No daemon's log says that something is wrong with the daemon.

use super::{Check, Finding, When, is_allowed};
use crate::host::{LogFile, Mark};
use crate::lab::world::World;
use crate::node::LogLine;

pub(super) const CHECK: Check = Check {
    name: "error lines",
    when: When::Ended,
    find,
};

/// So many of them are quoted.
const QUOTED: usize = 3;

/// How bitcoind marks its errors.
const CHAIN_ERROR: &str = " [error] ";

fn find(world: &World) -> Vec<Finding> {
    let nodes = world.nodes();
    let of_nodes = nodes.iter().filter_map(|node| {
        let is_error = |line: &str| node.kind().classify(line) == LogLine::Error;
        errors(world, node.title(), &node.log(), &is_error)
    });
    let of_chain = errors(world, "bitcoind".to_owned(), &world.chain.log(), &|line| {
        line.contains(CHAIN_ERROR)
    });
    of_nodes.chain(of_chain).collect()
}

fn errors(
    world: &World,
    who: String,
    log: &LogFile,
    is_error: &dyn Fn(&str) -> bool,
) -> Option<Finding> {
    let mut lines = match log.path().exists().then(|| log.lines_from(Mark::START)) {
        // It died before it wrote any: another check's affair.
        None => return None,
        Some(Err(error)) => return Some(Finding::new(CHECK.name, who, error.to_string())),
        Some(Ok(lines)) => lines,
    };
    lines.retain(|line| is_error(line) && !is_allowed(world, line));
    let (first, more) = lines.split_at(lines.len().min(QUOTED));
    if first.is_empty() {
        return None;
    }
    let mut problem = first.join("\n    ");
    if !more.is_empty() {
        problem.push_str(&format!("\n    and {} more", more.len()));
    }
    Some(Finding::new(CHECK.name, who, problem))
}
