//! `GET /v1/batch-verify/{id}/results`: every row of a job, in pages, from its acceptance on.
//!
//! `GET /v1/batch-verify/{id}` is the same without `index`, for earlier clients; cursors are valid for both.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use probity_account::id::JobId;
use probity_contract::parameters::JobPath;
use probity_contract::published::jobs::batch::{BatchResults, ResultsQuery};
use probity_service::lists::results::list_results;

use crate::handler::{Asking, Call, PathId, Refusal};

/// Typical size of a row in a page, in bytes.
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
    params(JobPath, ResultsQuery),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "A page of rows.", body = BatchResults))
)]
pub(crate) async fn get_batch_results(
    Call(app, caller): Call,
    PathId(id): PathId<JobId>,
    Asking(query): Asking<ResultsQuery>,
) -> Result<Response, Refusal> {
    Ok(json(&list_results(&app, &caller, id, query).await?))
}

/// List job results without indexes
///
/// Deprecated: use `GET /v1/batch-verify/{id}/results`, which returns the same pages with `index`.
#[utoipa::path(
    get,
    path = "/v1/batch-verify/{id}",
    tag = "Verification",
    params(JobPath, ResultsQuery),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "A page of rows.", body = BatchResults))
)]
pub(crate) async fn get_batch_results_without_index(
    Call(app, caller): Call,
    named: Result<PathId<JobId>, Refusal>,
    asked: Result<Asking<ResultsQuery>, Refusal>,
) -> Response {
    let page = async {
        let (PathId(id), Asking(query)) = (named?, asked?);
        let mut page = list_results(&app, &caller, id, query).await?;
        page.data.iter_mut().for_each(|row| row.head.index = None);
        Ok::<_, Refusal>(json(&page))
    };
    let mut response = page.await.into_response();
    response.headers_mut().insert(&DEPRECATION, HeaderValue::from_static("true"));
    response
}

/// Serializes a page once, by reference: a full page has hundreds of kilobytes, and would be moved a dozen times while it grows.
fn json(page: &BatchResults) -> Response {
    let mut body = Vec::with_capacity(ROW_BYTES * (page.data.len() + 1));
    serde_json::to_writer(&mut body, page).expect("a page is plain JSON");
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}
