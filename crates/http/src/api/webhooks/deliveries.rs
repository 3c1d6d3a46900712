//! `/v1/webhooks/{id}/deliveries`, and sending to a webhook by hand.

use probity_account::id::{DeliveryId, WebhookId};
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::parameters::{DeliveryPath, WebhookPath};
use probity_contract::published::webhooks::{DeliveriesQuery, WebhookDelivery, WebhookDeliveryDetail};
use probity_service::webhooks::deliveries;

use crate::handler::{Answer, Asking, Call, NoBody, PathId, RunOnce, answer};

/// List a webhook's deliveries
///
/// Lists deliveries, newest first. They are kept as long as the installation keeps deliveries; those about rows for at
/// most 7 days.
#[utoipa::path(
    get,
    path = "/v1/webhooks/{id}/deliveries",
    tag = "Webhooks",
    params(WebhookPath, PageQuery, DeliveriesQuery),
    security(("bearer" = ["read:webhooks"])),
    responses((status = 200, description = "A page of deliveries.", body = List<WebhookDelivery>))
)]
pub(crate) async fn list_webhook_deliveries(
    Call(app, caller): Call,
    PathId(id): PathId<WebhookId>,
    Asking(query): Asking<Result<DeliveriesQuery, ApiError>>,
) -> Answer<List<WebhookDelivery>> {
    answer(deliveries::list_deliveries(&app, &caller, id, query).await)
}

/// Get a delivery with its body
///
/// Returns the delivery with the body of its request. A body about rows is not stored: it is returned as it would be sent
/// now, and needs the scope `read:jobs`.
#[utoipa::path(
    get,
    path = "/v1/webhooks/{id}/deliveries/{delivery_id}",
    tag = "Webhooks",
    params(WebhookPath, DeliveryPath),
    security(("bearer" = ["read:webhooks"])),
    responses((status = 200, description = "The delivery.", body = WebhookDeliveryDetail))
)]
pub(crate) async fn get_webhook_delivery(
    Call(app, caller): Call,
    PathId((id, delivery)): PathId<(WebhookId, DeliveryId)>,
) -> Answer<WebhookDeliveryDetail> {
    answer(deliveries::get_delivery(&app, &caller, (id, delivery)).await)
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
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The delivery.", body = WebhookDelivery))
)]
pub(crate) async fn test_webhook(
    Call(app, caller): Call,
    PathId(id): PathId<WebhookId>,
    RunOnce(once): RunOnce,
    _: NoBody,
) -> Answer<WebhookDelivery> {
    answer(deliveries::send_test_event(&app, &caller, id, &once).await)
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
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The delivery.", body = WebhookDelivery))
)]
pub(crate) async fn redeliver(
    Call(app, caller): Call,
    PathId((id, delivery)): PathId<(WebhookId, DeliveryId)>,
    RunOnce(once): RunOnce,
    _: NoBody,
) -> Answer<WebhookDelivery> {
    answer(deliveries::resend_delivery(&app, &caller, (id, delivery), &once).await)
}
