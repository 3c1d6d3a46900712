//! `/v1/webhooks`: servers of a customer that are told of what they have subscribed to.
//!
//! A webhook that was made with a test key is told of test jobs and seen by test keys only, as jobs are. Its secret is shown by
//! the answers that made and that replaced it. What was sent, and what came back, stands in [`deliveries`].

pub(crate) mod deliveries;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_account::id::WebhookId;
use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::page::{Asked, List};
use probity_service::published::webhooks::{
    CreateWebhook, DeletedWebhook, NewWebhook, TopicName, WebhookPatch, WebhookSecret, WebhookShown, WebhookStatus,
};
use probity_service::subscriptions;
use probity_service::subscriptions::{Act, Change, WEBHOOKS_MAX};
use probity_service::webhooks::sign::Secret;
use probity_store::webhooks::{self, Webhook};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::asking::Asking;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;
use crate::idempotency::{Answer, Once};
use crate::openapi::parameters::{PageParams, WebhookPath};
use crate::path::PathId;

/// The list's name in its cursors.
const LIST: &str = "/v1/webhooks";

/// List webhooks
///
/// Lists webhooks, newest first, including disabled ones. Secrets are never shown again.
#[utoipa::path(
    get,
    path = "/v1/webhooks",
    tag = "Webhooks",
    params(PageParams),
    security(("bearer" = ["read:webhooks"])),
    responses((status = 200, description = "A page of webhooks.", body = List<WebhookShown>))
)]
pub(crate) async fn list_webhooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<List<WebhookShown>>, Refusal> {
    let list = if caller.is_test() { format!("{LIST} test") } else { LIST.to_owned() };
    let asked = Asked::of(&app.cursors, &query, caller.org_id().to_string(), list)?;
    let mut conn = app.store.read().await?;
    let rows = webhooks::page(&mut conn, caller.org(), caller.is_test(), asked.after, asked.at_most()).await?;
    Ok(Json(asked.list(rows, |row| (row.created_at, row.id), WebhookShown::from)))
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
    responses((status = 201, description = "The webhook, with its secret.", body = NewWebhook))
)]
pub(crate) async fn create_webhook(
    State(app): State<Arc<App>>,
    caller: Caller,
    once: Once,
    JsonBody(asked): JsonBody<CreateWebhook>,
) -> Result<Answer, Refusal> {
    let now = app.now();
    included(&app, &caller).await?;
    let webhook = Webhook {
        org: caller.org(),
        id: probity_service::random::id(now),
        test: caller.is_test(),
        name: name(&asked.name)?,
        events: topics(&asked.events)?,
        url: url(&app, &asked.url).await?,
        active: true,
        created_at: now,
        last_delivery_at: None,
    };
    let fresh = Secret::fresh();
    let sealed = app.secrets.seal_webhook_secret(webhook.id, fresh.bytes());
    let shown = NewWebhook { webhook: webhook.clone().into(), secret: fresh.text() };
    let act = act(&caller, now);
    let made = app.store.write(|tx| {
        async {
            if !subscriptions::make(tx, act, &webhook, &sealed).await? {
                return Ok(None);
            }
            once.keep(tx, StatusCode::CREATED, &shown).await.map(Some)
        }
        .scope_boxed()
    });
    let full = || format!("an organization can have at most {WEBHOOKS_MAX} webhooks; delete one first");
    Ok(made.await?.ok_or_else(|| ApiError::new(Code::Conflict, full()))?)
}

/// Who acts on webhooks of a caller's sort.
fn act(caller: &Caller, now: Millis) -> Act {
    Act { org: caller.org(), test: caller.is_test(), actor: caller.actor(), now }
}

/// Refuses where the plan is without webhooks. Those that were made before go on.
async fn included(app: &App, caller: &Caller) -> Result<(), Refusal> {
    if subscriptions::included(&mut app.store.read().await?, &app.config.plans, caller.org()).await? {
        return Ok(());
    }
    Err(ApiError::forbidden_scope("the organization's plan does not include webhooks").into())
}

fn name(text: &str) -> Result<String, Refusal> {
    let name = probity_account::name::name(text).map_err(|fault| ApiError::invalid("name", fault.to_string()))?;
    Ok(name.to_owned())
}

/// Each topic once, in the contract's order.
fn topics(named: &[TopicName]) -> Result<Vec<Topic>, Refusal> {
    let topics: Vec<Topic> = Topic::all().filter(|topic| named.iter().any(|named| named.0 == *topic)).collect();
    if topics.is_empty() { Err(ApiError::invalid("events", "must have at least 1 event").into()) } else { Ok(topics) }
}

async fn url(app: &App, text: &str) -> Result<String, Refusal> {
    Ok(app.callbacks.check(text).await.map_err(|refused| ApiError::invalid("url", refused))?)
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
pub(crate) async fn get_webhook(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WebhookId>,
) -> Result<Json<WebhookShown>, Refusal> {
    let webhook = webhooks::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    Ok(Json(webhook.into()))
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
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WebhookId>,
    JsonBody(patch): JsonBody<WebhookPatch>,
) -> Result<Json<WebhookShown>, Refusal> {
    // Whoever may not see it learns nothing, of URLs either.
    webhooks::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    let change = Change {
        name: patch.name.as_deref().map(name).transpose()?,
        events: patch.events.as_deref().map(topics).transpose()?,
        url: match &patch.url {
            Some(text) => Some(url(&app, text).await?),
            None => None,
        },
        active: patch.status.map(|status| status == WebhookStatus::Active),
    };
    let act = act(&caller, app.now());
    let changed = app.store.write(|tx| subscriptions::change(tx, act, id, &change).scope_boxed());
    Ok(Json(changed.await?.into()))
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
pub(crate) async fn delete_webhook(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WebhookId>,
) -> Result<Json<DeletedWebhook>, Refusal> {
    let act = act(&caller, app.now());
    app.store.write(|tx| subscriptions::remove(tx, act, id).scope_boxed()).await?;
    subscriptions::drop_log(&app.store, act, id).await?;
    Ok(Json(DeletedWebhook { id, deleted: true }))
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
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WebhookId>,
    once: Once,
) -> Result<Answer, Refusal> {
    let fresh = Secret::fresh();
    let sealed = app.secrets.seal_webhook_secret(id, fresh.bytes());
    let act = act(&caller, app.now());
    let rotated = app.store.write(|tx| {
        async {
            let until = subscriptions::rotate(tx, act, id, &sealed).await?;
            let shown = WebhookSecret { id, secret: fresh.text(), previous_until: until.into() };
            once.keep(tx, StatusCode::OK, &shown).await
        }
        .scope_boxed()
    });
    rotated.await.map_err(StoreError::into)
}
