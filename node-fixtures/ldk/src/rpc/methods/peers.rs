//! Peers.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::protocol::{Failure, code};
use super::{Answer, Nothing, node_id};
use crate::node::Node;
use crate::peers::DialError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Connect {
    id: String,
    address: String,
}

pub(super) async fn connect(node: &Arc<Node>, params: Connect) -> Answer {
    let id = node_id(&params.id)?;
    let address: SocketAddr = params.address.parse().map_err(|_| {
        let why = format!("address {:?} is not IP:PORT", params.address);
        Failure::new(code::INVALID_PARAMS, why)
    })?;
    if id == node.id {
        return Err(Failure::new(code::PEER, DialError::ToSelf));
    }
    node.keeper.connect(id, address).await.map_err(|error| {
        let code = match error {
            DialError::TcpTimeout(_) | DialError::HandshakeTimeout(_) => code::TIMEOUT,
            _ => code::PEER,
        };
        Failure::new(code, error)
    })?;
    Ok(json!({ "id": id.to_string(), "address": address.to_string() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Disconnect {
    id: String,
}

pub(super) fn disconnect(node: &Node, params: &Disconnect) -> Answer {
    let id = node_id(&params.id)?;
    // A peer that is away may still be one that is dialled again and again.
    if !node.watch.is_connected(&id) && node.keeper.address(&id).is_none() {
        return Err(Failure::new(code::PEER, format!("not connected to {id}")));
    }
    let has_channel = !node.manager.list_channels_with_counterparty(&id).is_empty();
    node.keeper.disconnect(id, !has_channel);
    Ok(json!({}))
}

pub(super) fn listpeers(node: &Node, _: Nothing) -> Answer {
    let peers: Vec<Value> = node
        .peers
        .list_peers()
        .iter()
        .map(|peer| {
            let id = peer.counterparty_node_id;
            json!({
                "id": id.to_string(),
                "inbound": peer.is_inbound_connection,
                "address": peer.socket_address.as_ref().map(ToString::to_string),
                "remembered_address": node.keeper.address(&id).map(|address| address.to_string()),
                "channels": node.manager.list_channels_with_counterparty(&id).len(),
            })
        })
        .collect();
    Ok(json!({ "peers": peers }))
}
