//! Closes a channel, and says why one was closed.

use bitcoin::secp256k1::PublicKey;
use lightning::events::ClosureReason;
use lightning::ln::types::ChannelId;

use super::{ChannelError, api_words};
use crate::node::Node;

/// Starts to close a channel: together with the peer, or by force.
pub(crate) fn close(
    node: &Node,
    channel: ChannelId,
    force: bool,
) -> Result<PublicKey, ChannelError> {
    let details = node
        .manager
        .list_channels()
        .into_iter()
        .find(|details| details.channel_id == channel)
        .ok_or(ChannelError::Unknown(channel))?;
    let peer = details.counterparty.node_id;
    let done = if force {
        node.manager.force_close_broadcasting_latest_txn(
            &channel,
            &peer,
            "closed by force on request".to_owned(),
        )
    } else {
        node.manager.close_channel(&channel, &peer)
    };
    done.map_err(|error| ChannelError::Refused(api_words(&error)))?;
    node.peers.process_events();
    Ok(peer)
}

/// Words for why a channel ended.
pub(crate) fn closure_words(reason: &ClosureReason) -> String {
    match reason {
        ClosureReason::CounterpartyForceClosed { peer_msg } => {
            format!("the peer ended the channel: {peer_msg}")
        }
        ClosureReason::HolderForceClosed { message, .. } => {
            format!("closed by force from this side: {message}")
        }
        ClosureReason::LegacyCooperativeClosure
        | ClosureReason::CounterpartyInitiatedCooperativeClosure => {
            "closed together, as the peer asked".to_owned()
        }
        ClosureReason::LocallyInitiatedCooperativeClosure => {
            "closed together, as this side asked".to_owned()
        }
        ClosureReason::CommitmentTxConfirmed => {
            "the peer's commitment transaction is in a block".to_owned()
        }
        ClosureReason::DisconnectedPeer => {
            "the peer disconnected before the channel was funded".to_owned()
        }
        ClosureReason::OutdatedChannelManager => {
            "this node's state was older than its channel monitor's".to_owned()
        }
        ClosureReason::ProcessingError { err } => err.clone(),
        other => other.to_string(),
    }
}
