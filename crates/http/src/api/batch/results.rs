//! `GET /v1/batch-verify/{id}/results`: every row of a job, in pages, from its acceptance on.
//!
//! A cursor is the index of the next row, sealed for the organization and the job, so the last page costs what the first does.
//! `GET /v1/batch-verify/{id}` is the same without `index`, for clients from before there was one; cursors are good for both.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use probity_account::id::JobId;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::lists::rows;
use probity_service::page::{Binding, CURSOR_RULE, PerPage};
use probity_service::published::batch::BatchResults;
use probity_service::query::Query;
use probity_store::jobs;

use crate::api::batch::Named;
use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;
use crate::openapi::parameters::{JobPath, ResultsParams};

/// How many rows a page has.
const PER_PAGE: PerPage = PerPage { default: 100, max: 1_000 };

/// What a row takes in a page, usually.
const ROW_BYTES: usize = 320;

static DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

/// List job results
///
/// Returns every row in submitted order, also while the job runs. A row without a result has `processed: false` and no
/// verdict. The organization's settings are applied, so verdicts can differ from those of `GET /v1/verify`.
#[utoipa::path(
    get,
    path = "/v1/batch-verify/{id}/results",
    tag = "Verification",
    params(JobPath, ResultsParams),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "A page of rows.", body = BatchResults))
)]
pub(crate) async fn get_batch_results(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named,
    Asking(query): Asking,
) -> Result<Response, Refusal> {
    page(&app, &caller, id, &query).await.map(|page| json(&page))
}

/// List job results without indexes
///
/// Deprecated: use `GET /v1/batch-verify/{id}/results`, which returns the same pages with `index`.
#[utoipa::path(
    get,
    path = "/v1/batch-verify/{id}",
    tag = "Verification",
    params(JobPath, ResultsParams),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "A page of rows.", body = BatchResults))
)]
pub(crate) async fn get_batch_results_without_index(
    State(app): State<Arc<App>>,
    caller: Caller,
    named: Result<Named, Refusal>,
    Asking(query): Asking,
) -> Response {
    let page = match named {
        Ok(Named(id)) => page(&app, &caller, id, &query).await,
        Err(error) => Err(error),
    };
    let without_index = |mut page: BatchResults| {
        page.data.iter_mut().for_each(|row| row.head.index = None);
        json(&page)
    };
    let mut response = page.map(without_index).into_response();
    response.headers_mut().insert(&DEPRECATION, HeaderValue::from_static("true"));
    response
}

async fn page(app: &App, caller: &Caller, id: JobId, query: &Query) -> Result<BatchResults, Refusal> {
    let per_page = PER_PAGE.wanted(query)?;
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    let (org, list) = (caller.org_id().to_string(), format!("/v1/batch-verify/{id}"));
    let binding = Binding { org: &org, list: &list };
    let from = app.cursors.wanted(query, binding)?.map_or(Ok(0), |place| index(&place))?;
    let to = from.saturating_add(per_page.into()).min(job.rows);
    let data = rows::rows(&mut conn, &job, from.min(to), to).await?;
    let next = (to < job.rows).then(|| app.cursors.seal(binding, &to.to_be_bytes()));
    Ok(BatchResults { data, next })
}

/// A page in memory that is taken once: a full page has hundreds of kilobytes, and would be moved a dozen times while it grows.
fn json(page: &BatchResults) -> Response {
    let mut body = Vec::with_capacity(ROW_BYTES * (page.data.len() + 1));
    serde_json::to_writer(&mut body, page).expect("a page is plain JSON");
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

/// The row at which a cursor goes on.
fn index(place: &[u8]) -> Result<i64, Refusal> {
    let index = place.try_into().map(i64::from_be_bytes).ok().filter(|index| *index >= 0);
    Ok(index.ok_or_else(|| ApiError::invalid("next", CURSOR_RULE))?)
}
