//! Acts on LDK's events.
//!
//! Runs on the background loop only. What an event changes is staged and commits together
//! with the manager that has handed the event out; after a crash in between, LDK hands it
//! out again, so every arm may run twice for the same event.

use std::sync::Arc;

use bitcoin::Amount;
use lightning::events::{Event, FundingInfo, ReplayEvent};
use lightning::sign::SpendableOutputDescriptor;
use serde_json::json;

use super::payment::payment;
use crate::channels::{self, ChannelError, Opened, closure_words};
use crate::log::log_at;
use crate::node::Node;

/// Handles one event.
pub(crate) fn handle(node: &Arc<Node>, event: Event) -> Result<(), ReplayEvent> {
    log_at!(node.log, Debug, "event {}", name(&event));
    match event {
        Event::FundingGenerationReady { .. }
        | Event::ChannelPending { .. }
        | Event::ChannelReady { .. }
        | Event::ChannelClosed { .. }
        | Event::DiscardFunding { .. }
        | Event::OpenChannelRequest { .. } => channel(node, event),
        Event::SpendableOutputs {
            outputs,
            channel_id,
        } => {
            return spendable(node, outputs, channel_id);
        }
        Event::BumpTransaction(event) => {
            // Calls to bitcoind. LDK repeats the event with each block until it is claimed.
            let node = Arc::clone(node);
            tokio::task::spawn_blocking(move || node.bumper.handle_event(&event));
        }
        other => payment(node, other),
    }
    Ok(())
}

fn channel(node: &Arc<Node>, event: Event) {
    match event {
        Event::FundingGenerationReady {
            temporary_channel_id,
            counterparty_node_id,
            channel_value_satoshis,
            output_script,
            user_channel_id,
        } => {
            // Calls to bitcoind; the loop must not wait for them.
            let node = Arc::clone(node);
            tokio::task::spawn_blocking(move || {
                channels::fund(
                    &node,
                    user_channel_id,
                    temporary_channel_id,
                    counterparty_node_id,
                    Amount::from_sat(channel_value_satoshis),
                    &output_script,
                );
            });
        }
        Event::ChannelPending {
            channel_id,
            user_channel_id,
            counterparty_node_id,
            funding_txo,
            ..
        } => {
            log_at!(
                node.log,
                Info,
                "channel {channel_id} with {counterparty_node_id} is pending, funding {funding_txo}"
            );
            node.openings.succeeded(
                user_channel_id,
                Opened {
                    channel_id,
                    funding: funding_txo,
                },
            );
            node.outbox.event(
                "channel_pending",
                json!({
                    "channel_id": channel_id.to_string(),
                    "peer_id": counterparty_node_id.to_string(),
                    "funding_txid": funding_txo.txid.to_string(),
                    "funding_vout": funding_txo.vout,
                }),
            );
        }
        Event::ChannelReady {
            channel_id,
            counterparty_node_id,
            ..
        } => {
            log_at!(
                node.log,
                Info,
                "channel {channel_id} with {counterparty_node_id} is ready"
            );
            node.outbox.event(
                "channel_ready",
                json!({
                    "channel_id": channel_id.to_string(),
                    "peer_id": counterparty_node_id.to_string(),
                }),
            );
        }
        Event::ChannelClosed {
            channel_id,
            user_channel_id,
            reason,
            counterparty_node_id,
            ..
        } => {
            let words = closure_words(&reason);
            log_at!(node.log, Info, "channel {channel_id} is closed: {words}");
            let refused = ChannelError::Refused(words.clone());
            if let Some(funding) = node.openings.failed(user_channel_id, refused) {
                unlock(node, funding);
            }
            node.outbox.event(
                "channel_closed",
                json!({
                    "channel_id": channel_id.to_string(),
                    "peer_id": counterparty_node_id.map(|id| id.to_string()),
                    "reason": words,
                }),
            );
        }
        Event::DiscardFunding {
            funding_info: FundingInfo::Tx { transaction },
            ..
        } => unlock(node, transaction),
        Event::OpenChannelRequest {
            temporary_channel_id,
            counterparty_node_id,
            ..
        } => accept(node, temporary_channel_id, counterparty_node_id),
        _ => {}
    }
}

/// Accepts a peer's channel. LDK leaves this to us only when anchors are on.
fn accept(
    node: &Node,
    temporary: lightning::ln::types::ChannelId,
    peer: bitcoin::secp256k1::PublicKey,
) {
    let mut id = [0; 16];
    id.copy_from_slice(&node.keys.random_bytes()[..16]);
    let accepted =
        node.manager
            .accept_inbound_channel(&temporary, &peer, u128::from_be_bytes(id), None);
    if let Err(error) = accepted {
        log_at!(
            node.log,
            Warn,
            "cannot accept a channel of {peer}: {error:?}"
        );
    }
}

/// Frees the coins of a funding transaction, the first time that it is asked to: they may be
/// another opening's by the second.
fn unlock(node: &Arc<Node>, transaction: bitcoin::Transaction) {
    if node.openings.release(transaction.compute_txid()) {
        let node = Arc::clone(node);
        tokio::task::spawn_blocking(move || {
            node.wallet.unlock(&transaction);
            node.openings.coins_are_back();
        });
    }
}

/// Outputs of closed channels that are ours to spend go to the sweeper, except those that
/// pay to the wallet already.
fn spendable(
    node: &Node,
    outputs: Vec<SpendableOutputDescriptor>,
    channel: Option<lightning::ln::types::ChannelId>,
) -> Result<(), ReplayEvent> {
    let to_sweep: Vec<_> = outputs
        .into_iter()
        .filter(|output| match output {
            SpendableOutputDescriptor::StaticOutput { output, .. } => {
                node.keys.is_own_script(&output.script_pubkey)
            }
            _ => true,
        })
        .collect();
    if to_sweep.is_empty() {
        return Ok(());
    }
    let count = to_sweep.len();
    node.sweeper
        .track_spendable_outputs(to_sweep, channel, false, None)
        .map_err(|()| ReplayEvent())?;
    node.sweep_wanted.notify_one();
    node.outbox.event(
        "sweep",
        json!({ "channel_id": channel.map(|id| id.to_string()), "outputs": count }),
    );
    Ok(())
}

/// The name of an event, for the log.
fn name(event: &Event) -> String {
    let text = format!("{event:?}");
    let end = text
        .find(|letter: char| !letter.is_alphanumeric())
        .unwrap_or(text.len());
    text[..end].to_owned()
}
