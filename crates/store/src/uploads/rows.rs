//! Rows of an upload: storing, reading, rewriting and removing them.

use probity_mail::time::{DAY_MS, Millis};

use super::{UploadNo, about_of};
use crate::db::{Conn, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::sealing::Place;

/// Rows removed in one transaction: 50 blocks or more.
const ROWS_AT_ONCE: i64 = 50_000;

statements! {
    LOCK = "SELECT state FROM upload WHERE org_no = $1 AND upload_no = $2 {for_update}";
    ADD = "INSERT INTO upload_block (org_no, upload_no, first_idx, body) VALUES ($1, $2, $3, $4)";
    // Starts with the block that contains the row.
    BLOCKS = "SELECT first_idx, body FROM upload_block WHERE org_no = $1 AND upload_no = $2 AND first_idx >= COALESCE(( \
              SELECT first_idx FROM upload_block WHERE org_no = $1 AND upload_no = $2 AND first_idx <= $3 \
              ORDER BY first_idx DESC LIMIT 1), 0) ORDER BY first_idx LIMIT $4";
    BLOCK = "SELECT body FROM upload_block WHERE org_no = $1 AND upload_no = $2 AND first_idx = $3";
    ABOUT = "SELECT about FROM upload WHERE org_no = $1 AND upload_no = $2 {for_update}";
    SET_ABOUT = "UPDATE upload SET about = $3 WHERE org_no = $1 AND upload_no = $2";
    PUT = "UPDATE upload_block SET body = $4 WHERE org_no = $1 AND upload_no = $2 AND first_idx = $3";
    UNCOUNTED = "UPDATE upload SET counted = 0, domains = NULL WHERE org_no = $1 AND upload_no = $2";
    OF_ORG = "SELECT upload_no FROM upload WHERE org_no = $1 AND upload_no > $2 AND state <> 'arriving' AND created_at <= $3 \
              ORDER BY upload_no LIMIT $4";
    GO = "UPDATE upload SET state = 'gone', about = NULL, domains = NULL WHERE org_no = $1 AND upload_no = $2 AND state <> 'gone'";
    DUE = "SELECT u.org_no, u.upload_no FROM upload u LEFT JOIN org_settings s ON s.org_no = u.org_no \
           WHERE u.state IN ('ready', 'started') AND u.touched_at <= $1 - $3 * \
           CASE WHEN s.retention_days < $2 THEN s.retention_days ELSE $2 END ORDER BY u.touched_at LIMIT $4";
    BROKEN_OFF = "SELECT org_no, upload_no FROM upload WHERE state = 'arriving' AND touched_at <= $1 \
                  ORDER BY touched_at LIMIT $2";
    GONE = "SELECT org_no, upload_no FROM upload WHERE state = 'gone' ORDER BY touched_at LIMIT 1 {skip_locked}";
    FIRST = "SELECT first_idx FROM upload_block WHERE org_no = $1 AND upload_no = $2 ORDER BY first_idx LIMIT 1";
    DROP_BLOCKS = "DELETE FROM upload_block WHERE org_no = $1 AND upload_no = $2 AND first_idx < $3";
    DROP_UPLOAD = "DELETE FROM upload WHERE org_no = $1 AND upload_no = $2 AND state = 'gone'";
}

fn body_of(no: UploadNo, first_idx: i64) -> Place<'static> {
    Place::numbered("upload_block.body", no.0, first_idx)
}

/// Stores a block of rows that starts at this index. [`StoreError::NotFound`]: the upload was swept, or has arrived.
pub async fn add_block(tx: &mut Tx, org: OrgNo, no: UploadNo, first_idx: i64, body: &[u8]) -> Result<()> {
    let state = tx.first(&LOCK, args![org, no]).await?.map(|row| row.get::<String>("state")).transpose()?;
    if state.as_deref() != Some("arriving") {
        return Err(StoreError::NotFound);
    }
    let body = tx.seal(org, body_of(no, first_idx), body).await?;
    tx.execute(&ADD, args![org, no, first_idx, &*body]).await?;
    Ok(())
}

/// Blocks from the one that contains row `from`: index of the first row, and content.
pub async fn blocks(conn: &mut Conn, org: OrgNo, no: UploadNo, from: i64, at_most: i64) -> Result<Vec<(i64, Vec<u8>)>> {
    let rows = conn.rows(&BLOCKS, args![org, no, from, at_most]).await?;
    let mut blocks = Vec::with_capacity(rows.len());
    for row in &rows {
        let first = row.get("first_idx")?;
        blocks.push((first, conn.open_sealed(org, body_of(no, first), row.get("body")?).await?));
    }
    Ok(blocks)
}

/// Rewrites a body; returns it with its number of changes, or `None` if nothing changes.
pub type Anew<'a> = dyn Fn(&[u8]) -> Result<Option<(Vec<u8>, u64)>> + Sync + 'a;

/// Rewrites a block, keeping its number of rows; returns the number changed. The content counts are redone later.
pub async fn rewrite_block(tx: &mut Tx, org: OrgNo, no: UploadNo, first_idx: i64, anew: &Anew<'_>) -> Result<u64> {
    tx.first(&LOCK, args![org, no]).await?;
    let Some(row) = tx.first(&BLOCK, args![org, no, first_idx]).await? else { return Ok(0) };
    let body = tx.open_sealed(org, body_of(no, first_idx), row.get("body")?).await?;
    let Some((body, changed)) = anew(&body)? else { return Ok(0) };
    let body = tx.seal(org, body_of(no, first_idx), &body).await?;
    tx.execute(&PUT, args![org, no, first_idx, &*body]).await?;
    tx.execute(&UNCOUNTED, args![org, no]).await?;
    Ok(changed)
}

/// Rewrites an upload's description; returns the number of changes.
pub async fn rewrite_about(tx: &mut Tx, org: OrgNo, no: UploadNo, anew: &Anew<'_>) -> Result<u64> {
    let row = tx.first(&ABOUT, args![org, no]).await?;
    let Some(about) = row.map(|row| row.get::<Option<Vec<u8>>>("about")).transpose()?.flatten() else { return Ok(0) };
    let about = tx.open_sealed(org, about_of(no), about).await?;
    let Some((about, changed)) = anew(&about)? else { return Ok(0) };
    let about = tx.seal(org, about_of(no), &about).await?;
    tx.execute(&SET_ABOUT, args![org, no, &*about]).await?;
    Ok(changed)
}

/// Uploads of an organization that had arrived by a time, after a number, including those being removed; for a walk through all of
/// them.
pub async fn of_org(
    conn: &mut Conn,
    org: OrgNo,
    up_to: Millis,
    after: UploadNo,
    at_most: i64,
) -> Result<Vec<UploadNo>> {
    let rows = conn.rows(&OF_ORG, args![org, after, up_to, at_most]).await?;
    rows.iter().map(|row| Ok(UploadNo(row.get("upload_no")?))).collect()
}

/// Hides an upload; its rows are removed later. Returns whether it existed.
pub async fn mark_gone(tx: &mut Tx, org: OrgNo, no: UploadNo) -> Result<bool> {
    Ok(tx.execute(&GO, args![org, no]).await? == 1)
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
    let due = tx.rows(&DUE, args![now, keep_days, DAY_MS, at_most]).await?;
    let broken = tx.rows(&BROKEN_OFF, args![broken_off, at_most]).await?;
    for row in due.iter().chain(&broken) {
        mark_gone(tx, OrgNo(row.get("org_no")?), UploadNo(row.get("upload_no")?)).await?;
    }
    Ok((due.len(), broken.len()))
}

/// Removes a part of the rows of one gone upload, finally the upload. False if there is none left.
pub async fn purge(tx: &mut Tx) -> Result<bool> {
    let Some(row) = tx.first(&GONE, args![]).await? else { return Ok(false) };
    let (org, no) = (OrgNo(row.get("org_no")?), UploadNo(row.get("upload_no")?));
    match tx.first(&FIRST, args![org, no]).await? {
        Some(first) => {
            let end = first.get::<i64>("first_idx")? + ROWS_AT_ONCE;
            tx.execute(&DROP_BLOCKS, args![org, no, end]).await?;
        }
        None => {
            tx.execute(&DROP_UPLOAD, args![org, no]).await?;
        }
    }
    Ok(true)
}
