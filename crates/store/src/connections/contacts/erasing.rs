//! Removes contacts: those whose addresses are erased, and those of a job whose retention has ended.

use std::collections::BTreeSet;

use probity_account::block::{AddressBlock, ERASED};

use super::blocks::contacts_of;
use crate::connections::actions;
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::{self, JobNo};
use crate::number::OrgNo;
use crate::privacy::sealing::{seal, unseal};
use crate::records::{TypedStatements as _, damaged, listed};

statements! {
    BEHIND = "SELECT first_idx FROM contact_block WHERE org_no = $1 AND job_no = $2 AND first_idx > $3 ORDER BY first_idx LIMIT $4";
    BLOCK = "SELECT body FROM contact_block WHERE org_no = $1 AND job_no = $2 AND first_idx = $3";
    SET_BLOCK = "UPDATE contact_block SET body = $4 WHERE org_no = $1 AND job_no = $2 AND first_idx = $3";
    // Actions stay, without the earlier values.
    FORGET_VALUES = "UPDATE contact_action SET undo = NULL WHERE org_no = $1 AND job_no = $2 AND undo IS NOT NULL \
                     AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3})";
    DROP_BLOCKS = "DELETE FROM contact_block WHERE org_no = $1 AND job_no = $2 AND first_idx IN (SELECT first_idx \
                   FROM contact_block WHERE org_no = $1 AND job_no = $2 ORDER BY first_idx LIMIT $3)";
    DROP_LISTS = "DELETE FROM contact_list WHERE org_no = $1 AND job_no = $2 AND idx IN (SELECT idx FROM contact_list \
                  WHERE org_no = $1 AND job_no = $2 ORDER BY idx LIMIT $3)";
    DROP_REPORTS = "DELETE FROM contact_report WHERE org_no = $1 AND job_no = $2 AND idx IN (SELECT idx FROM contact_report \
                    WHERE org_no = $1 AND job_no = $2 ORDER BY idx LIMIT $3)";
    DROP_CHANGES = "DELETE FROM verdict_change WHERE org_no = $1 AND job_no = $2 AND idx IN (SELECT idx FROM verdict_change \
                    WHERE org_no = $1 AND job_no = $2 ORDER BY idx LIMIT $3)";
    DROP_ACTIONS = "DELETE FROM contact_action WHERE org_no = $1 AND job_no = $2 AND idx IN (SELECT idx FROM contact_action \
                    WHERE org_no = $1 AND job_no = $2 ORDER BY idx LIMIT $3)";
}

/// Returns blocks of contacts after an index, lowest first.
pub async fn blocks_behind(conn: &mut Conn, org: OrgNo, job: JobNo, behind: i64, at_most: i64) -> Result<Vec<i64>> {
    conn.all(&BEHIND, args![org, job, behind, at_most]).await
}

/// Removes the contacts of erased rows from a block, and ignores their open actions. Returns the number removed.
pub async fn erase_rows(tx: &mut Tx, (org, job): (OrgNo, JobNo), first: i64, rows: &BTreeSet<i64>) -> Result<u64> {
    jobs::lock(tx, org, job).await?;
    let Some(body) = tx.find(&BLOCK, args![org, job, first]).await? else { return Ok(0) };
    let body = unseal(tx, org, contacts_of(job, first), body).await?;
    let block = AddressBlock::decode(&body).map_err(damaged)?;
    let mut erased = Vec::new();
    let left = |(idx, entry)| {
        let is_erased = rows.contains(&idx);
        if is_erased && entry != ERASED {
            erased.push(idx);
        }
        if is_erased { ERASED } else { entry }
    };
    let entries: Vec<&[u8]> = (first..).zip(block.iter()).map(left).collect();
    if erased.is_empty() {
        return Ok(0);
    }
    let body = AddressBlock::encode(&entries).map_err(damaged)?;
    let body = seal(tx, org, contacts_of(job, first), &body).await?;
    tx.execute(&SET_BLOCK, args![org, job, first, body]).await?;
    tx.execute(&FORGET_VALUES, args![org, job, listed(&erased)]).await?;
    actions::drop_rows(tx, org, job, &erased).await?;
    Ok(u64::try_from(erased.len()).unwrap_or(u64::MAX))
}

/// Removes a part of the contacts and actions of a job, each kind with a maximum number of rows or blocks. Returns false if
/// none are left.
pub(crate) async fn forget(tx: &mut Tx, org: OrgNo, job: JobNo, blocks: i64, rows: i64) -> Result<bool> {
    let dropped = tx.execute(&DROP_BLOCKS, args![org, job, blocks]).await?;
    let mut is_left = dropped >= blocks.unsigned_abs();
    for statement in [&DROP_LISTS, &DROP_REPORTS, &DROP_CHANGES, &DROP_ACTIONS] {
        is_left |= tx.execute(statement, args![org, job, rows]).await? >= rows.unsigned_abs();
    }
    Ok(is_left)
}
