//! What is done to webhooks, by the API and by the command line alike.
//!
//! Each act is a part of the caller's transaction, so that the caller may keep an answer in it, and writes down for the timeline
//! what was done and by whom. Whoever acts sees the webhooks of one sort: those of live keys, or those of test keys.

use probity_account::id::WebhookId;
use probity_account::plans::{Entitlement, Plans};
use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::outbox::{self, Logged};
use probity_store::webhooks::{self, Webhook};
use probity_store::{Conn, OrgNo, Result, ScopedFutureExt as _, Store, Tx, organization};

use crate::webhooks::callback_secret::OVERLAP_MS;
use crate::webhooks::tell;

/// The most webhooks of an organization, those of test keys included: each is looked at for every part of a job.
pub const WEBHOOKS_MAX: i64 = 50;
/// How many messages to try a webhook may wait for it. Each is a request of ours to somebody who need not have asked for it.
pub(crate) const TESTS_WAITING_MAX: i64 = 10;

/// Messages that are removed in one transaction.
const LOG_ROWS: u32 = 500;

/// Who acts, on which webhooks, and when.
#[derive(Clone, Copy, Debug)]
pub struct Act {
    pub org: OrgNo,
    /// Whether on those of test keys.
    pub test: bool,
    pub actor: Actor,
    pub now: Millis,
}

/// What is to be another; what is left out stays.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub name: Option<String>,
    /// As it is kept, let through by the guard.
    pub url: Option<String>,
    pub events: Option<Vec<Topic>>,
    pub active: Option<bool>,
}

/// Whether the organization's plan includes webhooks. Those that were made before go on where it does not any more.
pub async fn included(conn: &mut Conn, plans: &Plans, org: OrgNo) -> Result<bool> {
    let org = organization::by_no(conn, org).await?;
    Ok(org.entitlements(plans.of(&org.plan)).contains(Entitlement::Webhooks))
}

/// Makes a webhook with a secret that is sealed. False: the organization has as many as it may.
pub async fn make(tx: &mut Tx, act: Act, webhook: &Webhook, sealed: &[u8]) -> Result<bool> {
    if !webhooks::insert(tx, webhook, sealed, WEBHOOKS_MAX).await? {
        return Ok(false);
    }
    act.note(tx, &[What::Account(AccountEvent::WebhookCreated)]).await?;
    Ok(true)
}

/// Changes a webhook; gives it as it is then.
pub async fn change(tx: &mut Tx, act: Act, id: WebhookId, change: &Change) -> Result<Webhook> {
    let before = webhooks::lock(tx, act.org, id, act.test).await?;
    let mut after = before.clone();
    after.name.clone_from(change.name.as_ref().unwrap_or(&before.name));
    after.url.clone_from(change.url.as_ref().unwrap_or(&before.url));
    after.events.clone_from(change.events.as_ref().unwrap_or(&before.events));
    after.active = change.active.unwrap_or(before.active);
    if after != before {
        webhooks::write(tx, &before, &after).await?;
        act.note(tx, &differences(&before, &after)).await?;
    }
    Ok(after)
}

/// What a change is to the account.
fn differences(before: &Webhook, after: &Webhook) -> Vec<What> {
    let settings = |webhook: &Webhook| (webhook.name.clone(), webhook.url.clone(), webhook.events.clone());
    let changed = (settings(before) != settings(after)).then_some(AccountEvent::WebhookChanged);
    let turned = match (before.active, after.active) {
        (false, true) => Some(AccountEvent::WebhookEnabled),
        (true, false) => Some(AccountEvent::WebhookDisabled),
        _ => None,
    };
    changed.into_iter().chain(turned).map(What::Account).collect()
}

/// Removes a webhook. Its log goes afterwards ([`drop_log`]).
pub async fn remove(tx: &mut Tx, act: Act, id: WebhookId) -> Result<()> {
    webhooks::remove(tx, act.org, id, act.test).await?;
    act.note(tx, &[What::Account(AccountEvent::WebhookDeleted)]).await
}

/// Removes the messages to a webhook that was removed, in short transactions: a log may be long. What is left where that ends early
/// is sent to nobody, and goes as old messages go.
pub async fn drop_log(store: &Store, act: Act, id: WebhookId) -> Result<()> {
    while store.write_bulk(|tx| outbox::remove_of_webhook(tx, act.org, id, LOG_ROWS).scope_boxed()).await? > 0 {}
    Ok(())
}

/// Replaces the secret; says until when the one before signs too.
pub async fn rotate(tx: &mut Tx, act: Act, id: WebhookId, sealed: &[u8]) -> Result<Millis> {
    let until = webhooks::rotate(tx, act.org, id, act.test, sealed, (act.now, act.now + OVERLAP_MS)).await?;
    act.note(tx, &[What::Account(AccountEvent::WebhookSecretRotated)]).await?;
    Ok(until)
}

/// Puts a message to try a webhook. None: enough of them wait for it.
pub async fn try_out(tx: &mut Tx, act: Act, id: WebhookId) -> Result<Option<Logged>> {
    // Of several at once, each waits for the one before and then counts its message too.
    let webhook = webhooks::lock(tx, act.org, id, act.test).await?;
    if outbox::tests_waiting(tx, webhook.org, id, TESTS_WAITING_MAX).await? >= TESTS_WAITING_MAX {
        return Ok(None);
    }
    let message = tell::test(webhook.org, id, &webhook.url, act.now);
    outbox::put(tx, &message).await?;
    outbox::by_id(tx, webhook.org, message.id).await.map(Some)
}

impl Act {
    async fn note(&self, tx: &mut Tx, what: &[What]) -> Result<()> {
        events::add(tx, self.org, self.now, Some(self.actor), what).await
    }
}
