//! The daemon itself: who it is, what happens in it, its end.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::{Answer, DEFAULT_WAIT_MS, Nothing, list};
use crate::node::Node;

pub(super) fn getinfo(node: &Node, _: Nothing) -> Answer {
    let tip = node.sync.tip();
    Ok(json!({
        "id": node.id.to_string(),
        "alias": node.options.alias,
        "version": crate::VERSION,
        "optimised": crate::is_optimised(),
        "network": "regtest",
        "address": node.address.to_string(),
        "pid": std::process::id(),
        "block_height": tip.height,
        "block_hash": tip.block_hash.to_string(),
        "peers": node.watch.count(),
        "channels": node.manager.list_channels().len(),
        "store": node.store.kind().name(),
    }))
}

pub(super) fn help(_: Nothing) -> Answer {
    Ok(json!({ "methods": list() }))
}

/// The server asks the node to stop once this answer has left.
pub(super) fn stop(_: Nothing) -> Answer {
    Ok(json!({}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitEvent {
    #[serde(default)]
    after: u64,
    timeout_ms: Option<u64>,
}

pub(super) async fn waitevent(node: &Arc<Node>, params: WaitEvent) -> Answer {
    let timeout = Duration::from_millis(params.timeout_ms.unwrap_or(DEFAULT_WAIT_MS));
    let page = node.feed.wait(params.after, timeout).await;
    Ok(json!({
        "events": page.events,
        "last": page.last,
        "overflowed": page.overflowed,
    }))
}
