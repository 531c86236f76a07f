//! No HTLC is left in the air: every payment has settled or failed on every hop.

use super::{Check, Finding, When};
use crate::host::{Step, Wait, settings};
use crate::lab::world::World;
use crate::node::{Node, NodeState};
use std::time::Duration;

pub(super) const CHECK: Check = Check {
    name: "stuck HTLCs",
    when: When::Alive,
    find,
};

/// The commitments of the last payment are still being exchanged when its payer has the preimage.
const SETTLING: Duration = Duration::from_secs(3);

fn find(world: &World) -> Vec<Finding> {
    let running = |node: &Node| node.state() == NodeState::Running && !node.is_suspended();
    let nodes: Vec<Node> = world.nodes().into_iter().filter(running).collect();
    nodes.iter().filter_map(stuck).collect()
}

fn stuck(node: &Node) -> Option<Finding> {
    let mut last = Vec::new();
    let patience = settings().map_or(SETTLING, |settings| settings.scaled(SETTLING));
    let settled = Wait::for_("HTLCs to settle").timeout(patience).until(|| {
        let Ok(channels) = node.channels() else {
            // A node that does not answer is told of by another check.
            return Step::Done(());
        };
        last = channels;
        last.retain(|channel| channel.pending_htlcs > 0);
        match last.as_slice() {
            [] => Step::Done(()),
            some => Step::NotYet(format!("{} channels", some.len())),
        }
    });
    settled.err().map(|_| {
        let count: usize = last.iter().map(|channel| channel.pending_htlcs).sum();
        let channels: Vec<String> = last.iter().map(|c| c.funding.to_string()).collect();
        let problem = format!("{count} HTLCs pending in {}", channels.join(", "));
        Finding::new("stuck HTLCs", node.title(), problem)
    })
}
