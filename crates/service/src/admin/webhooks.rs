//! Webhooks of an organization from the command line, by the rules that the API has. The operator sees those of live and of test
//! keys alike.

use probity_account::id::WebhookId;
use probity_account::name::NameFault;
use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use probity_store::events::Actor;
use probity_store::organization::Org;
use probity_store::outbox::Logged;
use probity_store::webhooks::{self, Webhook};
use probity_store::{ScopedFutureExt as _, StoreError};
use secrecy::SecretString;

use crate::admin::{Admin, PAGE};
use crate::subscriptions;
use crate::subscriptions::{Act, Change, TESTS_WAITING_MAX, WEBHOOKS_MAX};
use crate::webhooks::sign::Secret;
use crate::webhooks::{Callbacks, Refused};

/// Why a webhook was not made, or stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// It cannot be called that.
    #[error("the name {0}")]
    Name(#[from] NameFault),
    /// It cannot be told.
    #[error("the URL {0}")]
    Url(#[from] Refused),
    /// It would be told of nothing.
    #[error("a webhook needs at least 1 event")]
    NoEvents,
    /// The plan has none.
    #[error("the organization's plan does not include webhooks")]
    NotIncluded,
    /// There are too many.
    #[error("an organization can have at most {WEBHOOKS_MAX} webhooks; delete one first")]
    Full,
    /// There are too many messages.
    #[error("{TESTS_WAITING_MAX} test messages are already pending for this webhook; try again later")]
    TestsWait,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A webhook to make.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    /// What it is called.
    pub name: String,
    /// Where its messages go.
    pub url: String,
    /// What it is told of.
    pub events: Vec<Topic>,
    /// Whether it is told of what test keys start.
    pub test: bool,
}

impl Admin {
    /// The webhooks of an organization, the newest first: those of live keys, then those of test keys.
    pub async fn list_webhooks(&self, org: &Org) -> Result<Vec<Webhook>, StoreError> {
        let mut conn = self.instance.store.read().await?;
        let mut all = Vec::new();
        for test in [false, true] {
            let mut after = None;
            loop {
                let page = webhooks::page(&mut conn, org.no, test, after, PAGE).await?;
                let Some(last) = page.last() else { break };
                after = Some((last.created_at, last.id));
                all.extend(page);
            }
        }
        Ok(all)
    }

    /// Makes a webhook whose URL the guard lets through. The secret is nowhere else.
    pub async fn create_webhook(
        &self,
        org: &Org,
        wanted: NewWebhook,
        callbacks: &Callbacks,
    ) -> Result<(Webhook, SecretString), WebhookError> {
        if wanted.events.is_empty() {
            return Err(WebhookError::NoEvents);
        }
        let name = probity_account::name::name(&wanted.name)?.to_owned();
        let url = callbacks.check(&wanted.url).await?;
        if !subscriptions::included(&mut self.instance.store.read().await?, &self.plans, org.no).await? {
            return Err(WebhookError::NotIncluded);
        }
        let NewWebhook { events, test, .. } = wanted;
        let act = self.act(org, test);
        let id = crate::random::id(act.now);
        let (active, created_at, last_delivery_at) = (true, act.now, None);
        let webhook = Webhook { org: org.no, id, test, name, url, events, active, created_at, last_delivery_at };
        let fresh = Secret::fresh();
        let sealed = self.instance.secrets.seal_webhook_secret(id, fresh.bytes());
        let made = self.instance.store.write(|tx| subscriptions::make(tx, act, &webhook, &sealed).scope_boxed());
        if made.await? { Ok((webhook, fresh.text().into())) } else { Err(WebhookError::Full) }
    }

    /// Lets a webhook be told of nothing, or again.
    pub async fn turn_webhook(&self, org: &Org, id: &str, active: bool) -> Result<Webhook, StoreError> {
        let (act, id) = self.webhook(org, id).await?;
        let change = Change { active: Some(active), ..Change::default() };
        self.instance.store.write(|tx| subscriptions::change(tx, act, id, &change).scope_boxed()).await
    }

    /// Has a test message sent to a webhook; a running service does it.
    pub async fn test_webhook(&self, org: &Org, id: &str) -> Result<Logged, WebhookError> {
        let (act, id) = self.webhook(org, id).await?;
        let put = self.instance.store.write(|tx| subscriptions::try_out(tx, act, id).scope_boxed());
        put.await?.ok_or(WebhookError::TestsWait)
    }

    /// Replaces the secret of a webhook; says it, which nothing else does, and until when the one before signs too.
    pub async fn rotate_webhook(&self, org: &Org, id: &str) -> Result<(Webhook, SecretString, Millis), StoreError> {
        let (act, id) = self.webhook(org, id).await?;
        let fresh = Secret::fresh();
        let sealed = self.instance.secrets.seal_webhook_secret(id, fresh.bytes());
        let rotated = self.instance.store.write(|tx| {
            async {
                let until = subscriptions::rotate(tx, act, id, &sealed).await?;
                Ok((webhooks::by_id(tx, act.org, id, act.test).await?, until))
            }
            .scope_boxed()
        });
        let (webhook, until) = rotated.await?;
        Ok((webhook, fresh.text().into(), until))
    }

    /// Removes a webhook with its log; gives it as it was.
    pub async fn remove_webhook(&self, org: &Org, id: &str) -> Result<Webhook, StoreError> {
        let (act, id) = self.webhook(org, id).await?;
        let removed = self.instance.store.write(|tx| {
            async {
                let webhook = webhooks::lock(tx, act.org, id, act.test).await?;
                subscriptions::remove(tx, act, id).await?;
                Ok(webhook)
            }
            .scope_boxed()
        });
        let webhook = removed.await?;
        subscriptions::drop_log(&self.instance.store, act, id).await?;
        Ok(webhook)
    }

    /// Who acts on a webhook, of whichever sort it is.
    async fn webhook(&self, org: &Org, id: &str) -> Result<(Act, WebhookId), StoreError> {
        let id: WebhookId = id.parse().map_err(|_| StoreError::NotFound)?;
        let mut conn = self.instance.store.read().await?;
        let test = match webhooks::by_id(&mut conn, org.no, id, false).await {
            Ok(_) => false,
            Err(StoreError::NotFound) => webhooks::by_id(&mut conn, org.no, id, true).await?.test,
            Err(error) => return Err(error),
        };
        Ok((self.act(org, test), id))
    }

    fn act(&self, org: &Org, test: bool) -> Act {
        Act { org: org.no, test, actor: Actor::Staff, now: self.now() }
    }
}
