//! Channels.

use std::sync::Arc;

use bitcoin::Amount;
use bitcoin::hex::FromHex as _;
use lightning::ln::types::ChannelId;
use serde::Deserialize;
use serde_json::json;

use super::super::protocol::{Failure, code};
use super::{Answer, Nothing, node_id};
use crate::channels::{self, ChannelError, OpenRequest};
use crate::node::Node;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenChannel {
    id: String,
    capacity_sat: u64,
    #[serde(default)]
    push_msat: u64,
    #[serde(default)]
    announced: bool,
}

pub(super) async fn openchannel(node: &Arc<Node>, params: OpenChannel) -> Answer {
    let request = OpenRequest {
        peer: node_id(&params.id)?,
        capacity: Amount::from_sat(params.capacity_sat),
        push_msat: params.push_msat,
        announced: params.announced,
    };
    let opened = channels::open(node, request).await.map_err(|error| {
        let code = match error {
            ChannelError::TimedOut => code::TIMEOUT,
            _ => code::CHANNEL,
        };
        Failure::new(code, error)
    })?;
    Ok(json!({
        "channel_id": opened.channel_id.to_string(),
        "funding_txid": opened.funding.txid.to_string(),
        "funding_vout": opened.funding.vout,
    }))
}

pub(super) fn listchannels(node: &Node, _: Nothing) -> Answer {
    Ok(json!({ "channels": channels::list(node) }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseChannel {
    channel_id: String,
    #[serde(default)]
    force: bool,
}

pub(super) fn closechannel(node: &Node, params: &CloseChannel) -> Answer {
    let channel = <[u8; 32]>::from_hex(&params.channel_id)
        .map(ChannelId)
        .map_err(|_| {
            let why = format!(
                "channel_id {:?} is not a channel id: 64 hexadecimal digits",
                params.channel_id
            );
            Failure::new(code::INVALID_PARAMS, why)
        })?;
    let peer = channels::close(node, channel, params.force)
        .map_err(|error| Failure::new(code::CHANNEL, error))?;
    Ok(json!({
        "channel_id": channel.to_string(),
        "peer_id": peer.to_string(),
        "force": params.force,
    }))
}
