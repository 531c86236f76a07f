//! Mining that syncs: a block counts when every node of the lab has seen it.

use super::{Lab, Result};
use crate::host::State;
use crate::node::Node;
use bitcoin::{BlockHash, Txid};

impl Lab {
    /// Mines so many blocks and waits until every running node has the tip's hash.
    ///
    /// Whatever waits in the mempool gets confirmed by the first of them; the journal says what
    /// that was. Use [`mine_when`](Lab::mine_when) for what must be in it.
    pub fn mine(&self, blocks: u32) -> Result<Vec<BlockHash>> {
        let confirmed = self.chain().mempool()?;
        let mined = self.chain().mine(blocks)?;
        let tip = self.chain().tip()?;
        self.journal().note(match confirmed.as_slice() {
            [] => format!("mined {blocks} to block {}", tip.height),
            some => format!(
                "mined {blocks} to block {}, confirming {}",
                tip.height,
                listed(some)
            ),
        });
        self.sync()?;
        Ok(mined)
    }

    /// Waits until these transactions are in the mempool, then mines so many blocks.
    pub fn mine_when(&self, transactions: &[Txid], blocks: u32) -> Result<Vec<BlockHash>> {
        self.chain().wait_mempool(transactions)?;
        self.mine(blocks)
    }

    /// Waits until so many transactions are in the mempool, then mines so many blocks.
    pub fn mine_when_count(&self, transactions: usize, blocks: u32) -> Result<Vec<BlockHash>> {
        self.chain().wait_mempool_count(transactions)?;
        self.mine(blocks)
    }

    /// Waits until every running node has the tip's hash. Nodes that a test has suspended are its
    /// own affair.
    pub fn sync(&self) -> Result<()> {
        let awake = |node: &Node| {
            !node.is_suspended()
                && node
                    .process()
                    .is_ok_and(|process| process.state() == State::Running)
        };
        for node in self.all_nodes().iter().filter(|node| awake(node)) {
            node.sync()?;
        }
        Ok(())
    }
}

fn listed(transactions: &[Txid]) -> String {
    let mut text = transactions
        .iter()
        .take(4)
        .map(Txid::to_string)
        .collect::<Vec<_>>()
        .join(" ");
    if transactions.len() > 4 {
        text.push_str(&format!(" and {} more", transactions.len() - 4));
    }
    text
}
