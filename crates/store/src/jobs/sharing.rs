//! Links that show a job's summary without sign-in. A job has at most one, stored by a hash of its token.
//!
//! A link ends with its lifetime, with its job, and when addresses of the job are erased.

use probity_account::id::JobId;
use probity_mail::time::Millis;

use super::JobNo;
use crate::accounts::organization::OrgState;
use crate::accounts::people::passwords::SecretHash;
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{ReadColumns as _, TypedStatements as _, record, records};

/// Link to a job's summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobShare {
    /// Whether the job's name is shown.
    pub named: bool,
    pub created_at: Millis,
    pub expires_at: Millis,
}

/// Job of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedJob {
    pub org: OrgNo,
    pub id: JobId,
    pub test: bool,
    pub share: JobShare,
}

statements! {
    SHARE = "INSERT INTO list_share (named, created_at, expires_at, org_no, job_no, token_hash) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (org_no, job_no) DO UPDATE SET token_hash = excluded.token_hash, named = excluded.named, \
             created_at = excluded.created_at, expires_at = excluded.expires_at";
    UNSHARE = "DELETE FROM list_share WHERE org_no = $1 AND job_no = $2";
    OF_JOB = "SELECT named, created_at, expires_at FROM list_share WHERE org_no = $1 AND job_no = $2 AND expires_at > $3";
    BY_TOKEN = "SELECT j.org_no, j.id, j.test, s.named, s.created_at, s.expires_at, o.status FROM list_share s \
                JOIN job j ON j.org_no = s.org_no AND j.job_no = s.job_no JOIN org o ON o.org_no = s.org_no \
                WHERE s.token_hash = $1 AND s.expires_at > $2";
}

/// Stores a link; an earlier one of the job ends.
pub async fn share(tx: &mut Tx, org: OrgNo, job: JobNo, token_hash: &SecretHash, share: &JobShare) -> Result<()> {
    tx.execute(&SHARE, args!(share => named, created_at, expires_at; org, job, token_hash)).await.map(drop)
}

/// Revokes the link of a job. False if it has none.
pub async fn unshare(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<bool> {
    Ok(tx.execute(&UNSHARE, args![org, job]).await? == 1)
}

/// Returns the link of a job, unless it has expired.
pub async fn share_of(conn: &mut Conn, org: OrgNo, job: JobNo, now: Millis) -> Result<Option<JobShare>> {
    conn.find(&OF_JOB, args![org, job, now]).await
}

/// Returns the job of a link. Links of restricted organizations show none.
pub async fn by_share(conn: &mut Conn, token_hash: &SecretHash, now: Millis) -> Result<Option<SharedJob>> {
    let Some(row) = conn.first(&BY_TOKEN, args![token_hash, now]).await? else { return Ok(None) };
    if row.read::<OrgState>("status")?.is_stopped() {
        return Ok(None);
    }
    Ok(Some(record!(row => SharedJob { org = "org_no", id, test; share: row.record::<JobShare>()? })))
}

records!(row => JobShare { named, created_at, expires_at });
