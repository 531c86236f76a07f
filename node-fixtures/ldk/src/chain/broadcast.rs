//! Sends transactions to bitcoind.
//!
//! LDK broadcasts from under its locks, so a transaction is only queued there; a thread
//! sends it. What bitcoind does not have yet (it was away, or the transaction conflicts for
//! the moment) is sent again after each block until it is confirmed or hopeless.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use bitcoin::{Transaction, Txid};
use lightning::chain::chaininterface::BroadcasterInterface;

use super::client::{Bitcoind, ChainError, code};
use crate::log::{Log, log_at};

/// Blocks after which a transaction that bitcoind keeps refusing is given up.
const MOST_TRIES: u32 = 144;

enum Order {
    Send(Vec<Transaction>),
    SendAgain,
    Stop,
}

pub(crate) struct Broadcaster {
    orders: Sender<Order>,
    /// Transactions that are not known to be confirmed, and how often they were tried.
    open: Mutex<HashMap<Txid, (Transaction, u32)>>,
    bitcoind: Arc<Bitcoind>,
    log: Arc<Log>,
}

impl Broadcaster {
    /// Starts the sending thread.
    pub(crate) fn start(bitcoind: Arc<Bitcoind>, log: Arc<Log>) -> std::io::Result<Arc<Self>> {
        let (orders, inbox) = mpsc::channel();
        let broadcaster = Arc::new(Broadcaster {
            orders,
            open: Mutex::default(),
            bitcoind,
            log,
        });
        let worker = Arc::clone(&broadcaster);
        std::thread::Builder::new()
            .name("broadcast".to_owned())
            .spawn(move || worker.work(&inbox))?;
        Ok(broadcaster)
    }

    /// Sends again what is still open; called after each block.
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
        while let Ok(order) = inbox.recv() {
            match order {
                Order::Send(transactions) => self.send(&transactions),
                Order::SendAgain => {
                    let open: Vec<Transaction> = self
                        .open()
                        .values()
                        .map(|(transaction, _)| transaction.clone())
                        .collect();
                    for transaction in open {
                        self.send(&[transaction]);
                    }
                }
                Order::Stop => return,
            }
        }
    }

    fn send(&self, transactions: &[Transaction]) {
        let mut refusals = Vec::new();
        for transaction in transactions {
            let txid = transaction.compute_txid();
            match self.bitcoind.send(transaction) {
                // bitcoind also answers this for one that is in its mempool already.
                Ok(()) => {
                    log_at!(self.log, Debug, "transaction {txid} is in the mempool");
                    self.keep(transaction);
                }
                Err(error) if error.code() == Some(code::ALREADY_IN_UTXO_SET) => {
                    self.open().remove(&txid);
                }
                Err(error) => refusals.push((transaction, txid, error)),
            }
        }
        if refusals.is_empty() {
            return;
        }
        // A parent below the mempool's minimum may still come in with its child.
        if transactions.len() > 1 && self.bitcoind.submit_package(transactions).is_ok() {
            for transaction in transactions {
                self.keep(transaction);
            }
            return;
        }
        for (transaction, txid, error) in refusals {
            if error.code() == Some(code::MISSING_INPUTS) && self.open().remove(&txid).is_some() {
                log_at!(self.log, Debug, "transaction {txid} is spent or superseded");
                continue;
            }
            // Both sides of a forced close have a commitment transaction, and LDK signs a
            // pending claim anew with each block: the one in the mempool stays.
            if error.is_conflict() {
                log_at!(
                    self.log,
                    Debug,
                    "transaction {txid} does not replace the one in the mempool: {error}"
                );
                continue;
            }
            log_at!(
                self.log,
                Warn,
                "transaction {txid} was not accepted: {error}"
            );
            self.keep(transaction);
        }
    }

    /// Remembers a transaction for [`Broadcaster::send_again`], up to a number of tries.
    fn keep(&self, transaction: &Transaction) {
        let txid = transaction.compute_txid();
        let mut open = self.open();
        let tries = open.get(&txid).map_or(0, |(_, tries)| *tries) + 1;
        if tries > MOST_TRIES {
            open.remove(&txid);
        } else {
            open.insert(txid, (transaction.clone(), tries));
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<Txid, (Transaction, u32)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BroadcasterInterface for Broadcaster {
    fn broadcast_transactions(&self, transactions: &[&Transaction]) {
        let transactions = transactions.iter().map(|tx| (*tx).clone()).collect();
        let _ = self.orders.send(Order::Send(transactions));
    }
}
