//! BOLT 11 invoices: made and explained.

use bitcoin::hex::DisplayHex as _;
use lightning::ln::channelmanager::Bolt11InvoiceParameters;
use lightning_invoice::{
    Bolt11Invoice, Bolt11InvoiceDescription, Bolt11InvoiceDescriptionRef, Description,
};
use serde_json::{Value, json};

use crate::channels::scid_text;
use crate::node::Node;

/// An invoice that cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvoiceError {
    #[error("the description is too long: BOLT 11 allows 639 bytes")]
    Description,
    #[error("the invoice cannot be made: {0}")]
    Make(String),
    #[error("this is no valid BOLT 11 invoice: {0}")]
    Read(String),
}

/// Makes an invoice. Private channels go in as route hints.
pub(crate) fn create(
    node: &Node,
    amount_msat: Option<u64>,
    description: &str,
    expiry_seconds: u32,
) -> Result<Bolt11Invoice, InvoiceError> {
    let description =
        Description::new(description.to_owned()).map_err(|_| InvoiceError::Description)?;
    node.manager
        .create_bolt11_invoice(Bolt11InvoiceParameters {
            amount_msats: amount_msat,
            description: Bolt11InvoiceDescription::Direct(description),
            invoice_expiry_delta_secs: Some(expiry_seconds),
            ..Bolt11InvoiceParameters::default()
        })
        .map_err(|error| InvoiceError::Make(error.to_string()))
}

/// Reads an invoice from its text.
pub(crate) fn parse(text: &str) -> Result<Bolt11Invoice, InvoiceError> {
    text.trim()
        .parse()
        .map_err(|error| InvoiceError::Read(format!("{error}")))
}

/// What stands in an invoice.
pub(crate) fn describe(text: &str) -> Result<Value, InvoiceError> {
    let invoice = parse(text)?;
    let (description, description_hash) = match invoice.description() {
        Bolt11InvoiceDescriptionRef::Direct(text) => (Some(text.to_string()), None),
        Bolt11InvoiceDescriptionRef::Hash(hash) => (None, Some(hash.0.to_string())),
    };
    let route_hints: Vec<Value> = invoice
        .route_hints()
        .iter()
        .map(|hint| {
            hint.0
                .iter()
                .map(|hop| {
                    json!({
                        "id": hop.src_node_id.to_string(),
                        "scid": scid_text(hop.short_channel_id),
                        "fee_base_msat": hop.fees.base_msat,
                        "fee_proportional_millionths": hop.fees.proportional_millionths,
                        "cltv_expiry_delta": hop.cltv_expiry_delta,
                    })
                })
                .collect()
        })
        .collect();
    Ok(json!({
        "network": bitcoin::Network::from(invoice.currency()).to_string(),
        "payee": invoice.get_payee_pub_key().to_string(),
        "payment_hash": invoice.payment_hash().to_string(),
        "payment_secret": invoice.payment_secret().0.to_lower_hex_string(),
        "amount_msat": invoice.amount_milli_satoshis(),
        "description": description,
        "description_hash": description_hash,
        "created_seconds": invoice.duration_since_epoch().as_secs(),
        "expiry_seconds": invoice.expiry_time().as_secs(),
        "expired": invoice.is_expired(),
        "min_final_cltv_expiry_delta": invoice.min_final_cltv_expiry_delta(),
        "route_hints": route_hints,
    }))
}
