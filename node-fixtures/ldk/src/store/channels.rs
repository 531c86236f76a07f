//! Channel monitors in the store.
//!
//! LDK calls this under its locks whenever a channel's monitor changes. A durable store
//! answers "in progress": the change is staged, the messages that depend on it stay with
//! LDK, and once the background loop has committed it (together with the manager) it
//! reports each update back through [`ChannelStore::take_unconfirmed`]'s list. A store that
//! forgets has nothing to wait for and answers "completed".
//!
//! Most changes are stored as the small update that they are; a monitor grows with every
//! state of its channel, so it is written in full only now and then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bitcoin::BlockHash;
use lightning::chain::ChannelMonitorUpdateStatus;
use lightning::chain::chainmonitor::Persist;
use lightning::chain::channelmonitor::{ChannelMonitor, ChannelMonitorUpdate};
use lightning::io::Cursor;
use lightning::ln::types::ChannelId;
use lightning::sign::{InMemorySigner, KeysManager};
use lightning::util::persist::{
    ARCHIVED_CHANNEL_MONITOR_PERSISTENCE_PRIMARY_NAMESPACE as ARCHIVED,
    CHANNEL_MONITOR_PERSISTENCE_PRIMARY_NAMESPACE as MONITORS,
    CHANNEL_MONITOR_UPDATE_PERSISTENCE_PRIMARY_NAMESPACE as UPDATES, MonitorName,
};
use lightning::util::ser::{Readable as _, ReadableArgs as _, Writeable as _};

use super::{Key, Store, StoreError};
use crate::node::Keys;

/// How many updates may stand beside a monitor before it is written in full again.
const UPDATES_PER_MONITOR: usize = 100;

/// A monitor read back from the store, and the updates that came after it was written.
pub(crate) struct StoredMonitor {
    pub monitor: ChannelMonitor<InMemorySigner>,
    pub updates: Vec<ChannelMonitorUpdate>,
}

/// The part of the store that LDK's chain monitor writes to.
pub(crate) struct ChannelStore {
    store: Arc<Store>,
    /// Staged updates whose commit LDK has not been told of.
    unconfirmed: Mutex<Vec<(ChannelId, u64)>>,
    /// The updates that stand in the store beside each monitor.
    beside: Mutex<HashMap<MonitorName, Vec<String>>>,
}

impl ChannelStore {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        ChannelStore {
            store,
            unconfirmed: Mutex::default(),
            beside: Mutex::default(),
        }
    }

    /// Reads all monitors, each with its later updates in order.
    pub(crate) fn read_all(
        &self,
        entropy: &KeysManager,
        signers: &Keys,
    ) -> Result<Vec<StoredMonitor>, StoreError> {
        let mut monitors = Vec::new();
        for name in self.store.list(MONITORS, "")? {
            let bytes = self.bytes(&Key::new(MONITORS, "", &name))?;
            let (_, monitor) = <(BlockHash, ChannelMonitor<InMemorySigner>)>::read(
                &mut Cursor::new(bytes),
                (entropy, signers),
            )
            .map_err(|error| self.damaged("channel monitor", &name, &format!("{error:?}")))?;
            let mut updates = Vec::new();
            let mut beside = Vec::new();
            for update_name in self.store.list(UPDATES, &name)? {
                let bytes = self.bytes(&Key::new(UPDATES, &name, &update_name))?;
                let update =
                    ChannelMonitorUpdate::read(&mut Cursor::new(bytes)).map_err(|error| {
                        self.damaged("update of monitor", &name, &format!("{error:?}"))
                    })?;
                if update.update_id > monitor.get_latest_update_id() {
                    updates.push(update);
                }
                beside.push(update_name);
            }
            updates.sort_by_key(|update| update.update_id);
            self.beside().insert(monitor.persistence_key(), beside);
            monitors.push(StoredMonitor { monitor, updates });
        }
        Ok(monitors)
    }

    /// The updates to report as persisted once what is staged now has been committed.
    pub(crate) fn take_unconfirmed(&self) -> Vec<(ChannelId, u64)> {
        std::mem::take(
            &mut *self
                .unconfirmed
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn bytes(&self, key: &Key) -> Result<Vec<u8>, StoreError> {
        self.store
            .read(key)?
            .ok_or_else(|| self.damaged("record", &key.name, "it vanished while being read"))
    }

    fn damaged(&self, what: &str, name: &str, why: &str) -> StoreError {
        self.store
            .damaged(format!("the {what} {name} cannot be read: {why}"))
    }

    fn beside(&self) -> std::sync::MutexGuard<'_, HashMap<MonitorName, Vec<String>>> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stages a monitor in full, which makes the updates beside it superfluous.
    fn stage_monitor(&self, name: MonitorName, monitor: &ChannelMonitor<InMemorySigner>) {
        let text = name.to_string();
        self.store
            .stage(Key::new(MONITORS, "", &text), Some(monitor.encode()));
        for update in self.beside().insert(name, Vec::new()).unwrap_or_default() {
            self.store.stage(Key::new(UPDATES, &text, &update), None);
        }
    }

    fn expect_commit(&self, channel: ChannelId, update_id: u64) {
        self.unconfirmed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((channel, update_id));
        self.store.wake.notify_one();
    }
}

impl Persist<InMemorySigner> for ChannelStore {
    fn persist_new_channel(
        &self,
        name: MonitorName,
        monitor: &ChannelMonitor<InMemorySigner>,
    ) -> ChannelMonitorUpdateStatus {
        if !self.store.is_durable() {
            return ChannelMonitorUpdateStatus::Completed;
        }
        self.stage_monitor(name, monitor);
        self.expect_commit(monitor.channel_id(), monitor.get_latest_update_id());
        ChannelMonitorUpdateStatus::InProgress
    }

    fn update_persisted_channel(
        &self,
        name: MonitorName,
        update: Option<&ChannelMonitorUpdate>,
        monitor: &ChannelMonitor<InMemorySigner>,
    ) -> ChannelMonitorUpdateStatus {
        if !self.store.is_durable() {
            return ChannelMonitorUpdateStatus::Completed;
        }
        let Some(update) = update else {
            // A block changed the monitor; nothing waits for this write.
            self.stage_monitor(name, monitor);
            return ChannelMonitorUpdateStatus::InProgress;
        };
        let crowded = self
            .beside()
            .get(&name)
            .is_none_or(|beside| beside.len() >= UPDATES_PER_MONITOR);
        // Updates made after a channel was closed by an old LDK all carry the id u64::MAX.
        if crowded || update.update_id == u64::MAX {
            self.stage_monitor(name, monitor);
        } else {
            // Padded, so that the store's order is theirs.
            let update_name = format!("{:020}", update.update_id);
            self.store.stage(
                Key::new(UPDATES, &name.to_string(), &update_name),
                Some(update.encode()),
            );
            self.beside().entry(name).or_default().push(update_name);
        }
        self.expect_commit(monitor.channel_id(), update.update_id);
        ChannelMonitorUpdateStatus::InProgress
    }

    fn archive_persisted_channel(&self, name: MonitorName) {
        if !self.store.is_durable() {
            return;
        }
        let text = name.to_string();
        let key = Key::new(MONITORS, "", &text);
        if let Ok(Some(bytes)) = self.store.read(&key) {
            self.store.stage(Key::new(ARCHIVED, "", &text), Some(bytes));
        }
        self.store.stage(key, None);
        for update in self.beside().remove(&name).unwrap_or_default() {
            self.store.stage(Key::new(UPDATES, &text, &update), None);
        }
    }
}
