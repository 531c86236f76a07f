//! Invoices and payments.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::super::protocol::{Failure, code};
use super::{Answer, node_id};
use crate::node::Node;
use crate::payments::{self, InvoicePayment, Keysend, PayError, Payment};

const DEFAULT_TIMEOUT_MS: u64 = 60_000;
const DEFAULT_EXPIRY_SECONDS: u32 = 3600;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Invoice {
    amount_msat: Option<u64>,
    #[serde(default)]
    description: String,
    expiry_seconds: Option<u32>,
}

pub(super) fn invoice(node: &Node, params: &Invoice) -> Answer {
    let expiry_seconds = params.expiry_seconds.unwrap_or(DEFAULT_EXPIRY_SECONDS);
    let invoice = payments::create_invoice(
        node,
        params.amount_msat,
        &params.description,
        expiry_seconds,
    )
    .map_err(|error| Failure::new(code::PAYMENT, error))?;
    Ok(json!({
        "invoice": invoice.to_string(),
        "payment_hash": invoice.payment_hash().to_string(),
        "amount_msat": params.amount_msat,
        "expiry_seconds": expiry_seconds,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecodeInvoice {
    invoice: String,
}

pub(super) fn decodeinvoice(params: &DecodeInvoice) -> Answer {
    payments::describe_invoice(&params.invoice).map_err(|error| Failure::new(code::PAYMENT, error))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pay {
    invoice: String,
    amount_msat: Option<u64>,
    timeout_ms: Option<u64>,
    max_fee_msat: Option<u64>,
}

pub(super) async fn pay(node: &Arc<Node>, params: Pay) -> Answer {
    let request = InvoicePayment {
        invoice: params.invoice,
        amount_msat: params.amount_msat,
        max_fee_msat: params.max_fee_msat,
        timeout: timeout(params.timeout_ms),
    };
    outcome(payments::pay_invoice(node, request).await)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpontaneousPayment {
    id: String,
    amount_msat: u64,
    timeout_ms: Option<u64>,
    max_fee_msat: Option<u64>,
}

pub(super) async fn keysend(node: &Arc<Node>, params: SpontaneousPayment) -> Answer {
    let request = Keysend {
        payee: node_id(&params.id)?,
        amount_msat: params.amount_msat,
        max_fee_msat: params.max_fee_msat,
        timeout: timeout(params.timeout_ms),
    };
    outcome(payments::keysend(node, request).await)
}

fn timeout(timeout_ms: Option<u64>) -> Duration {
    Duration::from_millis(timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS))
}

fn outcome(outcome: Result<Payment, PayError>) -> Answer {
    let payment = outcome.map_err(|error| {
        let code = match error {
            PayError::TimedOut { .. } => code::TIMEOUT,
            PayError::Stopping => code::STOPPING,
            _ => code::PAYMENT,
        };
        let data = error.reason().map(|reason| json!({ "reason": reason }));
        let failure = Failure::new(code, error);
        match data {
            Some(data) => failure.with(data),
            None => failure,
        }
    })?;
    Ok(json!({
        "payment_hash": payment.payment_hash,
        "preimage": payment.preimage,
        "amount_msat": payment.amount_msat,
        "fee_msat": payment.fee_msat,
        "parts": payment.parts,
        "hops": payment.hops,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListPayments {
    payment_hash: Option<String>,
    /// Only so many, the last ones.
    latest: Option<usize>,
}

pub(super) fn listpayments(node: &Node, params: &ListPayments) -> Answer {
    let mut payments = node.ledger.all();
    if let Some(hash) = &params.payment_hash {
        payments.retain(|payment| payment.payment_hash == *hash);
    }
    if let Some(latest) = params.latest {
        let before = payments.len().saturating_sub(latest);
        payments.drain(..before);
    }
    Ok(json!({ "payments": payments }))
}
