//! The dozen calls that every running node answers.

use super::{
    Channel, Close, Invoice, InvoiceRequest, NodeId, OpenChannel, PayLimits, Payment,
    PaymentRecord, payment::FailureReason,
};
use crate::Msat;
use bitcoin::{Address, Amount, BlockHash, OutPoint};
use serde_json::Value;
use std::{fmt, net::SocketAddrV4, time::Duration};

/// A connection to one running daemon, over whatever interface it has.
///
/// Each method is one or a few calls of the daemon's own RPC; the table in ARCHITECTURE.md names
/// them. Methods block, may be called from many threads at once, and return the daemon's own words
/// on failure: [`Node`](super::Node) adds which node it was and where its log is.
pub trait Client: Send + Sync + fmt::Debug {
    /// Who it is and what it sees of the chain.
    fn info(&self) -> Result<Info, Failure>;

    /// Connects to a peer and returns once both have exchanged `init` (BOLT 1).
    fn connect(&self, peer: &PeerAddress) -> Result<(), Failure>;

    /// Ends the connection to a peer.
    fn disconnect(&self, peer: &NodeId) -> Result<(), Failure>;

    /// The peers connected now.
    fn peers(&self) -> Result<Vec<Peer>, Failure>;

    /// A new segwit address of the node's on-chain wallet.
    fn fund_address(&self) -> Result<Address, Failure>;

    /// What it owns, on chain and in channels.
    fn balance(&self) -> Result<Balance, Failure>;

    /// Opens a channel and returns once its funding transaction was published.
    fn open(&self, channel: &OpenChannel) -> Result<OutPoint, Failure>;

    /// Its channels, until their closing transaction is confirmed or the daemon forgets them.
    fn channels(&self) -> Result<Vec<Channel>, Failure>;

    /// Starts to close a channel.
    fn close(&self, channel: &OutPoint, how: Close) -> Result<(), Failure>;

    /// Makes an invoice.
    fn invoice(&self, request: &InvoiceRequest) -> Result<Invoice, Failure>;

    /// The payment hash and amount of an invoice as the *daemon* reads it.
    fn decode(&self, invoice: &str) -> Result<(super::PaymentHash, Option<Msat>), Failure>;

    /// Pays an invoice and returns once that is settled or failed for good.
    fn pay(&self, invoice: &Invoice, limits: &PayLimits) -> Result<Payment, Failure>;

    /// Pays a node that asked for nothing (bLIP 3); only with
    /// [`Capability::Keysend`](super::Capability::Keysend).
    fn keysend(&self, to: &NodeId, amount: Msat, limits: &PayLimits) -> Result<Payment, Failure>;

    /// Its payments, both ways, oldest first.
    fn payments(&self) -> Result<Vec<PaymentRecord>, Failure>;

    /// The channels that it knows from gossip (BOLT 7) and its own.
    fn graph(&self) -> Result<Vec<GraphChannel>, Failure>;

    /// Whether it finds a route now.
    fn can_route(&self, to: &NodeId, amount: Msat) -> Result<bool, Failure>;

    /// Asks it to stop; returns when the daemon has understood, not when it has ended.
    fn stop(&self) -> Result<(), Failure>;

    /// Any method of the daemon's own interface.
    fn call(&self, method: &str, params: Value) -> Result<Value, Failure>;

    /// Blocks until the node has seen this block, for at most `timeout`; `false` where the daemon
    /// has no call for that, and the harness polls [`info`](Client::info) instead.
    fn wait_tip(&self, _tip: &BlockHash, _timeout: Duration) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Blocks until something happened in the node (a peer, a channel, a payment, a block), for at
    /// most `timeout`; `false` at once where the daemon has no such call, and the harness polls.
    fn wait_activity(&self, _timeout: Duration) -> bool {
        false
    }
}

/// What a call came back with, in the daemon's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The daemon's own name of the call.
    pub method: String,
    /// What was sent, shortened for display.
    pub params: String,
    /// The daemon's error code, if it has one.
    pub code: Option<i64>,
    /// The daemon's words.
    pub message: String,
    /// For a payment that was tried and failed: why.
    pub payment: Option<FailureReason>,
    /// Whether the daemon was not even reached (no socket, connection refused or broken).
    pub unreachable: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.method, self.params, self.message)?;
        match self.code {
            Some(code) => write!(f, " (code {code})"),
            None => Ok(()),
        }
    }
}

/// Who a node is and what it sees of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Its public key.
    pub id: NodeId,
    /// Its alias (BOLT 7).
    pub alias: String,
    /// The daemon's version, in its words.
    pub version: String,
    /// The height of its tip.
    pub height: u32,
    /// The hash of its tip, where the daemon tells.
    pub tip: Option<BlockHash>,
}

/// Where a peer can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress {
    /// Who.
    pub id: NodeId,
    /// Where.
    pub address: SocketAddrV4,
}

/// A connected peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Who.
    pub id: NodeId,
    /// Where, if the daemon tells.
    pub address: Option<String>,
}

/// What a node owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// On chain, confirmed.
    pub confirmed: Amount,
    /// On chain, unconfirmed.
    pub unconfirmed: Amount,
    /// In channels.
    pub channels: Msat,
    /// On its way back from closed channels.
    pub sweeping: Amount,
}

/// A channel known from gossip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphChannel {
    /// Its short channel id: `103x1x0`.
    pub scid: String,
    /// Its two ends.
    pub ends: [NodeId; 2],
    /// Whether both ends have told their policy (`channel_update`).
    pub both_directions: bool,
}
