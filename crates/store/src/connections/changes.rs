//! Changed verdicts: rows of runs whose address had another status when a run last verified it.
//!
//! The last status of each address is stored under a keyed hash, for the whole organization. It is compared and written in the
//! transaction that settles a row ([`note`]). Unknown is no verdict: it is neither a change nor replaces a known status. A change
//! names its row; the address is in the job, and is removed with it.

use std::collections::BTreeMap;

use probity_account::id::{ConnId, ErasureId, JobId};
use probity_mail::time::{DAY_MS, Millis};
use probity_mail::verdict::{Reason, Status};
use serde_json::json;

use crate::db::error::Result;
use crate::db::hex::hex;
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::privacy::suppressions::SuppressionTag;
use crate::records::{TypedStatements as _, listed, records};

/// An unchanged status is written again after this time, in milliseconds, so that it is not removed as old.
const REFRESH_MS: i64 = 60 * DAY_MS;

/// Verdict of a row that was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshVerdict {
    pub idx: i64,
    /// Keyed hash of the address.
    pub tag: SuppressionTag,
    pub reason: Reason,
}

/// Row whose address had another status before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictChange {
    pub at: Millis,
    pub job: JobNo,
    pub idx: i64,
    pub before: Status,
    pub reason: Reason,
    /// Run, and its connection.
    pub run: JobId,
    pub connection: Option<ConnId>,
}

statements! {
    KNOWN = "SELECT tag, status, seen_at FROM address_verdict WHERE org_no = $1 AND test = $2 \
             AND tag IN (SELECT {unhex:each.value ->> 0} FROM {each:$3}) ORDER BY tag {for_update}";
    KEEP = "INSERT INTO address_verdict (org_no, test, tag, status, seen_at) SELECT CAST($2 AS BIGINT), CAST($3 AS BIGINT), \
            {unhex:each.value ->> 0}, each.value ->> 1, CAST($4 AS BIGINT) FROM {each:$1} WHERE 1 = 1 \
            ON CONFLICT (org_no, test, tag) DO UPDATE SET status = excluded.status, seen_at = excluded.seen_at";
    ADD = "INSERT INTO verdict_change (org_no, job_no, idx, before, reason, at) SELECT CAST($2 AS BIGINT), CAST($3 AS BIGINT), \
           CAST(each.value ->> 0 AS BIGINT), each.value ->> 1, each.value ->> 2, CAST($4 AS BIGINT) FROM {each:$1} WHERE 1 = 1 \
           ON CONFLICT (org_no, job_no, idx) DO NOTHING";
    PAGE = "SELECT v.at, v.job_no, v.idx, v.before, v.reason, j.id, j.connection_id FROM verdict_change v \
            JOIN job j ON j.org_no = v.org_no AND j.job_no = v.job_no WHERE v.org_no = $1 AND j.test = $2 AND j.purged_at IS NULL \
            AND v.at <= $3 AND v.at >= $4 AND (v.at > $4 OR v.job_no > $5 OR (v.job_no = $5 AND v.idx > $6)) \
            ORDER BY v.at, v.job_no, v.idx LIMIT $7";
    ERASE = "DELETE FROM address_verdict WHERE org_no = $1 AND test = $2 AND tag IN (SELECT v.tag FROM tombstone t \
             JOIN address_verdict v ON v.org_no = t.org_no AND v.tag = t.tag \
             WHERE t.org_no = $1 AND t.erasure_id = $3 AND v.test = $2 AND v.seen_at <= $4 LIMIT $5)";
    ANY_OLD = "SELECT 1 AS one FROM address_verdict WHERE seen_at < $1 LIMIT 1";
    FORGET = "WITH old AS MATERIALIZED (
            SELECT org_no, test, tag FROM address_verdict WHERE seen_at < $1 ORDER BY seen_at LIMIT $2 {skip_locked})
        DELETE FROM address_verdict WHERE (org_no, test, tag) IN (SELECT org_no, test, tag FROM old)";
}

/// Compares settled rows of a run with the known statuses of their addresses, and stores changes.
pub async fn note(
    tx: &mut Tx,
    (org, job, test): (OrgNo, JobNo, bool),
    fresh: &[FreshVerdict],
    now: Millis,
) -> Result<()> {
    // In one order for all transactions. Of two rows with one address, the last counts, as for the next run.
    let conclusive = fresh.iter().filter(|one| one.reason.status() != Status::Unknown);
    let fresh: BTreeMap<SuppressionTag, FreshVerdict> = conclusive.map(|one| (one.tag, *one)).collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let known = known(tx, (org, test), fresh.keys()).await?;
    let (mut changed, mut kept) = (Vec::new(), Vec::new());
    for (tag, FreshVerdict { idx, reason, .. }) in &fresh {
        let status = reason.status();
        match known.get(tag) {
            Some((before, seen_at)) if *before == status && now.since(*seen_at) < REFRESH_MS => continue,
            Some((before, _)) if *before != status => {
                changed.push(json!([idx, before.as_str(), Reason::as_str(*reason)]));
            }
            _ => {}
        }
        kept.push(json!([hex(tag), status.as_str()]));
    }
    if !kept.is_empty() {
        tx.execute(&KEEP, args![json!(kept).to_string(), org, test, now]).await?;
    }
    if !changed.is_empty() {
        tx.execute(&ADD, args![json!(changed).to_string(), org, job, now]).await?;
    }
    Ok(())
}

async fn known(
    tx: &mut Tx,
    (org, test): (OrgNo, bool),
    tags: impl Iterator<Item = &SuppressionTag>,
) -> Result<BTreeMap<SuppressionTag, (Status, Millis)>> {
    let known: Vec<_> = tx.all(&KNOWN, args![org, test, listed(tags.map(|tag| hex(tag)))]).await?;
    Ok(known.into_iter().map(|(tag, status, seen_at)| (tag, (status, seen_at))).collect())
}

/// Returns changes between two times, oldest first, after the place of the last one of a page: its time, job and row.
pub async fn page(
    conn: &mut Conn,
    (org, test): (OrgNo, bool),
    until: Millis,
    (at, job, idx): (Millis, JobNo, i64),
    at_most: i64,
) -> Result<Vec<VerdictChange>> {
    conn.all(&PAGE, args![org, test, until, at, job, idx, at_most]).await
}

records!(row => VerdictChange { at, job = "job_no", idx, before, reason, run = "id", connection = "connection_id" });

/// Removes up to `at_most` statuses of an erasure's addresses that are older than it; returns their number.
pub async fn erase(
    tx: &mut Tx,
    (org, test): (OrgNo, bool),
    erasure: ErasureId,
    before: Millis,
    at_most: i64,
) -> Result<u64> {
    tx.execute(&ERASE, args![org, test, erasure, before, at_most]).await
}

/// Returns whether [`forget`] would find work.
pub async fn any_old(conn: &mut Conn, before: Millis) -> Result<bool> {
    conn.has(&ANY_OLD, args![before]).await
}

/// Removes up to `at_most` statuses that no run has confirmed since a time; returns their number.
pub async fn forget(tx: &mut Tx, before: Millis, at_most: i64) -> Result<u64> {
    tx.execute(&FORGET, args![before, at_most]).await
}
