//! Where the node's state lives, and when it is written.
//!
//! Everything that changes is *staged* and reaches the backend in *commits*, each of which
//! is atomic. That is how a monitor never gets to the disk without a channel manager that
//! knows of it, and the other way round: one commit carries the monitor updates, the
//! manager that made them and the payment records that tell of them. LDK holds back the
//! messages that depend on a monitor update until the commit has said it is durable
//! (see [`ChannelStore`]). A node killed at any moment therefore finds a state in which its
//! parts agree.
//!
//! The background loop is the only one who commits. This module knows nothing of LDK's
//! managers; [`ChannelStore`] knows monitors, the rest are keys and bytes.

mod channels;
mod memory;
mod sqlite;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use lightning::util::persist::KVStoreSync;
use tokio::sync::Notify;

use crate::options::StoreKind;
pub(crate) use channels::{ChannelStore, StoredMonitor};
use memory::MemoryStore;
use sqlite::SqliteStore;

/// Keys of this crate's own records; LDK's are named in `lightning::util::persist`.
pub(crate) mod namespace {
    pub(crate) const PAYMENTS: &str = "payments";
    pub(crate) const PEERS: &str = "peers";
    pub(crate) const BROADCASTS: &str = "broadcasts";
}

/// A store that cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("the store {} is damaged or no store of this node: {why}", path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("the store {} cannot be used: {source}", path.display())]
    Sqlite {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the store {} takes nothing more: an earlier commit failed", .0.display())]
    Broken(PathBuf),
}

/// Names one record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub primary: String,
    pub secondary: String,
    pub name: String,
}

impl Key {
    pub(crate) fn new(primary: &str, secondary: &str, name: &str) -> Self {
        Key {
            primary: primary.to_owned(),
            secondary: secondary.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// One staged change: a new value, or `None` to remove the record.
pub(crate) type Change = (Key, Option<Vec<u8>>);

/// What a kind of store must be able to do.
trait Backend: Send + Sync {
    fn read(&self, key: &Key) -> Result<Option<Vec<u8>>, StoreError>;
    /// The names under a namespace, in order.
    fn list(&self, primary: &str, secondary: &str) -> Result<Vec<String>, StoreError>;
    /// Applies all changes, in order, or none.
    fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError>;
    /// Leaves the files as a copy of them should be taken; called once, at the end.
    fn close(&self) -> Result<(), StoreError>;
}

/// The node's store.
pub(crate) struct Store {
    kind: StoreKind,
    path: PathBuf,
    backend: Box<dyn Backend>,
    staged: Mutex<Vec<Change>>,
    /// A commit failed, and what it carried is lost: a later one would leave a gap.
    broken: AtomicBool,
    /// Told when something is staged, so that the background loop commits it.
    pub wake: Notify,
}

impl Store {
    /// Opens the store of `kind` in `data_dir`, empty if there is none yet.
    pub(crate) fn open(kind: StoreKind, data_dir: &Path) -> Result<Self, StoreError> {
        let path = data_dir.join("node.sqlite");
        let backend: Box<dyn Backend> = match kind {
            StoreKind::Memory => Box::<MemoryStore>::default(),
            StoreKind::Sqlite => Box::new(SqliteStore::open(&path)?),
        };
        Ok(Store {
            kind,
            path,
            backend,
            staged: Mutex::default(),
            broken: AtomicBool::new(false),
            wake: Notify::new(),
        })
    }

    /// Whether what is committed outlives the process. State that only a restart would read
    /// (channel monitors, the manager) is not even serialised for a store that forgets it.
    pub(crate) fn is_durable(&self) -> bool {
        self.kind == StoreKind::Sqlite
    }

    pub(crate) fn kind(&self) -> StoreKind {
        self.kind
    }

    /// Reads a committed record.
    pub(crate) fn read(&self, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        self.backend.read(key)
    }

    /// Lists the committed records of a namespace.
    pub(crate) fn list(&self, primary: &str, secondary: &str) -> Result<Vec<String>, StoreError> {
        self.backend.list(primary, secondary)
    }

    /// Puts a change into the next commit.
    pub(crate) fn stage(&self, key: Key, value: Option<Vec<u8>>) {
        self.staged
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((key, value));
        self.wake.notify_one();
    }

    /// Takes what is staged, to be handed to [`Store::commit`].
    pub(crate) fn take_staged(&self) -> Vec<Change> {
        std::mem::take(&mut *self.staged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what is staged in one namespace and leaves the rest.
    pub(crate) fn take_staged_in(&self, primary: &str) -> Vec<Change> {
        let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        let (taken, rest) = std::mem::take(&mut *staged)
            .into_iter()
            .partition(|(key, _)| key.primary == primary);
        *staged = rest;
        taken
    }

    /// Makes changes durable: all of them, in order, or none. After a commit that failed
    /// there is no other: the next start finds the state from before it, whole.
    pub(crate) fn commit(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        if self.broken.load(Ordering::Acquire) {
            return Err(StoreError::Broken(self.path.clone()));
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.backend.apply(changes).inspect_err(|_| {
            self.broken.store(true, Ordering::Release);
        })
    }

    /// Tidies up after the last commit; what has failed to commit is left as it is.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        if self.broken.load(Ordering::Acquire) {
            return Ok(());
        }
        self.backend.close()
    }

    /// The error for a committed record that cannot be understood.
    pub(crate) fn damaged(&self, why: String) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            why,
        }
    }
}

/// LDK's view of the store, used by its output sweeper. Writes are staged: the commit that
/// carries them also carries the manager that has let go of the same outputs.
impl KVStoreSync for Store {
    fn read(
        &self,
        primary: &str,
        secondary: &str,
        key: &str,
    ) -> Result<Vec<u8>, lightning::io::Error> {
        match self.backend.read(&Key::new(primary, secondary, key)) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(lightning::io::ErrorKind::NotFound.into()),
            Err(error) => Err(io::Error::other(error).into()),
        }
    }

    fn write(
        &self,
        primary: &str,
        secondary: &str,
        key: &str,
        value: Vec<u8>,
    ) -> Result<(), lightning::io::Error> {
        if self.is_durable() {
            self.stage(Key::new(primary, secondary, key), Some(value));
        }
        Ok(())
    }

    fn remove(
        &self,
        primary: &str,
        secondary: &str,
        key: &str,
        _lazy: bool,
    ) -> Result<(), lightning::io::Error> {
        self.stage(Key::new(primary, secondary, key), None);
        Ok(())
    }

    fn list(&self, primary: &str, secondary: &str) -> Result<Vec<String>, lightning::io::Error> {
        self.backend
            .list(primary, secondary)
            .map_err(|error| io::Error::other(error).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new("things", "", name)
    }

    #[test]
    fn a_commit_survives_reopening_and_what_was_only_staged_does_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::open(StoreKind::Sqlite, dir.path()).expect("opens");
        store.stage(key("a"), Some(b"one".to_vec()));
        store.stage(key("b"), Some(b"two".to_vec()));
        store.stage(key("a"), Some(b"three".to_vec()));
        store.commit(store.take_staged()).expect("commits");
        store.stage(key("c"), Some(b"lost".to_vec()));
        drop(store);

        let store = Store::open(StoreKind::Sqlite, dir.path()).expect("opens again");
        assert_eq!(
            store.read(&key("a")).expect("reads"),
            Some(b"three".to_vec())
        );
        assert_eq!(store.read(&key("c")).expect("reads"), None);
        assert_eq!(
            Store::list(&store, "things", "").expect("lists"),
            ["a", "b"]
        );
    }

    #[test]
    fn one_namespace_can_be_taken_ahead_of_the_others() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::open(StoreKind::Memory, dir.path()).expect("opens");
        let other = Key::new("others", "", "b");
        store.stage(key("a"), Some(b"one".to_vec()));
        store.stage(other.clone(), Some(b"two".to_vec()));
        store.stage(key("a"), None);
        let taken = store.take_staged_in("things");
        assert_eq!(taken, [(key("a"), Some(b"one".to_vec())), (key("a"), None)]);
        assert_eq!(store.take_staged(), [(other, Some(b"two".to_vec()))]);
    }

    #[test]
    fn a_removed_record_is_gone() {
        let dir = tempfile::tempdir().expect("a directory");
        for kind in [StoreKind::Sqlite, StoreKind::Memory] {
            let store = Store::open(kind, dir.path()).expect("opens");
            store.stage(key("a"), Some(b"one".to_vec()));
            store.stage(key("a"), None);
            store.commit(store.take_staged()).expect("commits");
            assert_eq!(store.read(&key("a")).expect("reads"), None);
        }
    }

    #[test]
    fn memory_forgets() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::open(StoreKind::Memory, dir.path()).expect("opens");
        store.stage(key("a"), Some(b"one".to_vec()));
        store.commit(store.take_staged()).expect("commits");
        assert_eq!(store.read(&key("a")).expect("reads"), Some(b"one".to_vec()));
        let store = Store::open(StoreKind::Memory, dir.path()).expect("opens again");
        assert_eq!(store.read(&key("a")).expect("reads"), None);
    }

    #[test]
    fn nothing_is_committed_after_a_commit_that_failed() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::open(StoreKind::Sqlite, dir.path()).expect("opens");
        let other = rusqlite::Connection::open(dir.path().join("node.sqlite")).expect("opens");
        other
            .execute_batch("ALTER TABLE records RENAME TO hidden")
            .expect("renames");
        store.stage(key("a"), Some(b"lost".to_vec()));
        assert!(store.commit(store.take_staged()).is_err());
        other
            .execute_batch("ALTER TABLE hidden RENAME TO records")
            .expect("renames back");
        store.stage(key("b"), Some(b"late".to_vec()));
        assert!(matches!(
            store.commit(store.take_staged()),
            Err(StoreError::Broken(_))
        ));
        drop(store);
        let store = Store::open(StoreKind::Sqlite, dir.path()).expect("opens again");
        assert!(Store::list(&store, "things", "").expect("lists").is_empty());
    }

    #[test]
    fn a_damaged_file_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("node.sqlite");
        std::fs::write(
            &path,
            b"this is no database, and it is long enough to look like one. ".repeat(40),
        )
        .expect("writes");
        let error = Store::open(StoreKind::Sqlite, dir.path())
            .err()
            .expect("must be refused")
            .to_string();
        assert!(error.contains("node.sqlite"), "{error}");
        assert!(error.contains("not a database"), "{error}");
    }
}
