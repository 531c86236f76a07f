//! Announces the node when it has a public channel.

use std::sync::Arc;
use std::time::Duration;

use lightning::ln::msgs::SocketAddress;
use lightning::routing::gossip::NodeId;

use crate::log::log_at;
use crate::node::Node;

/// BOLT 7: a channel is announced once its funding is this deep.
const ANNOUNCEMENT_DEPTH: u32 = 6;
/// How soon to look whether a channel that is deep enough has reached the graph; each further
/// look waits twice as long, up to [`LOOK_ANYWAY`].
const LOOK_SOON: Duration = Duration::from_millis(5);
/// When no block comes, how often to look at all.
const LOOK_ANYWAY: Duration = Duration::from_secs(1);

/// Announces the node as soon as it has a public channel: the body of a task.
///
/// LDK leaves the when to its user (sample code announces every hour), and nodes ignore an
/// announcement that comes before the node's first channel is in their graph.
pub(crate) async fn announce_node(node: Arc<Node>) {
    let mut tips = node.sync.watch();
    loop {
        let mut pause = LOOK_SOON;
        while is_deep_enough(&node) && !is_in_graph(&node) {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LOOK_ANYWAY);
        }
        if is_deep_enough(&node) {
            node.peers.broadcast_node_announcement(
                [0; 3],
                alias(&node.options.alias),
                addresses(&node),
            );
            node.peers.process_events();
            log_at!(node.log, Info, "announced this node to the network");
            return;
        }
        let _ = tokio::time::timeout(LOOK_ANYWAY, tips.changed()).await;
    }
}

fn is_deep_enough(node: &Node) -> bool {
    node.manager.list_channels().iter().any(|channel| {
        channel.is_announced
            && channel.is_channel_ready
            && channel.confirmations.unwrap_or(0) >= ANNOUNCEMENT_DEPTH
    })
}

/// Whether one of the node's channels is in its own graph.
fn is_in_graph(node: &Node) -> bool {
    let id = NodeId::from_pubkey(&node.id);
    node.graph.read_only().nodes().get(&id).is_some()
}

fn alias(name: &str) -> [u8; 32] {
    let mut alias = [0; 32];
    let length = name.len().min(32);
    alias[..length].copy_from_slice(&name.as_bytes()[..length]);
    alias
}

fn addresses(node: &Node) -> Vec<SocketAddress> {
    vec![SocketAddress::from(node.address)]
}
