//! Rows of an upload: storing, reading and rewriting them.

use probity_mail::time::Millis;

use super::{UploadNo, about_of};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::BodyRewrite;
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal, unseal};
use crate::records::TypedStatements as _;

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
    OF_ORG = "SELECT upload_no FROM upload WHERE org_no = $1 AND test = $2 AND upload_no > $3 AND state <> 'arriving' \
              AND created_at <= $4 ORDER BY upload_no LIMIT $5";
}

fn body_of(no: UploadNo, first_idx: i64) -> SealedField<'static> {
    SealedField::numbered("upload_block.body", no.0, first_idx)
}

/// Stores a block of rows that starts at this index. [`StoreError::NotFound`]: the upload was swept, or has arrived.
pub async fn add_block(tx: &mut Tx, org: OrgNo, no: UploadNo, first_idx: i64, body: &[u8]) -> Result<()> {
    let state: Option<String> = tx.find(&LOCK, args![org, no]).await?;
    if state.as_deref() != Some("arriving") {
        return Err(StoreError::NotFound);
    }
    let body = seal(tx, org, body_of(no, first_idx), body).await?;
    tx.execute(&ADD, args![org, no, first_idx, body]).await.map(drop)
}

/// Blocks from the one that contains row `from`: index of the first row, and content.
pub async fn blocks(conn: &mut Conn, org: OrgNo, no: UploadNo, from: i64, at_most: i64) -> Result<Vec<(i64, Vec<u8>)>> {
    let mut blocks: Vec<(i64, Vec<u8>)> = conn.all(&BLOCKS, args![org, no, from, at_most]).await?;
    for (first, body) in &mut blocks {
        *body = unseal(conn, org, body_of(no, *first), std::mem::take(body)).await?;
    }
    Ok(blocks)
}

/// Rewrites a block, keeping its number of rows; returns the number changed. The content counts are redone later.
pub async fn rewrite_block(
    tx: &mut Tx,
    org: OrgNo,
    no: UploadNo,
    first_idx: i64,
    rewrite: &BodyRewrite<'_>,
) -> Result<u64> {
    tx.first(&LOCK, args![org, no]).await?;
    let Some(body) = tx.find(&BLOCK, args![org, no, first_idx]).await? else { return Ok(0) };
    let body = unseal(tx, org, body_of(no, first_idx), body).await?;
    let Some((body, changed)) = rewrite(&body)? else { return Ok(0) };
    let body = seal(tx, org, body_of(no, first_idx), &body).await?;
    tx.execute(&PUT, args![org, no, first_idx, body]).await?;
    tx.execute(&UNCOUNTED, args![org, no]).await?;
    Ok(changed)
}

/// Rewrites an upload's description; returns the number of changes.
pub async fn rewrite_about(tx: &mut Tx, org: OrgNo, no: UploadNo, rewrite: &BodyRewrite<'_>) -> Result<u64> {
    let Some(about) = tx.find(&ABOUT, args![org, no]).await?.flatten() else { return Ok(0) };
    let about = unseal(tx, org, about_of(no), about).await?;
    let Some((about, changed)) = rewrite(&about)? else { return Ok(0) };
    let about = seal(tx, org, about_of(no), &about).await?;
    tx.execute(&SET_ABOUT, args![org, no, about]).await?;
    Ok(changed)
}

/// Live or test uploads of an organization that had arrived by a time, after a number, including those being removed; for a walk
/// through all of them.
pub async fn of_org(
    conn: &mut Conn,
    (org, test): (OrgNo, bool),
    up_to: Millis,
    after: UploadNo,
    at_most: i64,
) -> Result<Vec<UploadNo>> {
    conn.all(&OF_ORG, args![org, test, after, up_to, at_most]).await
}
