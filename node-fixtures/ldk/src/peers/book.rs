//! The addresses of peers that were connected on purpose.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};

use bitcoin::secp256k1::PublicKey;

use crate::store::{Key, Store, StoreError, namespace};

pub(crate) struct Book {
    store: Arc<Store>,
    addresses: Mutex<BTreeMap<PublicKey, SocketAddr>>,
}

impl Book {
    pub(crate) fn read(store: Arc<Store>) -> Result<Self, StoreError> {
        let mut addresses = BTreeMap::new();
        for name in store.list(namespace::PEERS, "")? {
            let bytes = store
                .read(&Key::new(namespace::PEERS, "", &name))?
                .unwrap_or_default();
            let entry = PublicKey::from_str(&name).ok().zip(
                String::from_utf8(bytes)
                    .ok()
                    .and_then(|text| text.parse().ok()),
            );
            let (id, address) =
                entry.ok_or_else(|| store.damaged(format!("the peer {name} cannot be read")))?;
            addresses.insert(id, address);
        }
        Ok(Book {
            store,
            addresses: Mutex::new(addresses),
        })
    }

    pub(crate) fn address(&self, id: &PublicKey) -> Option<SocketAddr> {
        self.addresses().get(id).copied()
    }

    pub(crate) fn ids(&self) -> Vec<PublicKey> {
        self.addresses().keys().copied().collect()
    }

    pub(crate) fn remember(&self, id: PublicKey, address: SocketAddr) {
        if self.addresses().insert(id, address) != Some(address) {
            self.store
                .stage(key(&id), Some(address.to_string().into_bytes()));
        }
    }

    pub(crate) fn forget(&self, id: &PublicKey) {
        if self.addresses().remove(id).is_some() {
            self.store.stage(key(id), None);
        }
    }

    fn addresses(&self) -> std::sync::MutexGuard<'_, BTreeMap<PublicKey, SocketAddr>> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(id: &PublicKey) -> Key {
    Key::new(namespace::PEERS, "", &id.to_string())
}
