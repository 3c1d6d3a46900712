//! Removes uploads: marks them as gone first, then removes their rows a part at a time.

use probity_mail::time::{DAY_MS, Millis};

use super::UploadNo;
use crate::db::error::Result;
use crate::db::{Tx, args, statements};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

/// Rows removed in one transaction: 50 blocks or more.
const ROWS_AT_ONCE: i64 = 50_000;

statements! {
    GO = "UPDATE upload SET state = 'gone', about = NULL, domains = NULL WHERE org_no = $1 AND upload_no = $2 AND state <> 'gone'";
    ABANDON = "UPDATE upload SET state = 'gone', about = NULL, domains = NULL WHERE org_no = $1 AND upload_no = $2 AND state = 'arriving'";
    REPLACE = "UPDATE upload SET state = 'gone', about = NULL, domains = NULL WHERE org_no = $1 AND upload_no = $2 AND state = 'ready'";
    // Each organization's own uploads, by age: those with a longer retention are not read repeatedly.
    DUE = "SELECT u.org_no, u.upload_no FROM org o LEFT JOIN org_settings s ON s.org_no = o.org_no CROSS JOIN upload u \
           WHERE u.org_no = o.org_no AND u.state IN ('ready', 'started') AND u.touched_at <= $1 - $3 * \
           CASE WHEN s.retention_days < $2 THEN s.retention_days ELSE $2 END ORDER BY o.org_no, u.touched_at LIMIT $4";
    BROKEN_OFF = "SELECT org_no, upload_no FROM upload WHERE state = 'arriving' AND touched_at <= $1 \
                  ORDER BY touched_at LIMIT $2";
    GONE = "SELECT org_no, upload_no FROM upload WHERE state = 'gone' ORDER BY touched_at LIMIT 1 {skip_locked}";
    FIRST = "SELECT first_idx FROM upload_block WHERE org_no = $1 AND upload_no = $2 ORDER BY first_idx LIMIT 1";
    DROP_BLOCKS = "DELETE FROM upload_block WHERE org_no = $1 AND upload_no = $2 AND first_idx < $3";
    DROP_UPLOAD = "DELETE FROM upload WHERE org_no = $1 AND upload_no = $2 AND state = 'gone'";
}

/// Hides an upload; its rows are removed later. Returns whether it existed.
pub async fn mark_gone(tx: &mut Tx, org: OrgNo, no: UploadNo) -> Result<bool> {
    Ok(tx.execute(&GO, args![org, no]).await? == 1)
}

/// Hides an upload that has not arrived. An upload whose commit succeeded without a response stays, because the one it replaced
/// was removed.
pub async fn mark_abandoned(tx: &mut Tx, org: OrgNo, no: UploadNo) -> Result<bool> {
    Ok(tx.execute(&ABANDON, args![org, no]).await? == 1)
}

/// Hides a replaced upload. An upload with a job stays, because the job's downloads need it.
pub(super) async fn mark_replaced(tx: &mut Tx, org: OrgNo, no: UploadNo) -> Result<()> {
    tx.execute(&REPLACE, args![org, no]).await.map(drop)
}

/// Marks uploads as gone after `keep_days`, or their organization's job retention if that is shorter; also those that began to
/// arrive before `broken_off` and never finished. Returns the number of each.
pub async fn mark_due(
    tx: &mut Tx,
    now: Millis,
    keep_days: i64,
    broken_off: Millis,
    at_most: i64,
) -> Result<(usize, usize)> {
    let due: Vec<_> = tx.all(&DUE, args![now, keep_days, DAY_MS, at_most]).await?;
    let broken: Vec<_> = tx.all(&BROKEN_OFF, args![broken_off, at_most]).await?;
    for (org, no) in &due {
        mark_gone(tx, *org, *no).await?;
    }
    for (org, no) in &broken {
        mark_abandoned(tx, *org, *no).await?;
    }
    Ok((due.len(), broken.len()))
}

/// Removes a part of the rows of one gone upload, finally the upload. False if there is none left.
pub async fn purge(tx: &mut Tx) -> Result<bool> {
    let gone: Option<(OrgNo, UploadNo)> = tx.find(&GONE, args![]).await?;
    let Some((org, no)) = gone else { return Ok(false) };
    match tx.find::<i64>(&FIRST, args![org, no]).await? {
        Some(first) => tx.execute(&DROP_BLOCKS, args![org, no, first + ROWS_AT_ONCE]).await?,
        None => tx.execute(&DROP_UPLOAD, args![org, no]).await?,
    };
    Ok(true)
}
