//! Payments and what they are made of (BOLT 4, BOLT 11).

use crate::Msat;
use bitcoin::hashes::{Hash, sha256};
use bitcoin::hex::{DisplayHex, FromHex};
use lightning_invoice::Bolt11Invoice;
use std::{fmt, str::FromStr, time::Duration};

/// The hash that locks an HTLC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PaymentHash(pub [u8; 32]);

/// The secret that settles an HTLC: its SHA-256 is the payment hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Preimage(pub [u8; 32]);

impl Preimage {
    /// The payment hash that this preimage opens.
    pub fn hash(&self) -> PaymentHash {
        PaymentHash(sha256::Hash::hash(&self.0).to_byte_array())
    }
}

macro_rules! hex_newtype {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.as_hex())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0.as_hex())
            }
        }
        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                <[u8; 32]>::from_hex(text)
                    .map($name)
                    .map_err(|error| format!("{text:?} is not 32 bytes of hex: {error}"))
            }
        }
    };
}
hex_newtype!(PaymentHash);
hex_newtype!(Preimage);

/// A BOLT 11 invoice, checked when it was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Invoice(Bolt11Invoice);

impl Invoice {
    /// The hash that its payment is locked to.
    pub fn payment_hash(&self) -> PaymentHash {
        PaymentHash(self.0.payment_hash().to_byte_array())
    }

    /// The amount that it asks for, if it names one.
    pub fn amount(&self) -> Option<Msat> {
        self.0.amount_milli_satoshis().map(Msat::new)
    }

    /// Who is to be paid.
    pub fn payee(&self) -> super::NodeId {
        self.0.get_payee_pub_key()
    }

    /// All the rest of it, as the `lightning-invoice` crate sees it.
    pub fn as_bolt11(&self) -> &Bolt11Invoice {
        &self.0
    }
}

impl From<Bolt11Invoice> for Invoice {
    fn from(invoice: Bolt11Invoice) -> Invoice {
        Invoice(invoice)
    }
}

impl FromStr for Invoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Invoice, String> {
        text.parse()
            .map(Invoice)
            .map_err(|error| format!("not a BOLT 11 invoice: {error}: {text:?}"))
    }
}

impl fmt::Display for Invoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An invoice to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoiceRequest {
    /// The amount asked for, or any.
    pub amount: Option<Msat>,
    /// What for (BOLT 11, tag `d`).
    pub description: String,
    /// How long it is good for (BOLT 11, tag `x`).
    pub expiry: Duration,
}

impl InvoiceRequest {
    /// For this amount, good for an hour.
    pub fn new(amount: Msat, description: impl Into<String>) -> InvoiceRequest {
        InvoiceRequest {
            amount: Some(amount),
            description: description.into(),
            expiry: Duration::from_secs(3600),
        }
    }
}

impl InvoiceRequest {
    /// For any amount, which the payer chooses; good for an hour.
    pub fn any_amount(description: impl Into<String>) -> InvoiceRequest {
        InvoiceRequest {
            amount: None,
            ..InvoiceRequest::new(Msat::ZERO, description)
        }
    }
}

/// What a payer will bear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayLimits {
    /// The amount, for an invoice that names none.
    pub amount: Option<Msat>,
    /// The highest fee, or the implementation's own default.
    pub max_fee: Option<Msat>,
    /// How long the node may try.
    pub timeout: Duration,
}

impl Default for PayLimits {
    /// The invoice's own amount, the implementation's own fee limit, a minute.
    fn default() -> PayLimits {
        PayLimits {
            amount: None,
            max_fee: None,
            timeout: Duration::from_secs(60),
        }
    }
}

/// A payment that arrived: the payer holds its preimage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// What it was locked to.
    pub hash: PaymentHash,
    /// The proof of payment.
    pub preimage: Preimage,
    /// What the payee got.
    pub amount: Msat,
    /// What those in between got.
    pub fee: Msat,
}

/// Why a payment failed (BOLT 4, where it has a word for it).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureReason {
    /// The payee does not know the hash, or it is the wrong amount, or too late
    /// (BOLT 4: `incorrect_or_unknown_payment_details`).
    UnknownPaymentDetails,
    /// The payer knows no way with enough funds on it.
    NoRoute,
    /// The invoice is past its expiry.
    InvoiceExpired,
    /// It was paid before, or is being paid.
    AlreadyPaid,
    /// The payer gave up in time.
    TimedOut,
    /// Anything else, in the implementation's words.
    Other(String),
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailureReason::UnknownPaymentDetails => "incorrect_or_unknown_payment_details",
            FailureReason::NoRoute => "no route",
            FailureReason::InvoiceExpired => "invoice expired",
            FailureReason::AlreadyPaid => "already paid or being paid",
            FailureReason::TimedOut => "timed out",
            FailureReason::Other(words) => words,
        })
    }
}

/// Where a payment is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaymentStatus {
    /// On its way.
    Pending,
    /// Settled.
    Succeeded,
    /// Failed for good.
    Failed,
}

/// One line of a node's list of payments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentRecord {
    /// What it is locked to.
    pub hash: PaymentHash,
    /// Whether this node is the payer.
    pub outgoing: bool,
    /// Its amount, where known.
    pub amount: Option<Msat>,
    /// What it cost, for an outgoing one that arrived.
    pub fee: Option<Msat>,
    /// Where it is in its life.
    pub status: PaymentStatus,
    /// The proof, if it arrived.
    pub preimage: Option<Preimage>,
}
