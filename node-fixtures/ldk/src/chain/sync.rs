//! Follows bitcoind's chain and tells LDK of every block, across reorganisations.
//!
//! A thread waits in bitcoind (`waitforblockheight`), so a block is seen within a few
//! milliseconds. A reorganisation to an equal or lower height ends no such wait; the wait is
//! short, and the tip's hash is compared after each. A caller that knows of a new tip pokes:
//! it runs the same synchronisation itself, at once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bitcoin::{Block, BlockHash};
use lightning::chain::{BestBlock, Listen};
use tokio::sync::watch;

use super::client::{Bitcoind, ChainError, code};
use crate::log::{Log, log_at};

/// How long one wait inside bitcoind lasts.
const WAIT_MS: u64 = 250;
/// The pause after a failed call, so that a bitcoind that is away is not hammered.
const RETRY_AFTER: Duration = Duration::from_millis(100);
/// Ancestors of the tip that are remembered, in case bitcoind itself forgets blocks.
const REMEMBERED: usize = 288;

/// Someone who must hear of every block in order.
pub(crate) trait Follower {
    /// A block that follows the last one.
    fn connected(&self, block: &Block, height: u32);
    /// Everything above this block is no longer part of the chain.
    fn disconnected(&self, fork_point: BestBlock);
    /// bitcoind answers again after it was away, perhaps with an empty mempool.
    fn returned(&self) {}
}

impl<T: Listen> Follower for T {
    fn connected(&self, block: &Block, height: u32) {
        self.block_connected(block, height);
    }

    fn disconnected(&self, fork_point: BestBlock) {
        self.blocks_disconnected(fork_point);
    }
}

/// Brings a follower from the block it knows to bitcoind's tip and returns that.
///
/// `ancestor` tells the parent of a block that bitcoind does not know at all.
pub(crate) fn follow(
    bitcoind: &Bitcoind,
    mut at: BestBlock,
    follower: &dyn Follower,
    ancestor: &dyn Fn(BestBlock) -> Option<BestBlock>,
) -> Result<BestBlock, (BestBlock, ChainError)> {
    loop {
        let step = next_step(bitcoind, at, ancestor).map_err(|error| (at, error))?;
        match step {
            Step::AtTip => return Ok(at),
            Step::Back(fork_point) => {
                follower.disconnected(fork_point);
                at = fork_point;
            }
            Step::Forward(block) => {
                follower.connected(&block, at.height + 1);
                at = BestBlock::new(block.block_hash(), at.height + 1);
            }
        }
    }
}

enum Step {
    AtTip,
    Back(BestBlock),
    Forward(Box<Block>),
}

fn next_step(
    bitcoind: &Bitcoind,
    at: BestBlock,
    ancestor: &dyn Fn(BestBlock) -> Option<BestBlock>,
) -> Result<Step, ChainError> {
    let mut fork_point = at;
    loop {
        let parent = match bitcoind.header(fork_point.block_hash) {
            Ok(header) if header.confirmations >= 0 => {
                if fork_point != at {
                    return Ok(Step::Back(fork_point));
                }
                let Some(next) = header.next else {
                    return Ok(Step::AtTip);
                };
                let block = bitcoind.block(next)?;
                if block.header.prev_blockhash == at.block_hash {
                    return Ok(Step::Forward(Box::new(block)));
                }
                // The chain changed between the two calls: look again.
                continue;
            }
            Ok(header) => header
                .previous
                .map(|hash| BestBlock::new(hash, fork_point.height.saturating_sub(1))),
            Err(error) if error.code() == Some(code::BLOCK_UNKNOWN) => ancestor(fork_point),
            Err(error) => return Err(error),
        };
        fork_point = parent.ok_or(ChainError::OtherChain {
            hash: at.block_hash,
            height: at.height,
        })?;
    }
}

/// The node's view of the chain.
pub(crate) struct ChainSync {
    bitcoind: Arc<Bitcoind>,
    log: Arc<Log>,
    /// The tip and its ancestors, oldest first. Held while followers are told.
    known: Mutex<VecDeque<BestBlock>>,
    tip: watch::Sender<BestBlock>,
    stopping: AtomicBool,
}

impl ChainSync {
    /// Starts from a tip that all followers have.
    pub(crate) fn new(bitcoind: Arc<Bitcoind>, log: Arc<Log>, tip: BestBlock) -> Self {
        ChainSync {
            bitcoind,
            log,
            known: Mutex::new(VecDeque::from([tip])),
            tip: watch::Sender::new(tip),
            stopping: AtomicBool::new(false),
        }
    }

    /// The last block that every follower has been told of.
    pub(crate) fn tip(&self) -> BestBlock {
        *self.tip.borrow()
    }

    /// A receiver that hears of every new tip.
    pub(crate) fn watch(&self) -> watch::Receiver<BestBlock> {
        self.tip.subscribe()
    }

    /// Ends [`ChainSync::run`].
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Brings the follower to bitcoind's tip, now.
    pub(crate) fn catch_up(&self, follower: &dyn Follower) -> Result<BestBlock, ChainError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let at = *self.tip.borrow();
        let remembered: Vec<BestBlock> = known.iter().copied().collect();
        let ancestor = |block: BestBlock| {
            let height = block.height.checked_sub(1)?;
            remembered
                .iter()
                .rfind(|known| known.height == height)
                .copied()
        };
        let recorder = Recorder {
            follower,
            known: Mutex::new(&mut known),
        };
        let (reached, failure) = match follow(&self.bitcoind, at, &recorder, &ancestor) {
            Ok(tip) => (tip, None),
            Err((reached, error)) => (reached, Some(error)),
        };
        if reached != at {
            self.tip.send_replace(reached);
        }
        match failure {
            None => Ok(reached),
            Some(error) => Err(error),
        }
    }

    /// Follows the chain until [`ChainSync::stop`]: the body of the chain thread. An error
    /// means that bitcoind has another chain, on which the node's state means nothing.
    pub(crate) fn run(&self, follower: &dyn Follower) -> Result<(), ChainError> {
        let mut away = false;
        while !self.stopping.load(Ordering::Acquire) {
            let tip = self.tip();
            let outcome = self
                .bitcoind
                .wait_for_height(tip.height + 1, WAIT_MS)
                .and_then(|best| {
                    if best == tip {
                        Ok(tip)
                    } else {
                        self.catch_up(follower)
                    }
                });
            match outcome {
                Ok(_) => {
                    if away {
                        log_at!(self.log, Info, "bitcoind answers again");
                        away = false;
                        follower.returned();
                    }
                }
                Err(error @ ChainError::OtherChain { .. }) => return Err(error),
                Err(error) => {
                    if !away && !self.stopping.load(Ordering::Acquire) {
                        let what = if error.is_passing() {
                            "bitcoind is away"
                        } else {
                            "the chain cannot be followed"
                        };
                        log_at!(self.log, Warn, "{what}, trying again: {error}");
                        away = true;
                    }
                    std::thread::sleep(RETRY_AFTER);
                }
            }
        }
        Ok(())
    }
}

/// Passes blocks on and remembers them.
struct Recorder<'a> {
    follower: &'a dyn Follower,
    known: Mutex<&'a mut VecDeque<BestBlock>>,
}

impl Follower for Recorder<'_> {
    fn connected(&self, block: &Block, height: u32) {
        self.follower.connected(block, height);
        let hash: BlockHash = block.block_hash();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_back(BestBlock::new(hash, height));
        if known.len() > REMEMBERED {
            known.pop_front();
        }
    }

    fn disconnected(&self, fork_point: BestBlock) {
        self.follower.disconnected(fork_point);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|block| block.height < fork_point.height);
        known.push_back(fork_point);
    }
}
