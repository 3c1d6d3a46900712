//! API keys, as requests look them up: cached for a moment, and read by their keyed hash otherwise.
//!
//! A key with a wrong checksum is refused without a lookup. Unknown, expired and revoked keys take the same path and get the
//! same response. Only valid keys are cached, for [`FRESH_MS`]. For that long, a key stays valid after another process (a node,
//! the command line) revokes it or restricts its organization. Changes by this process apply immediately.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use lru::LruCache;
use probity_account::api_key::{Checksum, check};
use probity_account::id::KeyId;
use probity_engine::locked;
use probity_mail::time::Millis;
use probity_store::accounts::keys::{self, KnownKey};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store};
use probity_telemetry::metrics::AuthFailure;

/// Time for which a cached key is not looked up again, in milliseconds.
const FRESH_MS: i64 = 1_000;
/// Maximum number of cached keys.
const REMEMBERED_MAX: usize = 20_000;
/// Precision of the time of last use, in milliseconds.
const USE_STEP_MS: i64 = 60_000;

/// Key, and the time of its lookup.
type FoundKey = (Arc<KnownKey>, Millis);

struct Remembered {
    keys: LruCache<[u8; 32], FoundKey>,
    /// Number of times that the cache was cleared. A lookup that began before may have found a key that is no longer valid.
    forgotten: u64,
}

/// Lookup of API keys, and the record of their use.
pub struct Keyring {
    remembered: Mutex<Remembered>,
    /// Uses that are not in the database yet.
    used: Mutex<HashMap<KeyId, (OrgNo, Millis)>>,
}

impl Default for Keyring {
    fn default() -> Self {
        let size = NonZeroUsize::new(REMEMBERED_MAX).expect("not zero");
        let remembered = Remembered { keys: LruCache::sparse(size), forgotten: 0 };
        Self { remembered: Mutex::new(remembered), used: Mutex::default() }
    }
}

impl Keyring {
    /// Returns the key of a text if it is valid now. The reason for a failure is for the operator only.
    pub async fn open(
        &self,
        store: &Store,
        text: &str,
        hash: &[u8; 32],
        now: Millis,
    ) -> Result<std::result::Result<Arc<KnownKey>, AuthFailure>> {
        if check(text) == Checksum::Bad {
            return Ok(Err(AuthFailure::Malformed));
        }
        if let Some(known) = self.remembered(hash, now) {
            return Ok(Ok(known));
        }
        let forgotten = locked(&self.remembered).forgotten;
        let Some(known) = keys::by_hash(&mut store.read().await?, hash).await? else {
            return Ok(Err(AuthFailure::Unknown));
        };
        if !known.key.is_valid(now) {
            let revoked = known.key.revoked_at.is_some();
            return Ok(Err(if revoked { AuthFailure::Revoked } else { AuthFailure::Expired }));
        }
        let known = Arc::new(known);
        self.remember(hash, &known, now, forgotten);
        Ok(Ok(known))
    }

    fn remember(&self, hash: &[u8; 32], known: &Arc<KnownKey>, now: Millis, forgotten: u64) {
        let mut remembered = locked(&self.remembered);
        if remembered.forgotten == forgotten {
            remembered.keys.put(*hash, (known.clone(), now));
        }
    }

    fn remembered(&self, hash: &[u8; 32], now: Millis) -> Option<Arc<KnownKey>> {
        let mut remembered = locked(&self.remembered);
        let (known, at) = remembered.keys.get(hash)?;
        (now.since(*at) < FRESH_MS && known.key.is_valid(now)).then(|| known.clone())
    }

    /// Clears the cache, because a key was revoked or an organization was restricted.
    pub fn forget(&self) {
        let mut remembered = locked(&self.remembered);
        remembered.forgotten += 1;
        remembered.keys.clear();
    }

    pub fn note_use(&self, known: &KnownKey, now: Millis) {
        if known.key.last_used_at.is_none_or(|at| now.since(at) >= USE_STEP_MS) {
            locked(&self.used).insert(known.key.id, (known.key.org, now));
        }
    }

    /// Writes the recorded uses to the database.
    pub async fn write_uses(&self, store: &Store) -> Result<()> {
        let noted = std::mem::take(&mut *locked(&self.used));
        if noted.is_empty() {
            return Ok(());
        }
        let uses: Vec<_> = noted.into_iter().map(|(key, (org, at))| (org, key, at)).collect();
        store.write(|tx| keys::touch(tx, &uses).scope_boxed()).await
    }
}

#[cfg(test)]
mod tests {
    use probity_account::api_key::KeyKind;
    use probity_account::id::OrgId;
    use probity_store::accounts::organization::OrgState;

    use super::*;
    use crate::minting::{KeyRequest, mint};
    use crate::secrets::Secrets;

    const NOW: Millis = Millis(1_800_000_000_000);

    #[test]
    fn a_look_that_a_revocation_overtook_is_not_remembered() {
        let (keyring, hash) = (Keyring::default(), [1; 32]);
        let wanted = KeyRequest::plain("Any", KeyKind::Live);
        let key = mint(&Secrets::of(&[1; 32]), "probity", OrgNo(1), None, wanted, NOW).key;
        let org_id = OrgId::new(NOW, [1; 10]);
        let known = KnownKey {
            key,
            org_id,
            org_status: OrgState::Active,
            org_plan: "metered".into(),
            org_rate_limit_per_minute: None,
            org_wished_per_minute: None,
        };
        let known = Arc::new(known);
        keyring.remember(&hash, &known, NOW, 0);
        assert!(keyring.remembered(&hash, NOW).is_some());
        keyring.forget();
        assert!(keyring.remembered(&hash, NOW).is_none());
        keyring.remember(&hash, &known, NOW, 0);
        assert!(keyring.remembered(&hash, NOW).is_none(), "it was looked up before the revocation");
        keyring.remember(&hash, &known, NOW, 1);
        assert!(keyring.remembered(&hash, NOW).is_some());
    }
}
