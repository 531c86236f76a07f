//! Channels: opened, closed and listed.
//!
//! An opening is a conversation with the peer, the wallet and LDK. `open` starts it and
//! waits; LDK's events move it on through `openings`; whatever ends it early (the peer
//! refuses, the wallet lacks funds, the peer leaves) reaches the caller in words. `close`
//! ends a channel, `view` shows them.

mod close;
mod open;
mod openings;
mod view;

use std::time::Duration;

use bitcoin::secp256k1::PublicKey;
use lightning::ln::types::ChannelId;
use lightning::util::errors::APIError;

pub(crate) use close::{close, closure_words};
pub(crate) use open::{OpenRequest, fund, open};
pub(crate) use openings::{Opened, Openings};
pub(crate) use view::{list, scid_text, total_local_msat};

/// How long a peer may take to accept a channel and sign.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// A channel operation that was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("not connected to {0}")]
    NotConnected(PublicKey),
    #[error("no channel {0}")]
    Unknown(ChannelId),
    #[error("{0}")]
    Refused(String),
    #[error("the peer did not finish the opening within {} s", OPEN_TIMEOUT.as_secs())]
    TimedOut,
}

/// Words for a refusal of LDK's.
fn api_words(error: &APIError) -> String {
    match error {
        APIError::APIMisuseError { err }
        | APIError::InvalidRoute { err }
        | APIError::ChannelUnavailable { err } => err.clone(),
        other => format!("{other:?}"),
    }
}
