//! `/v1/webhooks/{id}/deliveries`: what was sent to a webhook, what came back, and sending it once more.
//!
//! A receiver's answer is shown as text: bounded, and with control characters escaped. Why there was no answer is not shown, nor
//! how long that took: the differences would tell what is in the operator's network.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_account::id::{DeliveryId, WebhookId};
use probity_store::outbox::{self, Content, Logged, Tried};
use probity_store::{ScopedFutureExt as _, webhooks};

use super::view::{DeliveryAttempt, DeliveryRequest, WebhookDelivery, fixed_headers};
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::idempotency::{Answer, Once};
use crate::openapi::parameters::{DeliveriesParams, DeliveryPath, WebhookPath};
use crate::page::{Asked, List};
use crate::path::{PathId, PathIds};
use crate::query::Query;
use crate::subscriptions;
use crate::webhooks::send::Failure;

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
    query: Query,
) -> Result<Json<List<WebhookDelivery>>, ApiError> {
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
) -> Result<Answer, ApiError> {
    let act = super::act(&caller, app.now());
    let sent = app.store.write(|tx| {
        async {
            let Some(logged) = subscriptions::try_out(tx, act, id).await? else { return Ok(None) };
            once.keep(tx, StatusCode::OK, &WebhookDelivery::of(logged, Vec::new())).await.map(Some)
        }
        .scope_boxed()
    });
    let Some(answer) = sent.await? else {
        return Err(ApiError::new(Code::Conflict, "ten test messages wait for this webhook; try again later"));
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
) -> Result<Answer, ApiError> {
    let mut conn = app.store.read().await?;
    let webhook = webhooks::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    if outbox::by_id(&mut conn, webhook.org, delivery).await?.signer != id.to_string() {
        return Err(ApiError::not_found());
    }
    if !webhook.active {
        return Err(ApiError::new(Code::Conflict, "the webhook is disabled; PATCH its status to `active` first"));
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

impl WebhookDelivery {
    fn of(logged: Logged, earlier: Vec<Tried>) -> Self {
        let last_attempt = logged.last_at.map(|at| {
            DeliveryAttempt::of(Tried {
                at,
                url: logged.url.clone(),
                status: logged.last_status,
                error: logged.last_error,
                took_ms: logged.last_took_ms.unwrap_or_default(),
                answer: logged.last_answer,
            })
        });
        let rows = match logged.content {
            Content::Rows(rows) => Some(rows),
            Content::Bytes(_) => None,
        };
        let headers = fixed_headers(logged.event);
        Self {
            id: logged.id,
            kind: logged.kind,
            status: logged.state.as_str(),
            attempts: logged.attempts,
            created_at: logged.created_at.into(),
            next_attempt_at: (logged.state == outbox::State::Waiting).then_some(logged.next_at.into()),
            request: DeliveryRequest { url: logged.url, headers, job_id: logged.job, rows },
            last_attempt,
            earlier_attempts: earlier.into_iter().map(DeliveryAttempt::of).collect(),
        }
    }
}

impl DeliveryAttempt {
    fn of(tried: Tried) -> Self {
        let answered = tried.status.is_some();
        Self {
            at: tried.at.into(),
            url: tried.url,
            status: tried.status,
            took_ms: answered.then_some(tried.took_ms),
            error: (!answered).then(|| Failure::public(tried.error.as_deref().unwrap_or_default())),
            answer: shown(&tried.answer),
        }
    }
}

/// Bytes of others as text that steers nothing: neither a terminal nor the direction of writing.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let steers = c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if steers {
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_escaped() {
        for (bytes, expected) in [
            (&b"ok <b>\"x\"</b> \\"[..], "ok <b>\"x\"</b> \\"),
            (b"a\r\n\x1b[31mred\x00", "a\\r\\n\\u{1b}[31mred\\u{0}"),
            ("gr\u{fc}n \u{202e}txt".as_bytes(), "gr\u{fc}n \\u{202e}txt"),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(shown(bytes), expected);
        }
    }
}
