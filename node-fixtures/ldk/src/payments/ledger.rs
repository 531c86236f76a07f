//! The record of each payment, in memory for answers and in the store for the next start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bitcoin::hex::{DisplayHex as _, FromHex as _};
use lightning::types::payment::{PaymentHash, PaymentPreimage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::{Key, Store, StoreError, namespace};
use crate::time;

/// Which way a payment went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    Outgoing,
    Incoming,
}

/// How far a payment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Pending,
    Succeeded,
    Failed,
}

/// One payment, as it is stored and as `listpayments` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Payment {
    pub payment_hash: String,
    pub direction: Direction,
    /// `invoice` or `keysend`.
    pub kind: String,
    pub status: Status,
    pub amount_msat: u64,
    pub fee_msat: Option<u64>,
    pub preimage: Option<String>,
    pub invoice: Option<String>,
    pub failure: Option<String>,
    /// Paths that carried an outgoing payment.
    pub parts: Option<u32>,
    /// The longest of them, hop by hop.
    pub hops: Option<Value>,
    pub created_us: u64,
    pub settled_us: Option<u64>,
}

impl Payment {
    pub(crate) fn outgoing(hash: PaymentHash, kind: &str, amount_msat: u64) -> Self {
        Self::new(hash, Direction::Outgoing, kind, amount_msat)
    }

    pub(crate) fn received(
        hash: PaymentHash,
        kind: &str,
        amount_msat: u64,
        preimage: Option<PaymentPreimage>,
    ) -> Self {
        let mut payment = Self::new(hash, Direction::Incoming, kind, amount_msat);
        payment.status = Status::Succeeded;
        payment.preimage = preimage.map(|preimage| preimage.0.to_lower_hex_string());
        payment.settled_us = Some(payment.created_us);
        payment
    }

    fn new(hash: PaymentHash, direction: Direction, kind: &str, amount_msat: u64) -> Self {
        Payment {
            payment_hash: hash.0.to_lower_hex_string(),
            direction,
            kind: kind.to_owned(),
            status: Status::Pending,
            amount_msat,
            fee_msat: None,
            preimage: None,
            invoice: None,
            failure: None,
            parts: None,
            hops: None,
            created_us: time::now_us(),
            settled_us: None,
        }
    }
}

type Id = (Direction, PaymentHash);

/// All payments of this node.
pub(crate) struct Ledger {
    store: Arc<Store>,
    payments: Mutex<HashMap<Id, Payment>>,
}

impl Ledger {
    /// Reads the payments in the store.
    pub(crate) fn read(store: Arc<Store>) -> Result<Self, StoreError> {
        let mut payments = HashMap::new();
        for name in store.list(namespace::PAYMENTS, "")? {
            let bytes = store
                .read(&Key::new(namespace::PAYMENTS, "", &name))?
                .unwrap_or_default();
            let damaged =
                |why: String| store.damaged(format!("the payment {name} cannot be read: {why}"));
            let payment: Payment =
                serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
            let hash = <[u8; 32]>::from_hex(&payment.payment_hash)
                .map_err(|error| damaged(error.to_string()))?;
            payments.insert((payment.direction, PaymentHash(hash)), payment);
        }
        Ok(Ledger {
            store,
            payments: Mutex::new(payments),
        })
    }

    pub(crate) fn get(&self, direction: Direction, hash: PaymentHash) -> Option<Payment> {
        self.payments().get(&(direction, hash)).cloned()
    }

    /// All payments, oldest first.
    pub(crate) fn all(&self) -> Vec<Payment> {
        let mut payments: Vec<Payment> = self.payments().values().cloned().collect();
        payments
            .sort_by(|a, b| (a.created_us, &a.payment_hash).cmp(&(b.created_us, &b.payment_hash)));
        payments
    }

    /// Starts a record, unless `refuse` finds a reason in the one that is there.
    pub(crate) fn begin<E>(
        &self,
        hash: PaymentHash,
        payment: Payment,
        refuse: impl FnOnce(&Payment) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut payments = self.payments();
        let id = (payment.direction, hash);
        if let Some(known) = payments.get(&id) {
            refuse(known)?;
        }
        self.stage(id, &payment);
        payments.insert(id, payment);
        Ok(())
    }

    /// Whether a payment with this hash has come in already.
    pub(crate) fn has_received(&self, hash: PaymentHash) -> bool {
        self.get(Direction::Incoming, hash)
            .is_some_and(|payment| payment.status == Status::Succeeded)
    }

    /// Puts a record, whether or not there is one. LDK may tell of the same payment again:
    /// the times stay those of the first.
    pub(crate) fn put(&self, hash: PaymentHash, mut payment: Payment) {
        let id = (payment.direction, hash);
        if let Some(known) = self.payments().get(&id) {
            payment.created_us = known.created_us;
            payment.settled_us = known.settled_us.or(payment.settled_us);
        }
        self.stage(id, &payment);
        self.payments().insert(id, payment);
    }

    /// Changes a record, if there is one.
    pub(crate) fn update(
        &self,
        direction: Direction,
        hash: PaymentHash,
        change: impl FnOnce(&mut Payment),
    ) {
        let id = (direction, hash);
        if let Some(payment) = self.payments().get_mut(&id) {
            change(payment);
            self.stage(id, payment);
        }
    }

    /// Payments that were sent and have no end yet.
    pub(crate) fn pending_outgoing(&self) -> Vec<PaymentHash> {
        let payments = self.payments();
        payments
            .iter()
            .filter(|((direction, _), payment)| {
                *direction == Direction::Outgoing && payment.status == Status::Pending
            })
            .map(|((_, hash), _)| *hash)
            .collect()
    }

    fn stage(&self, (direction, hash): Id, payment: &Payment) {
        if !self.store.is_durable() {
            return;
        }
        let prefix = match direction {
            Direction::Outgoing => "out",
            Direction::Incoming => "in",
        };
        let name = format!("{prefix}-{}", hash.0.to_lower_hex_string());
        // A struct of strings and numbers always serialises.
        let bytes = serde_json::to_vec(payment).unwrap_or_default();
        self.store
            .stage(Key::new(namespace::PAYMENTS, "", &name), Some(bytes));
    }

    fn payments(&self) -> std::sync::MutexGuard<'_, HashMap<Id, Payment>> {
        self.payments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::StoreKind;

    #[test]
    fn a_payment_that_is_told_of_twice_keeps_its_first_times() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Arc::new(Store::open(StoreKind::Memory, dir.path()).expect("opens"));
        let ledger = Ledger::read(store).expect("reads");
        let hash = PaymentHash([1; 32]);
        let mut payment = Payment::received(hash, "invoice", 5_000, None);
        (payment.created_us, payment.settled_us) = (1, Some(2));
        assert!(!ledger.has_received(hash));
        ledger.put(hash, payment.clone());
        assert!(ledger.has_received(hash));
        ledger.put(hash, Payment::received(hash, "invoice", 5_000, None));
        assert_eq!(ledger.all(), [payment]);
    }

    #[test]
    fn payments_are_there_after_reopening_the_store() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = || Arc::new(Store::open(StoreKind::Sqlite, dir.path()).expect("opens"));
        let store = open();
        let ledger = Ledger::read(Arc::clone(&store)).expect("reads");
        let hash = PaymentHash([1; 32]);
        ledger
            .begin::<()>(hash, Payment::outgoing(hash, "keysend", 5_000), |_| Err(()))
            .expect("begins");
        assert!(
            ledger
                .begin::<()>(hash, Payment::outgoing(hash, "keysend", 5_000), |_| Err(()))
                .is_err()
        );
        assert_eq!(ledger.pending_outgoing(), [hash]);
        ledger.update(Direction::Outgoing, hash, |payment| {
            payment.status = Status::Succeeded;
            payment.fee_msat = Some(7);
        });
        assert!(ledger.pending_outgoing().is_empty());
        let before = ledger.all();
        store.commit(store.take_staged()).expect("commits");
        drop((ledger, store));

        let after = Ledger::read(open()).expect("reads again").all();
        assert_eq!(after, before);
        assert_eq!(after[0].fee_msat, Some(7));
    }
}
