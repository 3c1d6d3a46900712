//! Jobs as customers see them.

use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;

use super::{Counts, Job, JobNo, columns, read};
use crate::credits::hold;
use crate::db::{Conn, Row, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// Job filter. Empty texts and `None` match all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Created with a test key.
    pub test: bool,
    pub source: Option<String>,
    /// In a state of this API status: `queued`, `processing`, `completed`, `cancelled`.
    pub status: Option<String>,
    /// Accepted at this time or later.
    pub created_from: Option<Millis>,
    /// Accepted before this time.
    pub created_before: Option<Millis>,
}

statements! {
    BY_NO = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND job_no = $2");
    BY_ID = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND id = $2 AND test = $3 AND state <> 'unborn'");
    PAGE = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND test = $2 AND state <> 'unborn' \
        AND ($3 = '' OR source = $3) AND ($4 = '' OR $4 = CASE WHEN state IN ('queued', 'importing', 'ready') THEN 'queued' \
        WHEN state IN ('cancelled', 'force_stopped') THEN 'cancelled' ELSE state END) \
        AND created_at >= $5 AND created_at < $6 AND (created_at < $7 OR (created_at = $7 AND job_no < $8)) \
        ORDER BY created_at DESC, job_no DESC LIMIT $9");
    PROVIDERS = "SELECT provider, passed, undeliverable, risky, unknown FROM job_provider WHERE org_no = $1 AND job_no = $2";
    REASONS = "SELECT reason, n FROM job_reason WHERE org_no = $1 AND job_no = $2";
}

pub(super) async fn by_no(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Job> {
    conn.first(&BY_NO, args![org, job]).await?.as_ref().map_or(Err(StoreError::NotFound), read)
}

/// The job with an id, for keys of its mode (live or test).
pub async fn by_id(conn: &mut Conn, org: OrgNo, id: JobId, test: bool) -> Result<Job> {
    let row = conn.first(&BY_ID, args![org, id.to_string(), test]).await?;
    row.as_ref().map_or(Err(StoreError::NotFound), read)
}

/// Jobs, newest first, after the last one of a page; at most `at_most`.
pub async fn page(
    conn: &mut Conn,
    org: OrgNo,
    filter: &Filter,
    after: Option<(Millis, JobNo)>,
    at_most: i64,
) -> Result<Vec<Job>> {
    let (at, no) = after.unwrap_or((Millis(i64::MAX), JobNo(i64::MAX)));
    let values = args![
        org,
        filter.test,
        filter.source.as_deref().unwrap_or(""),
        filter.status.as_deref().unwrap_or(""),
        filter.created_from.unwrap_or(Millis(i64::MIN)),
        filter.created_before.unwrap_or(Millis(i64::MAX)),
        at,
        no,
        at_most,
    ];
    conn.rows(&PAGE, values).await?.iter().map(read).collect()
}

/// A job's rows by reason, in the order of the reasons; reasons without rows are omitted.
pub async fn reasons(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Vec<(Reason, i64)>> {
    let mut counted = Vec::new();
    for row in conn.rows(&REASONS, args![org, job]).await? {
        let name: String = row.get("reason")?;
        let reason = Reason::from_name(&name).ok_or_else(|| StoreError::corrupt("a job's reason"))?;
        counted.push((reason, row.get("n")?));
    }
    counted.sort_by_key(|(reason, _)| Reason::ALL.iter().position(|known| known == reason));
    Ok(counted)
}

/// A job's rows by mail provider and status, the largest provider first; `None` for rows of no known provider.
pub async fn providers(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Vec<(Option<String>, Counts)>> {
    let read = |row: &Row| {
        let count = |column| row.get::<i64>(column);
        let [passed, undeliverable] = [count("passed")?, count("undeliverable")?];
        let [risky, unknown] = [count("risky")?, count("unknown")?];
        let processed = passed + undeliverable + risky + unknown;
        let provider: String = row.get("provider")?;
        Ok((Some(provider).filter(|id| !id.is_empty()), Counts { processed, passed, undeliverable, risky, unknown }))
    };
    let rows = conn.rows(&PROVIDERS, args![org, job]).await?;
    let mut counted = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    counted.sort_by(|(a, of_a), (b, of_b)| (of_b.processed, a).cmp(&(of_a.processed, b)));
    Ok(counted)
}

/// Credits still on hold for a job.
pub async fn set_aside(conn: &mut Conn, org: OrgNo, id: JobId) -> Result<i64> {
    hold::left(conn, org, &id.to_string()).await
}
