//! Erasure requests: customers have addresses removed, and get a receipt.
//!
//! A request is stored as tombstones: keyed hashes of its addresses, computed by the caller. A run that [claims](claim) it walks
//! the organization's jobs, oldest first, and every other place that may hold an address ([`registry`]). It works in short
//! transactions fenced by the run's name ([`record()`]). If a run dies, another continues at the same job. Data erased before is
//! not counted again.
//!
//! An erasure reaches data older than itself. [`after_all`] runs in the transaction that accepts a job, after the lock that
//! [`request`] takes, too: either an erasure's run sees a job, or the job is newer than the erasure.

mod elsewhere;
pub mod registry;

use std::collections::{BTreeMap, HashMap, HashSet};

use probity_account::id::ErasureId;
use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::hex::hex;
use crate::db::{Conn, Tx, args, statements};
use crate::number::{self, OrgNo};
use crate::records::{TypedStatements as _, listed, records};

pub use crate::privacy::suppressions::SuppressionTag;
pub use elsewhere::{count_answered, drop_kept_answers, empty_receivers_answers};

/// Position of a completed walk: behind the last possible job.
pub const THROUGH: (Millis, i64) = (Millis(i64::MAX), i64::MAX);
/// Initial value of `removed`.
const NOTHING: &str = "{}";

/// Columns of an erasure.
macro_rules! columns {
    () => {
        "org_no, id, test, addresses, webhook_url, requested_at, known_at, completed_at, removed, job_at, job_no"
    };
}

statements! {
    NEWEST_JOB = "SELECT created_at FROM job WHERE org_no = $1 AND test = $2 ORDER BY created_at DESC LIMIT 1";
    NEWEST_UPLOAD = "SELECT created_at FROM upload WHERE org_no = $1 ORDER BY created_at DESC LIMIT 1";
    NEWEST_MESSAGE = "SELECT created_at FROM outbox WHERE org_no = $1 ORDER BY created_at DESC LIMIT 1";
    // Open at a time, or requested later.
    SINCE = "SELECT 1 AS one FROM erasure WHERE org_no = $1 AND test = $2 \
             AND (completed_at IS NULL OR completed_at >= $3 OR requested_at >= $3) LIMIT 1";
    NEWEST = "SELECT requested_at FROM erasure WHERE org_no = $1 AND test = $2 ORDER BY requested_at DESC LIMIT 1";
    ADD = "INSERT INTO erasure (org_no, id, test, addresses, webhook_url, requested_at, known_at, removed, job_at, job_no) \
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0) ON CONFLICT (org_no, id) DO NOTHING";
    ADD_TOMBSTONES = "INSERT INTO tombstone (org_no, erasure_id, tag) SELECT $2, $3, {unhex:each.value ->> 0} FROM {each:$1} \
                      WHERE 1 = 1 ON CONFLICT (org_no, erasure_id, tag) DO NOTHING";
    BY_ID = concat!("SELECT ", columns!(), " FROM erasure WHERE org_no = $1 AND id = $2 AND test = $3");
    PAGE = concat!("SELECT ", columns!(), " FROM erasure WHERE org_no = $1 AND test = $2 \
                   AND (requested_at < $3 OR (requested_at = $3 AND id < $4)) ORDER BY requested_at DESC, id DESC LIMIT $5");
    KNOWN_SINCE = concat!("SELECT ", columns!(), " FROM erasure WHERE known_at > $1 OR (known_at = $1 AND id > $2) \
                          ORDER BY known_at, id LIMIT $3");
    TOMBSTONES = "SELECT tag FROM tombstone WHERE org_no = $1 AND erasure_id = $2";
    ANY_OPEN = "SELECT 1 AS one FROM erasure WHERE completed_at IS NULL AND (leased_until IS NULL OR leased_until <= $1) LIMIT 1";
    OPEN = concat!("SELECT ", columns!(), " FROM erasure WHERE completed_at IS NULL \
                   AND (leased_until IS NULL OR leased_until <= $1) AND org_no > $2 \
                   AND (known_at > requested_at OR CAST($3 AS BIGINT) = 0) ORDER BY org_no, requested_at LIMIT 1 {skip_locked}");
    OPEN_OF = "SELECT 1 AS one FROM erasure WHERE org_no = $1 AND test = $2 AND completed_at IS NULL LIMIT $3";
    KNOWN = "SELECT org_no, id, job_at, completed_at FROM erasure WHERE (org_no, id) IN \
             (SELECT CAST(each.value ->> 0 AS BIGINT), each.value ->> 1 FROM {each:$1})";
    // A request also counts as later if a faster clock dated it so.
    DO_AGAIN = "UPDATE erasure SET known_at = CASE WHEN requested_at < $3 THEN $3 ELSE requested_at + 1 END \
                WHERE org_no = $1 AND id = $2 AND completed_at IS NULL AND known_at <= requested_at";
    DONE_AGAIN = "SELECT 1 AS one FROM erasure WHERE completed_at IS NULL AND known_at > requested_at LIMIT 1";
    TAKE = "UPDATE erasure SET leased_until = $3, run = $4 WHERE org_no = $1 AND id = $2";
    RECORD = "UPDATE erasure SET removed = $4, job_at = $5, job_no = $6, leased_until = $7 \
              WHERE org_no = $1 AND id = $2 AND run = $3 AND completed_at IS NULL";
    COMPLETE = "UPDATE erasure SET completed_at = $4, leased_until = NULL, run = NULL \
                WHERE org_no = $1 AND id = $2 AND run = $3 AND completed_at IS NULL";
    [elsewhere]
}

/// A new erasure request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewErasure {
    pub org: OrgNo,
    pub id: ErasureId,
    /// Whether a test key made the request.
    pub test: bool,
    /// The addresses, each once.
    pub tags: Vec<SuppressionTag>,
    /// URL of the completion callback.
    pub webhook_url: Option<String>,
    /// Request time: newer data stays.
    pub requested_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureRequest {
    pub org: OrgNo,
    pub id: ErasureId,
    /// Whether a test key made the request.
    pub test: bool,
    pub addresses: i64,
    /// URL of the completion callback.
    pub webhook_url: Option<String>,
    pub requested_at: Millis,
    /// Time at which this database learned of it.
    pub known_at: Millis,
    pub completed_at: Option<Millis>,
    /// Erased entries, by table.
    pub removed: BTreeMap<String, u64>,
    /// Last job processed: its acceptance time and number. [`THROUGH`] once nothing is left to erase.
    pub reached: (Millis, i64),
}

/// An erasure claimed by a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedErasure {
    /// The erasure. The run keeps it in step with [`record()`].
    pub erasure: ErasureRequest,
    /// Name of the run.
    pub run: String,
}

/// Progress of an erasure, as this database has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureStage {
    /// Data may be left to erase.
    Open,
    /// Everything is erased, but completion is not yet recorded.
    Through,
    Completed,
}

/// Result of a new request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureSubmission {
    /// Recorded, at this time: its own, or a later one if a node with a faster clock has dated data later, which it must reach too.
    Taken(Millis),
    /// Rejected: the organization has the maximum number of open requests.
    Full,
}

/// Records a new request if the organization then has at most `open_max` open; live and test requests count separately.
/// [`StoreError::NotFound`]: the organization does not exist.
pub async fn wish(tx: &mut Tx, new: &NewErasure, now: Millis, open_max: usize) -> Result<ErasureSubmission> {
    // Until the transaction ends, no job or other request can be added.
    number::lock(tx, new.org).await?;
    let at_most = i64::try_from(open_max).unwrap_or(i64::MAX);
    if tx.rows(&OPEN_OF, args![new.org, new.test, at_most]).await?.len() >= open_max {
        return Ok(ErasureSubmission::Full);
    }
    let requested_at = newest(tx, new.org, new.test).await?.max(new.requested_at);
    request(tx, &NewErasure { requested_at, ..new.clone() }, now).await?;
    Ok(ErasureSubmission::Taken(requested_at))
}

/// Records a request as written elsewhere; false if it is known. [`StoreError::NotFound`]: the organization does not exist.
pub async fn request(tx: &mut Tx, new: &NewErasure, now: Millis) -> Result<bool> {
    number::lock(tx, new.org).await?;
    let url = new.webhook_url.as_deref().map(str::as_bytes);
    let count = i64::try_from(new.tags.len()).unwrap_or(i64::MAX);
    if tx.execute(&ADD, args![new.org, new.id, new.test, count, url, new.requested_at, now, NOTHING]).await? == 0 {
        return Ok(false);
    }
    tx.execute(&ADD_TOMBSTONES, args![listed(new.tags.iter().map(|tag| hex(tag))), new.org, new.id]).await?;
    Ok(true)
}

/// Acceptance time of the newest data that erasures process.
async fn newest(conn: &mut Conn, org: OrgNo, test: bool) -> Result<Millis> {
    let job = conn.find(&NEWEST_JOB, args![org, test]).await?;
    // Test keys see no uploads.
    let upload = if test { None } else { conn.find(&NEWEST_UPLOAD, args![org]).await? };
    // Of both live and test jobs: an erasure that reaches a little further only empties endpoint responses.
    let message = conn.find(&NEWEST_MESSAGE, args![org]).await?;
    Ok(job.max(upload).max(message).unwrap_or(Millis(i64::MIN)))
}

/// Time for new data of an organization, `now` or later, that no erasure reaches. Until the transaction ends, none can be
/// requested.
pub(crate) async fn after_all(tx: &mut Tx, org: OrgNo, test: bool, now: Millis) -> Result<Millis> {
    number::lock(tx, org).await?;
    let newest = tx.find::<i64>(&NEWEST, args![org, test]).await?;
    Ok(newest.map_or(now, |newest| Millis(newest + 1).max(now)))
}

/// Whether an erasure was open at any time since `since`: copies made since then may hold erased addresses. Until the transaction
/// ends, none can be requested.
pub async fn any_since(tx: &mut Tx, org: OrgNo, test: bool, since: Millis) -> Result<bool> {
    number::lock(tx, org).await?;
    tx.has(&SINCE, args![org, test, since]).await
}

/// Whether an erasure of live or test jobs is open. Until the transaction ends, none can be requested.
pub(crate) async fn any_open_of(tx: &mut Tx, org: OrgNo, test: bool) -> Result<bool> {
    number::lock(tx, org).await?;
    tx.has(&OPEN_OF, args![org, test, 1_i64]).await
}

/// The erasure with an id, for keys of its mode (live or test).
pub async fn by_id(conn: &mut Conn, org: OrgNo, id: ErasureId, test: bool) -> Result<ErasureRequest> {
    conn.one(&BY_ID, args![org, id, test]).await
}

/// Erasures, newest first, after the last one of a page.
pub async fn page(
    conn: &mut Conn,
    org: OrgNo,
    test: bool,
    after: Option<(Millis, ErasureId)>,
    at_most: i64,
) -> Result<Vec<ErasureRequest>> {
    let (at, id) = after.map_or((Millis(i64::MAX), String::new()), |(at, id)| (at, id.to_string()));
    conn.all(&PAGE, args![org, test, at, id, at_most]).await
}

/// Erasures of all organizations in the order in which this database learned of them, after a position.
pub async fn known_since(conn: &mut Conn, place: &(Millis, String), at_most: i64) -> Result<Vec<ErasureRequest>> {
    conn.all(&KNOWN_SINCE, args![place.0, &*place.1, at_most]).await
}

pub async fn tags(conn: &mut Conn, org: OrgNo, id: ErasureId) -> Result<HashSet<SuppressionTag>> {
    conn.all(&TOMBSTONES, args![org, id]).await
}

/// Whether [`claim`] would find work: reads only.
pub async fn any_open(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY_OPEN, args![now]).await
}

/// Returns those of these erasures that the database has, with their progress.
pub async fn known(conn: &mut Conn, asked: &[(OrgNo, ErasureId)]) -> Result<HashMap<(OrgNo, ErasureId), ErasureStage>> {
    let asked: Vec<_> = asked.iter().map(|(org, id)| serde_json::json!([org.0, id.to_string()])).collect();
    let found: Vec<_> = conn.all(&KNOWN, args![serde_json::Value::from(asked).to_string()]).await?;
    let known = |(org, id, job_at, completed_at): (_, _, Millis, Option<Millis>)| {
        let stage = match completed_at {
            Some(_) => ErasureStage::Completed,
            None if job_at == THROUGH.0 => ErasureStage::Through,
            None => ErasureStage::Open,
        };
        ((org, id), stage)
    };
    Ok(found.into_iter().map(known).collect())
}

/// Restarts an open erasure that another copy of this database recorded as completed. False if that is known already, or the
/// erasure is not open.
pub async fn do_again(tx: &mut Tx, org: OrgNo, id: ErasureId, now: Millis) -> Result<bool> {
    Ok(tx.execute(&DO_AGAIN, args![org, id, now]).await? == 1)
}

/// Whether an open erasure is being repeated: this database learned of it, or of its completion ([`do_again`]), after the request,
/// because it was restored from a backup.
pub async fn any_done_again(conn: &mut Conn) -> Result<bool> {
    conn.has(&DONE_AGAIN, args![]).await
}

/// Selects the organization whose erasure is claimed next.
#[derive(Clone, Copy, Debug)]
pub struct ErasureTurn {
    /// Organization of the previous turn.
    pub after: OrgNo,
    /// Whether to take only repeated erasures ([`any_done_again`]).
    pub only_again: bool,
}

impl ErasureTurn {
    /// Any erasure, from the first organization on.
    pub const FIRST: Self = Self { after: OrgNo(i64::MIN), only_again: false };
}

/// Claims an erasure: the oldest open one of the organization whose turn it is. `run` must be a text that no other claim uses: a
/// random one.
pub async fn claim(
    tx: &mut Tx,
    now: Millis,
    lease_ms: i64,
    run: &str,
    turn: ErasureTurn,
) -> Result<Option<ClaimedErasure>> {
    let mut found: Option<ErasureRequest> = tx.find(&OPEN, args![now, turn.after, turn.only_again]).await?;
    if found.is_none() {
        found = tx.find(&OPEN, args![now, OrgNo(i64::MIN), turn.only_again]).await?;
    }
    let Some(erasure) = found else { return Ok(None) };
    tx.execute(&TAKE, args!(erasure => org, id; now + lease_ms, run)).await?;
    Ok(Some(ClaimedErasure { erasure, run: run.to_owned() }))
}

/// Records a run's progress and extends its lease, in the transaction of its changes. [`StoreError::LeaseLost`]: another run has
/// it; nothing of this transaction counts.
pub async fn record(tx: &mut Tx, claimed: &ClaimedErasure, until: Millis) -> Result<()> {
    let ClaimedErasure { erasure, run } = claimed;
    let removed = serde_json::json!(erasure.removed).to_string();
    let (job_at, job_no) = erasure.reached;
    let values = args!(erasure => org, id; run, removed, job_at, job_no, until);
    tx.change(&RECORD, values, StoreError::LeaseLost).await
}

/// Records completion.
pub async fn complete(tx: &mut Tx, claimed: &ClaimedErasure, now: Millis) -> Result<()> {
    let ClaimedErasure { erasure, run } = claimed;
    tx.change(&COMPLETE, args!(erasure => org, id; run, now), StoreError::LeaseLost).await
}

records!(row => ErasureRequest {
    org = "org_no", id, test, addresses, requested_at, known_at, completed_at;
    webhook_url: row.utf8("webhook_url")?,
    removed: row.json("removed")?,
    reached: (row.read("job_at")?, row.read("job_no")?),
});
