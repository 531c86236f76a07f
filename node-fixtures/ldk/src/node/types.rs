//! LDK's generic parts with everything filled in.
//!
//! All of LDK is compiled for these types and for no others.

use std::sync::Arc;

use lightning::chain::Filter;
use lightning::events::bump_transaction::sync::{BumpTransactionEventHandlerSync, WalletSync};
use lightning::ln::peer_handler::IgnoringMessageHandler;
use lightning::onion_message::messenger::DefaultMessageRouter;
use lightning::routing::gossip::NetworkGraph;
use lightning::sign::{InMemorySigner, KeysManager};
use lightning::util::sweep::OutputSweeperSync;

use super::Keys;
use crate::chain::{Broadcaster, FixedFees, Wallet};
use crate::gossip::Gossip;
use crate::log::Log;
use crate::payments::Routes;
use crate::peers::PeerWatch;
use crate::store::{ChannelStore, Store};

/// The node sees whole blocks, so nothing needs to be registered for filtering.
type NoFilter = Arc<dyn Filter + Send + Sync>;

pub(crate) type Graph = NetworkGraph<Arc<Log>>;

pub(crate) type ChainMonitor = lightning::chain::chainmonitor::ChainMonitor<
    InMemorySigner,
    NoFilter,
    Arc<Broadcaster>,
    Arc<FixedFees>,
    Arc<Log>,
    Arc<ChannelStore>,
    Arc<KeysManager>,
>;

pub(crate) type MessageRouter = DefaultMessageRouter<Arc<Graph>, Arc<Log>, Arc<KeysManager>>;

pub(crate) type ChannelManager = lightning::ln::channelmanager::ChannelManager<
    Arc<ChainMonitor>,
    Arc<Broadcaster>,
    Arc<KeysManager>,
    Arc<KeysManager>,
    Arc<Keys>,
    Arc<FixedFees>,
    Arc<Routes>,
    Arc<MessageRouter>,
    Arc<Log>,
>;

pub(crate) type PeerManager = lightning::ln::peer_handler::PeerManager<
    lightning_net_tokio::SocketDescriptor,
    Arc<ChannelManager>,
    Arc<Gossip>,
    IgnoringMessageHandler,
    Arc<Log>,
    Arc<PeerWatch>,
    Arc<KeysManager>,
    Arc<ChainMonitor>,
>;

pub(crate) type Sweeper = OutputSweeperSync<
    Arc<Broadcaster>,
    Arc<Keys>,
    Arc<FixedFees>,
    NoFilter,
    Arc<Store>,
    Arc<Log>,
    Arc<KeysManager>,
>;

pub(crate) type Bumper = BumpTransactionEventHandlerSync<
    Arc<Broadcaster>,
    Arc<WalletSync<Arc<Wallet>, Arc<Log>>>,
    Arc<Keys>,
    Arc<Log>,
>;
