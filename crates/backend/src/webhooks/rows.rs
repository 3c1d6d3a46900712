//! Bodies of deliveries about rows, read from the job when they are sent, so that they contain only what still exists.
//!
//! An erased row is reported as erased. A delivery is dropped if its job was deleted or the job's rows were purged, or if none
//! of its rows matches its topic any more.

use probity_account::id::JobId;
use probity_account::webhook::Topic;
use probity_contract::error::Detail;
use probity_contract::published::jobs::batch::BatchRow;
use probity_mail::time::Millis;
use probity_store::jobs::{Job, SettledResult};
use probity_store::{Conn, OrgNo, Store, StoreError, jobs};
use serde::Serialize;

use crate::lists::rows;
use crate::webhooks::tell::Body;

/// Subject of a delivery about rows.
#[derive(Debug, Serialize)]
struct RowsSubject {
    job_id: JobId,
    rows: Vec<BatchRow>,
}

/// Delivery about rows of a job.
#[derive(Clone, Copy, Debug)]
pub struct RowsDelivery<'a> {
    pub org: OrgNo,
    pub job: Option<JobId>,
    pub kind: &'a str,
    pub created_at: Millis,
    /// Indexes of the rows.
    pub rows: &'a [i64],
}

/// Builds the body of a delivery about rows as it would be sent now; `None` if nothing is left to report.
pub async fn body(store: &Store, delivery: RowsDelivery<'_>) -> Result<Option<Vec<u8>>, Detail> {
    let RowsDelivery { org, kind, created_at, rows: wanted, .. } = delivery;
    let (Some(id), Ok(topic)) = (delivery.job, kind.parse::<Topic>()) else { return Ok(None) };
    let mut conn = store.read().await?;
    let job = match undeleted(&mut conn, org, id).await {
        Ok(job) if job.purged_at.is_none() => job,
        Ok(_) | Err(StoreError::NotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let standing = match topic {
        Topic::Contact(_) => of_contacts(&mut conn, &job, wanted).await?,
        _ => jobs::picked(&mut conn, job.org, job.no, wanted).await?,
    };
    let is_of_contact = matches!(topic, Topic::Contact(_));
    let is_of_topic = |standing: &SettledResult| is_of_contact || topic.has_row(standing.result.kind.reason);
    let standing: Vec<_> = standing.into_iter().filter(|(_, standing)| is_of_topic(standing)).collect();
    let rows = rows::of(&mut conn, &job, standing).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let kind = kind.to_owned();
    Ok(Some(Body { kind, timestamp: created_at.into(), data: RowsSubject { job_id: id, rows } }.to_bytes()))
}

/// Returns a job, unless it was deleted: its rows are removed some time later.
async fn undeleted(conn: &mut Conn, org: OrgNo, id: JobId) -> Result<Job, StoreError> {
    let test = jobs::by_no(conn, org, jobs::JobNo::of_id(id)).await?.test;
    jobs::by_id(conn, org, id, test).await
}

/// Returns the results of rows whose contacts were changed. They need not be the first rows of their addresses.
async fn of_contacts(conn: &mut Conn, job: &Job, wanted: &[i64]) -> Result<Vec<(i64, SettledResult)>, StoreError> {
    let mut found = Vec::with_capacity(wanted.len());
    for idx in wanted {
        found.extend(jobs::outcomes(conn, job.org, job.no, *idx, idx + 1).await?);
    }
    Ok(found)
}
