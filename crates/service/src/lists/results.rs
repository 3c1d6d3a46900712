//! Pages of a job's results, available once the job is accepted.
//!
//! A cursor is the index of the next row, encrypted for the organization and the job, so the last page costs no more than
//! the first.

use probity_account::id::JobId;
use probity_backend::lists::rows;
use probity_contract::error::ApiError;
use probity_contract::page::{Binding, CURSOR_RULE};
use probity_contract::published::jobs::batch::{BatchResults, ResultsQuery};
use probity_store::jobs;

use crate::app::App;
use crate::callers::caller::Caller;

/// Lists the rows of a job in submitted order, with the verdicts settled so far.
pub async fn list_results(
    app: &App,
    caller: &Caller,
    id: JobId,
    query: ResultsQuery,
) -> Result<BatchResults, ApiError> {
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    let (org, list) = (caller.org_id().to_string(), format!("/v1/batch-verify/{id}"));
    let binding = Binding { org: &org, list: &list };
    let from = app.cursors.place(query.cursor?.as_ref(), binding)?.map_or(Ok(0), |place| index(&place))?;
    let to = from.saturating_add(query.per_page.into()).min(job.rows);
    let data = rows::rows(&mut conn, &job, from.min(to), to).await?;
    let next = (to < job.rows).then(|| app.cursors.seal(binding, &to.to_be_bytes()));
    Ok(BatchResults { data, next })
}

/// Returns the row index of a cursor.
fn index(place: &[u8]) -> Result<i64, ApiError> {
    let index = place.try_into().map(i64::from_be_bytes).ok().filter(|index| *index >= 0);
    index.ok_or_else(|| ApiError::invalid("next", CURSOR_RULE))
}
