//! Mining that syncs: a block counts when every node of the lab has seen it.

use super::{Lab, Result};
use crate::chain::{Reorg, ReorgOptions};
use crate::node::Node;
use bitcoin::{Amount, BlockHash, Txid};

impl Lab {
    /// Mines so many blocks and waits until every running node has the tip's hash.
    ///
    /// Whatever waits in the mempool gets confirmed by the first of them; the journal says what
    /// that was. Use [`mine_when`](Lab::mine_when) for what must be in it.
    pub fn mine(&self, blocks: u32) -> Result<Vec<BlockHash>> {
        let mined = self.chain().mine(blocks)?;
        let height = self.chain().tip()?.height;
        let confirmed = match mined.first() {
            Some(first) => self.chain().transactions_in(first)?,
            None => Vec::new(),
        };
        self.journal().note(match confirmed.as_slice() {
            [] => format!("mined {blocks} to block {height}"),
            some => format!(
                "mined {blocks} to block {height}, confirming {}",
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

    /// Replaces the last blocks by others ([`Chain::reorg`](crate::chain::Chain::reorg)) and waits
    /// until every running node has followed.
    pub fn reorg(&self, depth: u32, options: ReorgOptions) -> Result<Reorg> {
        let reorg = self.chain().reorg(depth, options)?;
        self.sync()?;
        Ok(reorg)
    }

    /// Waits until every running node has the tip's hash. Nodes that are being started, or that a
    /// test has suspended or ended, are its own affair; one that has died is an error.
    pub fn sync(&self) -> Result<()> {
        for node in self.all_nodes() {
            if node.is_awake()? {
                node.sync()?;
            }
        }
        Ok(())
    }

    /// Waits until no channel of any running node has an HTLC pending: a payment's last signatures
    /// are still being exchanged when its payer has the preimage, and balances are final only then.
    pub fn settle(&self) -> Result<()> {
        for node in self.all_nodes() {
            if node.is_awake()? {
                node.settle()?;
            }
        }
        Ok(())
    }

    /// Sends so much to the node's on-chain wallet, and confirms it.
    pub fn fund(&self, node: &Node, amount: Amount) -> Result<Txid> {
        let txid = self.chain().fund(&node.fund_address()?, amount)?;
        self.mine_when(&[txid], 1)?;
        Ok(txid)
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
