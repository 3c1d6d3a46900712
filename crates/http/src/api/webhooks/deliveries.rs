//! `/v1/webhooks/{id}/deliveries`: what was sent to a webhook, what came back, and sending it once more.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_account::id::{DeliveryId, WebhookId};
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::page::{Asked, List};
use probity_service::published::webhooks::WebhookDelivery;
use probity_service::subscriptions;
use probity_store::outbox::{self, Logged};
use probity_store::{ScopedFutureExt as _, webhooks};

use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;
use crate::idempotency::{Answer, Once};
use crate::openapi::parameters::{DeliveriesParams, DeliveryPath, WebhookPath};
use crate::path::{PathId, PathIds};

/// List a webhook's deliveries
///
/// Lists deliveries, newest first. They are kept as long as the installation keeps deliveries; those about rows for at
/// most 7 days.
#[utoipa::path(
    get,
    path = "/v1/webhooks/{id}/deliveries",
    tag = "Webhooks",
    params(WebhookPath, DeliveriesParams),
    security(("bearer" = ["read:webhooks"])),
    responses((status = 200, description = "A page of deliveries.", body = List<WebhookDelivery>))
)]
pub(crate) async fn list_webhook_deliveries(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WebhookId>,
    Asking(query): Asking,
) -> Result<Json<List<WebhookDelivery>>, Refusal> {
    let mut conn = app.store.read().await?;
    let webhook = webhooks::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    let state = query.one_of("status", &outbox::State::ALL.map(outbox::State::as_str))?;
    let list = format!("/v1/webhooks/{id}/deliveries {state:?}");
    let asked = Asked::of(&app.cursors, &query, caller.org_id().to_string(), list)?;
    let state = state.map(|name| name.parse()).transpose()?;
    let mut rows = outbox::of_webhook(&mut conn, webhook.org, id, state, asked.after, asked.at_most()).await?;
    let next = asked.cut(&mut rows, |row| (row.created_at, row.id));
    let ids: Vec<DeliveryId> = rows.iter().map(|row| row.id).collect();
    let mut earlier = outbox::before_the_last(&mut conn, webhook.org, &ids).await?;
    let mut shown = |row: Logged| {
        let earlier = earlier.remove(&row.id).unwrap_or_default();
        WebhookDelivery::of(row, earlier)
    };
    Ok(Json(List::new(rows.into_iter().map(&mut shown).collect(), next)))
}

/// Send a test event
///
/// Sends a message of the type `test`, once, even if the webhook is disabled. The outcome appears in its deliveries. A
/// failed test does not count against the webhook. The response is 409 while 10 test messages are pending.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{id}/test",
    tag = "Webhooks",
    params(WebhookPath),
    security(("bearer" = ["write:webhooks"])),
    responses((status = 200, description = "The delivery.", body = WebhookDelivery))
)]
pub(crate) async fn test_webhook(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WebhookId>,
    once: Once,
) -> Result<Answer, Refusal> {
    let act = super::act(&caller, app.now());
    let sent = app.store.write(|tx| {
        async {
            let Some(logged) = subscriptions::try_out(tx, act, id).await? else { return Ok(None) };
            once.keep(tx, StatusCode::OK, &WebhookDelivery::of(logged, Vec::new())).await.map(Some)
        }
        .scope_boxed()
    });
    let Some(answer) = sent.await? else {
        return Err(ApiError::new(
            Code::Conflict,
            "10 test messages are already pending for this webhook; try again later",
        )
        .into());
    };
    app.callbacks.wake();
    Ok(answer)
}

/// Resend a delivery
///
/// Resends the message now, with the same `webhook-id` and all the attempts of a new message, whatever its status. The
/// response is 409 while the webhook is disabled.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver",
    tag = "Webhooks",
    params(WebhookPath, DeliveryPath),
    security(("bearer" = ["write:webhooks"])),
    responses((status = 200, description = "The delivery.", body = WebhookDelivery))
)]
pub(crate) async fn redeliver(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathIds(id, delivery): PathIds<WebhookId, DeliveryId>,
    once: Once,
) -> Result<Answer, Refusal> {
    let mut conn = app.store.read().await?;
    let webhook = webhooks::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    if outbox::by_id(&mut conn, webhook.org, delivery).await?.signer != id.to_string() {
        return Err(ApiError::not_found().into());
    }
    if !webhook.active {
        return Err(ApiError::new(Code::Conflict, "the webhook is disabled; PATCH its status to `active` first").into());
    }
    drop(conn);
    let now = app.now();
    let sent = app.store.write(|tx| {
        async {
            outbox::resend(tx, webhook.org, delivery, now).await?;
            let logged = outbox::by_id(tx, webhook.org, delivery).await?;
            let earlier = outbox::before_the_last(tx, webhook.org, &[delivery]).await?.remove(&delivery);
            once.keep(tx, StatusCode::OK, &WebhookDelivery::of(logged, earlier.unwrap_or_default())).await
        }
        .scope_boxed()
    });
    let answer = sent.await?;
    app.callbacks.wake();
    Ok(answer)
}
