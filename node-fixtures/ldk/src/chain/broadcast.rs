//! Sends transactions to bitcoind.
//!
//! LDK broadcasts from under its locks, so a transaction is only queued there; a thread
//! sends it. Each is kept, in the store too, until it is confirmed or hopeless, and sent
//! again after each block, when bitcoind comes back after it was away, and at the next start:
//! LDK forgets a closed channel long before its closing transaction is buried, and a bitcoind
//! that dies may forget its mempool. What found no bitcoind at all is tried again soon.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bitcoin::{Transaction, Txid, consensus};
use lightning::chain::chaininterface::BroadcasterInterface;

use super::client::{Bitcoind, ChainError, code};
use crate::log::{Log, log_at};
use crate::store::{Key, Store, StoreError, namespace};

/// Blocks after which a transaction that bitcoind keeps refusing is given up.
const MOST_TRIES: u32 = 144;
/// How soon to try again when bitcoind did not answer.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(250);

enum Order {
    Send(Vec<Transaction>),
    SendAgain,
    Stop,
}

/// A transaction that is not known to be confirmed.
struct Open {
    transaction: Transaction,
    /// How often bitcoind has answered to it.
    tries: u32,
}

pub(crate) struct Broadcaster {
    orders: Sender<Order>,
    open: Mutex<HashMap<Txid, Open>>,
    bitcoind: Arc<Bitcoind>,
    store: Arc<Store>,
    log: Arc<Log>,
}

impl Broadcaster {
    /// Starts the sending thread, first with what an earlier run has left open.
    pub(crate) fn start(
        bitcoind: Arc<Bitcoind>,
        store: Arc<Store>,
        log: Arc<Log>,
    ) -> Result<Arc<Self>, StartBroadcastError> {
        let (orders, inbox) = mpsc::channel();
        let broadcaster = Arc::new(Broadcaster {
            orders,
            open: Mutex::new(read_open(&store)?),
            bitcoind,
            store,
            log,
        });
        broadcaster.send_again();
        let worker = Arc::clone(&broadcaster);
        std::thread::Builder::new()
            .name("broadcast".to_owned())
            .spawn(move || worker.work(&inbox))?;
        Ok(broadcaster)
    }

    /// Sends again what is still open; called after each block, and when bitcoind is back.
    pub(crate) fn send_again(&self) {
        let _ = self.orders.send(Order::SendAgain);
    }

    /// Ends the thread after what is queued.
    pub(crate) fn stop(&self) {
        let _ = self.orders.send(Order::Stop);
    }

    /// Sends one transaction now and tells what bitcoind says; one it already has is fine.
    pub(crate) fn send_now(&self, transaction: &Transaction) -> Result<(), ChainError> {
        match self.bitcoind.send(transaction) {
            Err(error) if error.code() == Some(code::ALREADY_IN_UTXO_SET) => Ok(()),
            answer => answer,
        }
    }

    fn work(&self, inbox: &Receiver<Order>) {
        // What found no bitcoind, as it was handed in: a child may need its parent beside it.
        let mut delayed: Vec<Vec<Transaction>> = Vec::new();
        loop {
            let order = if delayed.is_empty() {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                inbox.recv_timeout(TRY_AGAIN_AFTER)
            };
            let mut batches = match order {
                Ok(Order::Send(transactions)) => vec![transactions],
                Ok(Order::SendAgain) => {
                    let mut batches = std::mem::take(&mut delayed);
                    let open = self.open();
                    batches.extend(open.values().map(|open| vec![open.transaction.clone()]));
                    batches
                }
                Err(RecvTimeoutError::Timeout) => std::mem::take(&mut delayed),
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            };
            batches.retain(|batch| !self.send(batch) && !delayed.contains(batch));
            delayed.append(&mut batches);
        }
    }

    /// Sends transactions that belong together; false if bitcoind did not answer, so that they
    /// should be tried again soon.
    fn send(&self, transactions: &[Transaction]) -> bool {
        let mut refusals = Vec::new();
        for transaction in transactions {
            let txid = transaction.compute_txid();
            match self.bitcoind.send(transaction) {
                // bitcoind also answers this for one that is in its mempool already.
                Ok(()) => {
                    log_at!(self.log, Debug, "transaction {txid} is in the mempool");
                    self.tried(txid);
                }
                Err(error) if error.code() == Some(code::ALREADY_IN_UTXO_SET) => {
                    self.forget(txid);
                }
                Err(error) if error.is_passing() => {
                    log_at!(self.log, Debug, "transaction {txid} has to wait: {error}");
                    return false;
                }
                Err(error) => refusals.push((txid, error)),
            }
        }
        if refusals.is_empty() {
            return true;
        }
        // A parent below the mempool's minimum may still come in with its child.
        if transactions.len() > 1 && self.bitcoind.submit_package(transactions).is_ok() {
            for (txid, _) in refusals {
                self.tried(txid);
            }
            return true;
        }
        for (txid, error) in refusals {
            let is_new = self.open().get(&txid).is_some_and(|open| open.tries == 0);
            if error.code() == Some(code::MISSING_INPUTS) && !is_new {
                log_at!(self.log, Debug, "transaction {txid} is spent or superseded");
                self.forget(txid);
            } else if error.is_conflict() {
                // Both sides of a forced close have a commitment transaction, and LDK signs a
                // pending claim anew with each block: the one in the mempool stays.
                log_at!(
                    self.log,
                    Debug,
                    "transaction {txid} does not replace the one in the mempool: {error}"
                );
                if is_new {
                    self.forget(txid);
                }
            } else {
                log_at!(
                    self.log,
                    Warn,
                    "transaction {txid} was not accepted: {error}"
                );
                self.tried(txid);
            }
        }
        true
    }

    /// Remembers a transaction for [`Broadcaster::send_again`] and for the next start.
    fn keep(&self, transaction: &Transaction) {
        let txid = transaction.compute_txid();
        let mut open = self.open();
        if open.contains_key(&txid) {
            return;
        }
        let bytes = consensus::encode::serialize(transaction);
        let (transaction, tries) = (transaction.clone(), 0);
        open.insert(txid, Open { transaction, tries });
        if self.store.is_durable() {
            self.store.stage(key(txid), Some(bytes));
        }
    }

    /// Counts an answer of bitcoind's, up to a number.
    fn tried(&self, txid: Txid) {
        let mut open = self.open();
        let is_enough = open.get_mut(&txid).is_some_and(|open| {
            open.tries += 1;
            open.tries > MOST_TRIES
        });
        drop(open);
        if is_enough {
            self.forget(txid);
        }
    }

    fn forget(&self, txid: Txid) {
        if self.open().remove(&txid).is_some() && self.store.is_durable() {
            self.store.stage(key(txid), None);
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<Txid, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sending thread that cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartBroadcastError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Thread(#[from] std::io::Error),
}

fn key(txid: Txid) -> Key {
    Key::new(namespace::BROADCASTS, "", &txid.to_string())
}

fn read_open(store: &Store) -> Result<HashMap<Txid, Open>, StoreError> {
    let mut open = HashMap::new();
    for name in store.list(namespace::BROADCASTS, "")? {
        let bytes = store
            .read(&Key::new(namespace::BROADCASTS, "", &name))?
            .unwrap_or_default();
        let transaction: Transaction = consensus::deserialize(&bytes).map_err(|error| {
            store.damaged(format!("the transaction {name} cannot be read: {error}"))
        })?;
        // Once tried: if its inputs are gone by now, so is the need for it.
        let tries = 1;
        open.insert(transaction.compute_txid(), Open { transaction, tries });
    }
    Ok(open)
}

impl BroadcasterInterface for Broadcaster {
    fn broadcast_transactions(&self, transactions: &[&Transaction]) {
        for transaction in transactions {
            self.keep(transaction);
        }
        let transactions = transactions.iter().map(|tx| (*tx).clone()).collect();
        let _ = self.orders.send(Order::Send(transactions));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use bitcoin::absolute::LockTime;
    use bitcoin::transaction::Version;

    use super::*;
    use crate::options::{self, Options, Request, StoreKind};

    /// Options for a bitcoind that is not there.
    fn options(dir: &Path) -> Options {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
        let url = format!("http://{}", listener.local_addr().expect("has an address"));
        let dir = dir.display().to_string();
        let args = [
            ("--data-dir", dir.as_str()),
            ("--rpc-socket", "/nowhere"),
            ("--listen", "127.0.0.1:0"),
            ("--bitcoind-url", url.as_str()),
            ("--bitcoind-user", "u"),
            ("--bitcoind-password", "p"),
            ("--bitcoind-wallet", "w"),
            ("--log-file", "/dev/null"),
        ];
        let args = args.iter().flat_map(|(name, value)| [name, value]);
        match options::parse(args.map(OsString::from).collect()) {
            Ok(Request::Run(options)) => *options,
            other => panic!("expected to run, got {other:?}"),
        }
    }

    #[test]
    fn a_transaction_that_found_no_bitcoind_is_there_at_the_next_start() {
        let dir = tempfile::tempdir().expect("a directory");
        let options = options(dir.path());
        let start = || {
            let store = Arc::new(Store::open(StoreKind::Sqlite, dir.path()).expect("opens"));
            let log = Log::open(options.log_file.as_deref(), options.log_level).expect("opens");
            let bitcoind = Arc::new(Bitcoind::new(&options));
            let broadcaster =
                Broadcaster::start(bitcoind, Arc::clone(&store), Arc::new(log)).expect("starts");
            (store, broadcaster)
        };
        let transaction = Transaction {
            version: Version::TWO,
            lock_time: LockTime::ZERO,
            input: vec![bitcoin::TxIn::default()],
            output: Vec::new(),
        };
        let txid = transaction.compute_txid();
        let (store, broadcaster) = start();
        broadcaster.broadcast_transactions(&[&transaction]);
        store.commit(store.take_staged()).expect("commits");
        broadcaster.stop();

        let (store, broadcaster) = start();
        assert!(broadcaster.open().contains_key(&txid));
        broadcaster.forget(txid);
        store.commit(store.take_staged()).expect("commits");
        broadcaster.stop();

        let (_, broadcaster) = start();
        assert!(broadcaster.open().is_empty());
        broadcaster.stop();
    }
}
