//! Deliveries of a webhook: the log of attempts and responses, test events, and resending.

use probity_account::id::{DeliveryId, WebhookId};
use probity_account::scope::Scope;
use probity_account::webhook::Topic;
use probity_backend::webhooks::rows::{self, RowsDelivery};
use probity_backend::webhooks::tell;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::webhooks::{DeliveriesQuery, MissingBody, WebhookDelivery, WebhookDeliveryDetail};
use probity_contract::timestamp::Timestamp;
use probity_mail::time::{HOUR_MS, Millis};
use probity_store::webhooks::outbox::{DeliveryContent, EarlierAttempt, LoggedDelivery, OutboxState};
use probity_store::webhooks::{self, outbox};
use probity_store::{OrgNo, StoreError, work};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::once::Once;
use crate::webhooks::acts::{is_test, visible_webhook};

/// Maximum number of pending test deliveries per webhook. Each is a request to a server whose operator may not have asked for it.
const TESTS_WAITING_MAX: i64 = 10;

/// Lists a webhook's deliveries, newest first. An invalid query is an error only for a webhook that the caller sees.
pub async fn list_deliveries(
    app: &App,
    caller: &Caller,
    id: WebhookId,
    query: Result<DeliveriesQuery, ApiError>,
) -> Result<List<WebhookDelivery>, ApiError> {
    let mut conn = app.store.read().await?;
    let webhook = visible_webhook(&mut conn, caller, id).await?;
    let DeliveriesQuery { status, page } = query?;
    let list = format!("/v1/webhooks/{id}/deliveries {:?}", status.map(OutboxState::as_str));
    let asked = AskedPage::of(&app.cursors, &page, caller.org_id().to_string(), list)?;
    let mut rows = outbox::of_webhook(&mut conn, webhook.org, id, status, asked.after, asked.at_most()).await?;
    let next = asked.cut(&mut rows, |row| (row.created_at, row.id));
    let ids: Vec<DeliveryId> = rows.iter().map(|row| row.id).collect();
    let mut earlier = outbox::before_the_last(&mut conn, webhook.org, &ids).await?;
    let mut shown = |row: LoggedDelivery| {
        let earlier = earlier.remove(&row.id).unwrap_or_default();
        WebhookDelivery::of(row, earlier)
    };
    Ok(List::new(rows.into_iter().map(&mut shown).collect(), next))
}

/// Hours of [`count_by_hour`].
const HOURS: i64 = 48;

/// Deliveries of the last hours, oldest hour first.
#[derive(Serialize)]
pub struct DeliveryHours {
    data: Vec<DeliveryHour>,
}

/// Deliveries that were created within an hour, by state. Canceled ones are not counted.
#[derive(Serialize)]
struct DeliveryHour {
    at: Timestamp,
    delivered: i64,
    exhausted: i64,
    waiting: i64,
}

/// Counts a webhook's deliveries of the last 48 hours.
pub async fn count_by_hour(app: &App, caller: &Caller, id: WebhookId) -> Result<DeliveryHours, ApiError> {
    let mut conn = app.store.read().await?;
    let webhook = visible_webhook(&mut conn, caller, id).await?;
    let first = app.now().0 / HOUR_MS + 1 - HOURS;
    let counted = outbox::by_hour(&mut conn, webhook.org, id, Millis(first * HOUR_MS)).await?;
    let counts_of = |hour: i64| {
        let of = |wanted: OutboxState| {
            counted.iter().find(|(at, state, _)| (*at, *state) == (hour, wanted)).map_or(0, |(.., count)| *count)
        };
        DeliveryHour {
            at: Millis(hour * HOUR_MS).into(),
            delivered: of(OutboxState::Delivered),
            exhausted: of(OutboxState::Exhausted),
            waiting: of(OutboxState::Waiting),
        }
    };
    Ok(DeliveryHours { data: (first..first + HOURS).map(counts_of).collect() })
}

/// Returns a delivery with its body. A body about rows is built as it would be sent now, because none is stored.
pub async fn get_delivery(
    app: &App,
    caller: &Caller,
    which: (WebhookId, DeliveryId),
) -> Result<WebhookDeliveryDetail, ApiError> {
    let (org, logged, earlier) = visible_delivery(app, caller, which).await?;
    let (body, missing_body) = match body_for(app, caller, org, &logged).await? {
        Ok(body) => (Some(body), None),
        Err(missing) => (None, Some(missing)),
    };
    Ok(WebhookDeliveryDetail { delivery: WebhookDelivery::of(logged, earlier), body, missing_body })
}

/// Returns a delivery without its body.
pub(crate) async fn delivery_state(
    app: &App,
    caller: &Caller,
    which: (WebhookId, DeliveryId),
) -> Result<WebhookDelivery, ApiError> {
    let (_, logged, earlier) = visible_delivery(app, caller, which).await?;
    Ok(WebhookDelivery::of(logged, earlier))
}

/// Returns a delivery to a webhook that the caller may see, with its earlier attempts.
async fn visible_delivery(
    app: &App,
    caller: &Caller,
    (id, delivery): (WebhookId, DeliveryId),
) -> Result<(OrgNo, LoggedDelivery, Vec<EarlierAttempt>), ApiError> {
    let mut conn = app.store.read().await?;
    let org = visible_webhook(&mut conn, caller, id).await?.org;
    let logged = outbox::by_id(&mut conn, org, delivery).await?;
    if logged.signer != id.to_string() {
        return Err(ApiError::not_found());
    }
    let earlier = outbox::before_the_last(&mut conn, org, &[delivery]).await?.remove(&delivery);
    Ok((org, logged, earlier.unwrap_or_default()))
}

/// Returns the body of a delivery, for callers who may read its subject.
async fn body_for(
    app: &App,
    caller: &Caller,
    org: OrgNo,
    logged: &LoggedDelivery,
) -> Result<Result<String, MissingBody>, ApiError> {
    let needed = match logged.kind.parse::<Topic>() {
        Ok(Topic::ConnectionDisconnected) => Some(Scope::ReadIntegrations),
        Ok(_) => Some(Scope::ReadJobs),
        // A test event has no subject.
        Err(_) => None,
    };
    if needed.is_some_and(|scope| !caller.scopes().contains(scope)) {
        return Ok(Err(MissingBody::ScopeMissing));
    }
    let bytes = match &logged.content {
        DeliveryContent::Bytes(bytes) => Some(bytes.clone()),
        DeliveryContent::Rows(rows) => {
            let about = RowsDelivery { org, job: logged.job, kind: &logged.kind, created_at: logged.created_at, rows };
            rows::body(&app.store, about).await.map_err(ApiError::server_error)?
        }
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(bytes.map(text).ok_or(MissingBody::RowsGone))
}

/// Sends a test event once, even to a disabled webhook.
pub async fn send_test_event(
    app: &App,
    caller: &Caller,
    id: WebhookId,
    once: &Once,
) -> Result<WebhookDelivery, ApiError> {
    let (org, is_test) = (caller.org(), is_test(app, caller, id).await?);
    let now = app.now();
    let sent = app.store.write(work!(|tx| {
        // Concurrent calls wait for each other and then count each other's deliveries.
        let webhook = webhooks::lock(tx, org, id, is_test).await?;
        if outbox::tests_waiting(tx, org, id, TESTS_WAITING_MAX).await? >= TESTS_WAITING_MAX {
            return Ok(None);
        }
        let message = tell::test(org, id, &webhook.url, now);
        outbox::put(tx, &message).await?;
        let shown = WebhookDelivery::of(outbox::by_id(tx, org, message.id).await?, Vec::new());
        once.keep(tx, &shown).await?;
        Ok::<_, StoreError>(Some(shown))
    }));
    let Some(shown) = sent.await? else {
        let full = format!("{TESTS_WAITING_MAX} test events are already pending for this webhook; try again later");
        return Err(ApiError::conflict(full));
    };
    app.callbacks.wake();
    Ok(shown)
}

/// Resends a delivery immediately, with as many attempts as a new one.
pub async fn resend_delivery(
    app: &App,
    caller: &Caller,
    (id, delivery): (WebhookId, DeliveryId),
    once: &Once,
) -> Result<WebhookDelivery, ApiError> {
    let mut conn = app.store.read().await?;
    let webhook = visible_webhook(&mut conn, caller, id).await?;
    if outbox::by_id(&mut conn, webhook.org, delivery).await?.signer != id.to_string() {
        return Err(ApiError::not_found());
    }
    if !webhook.active {
        return Err(ApiError::conflict("the webhook is disabled; PATCH its status to `active` first"));
    }
    drop(conn);
    schedule_again(app, webhook.org, delivery, once, WebhookDelivery::of).await
}

/// Reschedules a delivery immediately with all attempts; `shown` builds the response.
pub(crate) async fn schedule_again<T: Serialize + Send + Sync>(
    app: &App,
    org: OrgNo,
    id: DeliveryId,
    once: &Once,
    shown: impl Fn(LoggedDelivery, Vec<EarlierAttempt>) -> T + Send + Sync,
) -> Result<T, ApiError> {
    let now = app.now();
    let sent = app.store.write(work!(|tx| {
        outbox::resend(tx, org, id, now).await?;
        let logged = outbox::by_id(tx, org, id).await?;
        let earlier = outbox::before_the_last(tx, org, &[id]).await?.remove(&id);
        let answer = shown(logged, earlier.unwrap_or_default());
        once.keep(tx, &answer).await?;
        Ok::<_, StoreError>(answer)
    }));
    let answer = sent.await?;
    app.callbacks.wake();
    Ok(answer)
}
