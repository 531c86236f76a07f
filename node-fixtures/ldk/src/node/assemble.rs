//! Builds the node from its options and its store.
//!
//! The order is LDK's rule: monitors are read first, then the manager that refers to them,
//! then each is brought to the chain's tip on its own, and only then do the monitors go to
//! the chain monitor and peers come in.

use std::fs::{File, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

use bitcoin::secp256k1::Secp256k1;
use lightning::chain::ChannelMonitorUpdateStatus;
use lightning::events::bump_transaction::sync::WalletSync;
use lightning::ln::peer_handler::{IgnoringMessageHandler, MessageHandler};
use lightning::sign::{KeysManager, NodeSigner as _};
use tokio::sync::{Notify, watch};

use super::Node;
use super::keys::{self, Keys, SeedError};
use super::restore::{Parts, Reader, synchronise};
use super::types::{Bumper, ChainMonitor, MessageRouter, PeerManager};
use crate::chain::{
    Bitcoind, Broadcaster, ChainError, ChainSync, FixedFees, StartBroadcastError, Wallet,
    wait_for_bitcoind,
};
use crate::channels::Openings;
use crate::events::{Feed, Outbox};
use crate::gossip::Gossip;
use crate::log::{Log, log_at};
use crate::options::Options;
use crate::payments::{Ledger, Routes, Waiting};
use crate::peers::{Book, Keeper, PeerWatch};
use crate::store::{ChannelStore, Store, StoreError};
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

impl From<StartBroadcastError> for StartError {
    fn from(error: StartBroadcastError) -> Self {
        match error {
            StartBroadcastError::Store(error) => error.into(),
            StartBroadcastError::Thread(error) => error.into(),
        }
    }
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

/// Ends the sending thread unless a node takes it over.
struct StopUnlessStarted(Option<Arc<Broadcaster>>);

impl Drop for StopUnlessStarted {
    fn drop(&mut self) {
        if let Some(broadcaster) = &self.0 {
            broadcaster.stop();
        }
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
    let home = wallet.new_witness_program()?;
    let fees = Arc::new(FixedFees::new(options.feerate_sat_per_kw));
    let broadcaster =
        Broadcaster::start(Arc::clone(&bitcoind), Arc::clone(&store), Arc::clone(&log))?;
    let mut unless_started = StopUnlessStarted(Some(Arc::clone(&broadcaster)));
    let keys = Arc::new(Keys::new(Arc::clone(&key_manager), home));
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
    let gossip = Arc::new(Gossip::new(Arc::clone(&graph), Arc::clone(&log)));
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
    let ledger = Ledger::read(Arc::clone(&store))?;
    unless_started.0 = None;
    Ok(Arc::new(Node {
        id,
        address,
        ledger,
        options,
        log,
        store,
        channel_store,
        wallet,
        fees,
        broadcaster,
        sync,
        catching_up: tokio::sync::Mutex::default(),
        keys,
        chain_monitor,
        manager,
        sweeper,
        sweep_wanted: Notify::new(),
        bumper,
        graph,
        scorer,
        scorer_changed: AtomicBool::new(false),
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
