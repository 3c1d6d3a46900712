//! `/v1/webhooks/callback-secret`: what the callbacks of an organization's batches are signed with.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::published::callback_secret::CallbackSecret;
use probity_service::webhooks::callback_secret;
use probity_service::webhooks::sign::Secret;
use probity_store::ScopedFutureExt as _;
use probity_store::events::{self, AccountEvent, What};

use crate::auth::Caller;
use crate::error::Refusal;
use crate::idempotency::{Answer, Once};

/// Get the callback secret
///
/// Returns the secret that signs job callbacks, in the form of Standard Webhooks: `webhook-signature` contains `v1,` and
/// the base64 of the HMAC-SHA256 of `webhook-id`, `webhook-timestamp` and the body, joined by dots. Any library for
/// Standard Webhooks can check it. The first call creates the secret.
#[utoipa::path(
    get,
    path = "/v1/webhooks/callback-secret",
    tag = "Webhooks",
    security(("bearer" = ["write:webhooks"])),
    responses((status = 200, description = "The secret.", body = CallbackSecret))
)]
pub(crate) async fn get_callback_secret(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<CallbackSecret>, Refusal> {
    let known = callback_secret::of(&app.store, &app.secrets, caller.org()).await.map_err(ApiError::server_error)?;
    let previous_until = known.previous_at(app.now()).map(|(_, until)| (*until).into());
    Ok(Json(CallbackSecret { secret: known.secret.text(), previous_until }))
}

/// Rotate the callback secret
///
/// Creates a new secret. Both secrets sign callbacks for one day, so existing receivers keep working. A second rotation
/// within that day replaces only the new secret; the previous one signs until `previous_until`.
#[utoipa::path(
    post,
    path = "/v1/webhooks/callback-secret/rotate",
    tag = "Webhooks",
    security(("bearer" = ["write:webhooks"])),
    responses((status = 200, description = "The new secret.", body = CallbackSecret))
)]
pub(crate) async fn rotate_callback_secret(
    State(app): State<Arc<App>>,
    caller: Caller,
    once: Once,
) -> Result<Answer, Refusal> {
    let (fresh, now) = (Secret::fresh(), app.now());
    let rotated = app.store.write(|tx| {
        async {
            let until = callback_secret::rotate(tx, &app.secrets, caller.org(), &fresh, now).await?;
            let event = What::Account(AccountEvent::CallbackSecretRotated);
            events::add(tx, caller.org(), now, Some(caller.actor()), &[event]).await?;
            let shown = CallbackSecret { secret: fresh.text(), previous_until: until.map(Into::into) };
            once.keep(tx, StatusCode::OK, &shown).await
        }
        .scope_boxed()
    });
    Ok(rotated.await?)
}
