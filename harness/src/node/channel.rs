//! Channels, as both ends see them.

use super::NodeId;
use crate::Msat;
use bitcoin::{Amount, OutPoint};
use std::fmt;

/// A channel to be opened (BOLT 2, `open_channel`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenChannel {
    /// With whom; must be connected.
    pub peer: NodeId,
    /// The funding output's amount.
    pub capacity: Amount,
    /// What of it belongs to the peer from the start.
    pub push: Msat,
    /// Whether it will be told to the network (BOLT 7) after six confirmations.
    pub announced: bool,
}

/// How a channel is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// Together with the peer (BOLT 2, `shutdown`).
    Cooperative,
    /// Alone, by publishing the latest commitment transaction.
    Force,
}

/// Where a channel is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChannelState {
    /// Negotiated or waiting for confirmations.
    Opening,
    /// Open, and payments can pass now: the peer is connected and both sent `channel_ready`.
    Usable,
    /// Open, but nothing can pass now: the peer is away.
    Inactive,
    /// Shutting down, or a commitment transaction is on its way.
    Closing,
}

impl fmt::Display for ChannelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChannelState::Opening => "opening",
            ChannelState::Usable => "usable",
            ChannelState::Inactive => "inactive",
            ChannelState::Closing => "closing",
        })
    }
}

/// One end's view of a channel that is not yet closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// The funding output, which names the channel in every implementation.
    pub funding: OutPoint,
    /// The short channel id (BOLT 7), once confirmed: `103x1x0`.
    pub scid: Option<String>,
    /// The peer.
    pub peer: NodeId,
    /// Where it is in its life.
    pub state: ChannelState,
    /// The funding output's amount.
    pub capacity: Amount,
    /// What belongs to this end.
    pub local: Msat,
    /// What belongs to the peer.
    pub remote: Msat,
    /// The most that this end can send now, after reserve and fees.
    pub sendable: Msat,
    /// The most that this end can receive now.
    pub receivable: Msat,
    /// Whether it is announced, or will be.
    pub announced: bool,
    /// HTLCs that are neither settled nor failed.
    pub pending_htlcs: usize,
}

impl Channel {
    /// Whether payments can pass now, as far as this end knows.
    pub fn is_usable(&self) -> bool {
        self.state == ChannelState::Usable
    }
}
