//! Who is connected, told by LDK at the moment it changes.
//!
//! LDK offers its handlers a call when a peer's `init` has been exchanged and when a peer is
//! gone. A handler for custom messages that knows no message is the lightest of them.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;

use bitcoin::secp256k1::PublicKey;
use lightning::ln::msgs::{DecodeError, Init, LightningError};
use lightning::ln::peer_handler::CustomMessageHandler;
use lightning::ln::wire::CustomMessageReader;
use lightning::types::features::{InitFeatures, NodeFeatures};
use serde_json::json;
use tokio::sync::watch;

use crate::events::Feed;
use crate::log::{Log, log_at};

pub(crate) struct PeerWatch {
    connected: watch::Sender<HashSet<PublicKey>>,
    feed: Arc<Feed>,
    log: Arc<Log>,
}

impl PeerWatch {
    pub(crate) fn new(feed: Arc<Feed>, log: Arc<Log>) -> Self {
        PeerWatch {
            connected: watch::Sender::new(HashSet::new()),
            feed,
            log,
        }
    }

    pub(crate) fn is_connected(&self, peer: &PublicKey) -> bool {
        self.connected.borrow().contains(peer)
    }

    pub(crate) fn count(&self) -> usize {
        self.connected.borrow().len()
    }

    /// Returns once the peer is connected.
    pub(crate) async fn connected(&self, peer: PublicKey) {
        let mut changes = self.connected.subscribe();
        let _ = changes
            .wait_for(|connected| connected.contains(&peer))
            .await;
    }

    /// Returns once the peer is not connected.
    pub(crate) async fn disconnected(&self, peer: PublicKey) {
        let mut changes = self.connected.subscribe();
        let _ = changes
            .wait_for(|connected| !connected.contains(&peer))
            .await;
    }
}

impl CustomMessageReader for PeerWatch {
    type CustomMessage = Infallible;

    fn read<R: lightning::io::Read>(
        &self,
        _type: u16,
        _buffer: &mut R,
    ) -> Result<Option<Infallible>, DecodeError> {
        Ok(None)
    }
}

impl CustomMessageHandler for PeerWatch {
    fn handle_custom_message(
        &self,
        message: Infallible,
        _sender: PublicKey,
    ) -> Result<(), LightningError> {
        match message {}
    }

    fn get_and_clear_pending_msg(&self) -> Vec<(PublicKey, Infallible)> {
        Vec::new()
    }

    fn peer_connected(&self, peer: PublicKey, _init: &Init, inbound: bool) -> Result<(), ()> {
        self.connected.send_modify(|connected| {
            connected.insert(peer);
        });
        log_at!(self.log, Info, "peer {peer} connected, inbound: {inbound}");
        self.feed.publish(
            "peer_connected",
            json!({ "id": peer.to_string(), "inbound": inbound }),
        );
        Ok(())
    }

    fn peer_disconnected(&self, peer: PublicKey) {
        let was_connected = self
            .connected
            .send_if_modified(|connected| connected.remove(&peer));
        if was_connected {
            log_at!(self.log, Info, "peer {peer} disconnected");
            self.feed
                .publish("peer_disconnected", json!({ "id": peer.to_string() }));
        }
    }

    fn provided_node_features(&self) -> NodeFeatures {
        NodeFeatures::empty()
    }

    fn provided_init_features(&self, _peer: PublicKey) -> InitFeatures {
        InitFeatures::empty()
    }
}
