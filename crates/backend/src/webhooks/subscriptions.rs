//! Changes of webhooks, each part of its caller's transaction, which may store a response.
//!
//! Each change is recorded in the timeline, with its actor. A change affects only live webhooks, or only those of test keys.

use probity_account::id::WebhookId;
use probity_account::plans::{Entitlement, Plans};
use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use probity_store::accounts::organization;
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::webhooks::outbox::{self, LoggedDelivery};
use probity_store::webhooks::{self, WebhookEndpoint};
use probity_store::{Conn, OrgNo, Result, ScopedFutureExt as _, Store, Tx};

use crate::webhooks::callback_secret::OVERLAP_MS;
use crate::webhooks::tell;

/// Maximum number of webhooks per organization, including those of test keys. All of them are read for every part of a job.
pub const WEBHOOKS_MAX: i64 = 50;
/// Maximum number of pending test deliveries per webhook. Each is a request to a server whose operator may not have asked for it.
pub const TESTS_WAITING_MAX: i64 = 10;

/// Deliveries removed in one transaction.
const LOG_ROWS: u32 = 500;

/// Actor, mode and time of an operation.
#[derive(Clone, Copy, Debug)]
pub struct WebhookAct {
    pub org: OrgNo,
    /// Whether it applies to the webhooks of test keys.
    pub test: bool,
    pub actor: EventActor,
    pub now: Millis,
}

/// New properties of a webhook; `None` leaves one as it is.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    pub name: Option<String>,
    /// URL as stored, after the guard has accepted it.
    pub url: Option<String>,
    pub events: Option<Vec<Topic>>,
    pub active: Option<bool>,
}

/// Returns whether the organization's plan includes webhooks. Existing ones continue to work if it no longer does.
pub async fn included(conn: &mut Conn, plans: &Plans, org: OrgNo) -> Result<bool> {
    let org = organization::by_no(conn, org).await?;
    Ok(org.entitlements(plans.of(&org.plan)).contains(Entitlement::Webhooks))
}

/// Creates a webhook with an encrypted secret. Returns false if the organization has the maximum number.
pub async fn make(tx: &mut Tx, act: WebhookAct, webhook: &WebhookEndpoint, sealed: &[u8]) -> Result<bool> {
    if !webhooks::insert(tx, webhook, sealed, WEBHOOKS_MAX).await? {
        return Ok(false);
    }
    act.note(tx, webhook.id, &[AccountEventKind::WebhookCreated]).await?;
    Ok(true)
}

/// Changes a webhook; returns the changed one.
pub async fn change(tx: &mut Tx, act: WebhookAct, id: WebhookId, change: &WebhookChange) -> Result<WebhookEndpoint> {
    let before = webhooks::lock(tx, act.org, id, act.test).await?;
    let mut after = before.clone();
    after.name.clone_from(change.name.as_ref().unwrap_or(&before.name));
    after.url.clone_from(change.url.as_ref().unwrap_or(&before.url));
    after.events.clone_from(change.events.as_ref().unwrap_or(&before.events));
    after.active = change.active.unwrap_or(before.active);
    if after != before {
        webhooks::write(tx, &before, &after).await?;
        act.note(tx, id, &differences(&before, &after)).await?;
    }
    Ok(after)
}

/// Returns the account events that describe a change.
fn differences(before: &WebhookEndpoint, after: &WebhookEndpoint) -> Vec<AccountEventKind> {
    let settings = |webhook: &WebhookEndpoint| (webhook.name.clone(), webhook.url.clone(), webhook.events.clone());
    let changed = (settings(before) != settings(after)).then_some(AccountEventKind::WebhookChanged);
    let turned = match (before.active, after.active) {
        (false, true) => Some(AccountEventKind::WebhookEnabled),
        (true, false) => Some(AccountEventKind::WebhookDisabled),
        _ => None,
    };
    changed.into_iter().chain(turned).collect()
}

/// Removes a webhook. Call [`drop_log`] afterwards.
pub async fn remove(tx: &mut Tx, act: WebhookAct, id: WebhookId) -> Result<()> {
    webhooks::remove(tx, act.org, id, act.test).await?;
    act.note(tx, id, &[AccountEventKind::WebhookDeleted]).await
}

/// Removes the deliveries of a removed webhook, in short transactions, because there may be many. If it is interrupted, the rest
/// is not sent, and is removed at the end of its retention.
pub async fn drop_log(store: &Store, act: WebhookAct, id: WebhookId) -> Result<()> {
    while store.write_bulk(|tx| outbox::remove_of_webhook(tx, act.org, id, LOG_ROWS).scope_boxed()).await? > 0 {}
    Ok(())
}

/// Replaces the secret; returns the time until which the previous one signs as well.
pub async fn rotate(tx: &mut Tx, act: WebhookAct, id: WebhookId, sealed: &[u8]) -> Result<Millis> {
    let until = webhooks::rotate(tx, act.org, id, act.test, sealed, (act.now, act.now + OVERLAP_MS)).await?;
    act.note(tx, id, &[AccountEventKind::WebhookSecretRotated]).await?;
    Ok(until)
}

/// Adds a test delivery; `None` if too many are pending.
pub async fn try_out(tx: &mut Tx, act: WebhookAct, id: WebhookId) -> Result<Option<LoggedDelivery>> {
    // Concurrent calls wait for each other and then count each other's deliveries.
    let webhook = webhooks::lock(tx, act.org, id, act.test).await?;
    if outbox::tests_waiting(tx, webhook.org, id, TESTS_WAITING_MAX).await? >= TESTS_WAITING_MAX {
        return Ok(None);
    }
    let message = tell::test(webhook.org, id, &webhook.url, act.now);
    outbox::put(tx, &message).await?;
    outbox::by_id(tx, webhook.org, message.id).await.map(Some)
}

impl WebhookAct {
    async fn note(&self, tx: &mut Tx, id: WebhookId, what: &[AccountEventKind]) -> Result<()> {
        let about = |kind: &AccountEventKind| AccountChange::about(*kind, EventSubject::Webhook(id));
        let what: Vec<_> = what.iter().map(about).collect();
        events::add(tx, self.org, self.now, Some(self.actor), &what).await
    }
}
