//! `/v1/webhooks/callback-secret`.

use probity_contract::published::webhooks::callback_secret::CallbackSecret;
use probity_service::webhooks::callback_secret;

use crate::handler::{Answer, Call, NoBody, RunOnce, answer};

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
pub(crate) async fn get_callback_secret(Call(app, caller): Call) -> Answer<CallbackSecret> {
    answer(callback_secret::get_callback_secret(&app, &caller).await)
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
    Call(app, caller): Call,
    RunOnce(once): RunOnce,
    _: NoBody,
) -> Answer<CallbackSecret> {
    answer(callback_secret::rotate_callback_secret(&app, &caller, &once).await)
}
