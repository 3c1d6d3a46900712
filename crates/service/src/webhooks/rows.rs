//! What a message about rows says: read from the job when it is sent, so that nothing is told that is not there any more.
//!
//! A row that was erased reads so; of a job whose rows were purged nothing is left to say, and neither is of rows that say
//! something else by now than what the message is about. Such a message is dropped.

use probity_account::id::JobId;
use probity_account::webhook::Topic;
use probity_store::outbox::Claimed;
use probity_store::{Store, StoreError, jobs};
use serde::Serialize;

use crate::error::Detail;
use crate::lists::rows;
use crate::published::batch::BatchRow;
use crate::webhooks::tell::Body;

/// What a message about rows is about.
#[derive(Debug, Serialize)]
struct Rows {
    job_id: JobId,
    rows: Vec<BatchRow>,
}

/// The body of a message about these rows. None: there is nothing to say any more.
pub(super) async fn body(store: &Store, claimed: &Claimed, wanted: &[i64]) -> Result<Option<Vec<u8>>, Detail> {
    let (Some(id), Ok(topic)) = (claimed.job, claimed.kind.parse::<Topic>()) else { return Ok(None) };
    let mut conn = store.read().await?;
    let job = match jobs::by_no(&mut conn, claimed.org, jobs::JobNo::of_id(id)).await {
        Ok(job) if job.purged_at.is_none() => job,
        Ok(_) | Err(StoreError::NotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let standing = jobs::picked(&mut conn, job.org, job.no, wanted).await?;
    let standing: Vec<_> =
        standing.into_iter().filter(|(_, standing)| topic.has_row(standing.result.kind.reason)).collect();
    let rows = rows::of(&mut conn, &job, standing).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let kind = claimed.kind.clone();
    Ok(Some(Body { kind, timestamp: claimed.created_at.into(), data: Rows { job_id: id, rows } }.to_bytes()))
}
