//! Jobs as customers see them.

use std::collections::BTreeMap;

use probity_core::id::JobId;
use probity_core::time::Millis;
use probity_core::verdict::Reason;

use super::{Job, JobNo, columns, read};
use crate::db::{Conn, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// Which jobs a list shows. Empty texts and none mean: all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Made with a test key.
    pub test: bool,
    /// From this source.
    pub source: Option<String>,
    /// In one of the states of this word of the API: `queued`, `processing`, `completed`, `cancelled`.
    pub status: Option<String>,
    /// Accepted at this time or later.
    pub created_from: Option<Millis>,
    /// Accepted before this time.
    pub created_before: Option<Millis>,
}

/// Rows that one read of [`starters`] looks at.
const STARTERS: i64 = 1_000;

statements! {
    BY_NO = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND job_no = $2");
    BY_ID = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND id = $2 AND test = $3 AND state <> 'unborn'");
    PAGE = concat!("SELECT ", columns!(), " FROM job WHERE org_no = $1 AND test = $2 AND state <> 'unborn' \
        AND ($3 = '' OR source = $3) AND ($4 = '' OR $4 = CASE WHEN state IN ('queued', 'importing', 'ready') THEN 'queued' \
        WHEN state IN ('cancelled', 'force_stopped') THEN 'cancelled' ELSE state END) \
        AND created_at >= $5 AND created_at < $6 AND (created_at < $7 OR (created_at = $7 AND job_no < $8)) \
        ORDER BY created_at DESC, job_no DESC LIMIT $9");
    STARTERS_PAGE = "SELECT job_no, created_at, started_by FROM job WHERE org_no = $1 AND test = $2 AND state <> 'unborn' \
        AND created_at >= $3 AND created_at < $4 AND (created_at < $5 OR (created_at = $5 AND job_no < $6)) \
        ORDER BY created_at DESC, job_no DESC LIMIT $7";
    REASONS = "SELECT reason, n FROM job_reason WHERE org_no = $1 AND job_no = $2";
}

/// The job with a number.
pub(super) async fn by_no(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Job> {
    conn.first(&BY_NO, args![org, job]).await?.as_ref().map_or(Err(StoreError::NotFound), read)
}

/// The job with an id, for keys of its sort.
pub async fn by_id(conn: &mut Conn, org: OrgNo, id: JobId, test: bool) -> Result<Job> {
    let row = conn.first(&BY_ID, args![org, id.to_string(), test]).await?;
    row.as_ref().map_or(Err(StoreError::NotFound), read)
}

/// Jobs, the newest first, after the one that a page ended with; at most `at_most`.
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

/// A job's rows by reason, in the order of the reasons, those without rows left out.
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

/// How many jobs were accepted within `from..to`, by who or what started them, however many they are: read a thousand at a
/// time along the index of the list.
pub async fn starters(
    conn: &mut Conn,
    org: OrgNo,
    test: bool,
    from: Millis,
    to: Millis,
) -> Result<BTreeMap<Option<String>, u64>> {
    let mut counted = BTreeMap::new();
    let (mut at, mut no) = (i64::MAX, i64::MAX);
    loop {
        let rows = conn.rows(&STARTERS_PAGE, args![org, test, from, to, at, no, STARTERS]).await?;
        for row in &rows {
            *counted.entry(row.get("started_by")?).or_default() += 1;
        }
        match rows.last() {
            Some(last) if i64::try_from(rows.len()).is_ok_and(|read| read >= STARTERS) => {
                (at, no) = (last.get("created_at")?, last.get("job_no")?);
            }
            _ => return Ok(counted),
        }
    }
}
