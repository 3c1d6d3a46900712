//! Lists, creates, changes and deletes an organization's webhooks, and rotates their secrets.
//!
//! A webhook that a test key created receives the events of test jobs, and only test keys see it. The operator lists and
//! creates either live or test webhooks, and reaches both by ID. A secret is returned only by the act that creates it.

use probity_account::id::WebhookId;
use probity_account::webhook::Topic;
use probity_backend::webhooks::sign::Secret;
use probity_backend::webhooks::subscriptions::{self, WEBHOOKS_MAX, WebhookAct, WebhookChange};
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::published::webhooks::{
    CreateWebhook, DeletedWebhook, NewWebhook, TopicName, WebhookPatch, WebhookSecret, WebhookShown, WebhookStatus,
};
use probity_mail::time::Millis;
use probity_store::webhooks::{self, WebhookEndpoint};
use probity_store::{Conn, ScopedFutureExt as _, StoreError, work};

use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::given::checked_name;
use crate::callers::once::Once;

/// Name of the list in its cursors.
const LIST: &str = "/v1/webhooks";

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
    let act = act_on_own_sort(caller, now);
    let has_room = app.store.write(work!(|tx| {
        if !subscriptions::make(tx, act, &webhook, &sealed).await? {
            return Ok(false);
        }
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
    let change = WebhookChange {
        name: patch.name.as_deref().map(checked_name).transpose()?,
        events: patch.events.as_deref().map(checked_topics).transpose()?,
        url: match &patch.url {
            Some(text) => Some(checked_url(app, text).await?),
            None => None,
        },
        active: patch.status.map(|status| status == WebhookStatus::Active),
    };
    let act = WebhookAct { test: is_test, ..act_on_own_sort(caller, app.now()) };
    let changed = app.store.write(|tx| subscriptions::change(tx, act, id, &change).scope_boxed());
    Ok(changed.await?.into())
}

/// Deletes a webhook with its pending deliveries and its log.
pub async fn delete_webhook(app: &App, caller: &Caller, id: WebhookId) -> Result<DeletedWebhook, ApiError> {
    let act = act_on(app, caller, id).await?;
    app.store.write(|tx| subscriptions::remove(tx, act, id).scope_boxed()).await?;
    subscriptions::drop_log(&app.store, act, id).await?;
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
    let act = act_on(app, caller, id).await?;
    let rotated = app.store.write(work!(|tx| {
        let until = subscriptions::rotate(tx, act, id, &sealed).await?;
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

/// Returns the act on a webhook by its ID. Looks up whether it is live or test only for callers who reach both.
pub(super) async fn act_on(app: &App, caller: &Caller, id: WebhookId) -> Result<WebhookAct, StoreError> {
    let act = act_on_own_sort(caller, app.now());
    match caller {
        Caller::Staff { .. } => {
            let test = visible_webhook(&mut app.store.read().await?, caller, id).await?.test;
            Ok(WebhookAct { test, ..act })
        }
        Caller::Key(_) | Caller::Person { .. } => Ok(act),
    }
}

fn act_on_own_sort(caller: &Caller, now: Millis) -> WebhookAct {
    WebhookAct { org: caller.org(), test: caller.is_test(), actor: caller.actor(), now }
}

/// Refuses the request if the plan has no webhooks. Existing webhooks keep working.
async fn refuse_without_plan(app: &App, caller: &Caller) -> Result<(), ApiError> {
    if subscriptions::included(&mut app.store.read().await?, &app.config.plans, caller.org()).await? {
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
