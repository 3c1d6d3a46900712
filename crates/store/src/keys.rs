//! API keys: of each only a keyed hash is stored, with the parts that may be shown.

use probity_account::api_key::KeyKind;
use probity_account::id::{KeyId, OrgId, UserId};
use probity_account::scope::Scopes;
use probity_mail::time::Millis;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::organization::OrgStatus;

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Whose.
    pub org: OrgNo,
    /// The id outside.
    pub id: KeyId,
    /// Who made it, or whose acts it does.
    pub user: Option<UserId>,
    /// What it is called.
    pub name: String,
    /// What sort of key.
    pub kind: KeyKind,
    /// What it may do.
    pub scopes: Scopes,
    /// Where a `pub` key may be used from.
    pub origins: Vec<String>,
    /// The visible beginning.
    pub prefix: String,
    /// The visible end.
    pub last4: String,
    /// Requests a minute; none where the instance's value counts.
    pub rate_limit_per_minute: Option<i64>,
    /// Credits that a `pub` key may spend a day; none where the instance's value counts.
    pub daily_cap: Option<i64>,
    /// When it was made.
    pub created_at: Millis,
    /// From when on it is refused.
    pub expires_at: Option<Millis>,
    /// When it was revoked.
    pub revoked_at: Option<Millis>,
    /// When it was used last, to the minute.
    pub last_used_at: Option<Millis>,
}

impl Key {
    /// Whether it opens anything now.
    pub fn is_valid(&self, now: Millis) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| at > now)
    }
}

/// A key and what must be known of its organization to answer a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The key.
    pub key: Key,
    /// Its organization's id.
    pub org_id: OrgId,
    /// Where the organization stands.
    pub org_status: OrgStatus,
    /// The name of the organization's plan.
    pub org_plan: String,
    /// Requests a minute that the operator allows all keys of the organization.
    pub org_rate_limit_per_minute: Option<i64>,
    /// Requests a minute that the organization wishes for all its keys.
    pub org_wished_per_minute: Option<i64>,
}

statements! {
    // Of several that make one at once, each waits for the one before and then counts its key too.
    LOCK_ORG = "SELECT org_no FROM org WHERE org_no = $1 {for_update}";
    COUNT = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM api_key WHERE org_no = $1 AND revoked_at IS NULL \
             AND (expires_at IS NULL OR expires_at > $2) LIMIT $3) AS part) AS n";
    INSERT = "INSERT INTO api_key (org_no, id, user_id, name, kind, scopes, origins, hash, prefix, last4, \
              rate_limit_per_minute, daily_cap, created_at, expires_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    BY_HASH = "SELECT k.org_no, k.id, k.user_id, k.name, k.kind, k.scopes, k.origins, k.prefix, k.last4, \
               k.rate_limit_per_minute, k.daily_cap, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, o.id AS org_id, \
               o.status AS org_status, o.plan AS org_plan, o.rate_limit_per_minute AS org_rate, s.rate_limit_per_minute AS org_wish \
               FROM api_key k JOIN org o ON o.org_no = k.org_no \
               LEFT JOIN org_settings s ON s.org_no = k.org_no WHERE k.hash = $1";
    BY_ID = "SELECT org_no, id, user_id, name, kind, scopes, origins, prefix, last4, rate_limit_per_minute, daily_cap, \
             created_at, expires_at, revoked_at, last_used_at FROM api_key WHERE org_no = $1 AND id = $2";
    // The newest first; ids of one millisecond are told apart by their random part.
    PAGE = "SELECT org_no, id, user_id, name, kind, scopes, origins, prefix, last4, rate_limit_per_minute, daily_cap, \
            created_at, expires_at, revoked_at, last_used_at FROM api_key \
            WHERE org_no = $1 AND (created_at < $2 OR (created_at = $2 AND id < $3)) \
            ORDER BY created_at DESC, id DESC LIMIT $4";
    REVOKE = "UPDATE api_key SET revoked_at = $3 WHERE org_no = $1 AND id = $2 AND revoked_at IS NULL";
    TOUCH = "UPDATE api_key SET last_used_at = d.at FROM (SELECT CAST(each.value ->> 'o' AS BIGINT) AS o, \
             each.value ->> 'k' AS k, CAST(each.value ->> 'at' AS BIGINT) AS at FROM {each:$1}) AS d \
             WHERE org_no = d.o AND id = d.k AND (last_used_at IS NULL OR last_used_at < d.at)";
}

/// Whether an organization has fewer than `at_most` keys that open something now. It stays so until the transaction ends.
pub async fn has_room(tx: &mut Tx, org: OrgNo, now: Millis, at_most: i64) -> Result<bool> {
    tx.first(&LOCK_ORG, args![org]).await?.ok_or(StoreError::NotFound)?;
    let counted = tx.first(&COUNT, args![org, now, at_most]).await?;
    Ok(counted.map_or(Ok(0), |row| row.get::<i64>("n"))? < at_most)
}

/// Adds a key. Conflict: its hash or its id stands already.
pub async fn insert(tx: &mut Tx, key: &Key, hash: &[u8; 32]) -> Result<()> {
    let origins = serde_json::to_string(&key.origins).map_err(|error| StoreError::Corrupt(error.into()))?;
    let values = args![
        key.org,
        key.id.to_string(),
        key.user.map(|user| user.to_string()),
        key.name.as_str(),
        key.kind.as_str(),
        key.scopes.bits(),
        origins,
        hash,
        key.prefix.as_str(),
        key.last4.as_str(),
        key.rate_limit_per_minute,
        key.daily_cap,
        key.created_at,
        key.expires_at,
    ];
    tx.execute(&INSERT, values).await?;
    Ok(())
}

/// The key with a hash, expired and revoked ones included: telling them apart is not the index's to do.
pub async fn by_hash(conn: &mut Conn, hash: &[u8; 32]) -> Result<Option<Known>> {
    let Some(row) = conn.first(&BY_HASH, args![hash]).await? else { return Ok(None) };
    Ok(Some(Known {
        key: read(&row)?,
        org_id: row.parse("org_id")?,
        org_status: row.parse("org_status")?,
        org_plan: row.get("org_plan")?,
        org_rate_limit_per_minute: row.get("org_rate")?,
        org_wished_per_minute: row.get("org_wish")?,
    }))
}

/// One key of an organization.
pub async fn by_id(conn: &mut Conn, org: OrgNo, id: KeyId) -> Result<Key> {
    conn.first(&BY_ID, args![org, id.to_string()]).await?.as_ref().map_or(Err(StoreError::NotFound), read)
}

/// Keys of an organization, the newest first, after the one that a page ended with; at most `at_most`.
pub async fn page(conn: &mut Conn, org: OrgNo, after: Option<(Millis, KeyId)>, at_most: i64) -> Result<Vec<Key>> {
    let (at, id) = after.map_or((Millis(i64::MAX), String::new()), |(at, id)| (at, id.to_string()));
    conn.rows(&PAGE, args![org, at, id, at_most]).await?.iter().map(read).collect()
}

/// Revokes a key, once and for all. Not found: there is none, or it is revoked already.
pub async fn revoke(tx: &mut Tx, org: OrgNo, id: KeyId, now: Millis) -> Result<()> {
    let rows = tx.execute(&REVOKE, args![org, id.to_string(), now]).await?;
    if rows == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

/// Notes when keys were used last.
pub async fn touch(tx: &mut Tx, used: &[(OrgNo, KeyId, Millis)]) -> Result<()> {
    let rows: Vec<_> =
        used.iter().map(|(org, key, at)| serde_json::json!({ "o": org.0, "k": key.to_string(), "at": at.0 })).collect();
    tx.execute(&TOUCH, args![serde_json::Value::from(rows).to_string()]).await?;
    Ok(())
}

fn read(row: &Row) -> Result<Key> {
    let at = |column: &str| row.get::<Option<i64>>(column).map(|at| at.map(Millis));
    let kind: String = row.get("kind")?;
    let origins: String = row.get("origins")?;
    let user: Option<String> = row.get("user_id")?;
    Ok(Key {
        org: OrgNo(row.get("org_no")?),
        id: row.parse("id")?,
        user: user.map(|id| id.parse()).transpose().map_err(|_| StoreError::corrupt("a key's user_id"))?,
        name: row.get("name")?,
        kind: KeyKind::from_name(&kind).ok_or_else(|| StoreError::corrupt("a key's kind"))?,
        scopes: Scopes::from_bits(row.get("scopes")?),
        origins: serde_json::from_str(&origins).map_err(|error| StoreError::Corrupt(error.into()))?,
        prefix: row.get("prefix")?,
        last4: row.get("last4")?,
        rate_limit_per_minute: row.get("rate_limit_per_minute")?,
        daily_cap: row.get("daily_cap")?,
        created_at: Millis(row.get("created_at")?),
        expires_at: at("expires_at")?,
        revoked_at: at("revoked_at")?,
        last_used_at: at("last_used_at")?,
    })
}
