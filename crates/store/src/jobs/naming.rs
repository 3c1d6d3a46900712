//! Acts of users on a list: name it, finish it, delete it.

use probity_account::id::JobId;
use probity_mail::time::Millis;

use super::{Job, JobNo, JobState, by_id, by_no, lock, unshare};
use crate::activity::letters;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::nodes::wake::{self, WakeUp};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

statements! {
    NAME = "UPDATE job SET title = $3, tags = $4 WHERE org_no = $1 AND job_no = $2";
    HURRY = "UPDATE job SET hurried_at = COALESCE(hurried_at, $3) WHERE org_no = $1 AND job_no = $2";
    // Chunks held by a worker are not due; those that it defers become due when it settles them.
    READY_NOW = "UPDATE chunk SET ready_at = $3 WHERE org_no = $1 AND job_no = $2 AND ready_at > $3 AND leased_until IS NULL";
    DELETE = "UPDATE job SET deleted_at = $3 WHERE org_no = $1 AND job_no = $2";
    DROP_UPLOAD = "UPDATE upload SET state = 'gone', about = NULL, domains = NULL WHERE org_no = $1 AND job_no = $2 AND state <> 'gone'";
    // A closed job is packed first, which removes its work and parts.
    DELETED = "SELECT org_no, job_no FROM job WHERE deleted_at IS NOT NULL AND purged_at IS NULL AND packed = 2 \
               ORDER BY deleted_at LIMIT $1";
    MARK = "UPDATE job SET purged_at = $3 WHERE org_no = $1 AND job_no = $2 AND packed = 2 AND purged_at IS NULL \
            AND deleted_at IS NOT NULL";
}

/// Sets the name and tags of a job; `None` removes the name.
pub async fn name(tx: &mut Tx, org: OrgNo, job: JobNo, title: Option<&str>, tags: &[String]) -> Result<()> {
    let tags = (!tags.is_empty()).then(|| serde_json::json!(tags).to_string());
    tx.change(&NAME, args![org, job, title, tags], StoreError::NotFound).await
}

/// Makes a job finish without further retries: all waiting rows are due now. False if it is closed.
pub async fn hurry(tx: &mut Tx, org: OrgNo, id: JobId, test: bool, now: Millis) -> Result<bool> {
    let job = by_id(tx, org, id, test).await?.no;
    if lock(tx, org, job).await?.state.is_closed() {
        return Ok(false);
    }
    tx.execute(&HURRY, args![org, job, now]).await?;
    tx.execute(&READY_NOW, args![org, job, now]).await?;
    wake::ring(tx, WakeUp::Work).await?;
    Ok(true)
}

/// Deletes a closed job with its uploaded file. Returns the state of a job that cannot be deleted: it is open, or a run of a
/// connection, whose actions need its rows.
pub async fn delete(
    tx: &mut Tx,
    org: OrgNo,
    id: JobId,
    test: bool,
    now: Millis,
) -> Result<std::result::Result<(), JobState>> {
    let job = by_id(tx, org, id, test).await?.no;
    let locked = lock(tx, org, job).await?;
    if !locked.state.is_closed() || locked.connection.is_some() {
        return Ok(Err(locked.state));
    }
    tx.execute(&DELETE, args![org, job, now]).await?;
    tx.execute(&DROP_UPLOAD, args![org, job]).await?;
    letters::remove_list(tx, org, job).await?;
    unshare(tx, org, job).await?;
    Ok(Ok(()))
}

/// Deleted jobs whose rows can be removed now.
pub async fn deleted(conn: &mut Conn, at_most: i64) -> Result<Vec<(OrgNo, JobNo)>> {
    conn.all(&DELETED, args![at_most]).await
}

/// Marks jobs that are still [`deleted`] and not marked; returns the number marked.
pub async fn mark_deleted(tx: &mut Tx, deleted: &[(OrgNo, JobNo)], now: Millis) -> Result<usize> {
    let mut marked = 0;
    for (org, job) in deleted {
        lock(tx, *org, *job).await?;
        marked += usize::from(tx.execute(&MARK, args![*org, *job, now]).await? == 1);
    }
    Ok(marked)
}

/// Reads and locks a job, so that it stays open or closed until the end of the transaction.
pub async fn lock_by_id(tx: &mut Tx, org: OrgNo, id: JobId, test: bool) -> Result<Job> {
    let job = by_id(tx, org, id, test).await?.no;
    lock(tx, org, job).await?;
    by_no(tx, org, job).await
}
