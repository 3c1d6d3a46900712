//! `/v1/webhooks`.

pub(crate) mod callback_secret;
pub(crate) mod deliveries;

use probity_account::id::WebhookId;
use probity_contract::page::{List, PageQuery};
use probity_contract::parameters::WebhookPath;
use probity_contract::published::webhooks::{
    CreateWebhook, DeletedWebhook, NewWebhook, WebhookPatch, WebhookSecret, WebhookShown,
};
use probity_service::webhooks::acts;

use crate::handler::{Answer, Asking, Call, Created, JsonBody, NoBody, PathId, RunOnce, answer, created};

/// List webhooks
///
/// Lists webhooks, newest first, including disabled ones. Secrets are never shown again.
#[utoipa::path(
    get,
    path = "/v1/webhooks",
    tag = "Webhooks",
    params(PageQuery),
    security(("bearer" = ["read:webhooks"])),
    responses((status = 200, description = "A page of webhooks.", body = List<WebhookShown>))
)]
pub(crate) async fn list_webhooks(
    Call(app, caller): Call,
    Asking(query): Asking<PageQuery>,
) -> Answer<List<WebhookShown>> {
    answer(acts::list_webhooks(&app, &caller, query).await)
}

/// Create a webhook
///
/// Returns the signing secret, shown only here. A webhook created with a test key receives events of test jobs.
#[utoipa::path(
    post,
    path = "/v1/webhooks",
    tag = "Webhooks",
    request_body(content = CreateWebhook, description = "The webhook to create."),
    security(("bearer" = ["write:webhooks"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 201, description = "The webhook, with its secret.", body = NewWebhook))
)]
pub(crate) async fn create_webhook(
    Call(app, caller): Call,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<CreateWebhook>,
) -> Created<NewWebhook> {
    created(acts::create_webhook(&app, &caller, &once.created(), asked).await)
}

/// Get a webhook
///
/// Returns the webhook's URL, events and last delivery.
#[utoipa::path(
    get,
    path = "/v1/webhooks/{id}",
    tag = "Webhooks",
    params(WebhookPath),
    security(("bearer" = ["read:webhooks"])),
    responses((status = 200, description = "The webhook.", body = WebhookShown))
)]
pub(crate) async fn get_webhook(Call(app, caller): Call, PathId(id): PathId<WebhookId>) -> Answer<WebhookShown> {
    answer(acts::get_webhook(&app, &caller, id).await)
}

/// Update a webhook
///
/// Omitted fields stay. A new URL also applies to pending messages. Messages pending for a disabled webhook are not sent;
/// the status `active` reactivates it, and it starts fresh.
#[utoipa::path(
    patch,
    path = "/v1/webhooks/{id}",
    tag = "Webhooks",
    params(WebhookPath),
    request_body(content = WebhookPatch, description = "Fields to change."),
    security(("bearer" = ["write:webhooks"])),
    responses((status = 200, description = "The updated webhook.", body = WebhookShown))
)]
pub(crate) async fn patch_webhook(
    Call(app, caller): Call,
    PathId(id): PathId<WebhookId>,
    JsonBody(patch): JsonBody<WebhookPatch>,
) -> Answer<WebhookShown> {
    answer(acts::change_webhook(&app, &caller, id, patch).await)
}

/// Delete a webhook
///
/// Deletes the webhook, its pending messages and its delivery log.
#[utoipa::path(
    delete,
    path = "/v1/webhooks/{id}",
    tag = "Webhooks",
    params(WebhookPath),
    security(("bearer" = ["write:webhooks"])),
    responses((status = 200, description = "The webhook is deleted.", body = DeletedWebhook))
)]
pub(crate) async fn delete_webhook(Call(app, caller): Call, PathId(id): PathId<WebhookId>) -> Answer<DeletedWebhook> {
    answer(acts::delete_webhook(&app, &caller, id).await)
}

/// Rotate a webhook's secret
///
/// Creates a new secret, shown only here. Both secrets sign messages for one day, so existing receivers keep working. A
/// second rotation within that day replaces only the new secret; the previous one signs until `previous_until`.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{id}/rotate-secret",
    tag = "Webhooks",
    params(WebhookPath),
    security(("bearer" = ["write:webhooks"])),
    responses((status = 200, description = "The new secret.", body = WebhookSecret))
)]
pub(crate) async fn rotate_webhook_secret(
    Call(app, caller): Call,
    PathId(id): PathId<WebhookId>,
    RunOnce(once): RunOnce,
    _: NoBody,
) -> Answer<WebhookSecret> {
    answer(acts::rotate_webhook_secret(&app, &caller, id, &once).await)
}
