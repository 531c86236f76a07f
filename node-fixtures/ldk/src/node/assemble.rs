//! Builds the node from its options and its store.
//!
//! The order is LDK's rule: monitors are read first, then the manager that refers to them,
//! then each is brought to the chain's tip on its own, and only then do the monitors go to
//! the chain monitor and peers come in.

use std::fs::{File, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use bitcoin::secp256k1::Secp256k1;
use bitcoin::{BlockHash, Network};
use lightning::chain::{BestBlock, ChannelMonitorUpdateStatus, Listen};
use lightning::events::bump_transaction::sync::WalletSync;
use lightning::io::Cursor;
use lightning::ln::channelmanager::{ChainParameters, ChannelManagerReadArgs};
use lightning::ln::peer_handler::{IgnoringMessageHandler, MessageHandler};
use lightning::routing::scoring::{ProbabilisticScorer, ProbabilisticScoringDecayParameters};
use lightning::sign::{KeysManager, NodeSigner as _};
use lightning::util::persist::{
    CHANNEL_MANAGER_PERSISTENCE_KEY, NETWORK_GRAPH_PERSISTENCE_KEY, OUTPUT_SWEEPER_PERSISTENCE_KEY,
    SCORER_PERSISTENCE_KEY,
};
use lightning::util::ser::ReadableArgs;
use tokio::sync::{Notify, watch};

use super::config;
use super::keys::{self, Keys, SeedError};
use super::types::{
    Bumper, ChainMonitor, ChannelManager, Gossip, Graph, MessageRouter, PeerManager, Sweeper,
};
use super::{ChainFollower, Node};
use crate::chain::{
    Bitcoind, Broadcaster, ChainError, ChainSync, FixedFees, Wallet, WalletScripts, follow,
    wait_for_bitcoind,
};
use crate::channels::Openings;
use crate::events::{Feed, Outbox};
use crate::log::{Log, log_at};
use crate::options::Options;
use crate::payments::{Ledger, Routes, Waiting};
use crate::peers::{Book, Keeper, PeerWatch};
use crate::store::{ChannelStore, Key, Store, StoreError, StoredMonitor};
use crate::time;

/// A node that cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("the data directory {} cannot be used: {source}", path.display())]
    DataDir { path: PathBuf, source: io::Error },
    #[error("the data directory {} is in use by another node", .0.display())]
    InUse(PathBuf),
    #[error(transparent)]
    Seed(#[from] SeedError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error("cannot listen for peers on {address}: {}", in_use(source))]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("the RPC socket {} cannot be made: {why}", path.display())]
    Rpc { path: PathBuf, why: String },
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
}

fn in_use(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::AddrInUse {
        "address in use".to_owned()
    } else {
        error.to_string()
    }
}

/// Makes the data directory and takes it for this process, until the file is dropped.
pub(crate) fn claim_data_dir(path: &Path) -> Result<File, StartError> {
    let fail = |source| StartError::DataDir {
        path: path.to_owned(),
        source,
    };
    std::fs::create_dir_all(path).map_err(fail)?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path.join("lock"))
        .map_err(fail)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(fail(source)),
    }
}

/// Builds the node and brings it to the chain's tip. Blocks.
pub(crate) fn assemble(
    options: Options,
    address: SocketAddr,
    log: Arc<Log>,
    stop: watch::Sender<Option<super::Stop>>,
) -> Result<Arc<Node>, StartError> {
    let seed = keys::seed(&options.data_dir, options.seed)?;
    let now = time::since_epoch();
    let key_manager = Arc::new(KeysManager::new(
        &seed,
        now.as_secs(),
        now.subsec_nanos(),
        true,
    ));
    let id = bitcoin::secp256k1::PublicKey::from_secret_key(
        &Secp256k1::signing_only(),
        &key_manager.get_node_secret_key(),
    );
    log_at!(log, Info, "this node is {id}");

    let store = Arc::new(Store::open(options.store, &options.data_dir)?);
    let bitcoind = Arc::new(Bitcoind::new(&options));
    wait_for_bitcoind(&bitcoind, options.bitcoind_timeout, &log)?;
    let wallet = Arc::new(Wallet::open(
        Arc::clone(&bitcoind),
        &options,
        Arc::clone(&log),
    )?);
    let scripts = Arc::new(WalletScripts::new(Arc::clone(&wallet)));
    let fees = Arc::new(FixedFees::new(options.feerate_sat_per_kw));
    let broadcaster = Broadcaster::start(Arc::clone(&bitcoind), Arc::clone(&log))?;
    let keys = Arc::new(Keys::new(Arc::clone(&key_manager), Arc::clone(&scripts)));
    let channel_store = Arc::new(ChannelStore::new(Arc::clone(&store)));
    let chain_monitor = Arc::new(ChainMonitor::new(
        None,
        Arc::clone(&broadcaster),
        Arc::clone(&log),
        Arc::clone(&fees),
        Arc::clone(&channel_store),
        Arc::clone(&key_manager),
        key_manager.get_peer_storage_key(),
    ));

    let reader = Reader {
        store: &store,
        log: &log,
    };
    let graph = Arc::new(reader.graph()?);
    let scorer = Arc::new(RwLock::new(reader.scorer(&graph)?));
    let routes = Arc::new(Routes::new(
        Arc::clone(&graph),
        Arc::clone(&log),
        Arc::clone(&key_manager),
        Arc::clone(&scorer),
    ));
    let parts = Parts {
        keys: &keys,
        fees: &fees,
        broadcaster: &broadcaster,
        chain_monitor: &chain_monitor,
        routes: &routes,
        messages: &Arc::new(MessageRouter::new(
            Arc::clone(&graph),
            Arc::clone(&key_manager),
        )),
        options: &options,
        tip: bitcoind.best_block()?,
    };
    let monitors = reader.monitors(&channel_store, &parts)?;
    let (manager, manager_at) = reader.manager(&parts, &monitors)?;
    let (sweeper, sweeper_at) = reader.sweeper(&parts)?;
    let (manager, sweeper) = (Arc::new(manager), Arc::new(sweeper));

    let tip = synchronise(
        &bitcoind,
        &monitors,
        (&manager, manager_at),
        (&sweeper, sweeper_at),
        &parts,
        &log,
    )?;
    for monitor in monitors {
        let channel = monitor.channel_id();
        let loaded = chain_monitor.load_existing_monitor(channel, monitor);
        if loaded != Ok(ChannelMonitorUpdateStatus::Completed) {
            return Err(store
                .damaged(format!("the monitor of channel {channel} cannot be loaded"))
                .into());
        }
    }

    let feed = Arc::new(Feed::new());
    let watch = Arc::new(PeerWatch::new(Arc::clone(&feed), Arc::clone(&log)));
    let gossip = Arc::new(Gossip::new(Arc::clone(&graph), None, Arc::clone(&log)));
    let peers = Arc::new(PeerManager::new(
        MessageHandler {
            chan_handler: Arc::clone(&manager),
            route_handler: gossip,
            onion_message_handler: IgnoringMessageHandler {},
            custom_message_handler: Arc::clone(&watch),
            send_only_message_handler: Arc::clone(&chain_monitor),
        },
        u32::try_from(now.as_secs()).unwrap_or(u32::MAX),
        &keys.random_bytes(),
        Arc::clone(&log),
        key_manager,
    ));
    let keeper = Arc::new(Keeper::new(
        Arc::clone(&peers),
        Arc::clone(&watch),
        Book::read(Arc::clone(&store))?,
        options.nodelay,
        Arc::clone(&log),
    ));
    let bumper = Bumper::new(
        Arc::clone(&broadcaster),
        Arc::new(WalletSync::new(Arc::clone(&wallet), Arc::clone(&log))),
        Arc::clone(&keys),
        Arc::clone(&log),
    );
    let sync = Arc::new(ChainSync::new(Arc::clone(&bitcoind), Arc::clone(&log), tip));
    Ok(Arc::new(Node {
        id,
        address,
        ledger: Ledger::read(Arc::clone(&store))?,
        options,
        log,
        store,
        channel_store,
        bitcoind,
        wallet,
        scripts,
        fees,
        broadcaster,
        sync,
        keys,
        chain_monitor,
        manager,
        sweeper,
        sweep_wanted: Notify::new(),
        bumper,
        graph,
        scorer,
        peers,
        watch,
        keeper,
        openings: Openings::default(),
        routes,
        waiting: Waiting::default(),
        feed,
        outbox: Outbox::default(),
        stop,
    }))
}

/// What the stateful parts of LDK are built from.
struct Parts<'a> {
    keys: &'a Arc<Keys>,
    fees: &'a Arc<FixedFees>,
    broadcaster: &'a Arc<Broadcaster>,
    chain_monitor: &'a Arc<ChainMonitor>,
    routes: &'a Arc<Routes>,
    messages: &'a Arc<MessageRouter>,
    options: &'a Options,
    tip: BestBlock,
}

type Monitor = lightning::chain::channelmonitor::ChannelMonitor<lightning::sign::InMemorySigner>;

/// Reads LDK's state from the store, or makes it anew.
struct Reader<'a> {
    store: &'a Arc<Store>,
    log: &'a Arc<Log>,
}

impl Reader<'_> {
    /// Reads a record of LDK's that has no namespace.
    fn record<A, T: ReadableArgs<A>>(
        &self,
        what: &str,
        name: &str,
        args: A,
    ) -> Result<Option<T>, StoreError> {
        let Some(bytes) = self.store.read(&Key::new("", "", name))? else {
            return Ok(None);
        };
        T::read(&mut Cursor::new(bytes), args)
            .map(Some)
            .map_err(|error| {
                self.store
                    .damaged(format!("the {what} in it cannot be read: {error:?}"))
            })
    }

    fn graph(&self) -> Result<Graph, StoreError> {
        let stored = self.record(
            "network graph",
            NETWORK_GRAPH_PERSISTENCE_KEY,
            Arc::clone(self.log),
        )?;
        Ok(stored.unwrap_or_else(|| Graph::new(Network::Regtest, Arc::clone(self.log))))
    }

    fn scorer(
        &self,
        graph: &Arc<Graph>,
    ) -> Result<ProbabilisticScorer<Arc<Graph>, Arc<Log>>, StoreError> {
        let decay = ProbabilisticScoringDecayParameters::default();
        let stored = self.record(
            "scorer",
            SCORER_PERSISTENCE_KEY,
            (decay, Arc::clone(graph), Arc::clone(self.log)),
        )?;
        Ok(stored.unwrap_or_else(|| {
            ProbabilisticScorer::new(decay, Arc::clone(graph), Arc::clone(self.log))
        }))
    }

    /// Reads the monitors and applies the updates that came after each was written.
    fn monitors(
        &self,
        channels: &ChannelStore,
        parts: &Parts<'_>,
    ) -> Result<Vec<Monitor>, StoreError> {
        let mut monitors = Vec::new();
        for StoredMonitor { monitor, updates } in
            channels.read_all(&parts.keys.manager, parts.keys)?
        {
            for update in updates {
                monitor
                    .update_monitor(&update, parts.broadcaster, parts.fees, self.log)
                    .map_err(|()| {
                        self.store.damaged(format!(
                            "update {} does not fit the monitor of channel {}",
                            update.update_id,
                            monitor.channel_id()
                        ))
                    })?;
            }
            monitors.push(monitor);
        }
        Ok(monitors)
    }

    fn manager(
        &self,
        parts: &Parts<'_>,
        monitors: &[Monitor],
    ) -> Result<(ChannelManager, BestBlock), StoreError> {
        let config = config::node(parts.options);
        let entropy = &parts.keys.manager;
        let args = ChannelManagerReadArgs::new(
            Arc::clone(entropy),
            Arc::clone(entropy),
            Arc::clone(parts.keys),
            Arc::clone(parts.fees),
            Arc::clone(parts.chain_monitor),
            Arc::clone(parts.broadcaster),
            Arc::clone(parts.routes),
            Arc::clone(parts.messages),
            Arc::clone(self.log),
            config.clone(),
            monitors.iter().collect(),
        );
        let stored: Option<(BlockHash, ChannelManager)> =
            self.record("channel manager", CHANNEL_MANAGER_PERSISTENCE_KEY, args)?;
        if let Some((_, manager)) = stored {
            let at = manager.current_best_block();
            return Ok((manager, at));
        }
        if !monitors.is_empty() {
            return Err(self
                .store
                .damaged("it holds channel monitors but no channel manager".to_owned()));
        }
        let manager = ChannelManager::new(
            Arc::clone(parts.fees),
            Arc::clone(parts.chain_monitor),
            Arc::clone(parts.broadcaster),
            Arc::clone(parts.routes),
            Arc::clone(parts.messages),
            Arc::clone(self.log),
            Arc::clone(entropy),
            Arc::clone(entropy),
            Arc::clone(parts.keys),
            config,
            ChainParameters {
                network: Network::Regtest,
                best_block: parts.tip,
            },
            u32::try_from(time::since_epoch().as_secs()).unwrap_or(u32::MAX),
        );
        Ok((manager, parts.tip))
    }

    fn sweeper(&self, parts: &Parts<'_>) -> Result<(Sweeper, BestBlock), StoreError> {
        let args = (
            Arc::clone(parts.broadcaster),
            Arc::clone(parts.fees),
            None,
            Arc::clone(&parts.keys.manager),
            Arc::clone(parts.keys),
            Arc::clone(self.store),
            Arc::clone(self.log),
        );
        let stored: Option<(BestBlock, Sweeper)> =
            self.record("output sweeper", OUTPUT_SWEEPER_PERSISTENCE_KEY, args)?;
        if let Some((at, sweeper)) = stored {
            return Ok((sweeper, at));
        }
        let sweeper = Sweeper::new(
            parts.tip,
            Arc::clone(parts.broadcaster),
            Arc::clone(parts.fees),
            None,
            Arc::clone(&parts.keys.manager),
            Arc::clone(parts.keys),
            Arc::clone(self.store),
            Arc::clone(self.log),
        );
        Ok((sweeper, parts.tip))
    }
}

/// A monitor that is not in the chain monitor yet hears of blocks this way.
type LooseMonitor<'a> = (&'a Monitor, Arc<Broadcaster>, Arc<FixedFees>, Arc<Log>);

struct Loose<'a>(LooseMonitor<'a>);

impl Listen for Loose<'_> {
    fn filtered_block_connected(
        &self,
        header: &bitcoin::block::Header,
        txdata: &lightning::chain::transaction::TransactionData<'_>,
        height: u32,
    ) {
        let (monitor, broadcaster, fees, log) = &self.0;
        monitor.block_connected(
            header,
            txdata,
            height,
            Arc::clone(broadcaster),
            Arc::clone(fees),
            log,
        );
    }

    fn blocks_disconnected(&self, fork_point: BestBlock) {
        let (monitor, broadcaster, fees, log) = &self.0;
        monitor.blocks_disconnected(fork_point, Arc::clone(broadcaster), Arc::clone(fees), log);
    }
}

/// Brings every part from the block it knows to one common tip.
fn synchronise(
    bitcoind: &Bitcoind,
    monitors: &[Monitor],
    (manager, mut manager_at): (&ChannelManager, BestBlock),
    (sweeper, mut sweeper_at): (&Sweeper, BestBlock),
    parts: &Parts<'_>,
    log: &Arc<Log>,
) -> Result<BestBlock, ChainError> {
    let unknown = |_| None;
    loop {
        for monitor in monitors {
            let at = monitor.current_best_block();
            let listener = Loose((
                monitor,
                Arc::clone(parts.broadcaster),
                Arc::clone(parts.fees),
                Arc::clone(log),
            ));
            follow(bitcoind, at, &listener, &unknown).map_err(|(_, error)| error)?;
        }
        manager_at = follow(bitcoind, manager_at, manager, &unknown).map_err(|(_, error)| error)?;
        sweeper_at = follow(bitcoind, sweeper_at, sweeper, &unknown).map_err(|(_, error)| error)?;
        // A block may have come while one of them was brought up.
        let agreed = manager_at == sweeper_at
            && monitors
                .iter()
                .all(|monitor| monitor.current_best_block() == manager_at);
        if agreed && bitcoind.best_hash()? == manager_at.block_hash {
            return Ok(manager_at);
        }
    }
}

impl ChainFollower {
    /// Everyone in a running node who must hear of blocks.
    pub(crate) fn of(node: &Arc<Node>) -> Self {
        ChainFollower(Arc::clone(node))
    }
}
