//! Channels: opened, closed and listed.
//!
//! An opening is a conversation with the peer, the wallet and LDK. [`open`] starts it and
//! waits; LDK's events move it on through [`Openings`]; whatever ends it early (the peer
//! refuses, the wallet lacks funds, the peer leaves) reaches the caller in words.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bitcoin::secp256k1::PublicKey;
use bitcoin::{Amount, OutPoint, ScriptBuf, Transaction};
use lightning::events::ClosureReason;
use lightning::ln::channel_state::{ChannelDetails, ChannelShutdownState};
use lightning::ln::types::ChannelId;
use lightning::util::errors::APIError;
use lightning::util::scid_utils::{block_from_scid, tx_index_from_scid, vout_from_scid};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::log::log_at;
use crate::node::{Node, config};

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

/// What is asked for.
pub(crate) struct OpenRequest {
    pub peer: PublicKey,
    pub capacity: Amount,
    pub push_msat: u64,
    pub announced: bool,
}

/// A channel whose funding transaction is broadcast.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub channel_id: ChannelId,
    pub funding: OutPoint,
}

type Outcome = Result<(Opened, Option<Transaction>), ChannelError>;

struct Opening {
    caller: oneshot::Sender<Outcome>,
    funding: Option<Transaction>,
}

/// Openings under way, by the id that LDK carries through its events for us.
#[derive(Default)]
pub(crate) struct Openings {
    open: Mutex<HashMap<u128, Opening>>,
}

impl Openings {
    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u128, Opening>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, id: u128) -> oneshot::Receiver<Outcome> {
        let (caller, outcome) = oneshot::channel();
        let opening = Opening {
            caller,
            funding: None,
        };
        self.open().insert(id, opening);
        outcome
    }

    /// Notes the signed funding transaction of an opening.
    fn funded(&self, id: u128, funding: &Transaction) {
        if let Some(opening) = self.open().get_mut(&id) {
            opening.funding = Some(funding.clone());
        }
    }

    /// The channel exists and its funding transaction may be broadcast.
    pub(crate) fn succeeded(&self, id: u128, opened: Opened) {
        if let Some(opening) = self.open().remove(&id) {
            let _ = opening.caller.send(Ok((opened, opening.funding)));
        }
    }

    /// The opening is over; returns the transaction whose coins are to be unlocked.
    pub(crate) fn failed(&self, id: u128, error: ChannelError) -> Option<Transaction> {
        let opening = self.open().remove(&id)?;
        let _ = opening.caller.send(Err(error));
        opening.funding
    }
}

/// Opens a channel; returns when its funding transaction is in bitcoind's mempool.
pub(crate) async fn open(node: &Arc<Node>, request: OpenRequest) -> Result<Opened, ChannelError> {
    if !node.watch.is_connected(&request.peer) {
        return Err(ChannelError::NotConnected(request.peer));
    }
    let mut id = [0; 16];
    id.copy_from_slice(&node.keys.random_bytes()[..16]);
    let id = u128::from_be_bytes(id);
    let outcome = node.openings.begin(id);
    let created = node.manager.create_channel(
        request.peer,
        request.capacity.to_sat(),
        request.push_msat,
        id,
        None,
        Some(config::channel(&node.options, request.announced)),
    );
    let temporary = match created {
        Ok(temporary) => temporary,
        Err(error) => {
            node.openings.failed(id, ChannelError::TimedOut);
            return Err(ChannelError::Refused(api_words(&error)));
        }
    };
    node.peers.process_events();
    let (opened, funding) = match tokio::time::timeout(OPEN_TIMEOUT, outcome).await {
        Ok(Ok(outcome)) => outcome?,
        Ok(Err(_)) => return Err(ChannelError::Refused("the node is stopping".to_owned())),
        Err(_) => {
            give_up(node, temporary, request.peer, "the opening took too long");
            return Err(ChannelError::TimedOut);
        }
    };
    // LDK has queued it for broadcast; sending it here tells what bitcoind thinks of it.
    if let Some(funding) = funding {
        let broadcaster = Arc::clone(&node.broadcaster);
        let sent = tokio::task::spawn_blocking(move || broadcaster.send_now(&funding)).await;
        if let Ok(Err(error)) = sent {
            return Err(ChannelError::Refused(format!(
                "the channel exists, but its funding transaction was not accepted: {error}"
            )));
        }
    }
    Ok(opened)
}

/// Answers LDK's request for a funding transaction. Called on a thread that may wait.
pub(crate) fn fund(
    node: &Node,
    id: u128,
    temporary: ChannelId,
    peer: PublicKey,
    capacity: Amount,
    script: &ScriptBuf,
) {
    let funding = match node.wallet.fund(script, capacity, &node.fees) {
        Ok(funding) => funding,
        Err(error) => {
            log_at!(
                node.log,
                Warn,
                "cannot fund a channel of {capacity}: {error}"
            );
            node.openings.failed(
                id,
                ChannelError::Refused(format!("cannot fund the channel: {error}")),
            );
            give_up(node, temporary, peer, "cannot fund the channel");
            return;
        }
    };
    node.openings.funded(id, &funding);
    let given = node
        .manager
        .funding_transaction_generated(temporary, peer, funding.clone());
    if let Err(error) = given {
        // LDK has dropped the channel, for example because the peer left meanwhile.
        node.wallet.unlock(&funding);
        node.openings
            .failed(id, ChannelError::Refused(api_words(&error)));
    }
    node.peers.process_events();
}

fn give_up(node: &Node, channel: ChannelId, peer: PublicKey, why: &str) {
    // An error means that LDK has let go of it already, which is what is wanted.
    let _ = node
        .manager
        .force_close_broadcasting_latest_txn(&channel, &peer, why.to_owned());
    node.peers.process_events();
}

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

/// All channels, as `listchannels` shows them.
pub(crate) fn list(node: &Node) -> Vec<Value> {
    node.manager
        .list_channels()
        .iter()
        .map(|channel| describe(node, channel))
        .collect()
}

/// The node's own balance over all channels, HTLCs in flight not counted.
pub(crate) fn total_local_msat(node: &Node) -> u64 {
    node.manager
        .list_channels()
        .iter()
        .map(|channel| balances(channel).0)
        .sum()
}

fn describe(node: &Node, channel: &ChannelDetails) -> Value {
    let (local_msat, remote_msat) = balances(channel);
    let peer = channel.counterparty.node_id;
    json!({
        "channel_id": channel.channel_id.to_string(),
        "funding_txid": channel.funding_txo.map(|funding| funding.txid.to_string()),
        "funding_vout": channel.funding_txo.map(|funding| funding.index),
        "scid": channel.short_channel_id.map(scid_text),
        "peer_id": peer.to_string(),
        "peer_connected": node.watch.is_connected(&peer),
        "initiator": channel.is_outbound,
        "announced": channel.is_announced,
        "capacity_sat": channel.channel_value_satoshis,
        "local_msat": local_msat,
        "remote_msat": remote_msat,
        "outbound_msat": channel.next_outbound_htlc_limit_msat,
        "inbound_msat": channel.inbound_capacity_msat,
        "reserve_sat": channel.unspendable_punishment_reserve,
        "confirmations": channel.confirmations,
        "ready": channel.is_channel_ready,
        "usable": channel.is_usable,
        "closing": channel
            .channel_shutdown_state
            .is_some_and(|state| state != ChannelShutdownState::NotShuttingDown),
        "pending_htlcs": channel.pending_inbound_htlcs.len() + channel.pending_outbound_htlcs.len(),
    })
}

/// What each side owns, without HTLCs in flight.
///
/// LDK tells what each side can send, which is what it owns less its reserve, or zero if it
/// owns less than that. At least one side is above its reserve; the other has the rest.
fn balances(channel: &ChannelDetails) -> (u64, u64) {
    let in_flight: u64 = channel
        .pending_inbound_htlcs
        .iter()
        .map(|htlc| htlc.amount_msat)
        .chain(
            channel
                .pending_outbound_htlcs
                .iter()
                .map(|htlc| htlc.amount_msat),
        )
        .sum();
    let settled = (channel.channel_value_satoshis * 1000).saturating_sub(in_flight);
    let local_reserve = channel.unspendable_punishment_reserve.unwrap_or(0) * 1000;
    let remote_reserve = channel.counterparty.unspendable_punishment_reserve * 1000;
    if channel.outbound_capacity_msat > 0 {
        let local = (channel.outbound_capacity_msat + local_reserve).min(settled);
        (local, settled - local)
    } else {
        let remote = (channel.inbound_capacity_msat + remote_reserve).min(settled);
        (settled - remote, remote)
    }
}

/// A short channel id in BOLT's notation: block x transaction x output.
pub(crate) fn scid_text(scid: u64) -> String {
    format!(
        "{}x{}x{}",
        block_from_scid(scid),
        tx_index_from_scid(scid),
        vout_from_scid(scid)
    )
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

fn api_words(error: &APIError) -> String {
    match error {
        APIError::APIMisuseError { err }
        | APIError::InvalidRoute { err }
        | APIError::ChannelUnavailable { err } => err.clone(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_channel_id_reads_as_in_bolt_7() {
        assert_eq!(scid_text((103 << 40) | (1 << 16) | 2), "103x1x2");
    }
}
