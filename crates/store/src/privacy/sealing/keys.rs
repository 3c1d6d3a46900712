//! Keys that encrypt bodies: the master key, and the data keys of organizations in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::db::error::{Result, StoreError};
use crate::number::OrgNo;

/// Maximum data keys cached; beyond it, the whole cache is dropped.
const KEYS_KEPT: usize = 10_000;

/// Master key: creates and unwraps data keys.
pub trait Sealing: fmt::Debug + Send + Sync {
    /// Identifies the master key without revealing anything about it.
    fn fingerprint(&self) -> &str;
    /// Creates a data key for an organization, wrapped.
    fn new_key(&self, org: OrgNo) -> Vec<u8>;
    /// Unwraps an organization's data key; `None` if it was wrapped under another master key, or for another organization.
    fn data_key(&self, org: OrgNo, wrapped: &[u8]) -> Option<Arc<dyn DataKey>>;
}

/// Key of one organization's bodies.
pub trait DataKey: fmt::Debug + Send + Sync {
    /// Appends the encrypted body; the result differs each time.
    fn seal(&self, context: &[u8], plain: &[u8], into: &mut Vec<u8>);
    /// Decrypts a body; `None` if the context or the key differs, or a bit was changed.
    fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>>;
}

/// Master key, with a cache of its unwrapped data keys.
#[derive(Debug)]
pub(crate) struct MasterKeys {
    sealing: Arc<dyn Sealing>,
    kept: Mutex<HashMap<OrgNo, Arc<dyn DataKey>>>,
}

impl MasterKeys {
    pub(crate) fn new(sealing: Arc<dyn Sealing>) -> Self {
        Self { sealing, kept: Mutex::default() }
    }

    pub(crate) fn fingerprint(&self) -> &str {
        self.sealing.fingerprint()
    }

    pub(super) fn new_key(&self, org: OrgNo) -> Vec<u8> {
        self.sealing.new_key(org)
    }

    /// An organization's data key, if cached.
    pub(super) fn cached(&self, org: OrgNo) -> Option<Arc<dyn DataKey>> {
        self.kept(|kept| kept.get(&org).cloned())
    }

    fn kept<T>(&self, look: impl FnOnce(&mut HashMap<OrgNo, Arc<dyn DataKey>>) -> T) -> T {
        look(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Caches a committed key. The key of a rolled-back transaction would encrypt bodies that can never be decrypted.
    pub(super) fn keep(&self, org: OrgNo, key: &Arc<dyn DataKey>) {
        self.kept(|kept| {
            if kept.len() >= KEYS_KEPT {
                kept.clear();
            }
            kept.insert(org, key.clone());
        });
    }

    pub(super) fn unwrapped(&self, org: OrgNo, wrapped: &[u8]) -> Result<Arc<dyn DataKey>> {
        let key = self.sealing.data_key(org, wrapped);
        key.ok_or_else(|| StoreError::corrupt("an organization's data key is wrapped under another master key"))
    }
}

/// Data keys that a transaction has created and not committed. Only that transaction may use them.
#[derive(Debug, Default)]
pub(super) struct MadeKeys(Vec<(OrgNo, Arc<dyn DataKey>)>);

impl MadeKeys {
    pub(super) fn add(&mut self, org: OrgNo, key: Arc<dyn DataKey>) {
        self.0.push((org, key));
    }

    pub(super) fn of(&self, org: OrgNo) -> Option<Arc<dyn DataKey>> {
        self.0.iter().find(|(of, _)| *of == org).map(|(_, key)| key.clone())
    }
}
