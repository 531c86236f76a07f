//! Channels, for a caller to see.

use lightning::ln::channel_state::{ChannelDetails, ChannelShutdownState};
use lightning::util::scid_utils::{block_from_scid, tx_index_from_scid, vout_from_scid};
use serde_json::{Value, json};

use crate::node::Node;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_channel_id_reads_as_in_bolt_7() {
        assert_eq!(scid_text((103 << 40) | (1 << 16) | 2), "103x1x2");
    }
}
