//! `POST /v1/batch-verify/{id}/cancel`: an end before the end.
//!
//! One transaction stops the job, credits back what was not verified, tells whoever wants to know, and keeps the answer for
//! retries. A verdict that comes afterwards meets a job that is closed, so nothing is charged any more.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use probity_service::app::App;
use probity_service::jobs::announce;
use probity_service::published::batch::BatchCancelled;
use probity_store::ScopedFutureExt as _;
use probity_store::jobs::{self, State as JobState};
use serde::de::IgnoredAny;

use crate::api::batch::Named;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;
use crate::idempotency::{Answer, Once};
use crate::openapi::parameters::JobPath;

/// Cancel a job
///
/// Stops the job. Releases the credits of unverified rows, then responds. Verified rows keep their verdicts. A completed
/// job cannot be canceled: `status` is `error`.
#[utoipa::path(
    post,
    path = "/v1/batch-verify/{id}/cancel",
    tag = "Verification",
    params(JobPath),
    security(("bearer" = ["write:jobs"])),
    responses((status = 200, description = "Outcome of the cancellation.", body = BatchCancelled))
)]
pub(crate) async fn cancel_batch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named,
    once: Once,
    // Nothing is to be said; what is said all the same must be JSON.
    _: Option<JsonBody<IgnoredAny>>,
) -> Result<Answer, Refusal> {
    let now = app.now();
    let cancelled = app.store.write(|tx| {
        async {
            let status = match jobs::cancel(tx, caller.org(), id, caller.is_test(), now).await? {
                Ok(closed) => {
                    announce(tx, &closed, now).await?;
                    "success"
                }
                Err(JobState::Completed) => "error",
                Err(_) => "success",
            };
            once.keep(tx, StatusCode::OK, &BatchCancelled { status }).await
        }
        .scope_boxed()
    });
    let answer = cancelled.await?;
    app.callbacks.wake();
    Ok(answer)
}
