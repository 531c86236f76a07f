//! Reads LDK's state from the store, or makes it anew, and brings it to the chain's tip.

use std::sync::Arc;

use bitcoin::{BlockHash, Network};
use lightning::chain::{BestBlock, Listen};
use lightning::io::Cursor;
use lightning::ln::channelmanager::{ChainParameters, ChannelManagerReadArgs};
use lightning::routing::scoring::{ProbabilisticScorer, ProbabilisticScoringDecayParameters};
use lightning::util::persist::{
    CHANNEL_MANAGER_PERSISTENCE_KEY, NETWORK_GRAPH_PERSISTENCE_KEY, OUTPUT_SWEEPER_PERSISTENCE_KEY,
    SCORER_PERSISTENCE_KEY,
};
use lightning::util::ser::ReadableArgs;

use super::config;
use super::keys::Keys;
use super::types::{ChainMonitor, ChannelManager, Graph, MessageRouter, Sweeper};
use crate::chain::{Bitcoind, Broadcaster, ChainError, FixedFees, follow};
use crate::log::{Log, log_at};
use crate::options::Options;
use crate::payments::Routes;
use crate::store::{ChannelStore, Key, Store, StoreError, StoredMonitor};
use crate::time;

/// What the stateful parts of LDK are built from.
pub(super) struct Parts<'a> {
    pub(super) keys: &'a Arc<Keys>,
    pub(super) fees: &'a Arc<FixedFees>,
    pub(super) broadcaster: &'a Arc<Broadcaster>,
    pub(super) chain_monitor: &'a Arc<ChainMonitor>,
    pub(super) routes: &'a Arc<Routes>,
    pub(super) messages: &'a Arc<MessageRouter>,
    pub(super) options: &'a Options,
    pub(super) tip: BestBlock,
}

pub(super) type Monitor =
    lightning::chain::channelmonitor::ChannelMonitor<lightning::sign::InMemorySigner>;

/// Reads LDK's state from the store, or makes it anew.
pub(super) struct Reader<'a> {
    pub(super) store: &'a Arc<Store>,
    pub(super) log: &'a Arc<Log>,
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

    pub(super) fn graph(&self) -> Result<Graph, StoreError> {
        let stored = self.record(
            "network graph",
            NETWORK_GRAPH_PERSISTENCE_KEY,
            Arc::clone(self.log),
        )?;
        Ok(stored.unwrap_or_else(|| Graph::new(Network::Regtest, Arc::clone(self.log))))
    }

    pub(super) fn scorer(
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
    pub(super) fn monitors(
        &self,
        channels: &ChannelStore,
        parts: &Parts<'_>,
    ) -> Result<Vec<Monitor>, StoreError> {
        let mut monitors = Vec::new();
        for StoredMonitor { monitor, updates } in
            channels.read_all(&parts.keys.manager, parts.keys)?
        {
            for update in updates {
                let next = monitor.get_latest_update_id().saturating_add(1);
                if update.update_id != next {
                    // LDK would panic. The manager has what is missing, or refuses.
                    log_at!(
                        self.log,
                        Error,
                        "update {next} of channel {} is missing, {} is not applied",
                        monitor.channel_id(),
                        update.update_id
                    );
                    break;
                }
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

    pub(super) fn manager(
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

    pub(super) fn sweeper(&self, parts: &Parts<'_>) -> Result<(Sweeper, BestBlock), StoreError> {
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
pub(super) fn synchronise(
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
