//! The graph, for a caller to see.

use serde_json::{Value, json};

use crate::channels::scid_text;
use crate::node::Node;

/// The network as this node knows it.
pub(crate) fn describe(node: &Node) -> Value {
    let graph = node.graph.read_only();
    let nodes: Vec<Value> = graph
        .nodes()
        .unordered_iter()
        .map(|(id, info)| {
            let announcement = info.announcement_info.as_ref();
            let addresses: Vec<String> = announcement
                .map(|announcement| {
                    announcement
                        .addresses()
                        .iter()
                        .map(ToString::to_string)
                        .collect()
                })
                .unwrap_or_default();
            json!({
                "id": id.to_string(),
                "alias": announcement.map(|announcement| announcement.alias().to_string()),
                "addresses": addresses,
            })
        })
        .collect();
    let channels: Vec<Value> = graph
        .channels()
        .unordered_iter()
        .map(|(scid, channel)| {
            json!({
                "scid": scid_text(*scid),
                "node_one": channel.node_one.to_string(),
                "node_two": channel.node_two.to_string(),
                "both_directions": channel.one_to_two.is_some() && channel.two_to_one.is_some(),
            })
        })
        .collect();
    json!({ "nodes": nodes, "channels": channels })
}
