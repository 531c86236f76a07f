//! Sending: pay an invoice, send spontaneously, ask for a route.
//!
//! A payment is begun here; its end comes as an event of LDK's. The events module writes it
//! into the ledger, and once that is committed [`Waiting`] wakes the caller.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bitcoin::hashes::Hash as _;
use bitcoin::secp256k1::PublicKey;
use lightning::ln::channelmanager::{
    Bolt11PaymentError, PaymentId, RecipientOnionFields, Retry, RetryableSendFailure,
};
use lightning::routing::router::{
    InFlightHtlcs, PaymentParameters, Route, RouteParameters, RouteParametersConfig, Router as _,
};
use lightning::types::payment::{PaymentHash, PaymentPreimage};
use tokio::sync::oneshot;

use super::failure::{self, EXPIRED, NO_ROUTE};
use super::invoice::{self, InvoiceError};
use super::ledger::{Direction, Payment, Status};
use crate::node::Node;

/// How long to wait for LDK's last word after a payment was given up.
const LAST_WORD: Duration = Duration::from_millis(100);
/// BOLT 11's default, which keysend has to choose for itself.
const KEYSEND_FINAL_CLTV: u32 = 40;

/// A payment that was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayError {
    #[error(transparent)]
    Invoice(#[from] InvoiceError),
    #[error("the invoice is for {0}, this node is on regtest")]
    Network(String),
    #[error("the invoice expired {0} seconds ago")]
    Expired(u64),
    #[error("the invoice names no amount: give amount_msat")]
    AmountMissing,
    #[error("the invoice asks for {asked} msat, {given} msat is less")]
    AmountTooSmall { asked: u64, given: u64 },
    #[error("this node cannot pay itself")]
    ToSelf,
    #[error("this invoice is already paid")]
    AlreadyPaid,
    #[error("a payment of this invoice is under way")]
    UnderWay,
    #[error("{0}")]
    Failed(String),
    #[error("timed out after {after_ms} ms: {state}")]
    TimedOut { after_ms: u128, state: String },
    #[error("the node is stopping")]
    Stopping,
}

impl PayError {
    /// One word for why a payment failed, for callers that decide by it; `None` where the request
    /// itself was wrong and nothing was tried.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match self {
            PayError::Expired(_) => Some("invoice_expired"),
            PayError::AlreadyPaid => Some("already_paid"),
            PayError::UnderWay => Some("under_way"),
            PayError::TimedOut { .. } => Some("timed_out"),
            PayError::Failed(words) => Some(failure::reason_word(words)),
            _ => None,
        }
    }
}

/// Callers who wait for the end of a payment.
#[derive(Default)]
pub(crate) struct Waiting {
    callers: Mutex<HashMap<PaymentId, oneshot::Sender<()>>>,
}

impl Waiting {
    fn register(&self, payment: PaymentId) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.callers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(payment, sender);
        receiver
    }

    /// Wakes whoever waits for this payment: its end stands in the ledger.
    pub(crate) fn ended(&self, payment: &PaymentId) {
        let caller = self
            .callers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(payment);
        if let Some(caller) = caller {
            let _ = caller.send(());
        }
    }
}

/// A request to pay an invoice.
pub(crate) struct InvoicePayment {
    pub invoice: String,
    pub amount_msat: Option<u64>,
    pub max_fee_msat: Option<u64>,
    pub timeout: Duration,
}

/// Pays an invoice and waits for the end.
pub(crate) async fn pay_invoice(node: &Node, request: InvoicePayment) -> Result<Payment, PayError> {
    let invoice = invoice::parse(&request.invoice)?;
    let network = bitcoin::Network::from(invoice.currency());
    if network != bitcoin::Network::Regtest {
        return Err(PayError::Network(network.to_string()));
    }
    if invoice.get_payee_pub_key() == node.id {
        return Err(PayError::ToSelf);
    }
    if invoice.is_expired() {
        let ends = invoice.expires_at().unwrap_or_default();
        let ago = crate::time::since_epoch().saturating_sub(ends);
        return Err(PayError::Expired(ago.as_secs()));
    }
    let amount_msat = match (invoice.amount_milli_satoshis(), request.amount_msat) {
        (Some(asked), Some(given)) if given < asked => {
            return Err(PayError::AmountTooSmall { asked, given });
        }
        (asked, given) => given.or(asked).ok_or(PayError::AmountMissing)?,
    };
    let hash = PaymentHash(invoice.payment_hash().to_byte_array());
    let id = PaymentId(hash.0);
    let mut record = Payment::outgoing(hash, "invoice", amount_msat);
    record.invoice = Some(request.invoice.trim().to_owned());
    let waiting = begin(node, id, hash, record)?;
    let limits = RouteParametersConfig {
        max_total_routing_fee_msat: request.max_fee_msat,
        ..RouteParametersConfig::default()
    };
    let sent = node.manager.pay_for_bolt11_invoice(
        &invoice,
        id,
        request
            .amount_msat
            .or(match invoice.amount_milli_satoshis() {
                None => Some(amount_msat),
                Some(_) => None,
            }),
        limits,
        Retry::Timeout(request.timeout),
    );
    if let Err(error) = sent {
        let failure = match error {
            Bolt11PaymentError::InvalidAmount => {
                PayError::Failed("the amount does not fit the invoice".to_owned())
            }
            Bolt11PaymentError::SendingFailed(error) => not_sent(node, &id, error),
        };
        return Err(abort(node, id, hash, failure));
    }
    conclude(node, id, hash, waiting, request.timeout).await
}

/// A request to send without an invoice.
pub(crate) struct Keysend {
    pub payee: PublicKey,
    pub amount_msat: u64,
    pub max_fee_msat: Option<u64>,
    pub timeout: Duration,
}

/// Sends spontaneously and waits for the end.
pub(crate) async fn keysend(node: &Node, request: Keysend) -> Result<Payment, PayError> {
    if request.payee == node.id {
        return Err(PayError::ToSelf);
    }
    let preimage = PaymentPreimage(node.keys.random_bytes());
    let hash = PaymentHash::from(preimage);
    let id = PaymentId(hash.0);
    let waiting = begin(
        node,
        id,
        hash,
        Payment::outgoing(hash, "keysend", request.amount_msat),
    )?;
    let params = PaymentParameters::for_keysend(request.payee, KEYSEND_FINAL_CLTV, false);
    let mut params = RouteParameters::from_payment_params_and_value(params, request.amount_msat);
    if let Some(most) = request.max_fee_msat {
        params.max_total_routing_fee_msat = Some(most);
    }
    let sent = node.manager.send_spontaneous_payment(
        Some(preimage),
        RecipientOnionFields::spontaneous_empty(),
        id,
        params,
        Retry::Timeout(request.timeout),
    );
    if let Err(error) = sent {
        let failure = not_sent(node, &id, error);
        return Err(abort(node, id, hash, failure));
    }
    conclude(node, id, hash, waiting, request.timeout).await
}

/// Looks for a route to a node, as a payment sent now would.
pub(crate) fn find_route(
    node: &Node,
    payee: PublicKey,
    amount_msat: u64,
) -> Result<Route, &'static str> {
    if payee == node.id {
        return Err("a route to itself needs no channel");
    }
    let params = PaymentParameters::for_keysend(payee, KEYSEND_FINAL_CLTV, false);
    let params = RouteParameters::from_payment_params_and_value(params, amount_msat);
    let channels = node.manager.list_usable_channels();
    let first_hops: Vec<_> = channels.iter().collect();
    node.routes
        .find_route(&node.id, &params, Some(&first_hops), InFlightHtlcs::new())
}

fn begin(
    node: &Node,
    id: PaymentId,
    hash: PaymentHash,
    record: Payment,
) -> Result<oneshot::Receiver<()>, PayError> {
    node.ledger
        .begin(hash, record, |known| match known.status {
            Status::Succeeded => Err(PayError::AlreadyPaid),
            Status::Pending => Err(PayError::UnderWay),
            // A payment that failed may be tried again.
            Status::Failed => Ok(()),
        })?;
    Ok(node.waiting.register(id))
}

/// Words for a payment that did not even leave.
fn not_sent(node: &Node, id: &PaymentId, error: RetryableSendFailure) -> PayError {
    let words = match error {
        RetryableSendFailure::RouteNotFound => match node.routes.take(id) {
            Some(Err(why)) => format!("{NO_ROUTE}: {why}"),
            _ => NO_ROUTE.to_owned(),
        },
        RetryableSendFailure::PaymentExpired => EXPIRED.to_owned(),
        RetryableSendFailure::DuplicatePayment => return PayError::UnderWay,
        RetryableSendFailure::OnionPacketSizeExceeded => {
            "the route is too long for an onion".to_owned()
        }
    };
    PayError::Failed(words)
}

/// Ends a payment that LDK did not take.
fn abort(node: &Node, id: PaymentId, hash: PaymentHash, failure: PayError) -> PayError {
    node.waiting.ended(&id);
    node.ledger.update(Direction::Outgoing, hash, |payment| {
        payment.status = Status::Failed;
        payment.failure = Some(failure.to_string());
        payment.settled_us = Some(crate::time::now_us());
    });
    failure
}

async fn conclude(
    node: &Node,
    id: PaymentId,
    hash: PaymentHash,
    mut ended: oneshot::Receiver<()>,
    timeout: Duration,
) -> Result<Payment, PayError> {
    // LDK's own loop would find the message soon; this sends it now.
    node.peers.process_events();
    let in_time = tokio::time::timeout(timeout, &mut ended).await;
    let timed_out = in_time.is_err();
    if timed_out {
        node.manager.abandon_payment(id);
        let _ = tokio::time::timeout(LAST_WORD, &mut ended).await;
    }
    let Some(payment) = node.ledger.get(Direction::Outgoing, hash) else {
        return Err(PayError::Stopping);
    };
    match payment.status {
        Status::Succeeded => Ok(payment),
        Status::Failed if !timed_out => Err(PayError::Failed(
            payment.failure.unwrap_or_else(|| "it failed".to_owned()),
        )),
        Status::Failed => Err(PayError::TimedOut {
            after_ms: timeout.as_millis(),
            state: payment
                .failure
                .unwrap_or_else(|| "the payment is given up".to_owned()),
        }),
        Status::Pending if timed_out => Err(PayError::TimedOut {
            after_ms: timeout.as_millis(),
            state: "the payment is given up, but an HTLC is still out and may yet succeed"
                .to_owned(),
        }),
        Status::Pending => Err(PayError::Stopping),
    }
}
