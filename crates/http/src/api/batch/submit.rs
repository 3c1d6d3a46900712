//! `POST /v1/batch-verify`: a job for a list of addresses.
//!
//! The body is never whole in memory: addresses are kept in blocks of a thousand as they stream in, in short transactions,
//! under a job that nobody sees. When the last one is there, one short transaction sets the credits aside, makes the job
//! visible and keeps the answer for retries. Whatever fails before that throws the blocks away; those of a client that went
//! away are swept after an hour. The Idempotency-Key is locked when the body is there, because its hash is compared; what is wrong
//! with the body, and whether its URL may be told, is judged after that: a request that was answered is not judged again.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use probity_account::block::Packed;
use probity_account::id::JobId;
use probity_lists::submission::{Format, Intake, WEBHOOK_URL_MAX_BYTES};
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::plans;
use probity_service::query::Query;
use probity_service::schema;
use probity_service::webhooks::target::Refused;
use probity_store::jobs::{self, JobNo, NewJob};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::body::pieces;
use crate::error::Refusal;
use crate::idempotency;
use crate::idempotency::{Answer, Call, Once, run_once};
use crate::submission::format_of;

/// Blocks of one transaction: so few that it stays short.
const BLOCKS_MAX: usize = 20;

/// An accepted job.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Submitted {
    /// The job's id.
    #[schema(schema_with = schema::job_id)]
    id: JobId,
}

/// Verify a list
///
/// Creates a job from 1 to 1,000,000 addresses and responds with its ID once they are stored durably. Each row holds 1
/// credit; a repeated address is verified and charged once. Also accepts `text/csv` and `application/x-ndjson` (column or
/// field `email`), with `webhook_url` in the query.
#[utoipa::path(
    post,
    path = "/v1/batch-verify",
    tag = "Verification",
    params(crate::openapi::parameters::SubmitParams),
    request_body(content = crate::openapi::batch::BatchSubmission, description = "Addresses to verify."),
    security(("bearer" = ["write:jobs"])),
    responses((status = 200, description = "The job.", body = Submitted))
)]
pub(crate) async fn submit_batch(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Refusal> {
    let (format, request) = format_of(request).await?;
    let key = idempotency::key(request.headers())?;
    let path = request.uri().path().to_owned();
    let new = new_job(&app, &caller);
    let no = app.store.write(|tx| jobs::begin(tx, &new).scope_boxed()).await?;
    let Taken { list, body_hash } = match take_in(&app, &new, no, (format, key.is_some()), request).await {
        Ok(taken) => taken,
        Err(error) => {
            discard(&app, &new, no).await;
            return Err(error);
        }
    };
    let offer = Offer { app: app.clone(), new: new.clone(), list };
    let Some(key) = key else { return Ok(offer.accept(Once::unkeyed()).await) };
    let call = Call { path, key, body_hash };
    let answered = run_once(app.clone(), caller, call, |once| offer.accept(once)).await;
    // A replay, or a refusal of the key: what came in now is not needed. An accepted job is not touched by this.
    discard(&app, &new, no).await;
    answered
}

/// The URL of the query, bounded as the body's is.
fn in_query(query: &Query) -> Result<Option<String>, Refusal> {
    let url = query.text("webhook_url")?;
    if url.as_ref().is_some_and(|url| url.len() > WEBHOOK_URL_MAX_BYTES) {
        let most = format_args!("may have at most {WEBHOOK_URL_MAX_BYTES} bytes");
        return Err(ApiError::invalid("webhook_url", most).into());
    }
    // Also where the body has another one.
    if url.as_ref().is_some_and(|url| url.is_empty()) {
        return Err(ApiError::invalid("webhook_url", Refused::Malformed).into());
    }
    Ok(url.map(Cow::into_owned))
}

fn new_job(app: &App, caller: &Caller) -> NewJob {
    let now = app.now();
    let (source, started_by, source_action) = match caller {
        Caller::Key(_) => ("api", "api", "api.batch_verify"),
        Caller::Person(_) => ("input", "manual", "dashboard.batch_verify"),
        Caller::Staff { .. } => ("input", "staff", "cli.batch_verify"),
    };
    NewJob {
        org: caller.org(),
        id: probity_service::random::id(now),
        test: caller.is_test(),
        source,
        started_by,
        source_action,
        actor: Some(caller.actor().to_json()),
        at: now,
    }
}

/// What came in.
struct Taken {
    list: Result<List, Refusal>,
    /// Of all of it, also of what is no list.
    body_hash: [u8; 32],
}

/// Addresses that are kept.
struct List {
    rows: i64,
    /// As it was sent.
    webhook_url: Option<String>,
}

/// Reads the body and keeps its addresses. One that has a key is read to its end, whatever is wrong with it.
async fn take_in(
    app: &App,
    new: &NewJob,
    no: JobNo,
    (format, has_key): (Format, bool),
    request: Request,
) -> Result<Taken, Refusal> {
    let url_of_query = in_query(&Query::of(request.uri()))?;
    let mut hash = app.secrets.body_in_pieces();
    // It belongs to what is submitted, as it would in JSON: with another one, the same key is refused.
    if let Some(url) = &url_of_query {
        hash.update(url.as_bytes());
        hash.update(&[0]);
    }
    let mut intake = Ok(Intake::new(format, app.config.batch_rows_max));
    let mut pieces = pieces(request, app.config.batch_body_max)?;
    let (mut full, mut next) = (Vec::new(), 0);
    while let Some(piece) = pieces.next().await? {
        hash.update(&piece);
        intake = intake.and_then(|mut intake| intake.push(&piece, &mut full).map(|()| intake));
        if intake.is_err() && !has_key {
            break;
        }
        if full.len() >= BLOCKS_MAX {
            next = keep(app, new, no, next, &mut full).await?;
        }
    }
    let list = match intake.and_then(|intake| intake.finish(&mut full)) {
        Ok(submission) => {
            keep(app, new, no, next, &mut full).await?;
            let rows = i64::try_from(submission.rows).unwrap_or(i64::MAX);
            Ok(List { rows, webhook_url: submission.webhook_url.or(url_of_query) })
        }
        Err(fault) => Err(fault.into()),
    };
    Ok(Taken { list, body_hash: hash.finish() })
}

/// A URL that may be told of the end.
async fn receiver(app: &App, url: &str) -> Result<String, Refusal> {
    Ok(app.callbacks.check(url).await.map_err(|refused| ApiError::invalid("webhook_url", refused))?)
}

/// Keeps full blocks; gives the index of the next address.
pub(crate) async fn keep(
    app: &App,
    new: &NewJob,
    no: JobNo,
    first: i64,
    full: &mut Vec<Packed>,
) -> Result<i64, StoreError> {
    let mut next = first;
    for blocks in full.chunks(BLOCKS_MAX) {
        let kept = app.store.write_bulk(|tx| {
            async {
                let mut idx = next;
                for block in blocks {
                    jobs::add_block(tx, new.org, no, idx, &block.bytes).await?;
                    idx += i64::try_from(block.rows).unwrap_or(i64::MAX);
                }
                Ok(idx)
            }
            .scope_boxed()
        });
        next = kept.await?;
    }
    full.clear();
    Ok(next)
}

/// Throws away what was not accepted: nobody waits for it. What remains where this fails is swept later.
pub(crate) async fn discard(app: &App, new: &NewJob, no: JobNo) {
    let now = app.now();
    let discarded = app.store.write_bulk(|tx| jobs::discard(tx, new.org, no, now).scope_boxed()).await;
    if let Err(error) = discarded {
        tracing::warn!(%error, "cannot discard a submission; it is removed later");
    }
}

/// A submission that has come in.
struct Offer {
    app: Arc<App>,
    new: NewJob,
    list: Result<List, Refusal>,
}

impl Offer {
    /// Makes the job of it.
    async fn accept(self, once: Once) -> Response {
        let Self { app, new, list } = self;
        match accept(&app, &new, list, &once).await {
            Ok(answer) => {
                app.wake.import.notify_one();
                answer.into_response()
            }
            Err(error) => {
                discard(&app, &new, JobNo::of_id(new.id)).await;
                error.into_response()
            }
        }
    }
}

async fn accept(app: &App, new: &NewJob, list: Result<List, Refusal>, once: &Once) -> Result<Answer, Refusal> {
    let List { rows, webhook_url } = list?;
    let url = match webhook_url {
        None => None,
        Some(url) => Some(receiver(app, &url).await?),
    };
    let now = app.now();
    let submitted = Submitted { id: new.id };
    covered(app, new.org, || {
        app.store.write(|tx| {
            async {
                jobs::accept(tx, new, rows, url.as_deref(), now).await?;
                once.keep(tx, StatusCode::OK, &submitted).await
            }
            .scope_boxed()
        })
    })
    .await
}

/// What accepts a job, once more where credits are short and refills put in what is missing.
pub(crate) async fn covered<T, F: Future<Output = Result<T, StoreError>>>(
    app: &App,
    org: OrgNo,
    accept: impl Fn() -> F,
) -> Result<T, Refusal> {
    match accept().await {
        Err(StoreError::InsufficientCredits { needed, .. }) if plans::cover(app, org, needed).await? => {
            Ok(accept().await?)
        }
        accepted => Ok(accepted?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_the_query_is_bounded_as_that_of_the_body() {
        let read =
            |length: usize| in_query(&Query::of(&format!("/?webhook_url={}", "a".repeat(length)).parse().unwrap()));
        assert_eq!(read(WEBHOOK_URL_MAX_BYTES).unwrap().map(|url| url.len()), Some(WEBHOOK_URL_MAX_BYTES));
        assert_eq!(read(WEBHOOK_URL_MAX_BYTES + 1).unwrap_err().message(), "webhook_url: may have at most 2048 bytes");
    }
}
