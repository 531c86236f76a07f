//! Reorganisations: another branch wins.
use super::{Chain, Error, block::Branch, launch::seconds, mine::Tip};
use bitcoin::{
    Block, BlockHash, CompactTarget, OutPoint, Transaction, Txid, absolute::LockTime,
    consensus::encode,
};
use serde::Deserialize;
use serde_json::json;
use std::collections::{HashMap, HashSet};

/// What becomes of the transactions in the blocks that a reorganisation drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Orphans {
    /// The new branch has them at the same heights.
    #[default]
    MineAgain,
    /// They return to the mempool and wait there.
    ToMempool,
    /// The new branch has them so many blocks later, and grows as far as that takes; or, below zero,
    /// earlier, but not before the branch begins, nor before their lock time (of bitcoind's own
    /// wallets' payments most are locked until the block after the tip that they were made at).
    Shift(i32),
}

/// How a chain is reorganised.
#[derive(Debug, Clone, Default)]
pub struct ReorgOptions {
    /// How many blocks the new branch has, more than are dropped; by default one more.
    pub blocks: Option<u32>,
    /// What becomes of the dropped blocks' transactions.
    pub orphans: Orphans,
    /// Transactions for the new branch's first block. What conflicts with them is not mined again:
    /// this is how a confirmed payment is double-spent.
    pub include: Vec<Transaction>,
}

/// What a reorganisation did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reorg {
    /// The last block that both branches have.
    pub fork: Tip,
    /// The tip before.
    pub old: Tip,
    /// The tip now.
    pub new: Tip,
    /// The blocks dropped, lowest first. They stay valid: a branch that outgrows the new one can
    /// be mined on them after [`Chain::invalidate`] of the new one.
    pub dropped: Vec<BlockHash>,
    /// The blocks that took their place, lowest first.
    pub added: Vec<BlockHash>,
    /// The dropped blocks' transactions that the new branch has too.
    pub mined_again: Vec<Txid>,
    /// Those that are in the mempool now.
    pub to_mempool: Vec<Txid>,
    /// Those that are nowhere now: what spends a dropped block's coinbase, or conflicts.
    pub lost: Vec<Txid>,
}

/// Where the dropped blocks' transactions go.
struct Plan {
    /// The new branch's blocks.
    blocks: Vec<Vec<Transaction>>,
    mined_again: Vec<Txid>,
    others: Vec<Txid>,
}

impl Chain {
    /// Replaces the last `depth` blocks by a longer branch, in one step: no one sees a shorter
    /// chain in between. What else is in the mempool stays there.
    ///
    /// ```no_run
    /// use boltwright::chain::{Chain, Error, Orphans, ReorgOptions};
    ///
    /// # fn example(chain: &Chain) -> Result<(), Error> {
    /// let options = ReorgOptions {
    ///     orphans: Orphans::ToMempool,
    ///     ..ReorgOptions::default()
    /// };
    /// let reorg = chain.reorg(2, options)?;
    /// assert_eq!(reorg.new.height, reorg.old.height + 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When there are no `depth` blocks, when the new branch would be no longer than the old, when
    /// a transaction is not valid in its new place, and when bitcoind cannot be asked.
    pub fn reorg(&self, depth: u32, options: ReorgOptions) -> Result<Reorg, Error> {
        self.note(&format!("replaces its last {depth} blocks"));
        let refuse = |problem: String| Error::Reorg {
            depth,
            problem,
            log: self.log().path().to_owned(),
        };
        let old = self.tip()?;
        if depth == 0 || depth > old.height {
            let problem = format!("the chain has {} blocks to drop", old.height);
            return Err(refuse(problem));
        }
        let length = options.blocks.unwrap_or(depth + 1);
        if length <= depth {
            let problem = format!("a branch of {length} blocks does not win");
            return Err(refuse(problem));
        }
        let mut dropped = Vec::new();
        let mut blocks = Vec::new();
        for height in old.height - depth + 1..=old.height {
            let hash: BlockHash = self.call("getblockhash", &[json!(height)])?;
            blocks.push(self.block(&hash)?);
            dropped.push(hash);
        }
        let mut branch = self.branch_at(old.height - depth)?;
        let plan = plan(blocks, &options, branch.height + 1, length as usize);
        let fork = Tip {
            height: branch.height,
            hash: branch.tip,
        };

        let mark = self.log().mark()?;
        let now = u32::try_from(seconds(self.now())).unwrap_or(u32::MAX);
        let mut added = Vec::new();
        for transactions in plan.blocks {
            let block = branch.add(transactions, now, self.next_block());
            added.push(block.block_hash());
            let verdict: Option<String> =
                self.call("submitblock", &[json!(encode::serialize_hex(&block))])?;
            match verdict.as_deref() {
                // The second: it is not, or not yet, the best chain.
                None | Some("inconclusive") => {}
                Some(reason) => {
                    let problem = format!("bitcoind refuses block {}: {reason}", branch.height);
                    return Err(refuse(problem));
                }
            }
        }
        self.settle()?;
        let new = self.tip()?;
        if new.hash != branch.tip {
            // A block that lies beside the best chain is checked only when its branch has won.
            let log = self.log();
            let reason = match log.find(mark, "ConnectBlock .* failed|CheckBlock|AcceptBlock")? {
                Some(reason) => Some(reason),
                None => log.find(mark, "InvalidChainFound")?,
            };
            let reason = reason.unwrap_or_else(|| "it does not say why".to_owned());
            return Err(refuse(format!("bitcoind stays at {new:?}: {reason}")));
        }
        let mempool: HashSet<Txid> = self.mempool()?.into_iter().collect();
        let (to_mempool, lost) = plan.others.iter().partition(|txid| mempool.contains(*txid));
        Ok(Reorg {
            fork,
            old,
            new,
            dropped,
            added,
            mined_again: plan.mined_again,
            to_mempool,
            lost,
        })
    }

    fn block(&self, hash: &BlockHash) -> Result<Block, Error> {
        let hex: String = self.call("getblock", &[json!(hash), json!(0)])?;
        encode::deserialize_hex(&hex).map_err(|problem| Error::Answer {
            call: format!("getblock {hash} 0"),
            problem: problem.to_string(),
            answer: format!("{} hex digits", hex.len()),
            log: self.log().path().to_owned(),
        })
    }

    /// A branch that starts on the block at `height` of the best chain.
    fn branch_at(&self, height: u32) -> Result<Branch, Error> {
        #[derive(Deserialize)]
        struct Header {
            time: u32,
            bits: String,
            previousblockhash: Option<BlockHash>,
        }
        let tip: BlockHash = self.call("getblockhash", &[json!(height)])?;
        let mut times = Vec::new();
        let mut bits = None;
        let mut next = Some(tip);
        while let (Some(hash), true) = (next, times.len() < 11) {
            let header: Header = self.call("getblockheader", &[json!(hash)])?;
            times.insert(0, header.time);
            bits = bits.or_else(|| CompactTarget::from_unprefixed_hex(&header.bits).ok());
            next = header.previousblockhash;
        }
        let bits = bits.ok_or_else(|| Error::Answer {
            call: format!("getblockheader {tip}"),
            problem: "no target in it".to_owned(),
            answer: String::new(),
            log: self.log().path().to_owned(),
        })?;
        Ok(Branch {
            height,
            tip,
            bits,
            times,
        })
    }
}

/// Distributes the dropped blocks' transactions, which are in an order that respects who spends
/// whom, and keeps that order.
fn plan(dropped: Vec<Block>, options: &ReorgOptions, first: u32, length: usize) -> Plan {
    let shift = match options.orphans {
        Orphans::MineAgain => Some(0),
        Orphans::Shift(by) => Some(i64::from(by)),
        Orphans::ToMempool => None,
    };
    let mut blocks = vec![Vec::new(); length];
    let mut mined_again = Vec::new();
    let mut others = Vec::new();
    let taken: HashSet<OutPoint> = options.include.iter().flat_map(spends).collect();
    let included: HashSet<Txid> = options
        .include
        .iter()
        .map(Transaction::compute_txid)
        .collect();
    let mut places: HashMap<Txid, usize> = HashMap::new();
    let mut void: HashSet<Txid> = HashSet::new();
    for (place, block) in (0i64..).zip(dropped) {
        for transaction in block.txdata {
            let txid = transaction.compute_txid();
            if transaction.is_coinbase() {
                void.insert(txid);
                continue;
            }
            if included.contains(&txid) {
                mined_again.push(txid);
                continue;
            }
            if spends(&transaction).any(|coin| taken.contains(&coin) || void.contains(&coin.txid)) {
                void.insert(txid);
                others.push(txid);
                continue;
            }
            let Some(shift) = shift else {
                others.push(txid);
                continue;
            };
            // Not before its lock time, nor before what it spends.
            let mut place = usize::try_from(place + shift).unwrap_or(0);
            place = place.max(first_final(&transaction, first));
            for coin in spends(&transaction) {
                place = place.max(places.get(&coin.txid).copied().unwrap_or(0));
            }
            places.insert(txid, place);
            if blocks.len() <= place {
                blocks.resize(place + 1, Vec::new());
            }
            blocks[place].push(transaction);
            mined_again.push(txid);
        }
    }
    // First: something else in that block may spend them.
    blocks[0].splice(0..0, options.include.iter().cloned());
    Plan {
        blocks,
        mined_again,
        others,
    }
}

/// In which block of a branch that begins at height `first` a transaction's lock time lets it be.
fn first_final(transaction: &Transaction, first: u32) -> usize {
    match transaction.lock_time {
        LockTime::Blocks(height) if transaction.is_lock_time_enabled() => {
            // The first height above its lock time.
            (height.to_consensus_u32() + 1).saturating_sub(first) as usize
        }
        _ => 0,
    }
}

fn spends(transaction: &Transaction) -> impl Iterator<Item = OutPoint> + '_ {
    transaction.input.iter().map(|input| input.previous_output)
}
