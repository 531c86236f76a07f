//! Openings under way: who waits for them, and what they hold of the wallet.

use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, PoisonError};

use bitcoin::{OutPoint, Transaction, Txid};
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
    /// Funding transactions whose coins count as held. LDK may tell of an opening's end more
    /// than once; whoever takes the transaction from here gives the coins back.
    funding: HashSet<Txid>,
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
        self.coins().funding.insert(funding.compute_txid());
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

    /// Ends the hold of a funding transaction on its coins: true once, and then the caller
    /// unlocks them if they are not spent, and says [`Openings::coins_are_back`].
    pub(crate) fn release(&self, funding: Txid) -> bool {
        self.coins().funding.remove(&funding)
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
            let told = opening.caller.send(Ok((opened, opening.funding)));
            // A caller that has given up does not wait for the funding transaction either.
            if let Err(Ok((_, Some(funding)))) = told
                && self.release(funding.compute_txid())
            {
                self.coins_are_back();
            }
        }
    }

    /// The opening is over; returns the transaction whose coins are to be unlocked.
    pub(crate) fn failed(&self, id: u128, error: ChannelError) -> Option<Transaction> {
        let opening = self.open().remove(&id)?;
        let _ = opening.caller.send(Err(error));
        opening.funding
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::absolute::LockTime;
    use bitcoin::hashes::Hash as _;
    use bitcoin::transaction::Version;

    use super::*;

    fn funding() -> Transaction {
        Transaction {
            version: Version::TWO,
            lock_time: LockTime::ZERO,
            input: Vec::new(),
            output: Vec::new(),
        }
    }

    fn opened() -> Opened {
        Opened {
            channel_id: ChannelId([1; 32]),
            funding: OutPoint::new(Txid::all_zeros(), 0),
        }
    }

    /// An opening that holds coins.
    fn funded(openings: &Openings) -> (oneshot::Receiver<Outcome>, u64) {
        let outcome = openings.begin(7);
        let returns = openings.hold_coins();
        openings.funded(7, &funding());
        (outcome, returns)
    }

    #[test]
    fn coins_are_released_once() {
        let openings = Openings::default();
        let (outcome, _) = funded(&openings);
        let given_back = openings.failed(7, ChannelError::TimedOut);
        assert_eq!(given_back, Some(funding()));
        assert!(openings.release(funding().compute_txid()));
        assert!(!openings.release(funding().compute_txid()));
        assert!(openings.failed(7, ChannelError::TimedOut).is_none());
        assert!(matches!(
            outcome.blocking_recv(),
            Ok(Err(ChannelError::TimedOut))
        ));
    }

    #[test]
    fn an_opening_that_succeeds_after_its_caller_gave_up_gives_its_coins_back() {
        let openings = Openings::default();
        let (outcome, returns) = funded(&openings);
        drop(outcome);
        openings.succeeded(7, opened());
        // Returns at once, although this one still holds coins.
        openings.hold_coins();
        assert!(openings.wait_for_coins(returns));
        assert_eq!(openings.coins().holders, 1);
    }

    #[test]
    fn a_caller_who_waits_gives_the_coins_back_itself() {
        let openings = Openings::default();
        let (outcome, _) = funded(&openings);
        openings.succeeded(7, opened());
        assert_eq!(openings.coins().holders, 1);
        let (_, transaction) = outcome.blocking_recv().expect("told").expect("opened");
        assert_eq!(transaction, Some(funding()));
        assert!(openings.release(funding().compute_txid()));
    }

    #[test]
    fn without_holders_there_is_nothing_to_wait_for() {
        let openings = Openings::default();
        let returns = openings.hold_coins();
        openings.let_go();
        assert!(!openings.wait_for_coins(returns));
    }
}
