//! Payments: sent over BOLT 11 invoices and as keysend, received, and remembered.
//!
//! `send` and `invoice` are what a caller asks for; `ledger` is the record of each payment;
//! `routes` remembers which route a payment took (LDK tells that only long after it has
//! succeeded); `failure` finds the words for one that failed.

pub(crate) mod failure;
mod invoice;
mod ledger;
mod routes;
mod send;

pub(crate) use failure::HopFailures;
pub(crate) use invoice::{create as create_invoice, describe as describe_invoice};
pub(crate) use ledger::{Direction, Ledger, Payment, Status};
pub(crate) use routes::{Routes, Scorer, Scores, describe as describe_route};
pub(crate) use send::{
    InvoicePayment, Keysend, PayError, Waiting, find_route, keysend, pay_invoice,
};
