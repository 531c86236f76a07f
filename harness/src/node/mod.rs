//! Lightning nodes: what is the same for all of them, and one folder for each implementation.
//!
//! [`Node`] is what a test holds: start, stop, kill, logs, and a dozen calls with typed answers.
//! Behind it stand two object-safe traits: an [`Implementation`] knows how one kind of daemon is
//! found and launched, a [`Client`] speaks to one that runs. Their calls were laid beside LDK's,
//! Core Lightning's and LND's own interfaces before they were fixed: the table is in
//! ARCHITECTURE.md. Adding an implementation is one folder here and one line in `kinds.rs`.
//!
//! The floor calls `chain` and `host`; it never opens a channel on its own account, never mines,
//! and knows no other node than the one it is asked about: that is the lab's.

mod calls;
mod capability;
mod channel;
mod client;
mod error;
mod implementation;
mod kinds;
pub mod ldk;
mod options;
mod payment;
mod running;

pub use capability::{Capabilities, Capability};
pub use channel::{Channel, ChannelState, Close, OpenChannel};
pub use client::{Balance, Client, Failure, GraphChannel, Info, Peer, PeerAddress};
pub use error::Error;
pub use implementation::{Implementation, Kind, Launch, LogLine};
pub use kinds::{KINDS, kind};
pub use options::{LogLevel, NodeOptions};
pub use payment::{
    FailureReason, Invoice, InvoiceRequest, PayLimits, Payment, PaymentHash, PaymentRecord,
    PaymentStatus, Preimage,
};
pub(crate) use running::bad_stop;
pub use running::{Node, NodeState};

/// A node's identity: its public key (BOLT 8).
pub type NodeId = bitcoin::secp256k1::PublicKey;

/// What the node floor returns.
pub type Result<T> = std::result::Result<T, Error>;
