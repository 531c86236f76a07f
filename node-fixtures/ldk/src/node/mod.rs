//! LDK's parts, put together and driven.
//!
//! `types` names the concrete types, `config` says how the node behaves towards peers,
//! `keys` are its keys, `assemble` builds everything in the order that safety asks for, with
//! what `restore` finds in the store, `background` is the loop that makes it go, and `blocks`
//! takes each block to those who must hear of it. [`Node`] is what the rest of the crate sees.

mod assemble;
mod background;
mod blocks;
pub(crate) mod config;
mod keys;
mod restore;
mod types;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcoin::secp256k1::PublicKey;
use tokio::sync::{Notify, watch};

use crate::chain::{Broadcaster, ChainSync, FixedFees, Wallet};
use crate::channels::Openings;
use crate::events::{Feed, Outbox};
use crate::log::Log;
use crate::options::Options;
use crate::payments::{Ledger, Routes, Scorer, Waiting};
use crate::peers::{Keeper, PeerWatch};
use crate::store::{ChannelStore, Store};

pub(crate) use assemble::{StartError, assemble, claim_data_dir};
pub(crate) use background::Background;
pub(crate) use blocks::ChainFollower;
pub(crate) use keys::Keys;
pub(crate) use types::{Bumper, ChainMonitor, ChannelManager, Graph, PeerManager, Sweeper};

/// Why the node ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Somebody asked: the RPC `stop` or a signal.
    Asked(&'static str),
    /// It cannot go on.
    Fatal(String),
}

/// A running node.
pub(crate) struct Node {
    pub id: PublicKey,
    /// Where peers reach it, as announced.
    pub address: SocketAddr,
    pub options: Options,
    pub log: Arc<Log>,

    pub store: Arc<Store>,
    pub channel_store: Arc<ChannelStore>,

    pub wallet: Arc<Wallet>,
    pub fees: Arc<FixedFees>,
    pub broadcaster: Arc<Broadcaster>,
    pub sync: Arc<ChainSync>,
    /// Held while an RPC call brings the node to the tip: one thread that waits for a bitcoind
    /// that hangs is enough.
    pub catching_up: tokio::sync::Mutex<()>,

    pub keys: Arc<Keys>,
    pub chain_monitor: Arc<ChainMonitor>,
    pub manager: Arc<ChannelManager>,
    pub sweeper: Arc<Sweeper>,
    pub sweep_wanted: Notify,
    pub bumper: Bumper,
    pub graph: Arc<Graph>,
    pub scorer: Arc<Scorer>,
    /// Whether the scorer has learnt something since it was last written.
    pub scorer_changed: AtomicBool,
    pub peers: Arc<PeerManager>,

    pub watch: Arc<PeerWatch>,
    pub keeper: Arc<Keeper>,
    pub openings: Openings,
    pub ledger: Ledger,
    pub routes: Arc<Routes>,
    pub waiting: Waiting,
    pub feed: Arc<Feed>,
    pub outbox: Outbox,

    pub stop: watch::Sender<Option<Stop>>,
}

impl Node {
    /// Asks the node to end; the first reason stands.
    pub(crate) fn request_stop(&self, reason: Stop) {
        self.stop.send_if_modified(|stop| {
            let first = stop.is_none();
            if first {
                *stop = Some(reason);
            }
            first
        });
    }
}
