//! Everything that speaks to bitcoind: blocks in, transactions out, and the wallet.
//!
//! `transport` is the HTTP below, `client` the calls, `sync` follows the chain, `broadcast`
//! sends transactions, `wallet` holds the node's on-chain funds, `fees` is the feerate.
//! All calls block; they are made from threads that may wait, never from LDK's callbacks.

mod broadcast;
mod client;
mod fees;
mod sync;
mod transport;
mod wallet;

pub(crate) use broadcast::{Broadcaster, StartBroadcastError};
pub(crate) use client::{Bitcoind, ChainError};
pub(crate) use fees::FixedFees;
pub(crate) use sync::{ChainSync, Follower, follow};
pub(crate) use wallet::Wallet;

use std::time::{Duration, Instant};

use crate::log::{Log, log_at};

/// How often a bitcoind that does not answer at start is tried again.
const RETRY_EVERY: Duration = Duration::from_millis(50);

/// Waits until bitcoind answers, at most `timeout`. A rejected credential is final at once.
pub(crate) fn wait_for_bitcoind(
    bitcoind: &Bitcoind,
    timeout: Duration,
    log: &Log,
) -> Result<(), ChainError> {
    let start = Instant::now();
    let mut said = false;
    loop {
        match bitcoind.check_network() {
            Err(error) if error.is_passing() && start.elapsed() < timeout => {
                if !said {
                    log_at!(log, Warn, "bitcoind is not ready yet, waiting: {error}");
                    said = true;
                }
                std::thread::sleep(RETRY_EVERY);
            }
            answer => return answer,
        }
    }
}
