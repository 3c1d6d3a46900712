//! `POST /v1/batch-verify`: a job for a list of addresses.
//!
//! The handler reads the body itself, so it locks the Idempotency-Key here, after the whole body.

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use probity_contract::published::jobs::submission::{SubmitQuery, SubmittedJob};
use probity_contract::query::{FromQuery as _, Query};
use probity_lists::submission::LeftOut;
use probity_service::callers::once::{KeyedCall, Once};
use probity_service::jobs::submit::{SubmissionHead, accept_list, receive_list};

use crate::callers::idempotency;
use crate::callers::idempotency::run_once;
use crate::handler::{Call, Refusal};
use crate::request::submission::{format_of, opener};

/// Verify a list
///
/// Creates a job from 1 to 1,000,000 addresses and responds with its ID once they are stored durably. Each row holds 1
/// credit; a repeated address is verified and charged once. Also accepts `text/csv` and `application/x-ndjson` (column or
/// field `email`), with `webhook_url` and `name` in the query.
#[utoipa::path(
    post,
    path = "/v1/batch-verify",
    tag = "Verification",
    params(SubmitQuery),
    request_body(content = crate::openapi::batch::BatchSubmission, description = "Addresses to verify."),
    security(("bearer" = ["write:jobs"])),
    extensions(("x-errors" = json!(["insufficient_credits"]))),
    responses((status = 200, description = "The job.", body = SubmittedJob))
)]
pub(crate) async fn submit_batch(Call(app, caller): Call, request: Request) -> Result<Response, Refusal> {
    let (format, request) = format_of(request).await?;
    let key = idempotency::key(request.headers())?;
    let path = request.uri().path().to_owned();
    let query = SubmitQuery::from_query(&Query::of(request.uri()))?;
    let head = SubmissionHead { format, query, read_whole: key.is_some() };
    let received = receive_list(&app, &caller, head, opener(request)).await?;
    let left_out = received.left_out.clone();
    let Some(key) = key else {
        return Ok(named(left_out, Json(accept_list(&app, received, &Once::unkeyed()).await?).into_response()));
    };
    let call = KeyedCall { path, key, body_hash: received.body_hash };
    let (staged, acting) = (received.staged.clone(), app.clone());
    let work = move |once: Once| async move {
        accept_list(&acting, received, &once).await.map(Json).map_err(Refusal).into_response()
    };
    let answered = run_once(app.clone(), Some(caller), call, work).await;
    // After a replay, or a refusal of the key, the received rows are not needed. An accepted job is not affected.
    staged.discard(&app).await;
    answered.map(|response| named(left_out, response))
}

/// CSV rows without an address, which are not in the job: their number, and the line of the first.
const WITHOUT: HeaderName = HeaderName::from_static("x-rows-without-address");
const FIRST_WITHOUT: HeaderName = HeaderName::from_static("x-first-line-without-address");
/// Number of addresses in other columns, which are not in the job.
const OTHERS: HeaderName = HeaderName::from_static("x-addresses-in-other-columns");

/// Members of JSON that are not known.
const IGNORED: HeaderName = HeaderName::from_static("x-ignored-fields");

/// Builds the headers about content that is not in the job.
fn named(LeftOut { rows, others, fields }: LeftOut, mut response: Response) -> Response {
    if rows.count > 0 {
        response.headers_mut().insert(WITHOUT, rows.count.into());
        response.headers_mut().insert(FIRST_WITHOUT, rows.line.into());
    }
    if others > 0 {
        response.headers_mut().insert(OTHERS, others.into());
    }
    if !fields.is_empty() {
        let names: Vec<_> = fields.iter().map(|name| name.escape_default().to_string()).collect();
        let names = HeaderValue::try_from(names.join(", ")).expect("escaped names are ASCII");
        response.headers_mut().insert(IGNORED, names);
    }
    response
}
