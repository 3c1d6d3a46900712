//! Lists, creates, changes and deletes an organization's webhooks, and rotates their secrets.
//!
//! A webhook that a test key created receives the events of test jobs, and only test keys see it. The operator lists and
//! creates either live or test webhooks, and reaches both by ID. A secret is returned only by the act that creates it.

use probity_account::id::WebhookId;
use probity_account::plans::Entitlement;
use probity_account::webhook::Topic;
use probity_backend::webhooks::callback_secret::OVERLAP_MS;
use probity_backend::webhooks::sign::Secret;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::published::webhooks::{
    CreateWebhook, DeletedWebhook, NewWebhook, TopicName, WebhookPatch, WebhookSecret, WebhookShown, WebhookStatus,
};
use probity_mail::time::Millis;
use probity_store::accounts::organization;
use probity_store::activity::events::{AccountChange, AccountEventKind, EventSubject};
use probity_store::webhooks::{self, WebhookEndpoint, outbox};
use probity_store::{Conn, ScopedFutureExt as _, StoreError, work};

use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::given::checked_name;
use crate::callers::once::Once;

/// Name of the list in its cursors.
const LIST: &str = "/v1/webhooks";
/// Maximum number of webhooks per organization, including those of test keys. All of them are read for every part of a job.
const WEBHOOKS_MAX: i64 = 50;
/// Deliveries removed in one transaction.
const LOG_ROWS: u32 = 500;

/// Lists the caller's webhooks, live or test, newest first, including disabled ones.
pub async fn list_webhooks(app: &App, caller: &Caller, query: PageQuery) -> Result<List<WebhookShown>, ApiError> {
    let list = if caller.is_test() { format!("{LIST} test") } else { LIST.to_owned() };
    let asked = AskedPage::of(&app.cursors, &query, caller.org_id().to_string(), list)?;
    let mut conn = app.store.read().await?;
    let rows = webhooks::page(&mut conn, caller.org(), caller.is_test(), asked.after, asked.at_most()).await?;
    Ok(asked.list(rows, |row| (row.created_at, row.id), WebhookShown::from))
}

/// Creates a webhook, live or test like its caller, and returns its secret, which no other response contains.
pub async fn create_webhook(
    app: &App,
    caller: &Caller,
    once: &Once,
    asked: CreateWebhook,
) -> Result<NewWebhook, ApiError> {
    let now = app.now();
    refuse_without_plan(app, caller).await?;
    let webhook = wanted(app, caller, asked, now).await?;
    let fresh = Secret::fresh();
    let sealed = app.secrets.seal_webhook_secret(webhook.id, fresh.bytes());
    let shown = NewWebhook { webhook: webhook.clone().into(), secret: fresh.text() };
    let has_room = app.store.write(work!(|tx| {
        if !webhooks::insert(tx, &webhook, &sealed, WEBHOOKS_MAX).await? {
            return Ok(false);
        }
        caller.note(tx, now, &[about(webhook.id, AccountEventKind::WebhookCreated)]).await?;
        once.keep(tx, &shown).await?;
        Ok(true)
    }));
    if !has_room.await? {
        let full = format!("an organization can have at most {WEBHOOKS_MAX} webhooks; delete one first");
        return Err(ApiError::conflict(full));
    }
    Ok(shown)
}

pub async fn get_webhook(app: &App, caller: &Caller, id: WebhookId) -> Result<WebhookShown, ApiError> {
    Ok(visible_webhook(&mut app.store.read().await?, caller, id).await?.into())
}

/// Changes the fields of the patch.
pub async fn change_webhook(
    app: &App,
    caller: &Caller,
    id: WebhookId,
    patch: WebhookPatch,
) -> Result<WebhookShown, ApiError> {
    // Checked first: a caller who may not see the webhook must not learn which URLs are allowed.
    let is_test = visible_webhook(&mut app.store.read().await?, caller, id).await?.test;
    let name = patch.name.as_deref().map(checked_name).transpose()?;
    let events = patch.events.as_deref().map(checked_topics).transpose()?;
    let url = match &patch.url {
        Some(text) => Some(checked_url(app, text).await?),
        None => None,
    };
    let active = patch.status.map(|status| status == WebhookStatus::Active);
    let now = app.now();
    let changed = app.store.write(work!(|tx| {
        let before = webhooks::lock(tx, caller.org(), id, is_test).await?;
        let mut after = before.clone();
        after.name.clone_from(name.as_ref().unwrap_or(&before.name));
        after.url.clone_from(url.as_ref().unwrap_or(&before.url));
        after.events.clone_from(events.as_ref().unwrap_or(&before.events));
        after.active = active.unwrap_or(before.active);
        if after != before {
            webhooks::write(tx, &before, &after).await?;
            caller.note(tx, now, &differences(&before, &after)).await?;
        }
        Ok::<_, StoreError>(after)
    }));
    Ok(changed.await?.into())
}

/// Returns the events that describe a change.
fn differences(before: &WebhookEndpoint, after: &WebhookEndpoint) -> Vec<AccountChange> {
    let settings = |webhook: &WebhookEndpoint| (webhook.name.clone(), webhook.url.clone(), webhook.events.clone());
    let changed = (settings(before) != settings(after)).then_some(AccountEventKind::WebhookChanged);
    let turned = match (before.active, after.active) {
        (false, true) => Some(AccountEventKind::WebhookEnabled),
        (true, false) => Some(AccountEventKind::WebhookDisabled),
        _ => None,
    };
    changed.into_iter().chain(turned).map(|kind| about(after.id, kind)).collect()
}

/// Deletes a webhook with its pending deliveries and its log. If it is interrupted, the rest of the log is not sent, and is removed
/// at the end of its retention.
pub async fn delete_webhook(app: &App, caller: &Caller, id: WebhookId) -> Result<DeletedWebhook, ApiError> {
    let (org, is_test) = (caller.org(), is_test(app, caller, id).await?);
    let now = app.now();
    let removed = app.store.write(work!(|tx| {
        webhooks::remove(tx, org, id, is_test).await?;
        caller.note(tx, now, &[about(id, AccountEventKind::WebhookDeleted)]).await
    }));
    removed.await?;
    // There may be many.
    while app.store.write_bulk(|tx| outbox::remove_of_webhook(tx, org, id, LOG_ROWS).scope_boxed()).await? > 0 {}
    Ok(DeletedWebhook { id, deleted: true })
}

/// Replaces a webhook's secret and returns the new one, which no other response contains. The previous secret also signs
/// for 1 day.
pub async fn rotate_webhook_secret(
    app: &App,
    caller: &Caller,
    id: WebhookId,
    once: &Once,
) -> Result<WebhookSecret, ApiError> {
    let fresh = Secret::fresh();
    let sealed = app.secrets.seal_webhook_secret(id, fresh.bytes());
    let is_test = is_test(app, caller, id).await?;
    let now = app.now();
    let rotated = app.store.write(work!(|tx| {
        let until = webhooks::rotate(tx, caller.org(), id, is_test, &sealed, (now, now + OVERLAP_MS)).await?;
        caller.note(tx, now, &[about(id, AccountEventKind::WebhookSecretRotated)]).await?;
        let shown = WebhookSecret { id, secret: fresh.text(), previous_until: until.into() };
        once.keep(tx, &shown).await?;
        Ok::<_, StoreError>(shown)
    }));
    Ok(rotated.await?)
}

/// Returns the webhook if the caller may see it.
pub(super) async fn visible_webhook(
    conn: &mut Conn,
    caller: &Caller,
    id: WebhookId,
) -> Result<WebhookEndpoint, StoreError> {
    let found = webhooks::by_id(conn, caller.org(), id, caller.is_test()).await;
    match (caller, found) {
        (Caller::Staff { .. }, Err(StoreError::NotFound)) => {
            webhooks::by_id(conn, caller.org(), id, !caller.is_test()).await
        }
        (_, found) => found,
    }
}

/// Returns whether a webhook is one of test keys. Looks it up only for callers who reach both.
pub(super) async fn is_test(app: &App, caller: &Caller, id: WebhookId) -> Result<bool, StoreError> {
    match caller {
        Caller::Staff { .. } => Ok(visible_webhook(&mut app.store.read().await?, caller, id).await?.test),
        Caller::Key(_) | Caller::Person { .. } => Ok(caller.is_test()),
    }
}

fn about(id: WebhookId, kind: AccountEventKind) -> AccountChange {
    AccountChange::about(kind, EventSubject::Webhook(id))
}

/// Refuses the request if the plan has no webhooks. Existing webhooks keep working.
async fn refuse_without_plan(app: &App, caller: &Caller) -> Result<(), ApiError> {
    let org = organization::by_no(&mut app.store.read().await?, caller.org()).await?;
    if org.entitlements(app.config.plans.of(&org.plan)).contains(Entitlement::Webhooks) {
        return Ok(());
    }
    Err(ApiError::forbidden_scope("the organization's plan does not include webhooks; choose a plan that does"))
}

/// Validates the body of a request for a webhook.
async fn wanted(app: &App, caller: &Caller, asked: CreateWebhook, now: Millis) -> Result<WebhookEndpoint, ApiError> {
    Ok(WebhookEndpoint {
        org: caller.org(),
        id: probity_access::secrets::random::id(now),
        test: caller.is_test(),
        name: checked_name(&asked.name)?,
        events: checked_topics(&asked.events)?,
        url: checked_url(app, &asked.url).await?,
        active: true,
        created_at: now,
        last_delivery_at: None,
    })
}

/// Returns the topics in the contract's order, without duplicates.
fn checked_topics(named: &[TopicName]) -> Result<Vec<Topic>, ApiError> {
    let topics: Vec<Topic> = Topic::all().filter(|topic| named.iter().any(|named| named.0 == *topic)).collect();
    if topics.is_empty() { Err(ApiError::invalid("events", "must have at least 1 event")) } else { Ok(topics) }
}

async fn checked_url(app: &App, text: &str) -> Result<String, ApiError> {
    app.callbacks.check(text).await.map_err(|refused| ApiError::invalid("url", refused))
}
