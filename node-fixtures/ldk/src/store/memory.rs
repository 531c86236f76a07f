//! The store that forgets: a map that dies with the process.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::{Backend, Change, Key, StoreError};

#[derive(Default)]
pub(super) struct MemoryStore {
    records: RwLock<BTreeMap<Key, Vec<u8>>>,
}

impl Backend for MemoryStore {
    fn read(&self, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        Ok(records.get(key).cloned())
    }

    fn list(&self, primary: &str, secondary: &str) -> Result<Vec<String>, StoreError> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        Ok(records
            .keys()
            .filter(|key| key.primary == primary && key.secondary == secondary)
            .map(|key| key.name.clone())
            .collect())
    }

    fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in changes {
            match value {
                Some(value) => {
                    records.insert(key, value);
                }
                None => {
                    records.remove(&key);
                }
            }
        }
        Ok(())
    }

    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
