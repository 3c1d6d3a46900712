//! API keys: only a keyed hash of each is stored, with the parts that may be shown.

use probity_account::api_key::KeyKind;
use probity_account::id::{KeyId, OrgId, UserId};
use probity_account::scope::Scopes;
use probity_mail::time::Millis;

use crate::accounts::organization::OrgState;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::{self, OrgNo};
use crate::records::{TypedStatements as _, damaged, records};

/// API key without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    pub org: OrgNo,
    /// Public id.
    pub id: KeyId,
    /// User who created it, or for whom it acts.
    pub user: Option<UserId>,
    pub name: String,
    pub kind: KeyKind,
    pub scopes: Scopes,
    /// Origins from which a `pub` key may be used.
    pub origins: Vec<String>,
    /// Visible beginning.
    pub prefix: String,
    /// Visible end.
    pub last4: String,
    /// The whole key, for `pub` keys created since it is stored; it is public in web pages.
    pub public_key: Option<String>,
    /// Requests per minute; `None` for the instance's limit.
    pub rate_limit_per_minute: Option<i64>,
    /// Credits that a `pub` key may spend per day; `None` for the instance's limit.
    pub daily_cap: Option<i64>,
    pub created_at: Millis,
    /// Expiry.
    pub expires_at: Option<Millis>,
    pub revoked_at: Option<Millis>,
    /// Key that replaced it by rotation.
    pub replaced_by: Option<KeyId>,
    /// Last use, to the minute.
    pub last_used_at: Option<Millis>,
}

impl StoredKey {
    /// Whether it is neither revoked nor expired.
    pub fn is_valid(&self, now: Millis) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| at > now)
    }
}

/// A key, with the facts about its organization that requests need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKey {
    pub key: StoredKey,
    pub org_id: OrgId,
    /// State of the organization.
    pub org_status: OrgState,
    pub org_plan: String,
    /// Operator's limit for all keys of the organization, in requests per minute.
    pub org_rate_limit_per_minute: Option<i64>,
    /// Organization's own limit for all its keys, in requests per minute.
    pub org_wished_per_minute: Option<i64>,
}

statements! {
    COUNT = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM api_key WHERE org_no = $1 AND revoked_at IS NULL \
             AND (expires_at IS NULL OR expires_at > $2) LIMIT $3) AS part) AS n";
    INSERT = "INSERT INTO api_key (org_no, id, user_id, name, kind, scopes, prefix, last4, rate_limit_per_minute, \
              daily_cap, created_at, expires_at, public_key, origins, hash) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    BY_HASH = "SELECT k.org_no, k.id, k.user_id, k.name, k.kind, k.scopes, k.origins, k.prefix, k.last4, k.public_key, \
               k.rate_limit_per_minute, k.daily_cap, k.created_at, k.expires_at, k.revoked_at, k.replaced_by, k.last_used_at, o.id AS org_id, \
               o.status AS org_status, o.plan AS org_plan, o.rate_limit_per_minute AS org_rate, s.rate_limit_per_minute AS org_wish \
               FROM api_key k JOIN org o ON o.org_no = k.org_no \
               LEFT JOIN org_settings s ON s.org_no = k.org_no WHERE k.hash = $1";
    BY_ID = "SELECT org_no, id, user_id, name, kind, scopes, origins, prefix, last4, public_key, rate_limit_per_minute, daily_cap, \
             created_at, expires_at, revoked_at, replaced_by, last_used_at FROM api_key WHERE org_no = $1 AND id = $2";
    // Newest first; ids of the same millisecond differ in their random part.
    PAGE = "SELECT org_no, id, user_id, name, kind, scopes, origins, prefix, last4, public_key, rate_limit_per_minute, daily_cap, \
            created_at, expires_at, revoked_at, replaced_by, last_used_at FROM api_key \
            WHERE org_no = $1 AND (created_at < $2 OR (created_at = $2 AND id < $3)) \
            ORDER BY created_at DESC, id DESC LIMIT $4";
    REVOKE = "UPDATE api_key SET revoked_at = $3 WHERE org_no = $1 AND id = $2 AND revoked_at IS NULL";
    // An end is only brought forward.
    REPLACE = "UPDATE api_key SET replaced_by = $4, expires_at = CASE WHEN expires_at < $3 THEN expires_at ELSE $3 END \
               WHERE org_no = $1 AND id = $2 AND replaced_by IS NULL AND revoked_at IS NULL";
    RENAME = "UPDATE api_key SET name = $3 WHERE org_no = $1 AND id = $2";
    TOUCH = "UPDATE api_key SET last_used_at = d.at FROM (SELECT CAST(each.value ->> 'o' AS BIGINT) AS o, \
             each.value ->> 'k' AS k, CAST(each.value ->> 'at' AS BIGINT) AS at FROM {each:$1}) AS d \
             WHERE org_no = d.o AND id = d.k AND (last_used_at IS NULL OR last_used_at < d.at)";
}

/// Whether an organization has fewer than `at_most` valid keys. It stays so until the transaction ends.
pub async fn has_room(tx: &mut Tx, org: OrgNo, now: Millis, at_most: i64) -> Result<bool> {
    // Each concurrent creation waits for the one before, and then counts its key, too.
    number::lock(tx, org).await?;
    Ok(tx.one::<i64>(&COUNT, args![org, now, at_most]).await? < at_most)
}

/// Adds a key. [`StoreError::Conflict`]: its hash or its id exists.
pub async fn insert(tx: &mut Tx, key: &StoredKey, hash: &[u8; 32]) -> Result<()> {
    let origins = serde_json::to_string(&key.origins).map_err(damaged)?;
    let values = args!(key => org, id, user, name, kind, scopes, prefix, last4, rate_limit_per_minute, daily_cap,
        created_at, expires_at, public_key; origins, hash);
    tx.execute(&INSERT, values).await.map(drop)
}

/// The key with a hash, including expired and revoked keys: the caller checks validity.
pub async fn by_hash(conn: &mut Conn, hash: &[u8; 32]) -> Result<Option<KnownKey>> {
    conn.find(&BY_HASH, args![hash]).await
}

records!(row => KnownKey {
    org_id, org_status, org_plan, org_rate_limit_per_minute = "org_rate", org_wished_per_minute = "org_wish";
    key: row.record()?,
});

pub async fn by_id(conn: &mut Conn, org: OrgNo, id: KeyId) -> Result<StoredKey> {
    conn.one(&BY_ID, args![org, id]).await
}

/// Keys of an organization, newest first, after the last one of a page; at most `at_most`.
pub async fn page(conn: &mut Conn, org: OrgNo, after: Option<(Millis, KeyId)>, at_most: i64) -> Result<Vec<StoredKey>> {
    let (at, id) = after.map_or((Millis(i64::MAX), String::new()), |(at, id)| (at, id.to_string()));
    conn.all(&PAGE, args![org, at, id, at_most]).await
}

/// Revokes a key permanently. [`StoreError::NotFound`]: it does not exist, or is already revoked.
pub async fn revoke(tx: &mut Tx, org: OrgNo, id: KeyId, now: Millis) -> Result<()> {
    tx.change(&REVOKE, args![org, id, now], StoreError::NotFound).await
}

/// Records a key's successor, and makes the key expire at a time unless it ends earlier. [`StoreError::NotFound`]: it does not
/// exist, is revoked, or has a successor.
pub async fn replace(tx: &mut Tx, org: OrgNo, id: KeyId, by: KeyId, end: Millis) -> Result<()> {
    tx.change(&REPLACE, args![org, id, end, by], StoreError::NotFound).await
}

/// Renames a key. [`StoreError::NotFound`]: it does not exist.
pub async fn rename(tx: &mut Tx, org: OrgNo, id: KeyId, name: &str) -> Result<()> {
    tx.change(&RENAME, args![org, id, name], StoreError::NotFound).await
}

/// Records the last use of keys.
pub async fn touch(tx: &mut Tx, used: &[(OrgNo, KeyId, Millis)]) -> Result<()> {
    let rows: Vec<_> =
        used.iter().map(|(org, key, at)| serde_json::json!({ "o": org.0, "k": key.to_string(), "at": at.0 })).collect();
    tx.execute(&TOUCH, args![serde_json::Value::from(rows).to_string()]).await.map(drop)
}

records!(row => StoredKey {
    org = "org_no", id, user = "user_id", name, kind, scopes, prefix, last4, public_key, rate_limit_per_minute,
    daily_cap, created_at, expires_at, revoked_at, replaced_by, last_used_at;
    origins: row.json("origins")?,
});
