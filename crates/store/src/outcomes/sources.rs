//! Sources of outcomes: sending services that post events to a URL of their own.

use probity_account::id::OutcomeSourceId;
use probity_account::outcome::OutcomeSource;
use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::{self, OrgNo};
use crate::records::{ReadColumns as _, TypedStatements as _, record, records};

/// Source without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeSourceRecord {
    pub org: OrgNo,
    pub id: OutcomeSourceId,
    /// Whether a test key created it. Its events are stored as those of test keys.
    pub test: bool,
    pub service: OutcomeSource,
    pub name: String,
    pub created_at: Millis,
    pub last_event_at: Option<Millis>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct OutcomeSourceSecrets {
    /// Keyed hash of the secret in the URL.
    pub hash: Vec<u8>,
    /// Key with which the service signs, encrypted by the caller.
    pub signing_key: Option<Vec<u8>>,
}

/// Columns of a source.
macro_rules! columns {
    () => {
        "org_no, id, test, service, name, created_at, last_event_at"
    };
}

statements! {
    COUNT = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM outcome_source WHERE org_no = $1 LIMIT $2) AS part) AS n";
    INSERT = "INSERT INTO outcome_source (org_no, id, test, service, name, created_at, hash, signing_key) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    ALL = concat!("SELECT ", columns!(), " FROM outcome_source WHERE org_no = $1 AND test = $2 ORDER BY created_at DESC, id DESC \
          LIMIT $3");
    BY_ID = concat!("SELECT ", columns!(), ", hash, signing_key FROM outcome_source WHERE id = $1");
    REMOVE = "DELETE FROM outcome_source WHERE org_no = $1 AND id = $2 AND test = $3";
    TOUCH = "UPDATE outcome_source SET last_event_at = $3 WHERE org_no = $1 AND id = $2";
}

/// Creates a source. False: its organization already has `at_most`.
pub async fn insert(
    tx: &mut Tx,
    source: &OutcomeSourceRecord,
    secrets: &OutcomeSourceSecrets,
    at_most: i64,
) -> Result<bool> {
    // Concurrent creations wait for each other, so each counts the sources before it.
    number::lock(tx, source.org).await?;
    if tx.one::<i64>(&COUNT, args![source.org, at_most]).await? >= at_most {
        return Ok(false);
    }
    let values = args!(source => org, id, test, service, name, created_at; &secrets.hash, &secrets.signing_key);
    tx.execute(&INSERT, values).await?;
    Ok(true)
}

/// Returns an organization's sources of a mode, newest first, at most `at_most`.
pub async fn all(conn: &mut Conn, org: OrgNo, test: bool, at_most: i64) -> Result<Vec<OutcomeSourceRecord>> {
    conn.all(&ALL, args![org, test, at_most]).await
}

/// Returns a source of any organization, with its secrets.
pub async fn by_id(
    conn: &mut Conn,
    id: OutcomeSourceId,
) -> Result<Option<(OutcomeSourceRecord, OutcomeSourceSecrets)>> {
    let Some(row) = conn.first(&BY_ID, args![id]).await? else { return Ok(None) };
    Ok(Some((row.record::<OutcomeSourceRecord>()?, record!(row => OutcomeSourceSecrets { hash, signing_key }))))
}

/// Removes a source. Its outcomes stay.
pub async fn remove(tx: &mut Tx, org: OrgNo, id: OutcomeSourceId, test: bool) -> Result<()> {
    tx.change(&REMOVE, args![org, id, test], StoreError::NotFound).await
}

/// Records that a source has posted. False: it was removed meanwhile.
pub async fn touch(tx: &mut Tx, org: OrgNo, id: OutcomeSourceId, now: Millis) -> Result<bool> {
    Ok(tx.execute(&TOUCH, args![org, id, now]).await? == 1)
}

records!(row => OutcomeSourceRecord { org = "org_no", id, test, service, name, created_at, last_event_at });
