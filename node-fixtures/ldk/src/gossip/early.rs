//! Gossip that comes before the channel it is about.
//!
//! When a channel becomes public, its far end sends three messages in one breath: its half
//! of the announcement's signatures, its `channel_update`, its `node_announcement`. LDK 0.2
//! completes the announcement only after all that has been read, finds no channel for the
//! other two in its graph, and drops them: one direction of the channel stays unknown, here
//! and everywhere behind this node, until the far end happens to say it again. On loopback
//! this happens about every third time.
//!
//! So this stands between LDK's peer manager and its gossip handler, keeps what was dropped
//! for want of a channel, and says it again, to the graph and to all peers, once the channel
//! is there.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bitcoin::secp256k1::PublicKey;
use lightning::ln::msgs::{
    BaseMessageHandler, ChannelAnnouncement, ChannelUpdate, Init, LightningError, MessageSendEvent,
    NodeAnnouncement, QueryChannelRange, QueryShortChannelIds, ReplyChannelRange,
    ReplyShortChannelIdsEnd, RoutingMessageHandler,
};
use lightning::routing::gossip::{NodeId, P2PGossipSync};
use lightning::routing::utxo::UtxoLookup;
use lightning::types::features::{InitFeatures, NodeFeatures};

use crate::log::Log;
use crate::node::Graph;

/// Channel announcements are taken without looking up their outputs on chain.
type NoUtxoLookup = Arc<dyn UtxoLookup + Send + Sync>;

/// Messages that are kept; the oldest make room.
const MOST_KEPT: usize = 1024;

enum Early {
    Update(ChannelUpdate),
    Node(NodeAnnouncement),
}

#[derive(Default)]
struct Kept {
    early: VecDeque<Early>,
    /// Messages whose channel has come: LDK applies and forwards them.
    due: Vec<MessageSendEvent>,
}

/// LDK's gossip handler, with a memory.
pub(crate) struct Gossip {
    ldk: P2PGossipSync<Arc<Graph>, NoUtxoLookup, Arc<Log>>,
    graph: Arc<Graph>,
    kept: Mutex<Kept>,
}

impl Gossip {
    pub(crate) fn new(graph: Arc<Graph>, log: Arc<Log>) -> Self {
        Gossip {
            ldk: P2PGossipSync::new(Arc::clone(&graph), None, log),
            graph,
            kept: Mutex::default(),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, early: Early) {
        let mut kept = self.kept();
        if kept.early.len() == MOST_KEPT {
            kept.early.pop_front();
        }
        kept.early.push_back(early);
    }

    fn knows_channel(&self, scid: u64) -> bool {
        self.graph.read_only().channels().get(&scid).is_some()
    }

    fn knows_node(&self, id: &NodeId) -> bool {
        self.graph.read_only().nodes().get(id).is_some()
    }

    /// A channel is in the graph: what was kept for it and for its ends is due.
    fn release(&self, announcement: &ChannelAnnouncement) {
        let channel = &announcement.contents;
        let mut kept = self.kept();
        let (due, early) = std::mem::take(&mut kept.early)
            .into_iter()
            .partition::<VecDeque<_>, _>(|early| match early {
                Early::Update(update) => {
                    update.contents.short_channel_id == channel.short_channel_id
                }
                Early::Node(node) => {
                    [channel.node_id_1, channel.node_id_2].contains(&node.contents.node_id)
                }
            });
        kept.early = early;
        kept.due.extend(due.into_iter().map(|early| match early {
            Early::Update(msg) => MessageSendEvent::BroadcastChannelUpdate { msg },
            Early::Node(msg) => MessageSendEvent::BroadcastNodeAnnouncement { msg },
        }));
    }
}

impl RoutingMessageHandler for Gossip {
    fn handle_node_announcement(
        &self,
        peer: Option<PublicKey>,
        announcement: &NodeAnnouncement,
    ) -> Result<bool, LightningError> {
        let handled = self.ldk.handle_node_announcement(peer, announcement);
        if handled.is_err() && !self.knows_node(&announcement.contents.node_id) {
            self.keep(Early::Node(announcement.clone()));
        }
        handled
    }

    fn handle_channel_announcement(
        &self,
        peer: Option<PublicKey>,
        announcement: &ChannelAnnouncement,
    ) -> Result<bool, LightningError> {
        let handled = self.ldk.handle_channel_announcement(peer, announcement);
        if handled.is_ok() {
            self.release(announcement);
        }
        handled
    }

    fn handle_channel_update(
        &self,
        peer: Option<PublicKey>,
        update: &ChannelUpdate,
    ) -> Result<bool, LightningError> {
        let handled = self.ldk.handle_channel_update(peer, update);
        if handled.is_err() && !self.knows_channel(update.contents.short_channel_id) {
            self.keep(Early::Update(update.clone()));
        }
        handled
    }

    fn get_next_channel_announcement(
        &self,
        starting_point: u64,
    ) -> Option<(
        ChannelAnnouncement,
        Option<ChannelUpdate>,
        Option<ChannelUpdate>,
    )> {
        self.ldk.get_next_channel_announcement(starting_point)
    }

    fn get_next_node_announcement(
        &self,
        starting_point: Option<&NodeId>,
    ) -> Option<NodeAnnouncement> {
        self.ldk.get_next_node_announcement(starting_point)
    }

    fn handle_reply_channel_range(
        &self,
        peer: PublicKey,
        msg: ReplyChannelRange,
    ) -> Result<(), LightningError> {
        self.ldk.handle_reply_channel_range(peer, msg)
    }

    fn handle_reply_short_channel_ids_end(
        &self,
        peer: PublicKey,
        msg: ReplyShortChannelIdsEnd,
    ) -> Result<(), LightningError> {
        self.ldk.handle_reply_short_channel_ids_end(peer, msg)
    }

    fn handle_query_channel_range(
        &self,
        peer: PublicKey,
        msg: QueryChannelRange,
    ) -> Result<(), LightningError> {
        self.ldk.handle_query_channel_range(peer, msg)
    }

    fn handle_query_short_channel_ids(
        &self,
        peer: PublicKey,
        msg: QueryShortChannelIds,
    ) -> Result<(), LightningError> {
        self.ldk.handle_query_short_channel_ids(peer, msg)
    }

    fn processing_queue_high(&self) -> bool {
        self.ldk.processing_queue_high()
    }
}

impl BaseMessageHandler for Gossip {
    fn get_and_clear_pending_msg_events(&self) -> Vec<MessageSendEvent> {
        let mut events = self.ldk.get_and_clear_pending_msg_events();
        events.append(&mut self.kept().due);
        events
    }

    fn peer_disconnected(&self, peer: PublicKey) {
        self.ldk.peer_disconnected(peer);
    }

    fn provided_node_features(&self) -> NodeFeatures {
        self.ldk.provided_node_features()
    }

    fn provided_init_features(&self, peer: PublicKey) -> InitFeatures {
        self.ldk.provided_init_features(peer)
    }

    fn peer_connected(&self, peer: PublicKey, init: &Init, inbound: bool) -> Result<(), ()> {
        self.ldk.peer_connected(peer, init, inbound)
    }
}
