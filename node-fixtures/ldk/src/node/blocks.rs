//! Blocks, as they reach a running node's parts.

use std::sync::Arc;

use lightning::chain::{BestBlock, Listen as _};
use serde_json::json;

use super::Node;
use crate::chain::Follower;
use crate::log::log_at;

/// Tells the parts of a running node of blocks.
pub(crate) struct ChainFollower(Arc<Node>);

impl ChainFollower {
    /// Everyone in a running node who must hear of blocks.
    pub(crate) fn of(node: &Arc<Node>) -> Self {
        ChainFollower(Arc::clone(node))
    }
}

impl Follower for ChainFollower {
    fn connected(&self, block: &bitcoin::Block, height: u32) {
        let node = &self.0;
        node.chain_monitor.block_connected(block, height);
        node.manager.block_connected(block, height);
        node.sweeper.block_connected(block, height);
        let hash = block.block_hash();
        log_at!(node.log, Debug, "block {height} {hash}");
        node.feed.publish(
            "block",
            json!({ "height": height, "hash": hash.to_string() }),
        );
    }

    fn returned(&self) {
        self.0.broadcaster.send_again();
    }

    fn disconnected(&self, fork_point: BestBlock) {
        let node = &self.0;
        log_at!(
            node.log,
            Info,
            "the chain was reorganised, back to block {} {}",
            fork_point.height,
            fork_point.block_hash
        );
        node.chain_monitor.blocks_disconnected(fork_point);
        node.manager.blocks_disconnected(fork_point);
        node.sweeper.blocks_disconnected(fork_point);
        node.feed.publish(
            "reorg",
            json!({
                "height": fork_point.height,
                "hash": fork_point.block_hash.to_string(),
            }),
        );
    }
}
