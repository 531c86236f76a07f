//! Openings under way: who waits for them, and what they hold of the wallet.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};

use bitcoin::{OutPoint, Transaction};
use lightning::ln::types::ChannelId;
use tokio::sync::oneshot;

use super::{ChannelError, OPEN_TIMEOUT};

/// A channel whose funding transaction is broadcast.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub channel_id: ChannelId,
    pub funding: OutPoint,
}

pub(super) type Outcome = Result<(Opened, Option<Transaction>), ChannelError>;

struct Opening {
    caller: oneshot::Sender<Outcome>,
    funding: Option<Transaction>,
}

/// Which openings have coins of the wallet.
#[derive(Default)]
struct Coins {
    /// Openings that have locked coins, or are about to, and whose funding transaction, and
    /// so its change, is not yet in the wallet.
    holders: usize,
    /// How often one of them gave back coins or change.
    returns: u64,
}

/// Openings under way, by the id that LDK carries through its events for us.
#[derive(Default)]
pub(crate) struct Openings {
    open: Mutex<HashMap<u128, Opening>>,
    coins: Mutex<Coins>,
    coins_back: Condvar,
}

impl Openings {
    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u128, Opening>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, id: u128) -> oneshot::Receiver<Outcome> {
        let (caller, outcome) = oneshot::channel();
        let opening = Opening {
            caller,
            funding: None,
        };
        self.open().insert(id, opening);
        outcome
    }

    /// Notes the signed funding transaction of an opening.
    pub(super) fn funded(&self, id: u128, funding: &Transaction) {
        if let Some(opening) = self.open().get_mut(&id) {
            opening.funding = Some(funding.clone());
        }
    }

    /// An opening is about to take coins; returns how often coins came back before.
    pub(super) fn hold_coins(&self) -> u64 {
        let mut coins = self.coins();
        coins.holders += 1;
        coins.returns
    }

    /// The coins of an opening are unlocked, or its change is there.
    pub(crate) fn coins_are_back(&self) {
        let mut coins = self.coins();
        coins.holders = coins.holders.saturating_sub(1);
        coins.returns += 1;
        self.coins_back.notify_all();
    }

    /// The opening took no coins after all.
    pub(super) fn let_go(&self) {
        let mut coins = self.coins();
        coins.holders = coins.holders.saturating_sub(1);
        self.coins_back.notify_all();
    }

    /// Waits until an opening has given coins back; false if none has since `returns`, and
    /// none will.
    pub(super) fn wait_for_coins(&self, returns: u64) -> bool {
        let coins = self.coins();
        let (coins, _) = self
            .coins_back
            .wait_timeout_while(coins, OPEN_TIMEOUT, |coins| {
                coins.returns == returns && coins.holders > 0
            })
            .unwrap_or_else(PoisonError::into_inner);
        coins.returns != returns
    }

    fn coins(&self) -> std::sync::MutexGuard<'_, Coins> {
        self.coins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel exists and its funding transaction may be broadcast.
    pub(crate) fn succeeded(&self, id: u128, opened: Opened) {
        if let Some(opening) = self.open().remove(&id) {
            let _ = opening.caller.send(Ok((opened, opening.funding)));
        }
    }

    /// The opening is over; returns the transaction whose coins are to be unlocked.
    pub(crate) fn failed(&self, id: u128, error: ChannelError) -> Option<Transaction> {
        let opening = self.open().remove(&id)?;
        let _ = opening.caller.send(Err(error));
        opening.funding
    }
}
