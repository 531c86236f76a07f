//! The loop that drives LDK.
//!
//! In place of `lightning-background-processor`, which holds every HTLC for a random delay
//! (57 ms on average, no setting changes it): this loop forwards at once, handles events at
//! once and commits at once. Privacy by delay is of no use on regtest; honest timing is.
//!
//! It runs on a thread of its own, because commits wait for the disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lightning::events::EventsProvider as _;
use lightning::types::payment::PaymentHash;
use lightning::util::persist::{
    CHANNEL_MANAGER_PERSISTENCE_KEY, NETWORK_GRAPH_PERSISTENCE_KEY, SCORER_PERSISTENCE_KEY,
};
use lightning::util::ser::Writeable as _;
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::{Node, Stop};
use crate::events;
use crate::log::log_at;
use crate::store::{Key, StoreError, namespace};

/// LDK's own clock: channel updates, stale payments, unfunded channels.
const MANAGER_TICK: Duration = Duration::from_secs(60);
/// Pings, and the end of peers that do not answer them.
const PEERS_TICK: Duration = Duration::from_secs(10);
/// How often a changed graph is written.
const GRAPH_TICK: Duration = Duration::from_secs(5);
/// How often what payments taught about channels is written.
const SCORER_TICK: Duration = Duration::from_secs(60);
/// Claims that bitcoind has not taken are tried again.
const REBROADCAST_TICK: Duration = Duration::from_secs(30);
/// Channels that nobody has spoken of for two weeks leave the graph.
const STALE_TICK: Duration = Duration::from_secs(3600);

/// The loop and what it remembers.
pub(crate) struct Background {
    node: Arc<Node>,
    /// What the graph looked like when it was last written.
    graph_written: u64,
    /// A commit failed: what it carried is lost, so there must be no other.
    failed: bool,
    /// Payments that were pending when the process started.
    unfinished: Vec<PaymentHash>,
}

impl Background {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        let graph_written = fingerprint(&node);
        let unfinished = node.ledger.pending_outgoing();
        Background {
            node,
            graph_written,
            failed: false,
            unfinished,
        }
    }

    /// Runs until `leave` says (or is dropped) that nothing can change any more, and leaves
    /// everything committed.
    pub(crate) async fn run(mut self, mut leave: oneshot::Receiver<()>) {
        let node = Arc::clone(&self.node);
        let mut tips = node.sync.watch();
        let mut manager_tick = ticks(MANAGER_TICK);
        let mut peers_tick = ticks(PEERS_TICK);
        let mut graph_tick = ticks(GRAPH_TICK);
        let mut scorer_tick = ticks(SCORER_TICK);
        let mut rebroadcast_tick = ticks(REBROADCAST_TICK);
        let mut stale_tick = ticks(STALE_TICK);
        self.step();
        events::end_lost_payments(&node, std::mem::take(&mut self.unfinished));
        loop {
            self.step();
            if self.failed {
                return;
            }
            tokio::select! {
                () = node.manager.get_event_or_persistence_needed_future() => {}
                () = node.chain_monitor.get_update_future() => {}
                () = node.store.wake.notified() => {}
                () = node.sweep_wanted.notified() => sweep(&node),
                _ = tips.changed() => {
                    node.broadcaster.send_again();
                    sweep(&node);
                }
                _ = manager_tick.tick() => {
                    node.manager.timer_tick_occurred();
                    node.chain_monitor.archive_fully_resolved_channel_monitors();
                }
                _ = peers_tick.tick() => node.peers.timer_tick_occurred(),
                _ = graph_tick.tick() => self.stage_graph(),
                _ = scorer_tick.tick() => stage_scorer(&node),
                _ = stale_tick.tick() => node.graph.remove_stale_channels_and_tracking(),
                _ = rebroadcast_tick.tick() => node.chain_monitor.rebroadcast_pending_claims(),
                _ = &mut leave => break,
            }
        }
        self.stage_graph();
        stage_scorer(&node);
        self.step();
        // What the last step released may have changed something once more.
        self.step();
    }

    /// Does everything that is due.
    fn step(&mut self) {
        if self.failed {
            return;
        }
        let node = &self.node;
        let handler = |event| events::handle(node, event);
        node.manager.process_pending_events(&handler);
        node.chain_monitor.process_pending_events(&handler);
        if node.manager.needs_pending_htlc_processing() {
            node.manager.process_pending_htlc_forwards();
        }
        node.peers.process_events();
        match self.commit() {
            Ok(true) => node.peers.process_events(),
            Ok(false) => {}
            Err(error) => {
                log_at!(node.log, Error, "state cannot be saved, stopping: {error}");
                node.request_stop(Stop::Fatal(error.to_string()));
                self.failed = true;
            }
        }
    }

    /// Writes what has changed since the last commit, then tells those who wait for it.
    /// Returns whether LDK may now have messages to send.
    ///
    /// What is staged is taken before the manager is written, so that the manager knows of
    /// every monitor update in the same commit.
    fn commit(&self) -> Result<bool, StoreError> {
        let node = &self.node;
        let manager_changed = node.manager.get_and_clear_needs_persistence();
        let updates = node.channel_store.take_unconfirmed();
        let news = node.outbox.take();
        let mut changes = node.store.take_staged();
        // Any of the changes may be a monitor's, so the manager goes with all of them.
        if node.store.is_durable() && (manager_changed || !changes.is_empty()) {
            changes.push((
                Key::new("", "", CHANNEL_MANAGER_PERSISTENCE_KEY),
                Some(node.manager.encode()),
            ));
            // A payment's record is staged before LDK hears of it. Callers begin payments on
            // other threads, so one may have come between the two lines above: the manager
            // knows of it, and its record must not come later.
            changes.extend(node.store.take_staged_in(namespace::PAYMENTS));
        }
        node.store.commit(changes)?;
        let released = !updates.is_empty();
        for (channel, update) in updates {
            if let Err(error) = node.chain_monitor.channel_monitor_updated(channel, update) {
                log_at!(
                    node.log,
                    Error,
                    "update {update} of channel {channel} is not known: {error:?}"
                );
            }
        }
        news.tell(node);
        Ok(released)
    }

    /// Stages the graph if it has changed.
    fn stage_graph(&mut self) {
        let now = fingerprint(&self.node);
        if self.node.store.is_durable() && now != self.graph_written {
            self.node.store.stage(
                Key::new("", "", NETWORK_GRAPH_PERSISTENCE_KEY),
                Some(self.node.graph.encode()),
            );
            self.graph_written = now;
        }
    }
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut interval = interval_at(Instant::now() + every, every);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

fn stage_scorer(node: &Node) {
    if node.store.is_durable() && node.scorer_changed.swap(false, Ordering::AcqRel) {
        let scorer = node
            .scorer
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        node.store.stage(
            Key::new("", "", SCORER_PERSISTENCE_KEY),
            Some(scorer.encode()),
        );
    }
}

/// Changes whenever the graph does: sums up what each entry was last updated with.
fn fingerprint(node: &Node) -> u64 {
    let graph = node.graph.read_only();
    let channels = graph.channels().unordered_iter().map(|(scid, channel)| {
        let updates = [&channel.one_to_two, &channel.two_to_one];
        updates.into_iter().flatten().fold(*scid, |sum, update| {
            sum.wrapping_add(u64::from(update.last_update))
        })
    });
    let nodes = graph.nodes().unordered_iter().map(|(_, node)| {
        node.announcement_info
            .as_ref()
            .map_or(1, |info| u64::from(info.last_update()))
    });
    // The order of the entries is not fixed, so the sum must not depend on it.
    channels.chain(nodes).fold(0, |sum: u64, entry| {
        sum.wrapping_add(entry.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    })
}

/// Spends what closed channels have left us, to the wallet. Waits for nobody: the script is
/// known, the transaction is queued and the state is staged.
fn sweep(node: &Node) {
    if !node.sweeper.tracked_spendable_outputs().is_empty() {
        let _ = node.sweeper.regenerate_and_broadcast_spend_if_necessary();
    }
}
