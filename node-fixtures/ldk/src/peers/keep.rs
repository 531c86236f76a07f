//! Keeps connections to the peers in the book.
//!
//! One task a peer: it sleeps while the peer is connected, and dials when it is not, first
//! after 50 ms, then at growing intervals up to a second. The intervals carry some chance,
//! since two nodes that dial each other in step can refuse each other's calls for ever. They
//! start anew after a connection that has lasted.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bitcoin::secp256k1::PublicKey;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::{Book, PeerWatch, dial};
use crate::log::{Log, log_at};
use crate::node::PeerManager;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A connection that is gone sooner counts as a failure: a peer that takes every call and
/// hangs up must not be called without a pause.
const LASTING: Duration = Duration::from_secs(1);

pub(crate) struct Keeper {
    peers: Arc<PeerManager>,
    watch: Arc<PeerWatch>,
    book: Book,
    nodelay: bool,
    log: Arc<Log>,
    /// Peers that have a task.
    kept: Mutex<HashSet<PublicKey>>,
    /// Peers that were disconnected on request: not dialled until `connect`.
    held: Mutex<HashSet<PublicKey>>,
    released: Notify,
    tasks: Mutex<JoinSet<()>>,
}

impl Keeper {
    pub(crate) fn new(
        peers: Arc<PeerManager>,
        watch: Arc<PeerWatch>,
        book: Book,
        nodelay: bool,
        log: Arc<Log>,
    ) -> Self {
        Keeper {
            peers,
            watch,
            book,
            nodelay,
            log,
            kept: Mutex::default(),
            held: Mutex::default(),
            released: Notify::new(),
            tasks: Mutex::new(JoinSet::new()),
        }
    }

    /// Starts to dial everyone in the book.
    pub(crate) fn start(self: &Arc<Self>) {
        for id in self.book.ids() {
            self.keep(id, Duration::ZERO);
        }
    }

    /// Connects now, and keeps the connection from then on.
    pub(crate) async fn connect(
        self: &Arc<Self>,
        id: PublicKey,
        address: std::net::SocketAddr,
    ) -> Result<(), super::DialError> {
        let was_connected = self.watch.is_connected(&id);
        dial(&self.peers, &self.watch, id, address, self.nodelay).await?;
        // An address that was not dialled is better than none, and no better than that.
        if !was_connected || self.book.address(&id).is_none() {
            self.book.remember(id, address);
        }
        self.set_held(id, false);
        self.keep(id, FIRST_PAUSE);
        Ok(())
    }

    /// Disconnects, and does not dial again until the next [`Keeper::connect`] or restart.
    pub(crate) fn disconnect(&self, id: PublicKey, forget: bool) {
        self.set_held(id, true);
        if forget {
            self.book.forget(&id);
        }
        self.peers.disconnect_by_node_id(id);
    }

    /// Stops dialling.
    pub(crate) fn stop(&self) {
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .abort_all();
    }

    pub(crate) fn address(&self, id: &PublicKey) -> Option<std::net::SocketAddr> {
        self.book.address(id)
    }

    fn set_held(&self, id: PublicKey, hold: bool) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if hold {
            held.insert(id);
        } else if held.remove(&id) {
            self.released.notify_waiters();
        }
    }

    fn is_held(&self, id: &PublicKey) -> bool {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.contains(id)
    }

    fn keep(self: &Arc<Self>, id: PublicKey, first_pause: Duration) {
        let is_new = self
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id);
        if is_new {
            let keeper = Arc::clone(self);
            self.tasks
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .spawn(async move { keeper.keep_one(id, first_pause).await });
        }
    }

    async fn keep_one(&self, id: PublicKey, first_pause: Duration) {
        let mut pause = first_pause;
        let mut said = false;
        loop {
            if self.watch.is_connected(&id) {
                let since = Instant::now();
                self.watch.disconnected(id).await;
                pause = if since.elapsed() >= LASTING {
                    FIRST_PAUSE
                } else {
                    longer(pause)
                };
            }
            let released = self.released.notified();
            if self.is_held(&id) {
                // The timeout covers a release between the two lines above.
                let _ = tokio::time::timeout(LONGEST_PAUSE, released).await;
                continue;
            }
            tokio::time::sleep(pause).await;
            let Some(address) = self.book.address(&id) else {
                self.watch.connected(id).await;
                continue;
            };
            if self.is_held(&id) {
                continue;
            }
            match dial(&self.peers, &self.watch, id, address, self.nodelay).await {
                Ok(()) => said = false,
                Err(error) => {
                    if !said {
                        log_at!(
                            self.log,
                            Info,
                            "cannot reach peer {id}, trying again: {error}"
                        );
                        said = true;
                    }
                    pause = longer(pause);
                }
            }
        }
    }
}

fn longer(pause: Duration) -> Duration {
    // The clock's finest digits are chance enough for two nodes to fall out of step.
    let chance = crate::time::since_epoch().subsec_nanos() % 512;
    let doubled = pause.max(FIRST_PAUSE / 2) * 2;
    doubled.min(LONGEST_PAUSE) * (512 + chance) / 768
}
