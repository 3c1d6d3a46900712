//! Changes of an API key: renaming and rotation.
//!
//! Rotation creates a new key with the same permissions. The old key works for a while longer, so that programs can switch
//! without a gap.

use probity_access::minting::{self, KeyRequest, MintedKey};
use probity_account::api_key::KeyKind;
use probity_account::id::KeyId;
use probity_contract::error::ApiError;
use probity_contract::published::accounts::keys::{ApiKey, NewKey};
use probity_contract::published::whole::Whole;
use probity_mail::time::{HOUR_MS, Millis};
use probity_store::accounts::keys::{self, StoredKey};
use probity_store::activity::events::{AccountChange, AccountEventKind, EventSubject};
use probity_store::{StoreError, work};
use serde::{Deserialize, Serialize};

use crate::accounts::keys::{no_more_than, refuse_if_full};
use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::given::checked_name;

/// Maximum time for which a rotated key keeps working, in hours.
const OVERLAP_MAX_H: u32 = 30 * 24;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameKey {
    pub name: String,
}

/// Rotation of a key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotateKey {
    /// Hours for which the old key keeps working; 0 ends it at once.
    pub overlap_hours: Whole,
}

/// Successor of a key, with its secret, and the old key.
#[derive(Serialize)]
pub struct RotatedKey {
    #[serde(flatten)]
    pub made: NewKey,
    pub replaces: ApiKey,
}

/// Gives a key another name. The key stays the same.
pub async fn rename_key(app: &App, caller: &Caller, id: KeyId, wish: RenameKey) -> Result<ApiKey, ApiError> {
    let named = checked_name(&wish.name)?;
    let now = app.now();
    let renamed = app.store.write(work!(|tx| {
        let before = keys::by_id(tx, caller.org(), id).await?;
        if before.name == named {
            return Ok(before);
        }
        keys::rename(tx, caller.org(), id, &named).await?;
        let what = AccountChange::about(AccountEventKind::KeyRenamed, EventSubject::Key(id));
        caller.note(tx, now, &[what]).await?;
        Ok(StoredKey { name: named.clone(), ..before })
    }));
    let renamed = renamed.await?;
    app.keyring.forget();
    Ok(renamed.into())
}

/// Replaces a key with a new one that has the same permissions, and ends the old one after an overlap.
pub async fn rotate_key(app: &App, caller: &Caller, id: KeyId, asked: RotateKey) -> Result<RotatedKey, ApiError> {
    let hours = asked.overlap_hours.within("overlap_hours", 0, OVERLAP_MAX_H, "")?;
    let now = app.now();
    let old = keys::by_id(&mut app.store.read().await?, caller.org(), id).await?;
    let wanted = successor(&old);
    no_more_than(caller, &wanted)?;
    // Anybody who knows its secret can use the new key.
    let user = caller.user().or(old.user);
    let minted = minting::mint(&app.secrets, &app.config.brand, caller.org(), user, wanted, now);
    let made = NewKey { key: minted.key.clone().into(), secret: minted.secret.clone() };
    let rotated = replace(app, caller, (id, now + hours * HOUR_MS), (&minted, made), now).await?;
    app.keyring.forget();
    Ok(rotated)
}

/// Describes a key with the properties of another one.
fn successor(old: &StoredKey) -> KeyRequest {
    KeyRequest {
        name: old.name.clone(),
        kind: old.kind,
        scopes: (old.kind == KeyKind::Rk).then_some(old.scopes),
        origins: old.origins.clone(),
        expires_at: old.expires_at,
        rate_limit_per_minute: old.rate_limit_per_minute,
        daily_cap: old.daily_cap,
    }
}

async fn replace(
    app: &App,
    caller: &Caller,
    (id, end): (KeyId, Millis),
    (minted, made): (&MintedKey, NewKey),
    now: Millis,
) -> Result<RotatedKey, ApiError> {
    let org = caller.org();
    let written = app.store.write(work!(|tx| {
        if let Err(full) = refuse_if_full(tx, caller, now).await? {
            return Ok(Err(full));
        }
        let old = keys::by_id(tx, org, id).await?;
        if !old.is_valid(now) {
            return Ok(Err(ApiError::conflict("the key is revoked or expired; create a new one")));
        }
        // The old key ends with the overlap, and so would a second successor.
        if old.replaced_by.is_some() {
            let replaced = "the key is already replaced: rotate its successor (`replaced_by`), or create a new key";
            return Ok(Err(ApiError::conflict(replaced)));
        }
        keys::insert(tx, &minted.key, &minted.hash).await?;
        keys::replace(tx, org, id, minted.key.id, end).await?;
        let what = AccountChange::about(AccountEventKind::KeyRotated, EventSubject::Key(id));
        caller.note(tx, now, &[what]).await?;
        let replaces = keys::by_id(tx, org, id).await?.into();
        Ok::<_, StoreError>(Ok(RotatedKey { made: made.clone(), replaces }))
    }));
    written.await?
}
