use std::sync::Arc;

use anyhow::{Result, anyhow};
use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use probity_service::admin::{Admin, NewWebhook, WebhookError};
use probity_service::store::{Org, StoreError, Webhook};
use probity_service::webhooks::Callbacks;
use secrecy::{ExposeSecret as _, SecretString};

use crate::admin::Answer;
use crate::admin::webhooks::{self, Signed, Wish};
use crate::config::Settings;
use crate::service;

pub(super) async fn answer(admin: &Admin, settings: &Settings, org: &Org, wish: Wish) -> Result<Answer> {
    match wish {
        Wish::List => {
            let all = admin.list_webhooks(org).await.map_err(super::failed)?;
            Ok(Answer::Webhooks(all.into_iter().map(|one| view(org, one)).collect()))
        }
        Wish::Create(wanted) => create(admin, settings, org, wanted).await,
        Wish::Pause(id) => one(org, &id, admin.turn_webhook(org, &id, false).await),
        Wish::Resume(id) => one(org, &id, admin.turn_webhook(org, &id, true).await),
        Wish::Remove(id) => one(org, &id, admin.remove_webhook(org, &id).await),
        Wish::Test(id) => {
            let logged = admin.test_webhook(org, &id).await.map_err(|error| refused(error, &id))?;
            Ok(Answer::Deliveries(vec![super::deliveries::delivery_view(org, &logged)]))
        }
        Wish::Rotate(id) => {
            let (webhook, secret, until) = admin.rotate_webhook(org, &id).await.map_err(|error| missing(error, &id))?;
            Ok(signed(org, webhook, &secret, Some(until)))
        }
    }
}

async fn create(admin: &Admin, settings: &Settings, org: &Org, wanted: webhooks::NewWebhook) -> Result<Answer> {
    // A command need not resolve names: each attempt of a delivery resolves them again.
    let callbacks = Callbacks::new(Arc::new(service::webhooks(settings, true)?.guard()));
    // Without duplicates, in the contract's order.
    let events = Topic::all().filter(|topic| wanted.events.contains(topic)).collect();
    let wanted = NewWebhook { name: wanted.name, url: wanted.url, events, test: wanted.test };
    let made = admin.create_webhook(org, wanted, &callbacks).await;
    let (webhook, secret) = made.map_err(|error| refused(error, ""))?;
    Ok(signed(org, webhook, &secret, None))
}

fn one(org: &Org, id: &str, webhook: std::result::Result<Webhook, StoreError>) -> Result<Answer> {
    Ok(Answer::Webhooks(vec![view(org, webhook.map_err(|error| missing(error, id))?)]))
}

fn signed(org: &Org, webhook: Webhook, secret: &SecretString, previous_until: Option<Millis>) -> Answer {
    let secret = secret.expose_secret().to_owned();
    Answer::WebhookSecret(Box::new(Signed { webhook: view(org, webhook), secret, previous_until }))
}

fn refused(error: WebhookError, id: &str) -> anyhow::Error {
    match error {
        WebhookError::Store(error) => missing(error, id),
        other => anyhow!("{other}"),
    }
}

fn missing(error: StoreError, id: &str) -> anyhow::Error {
    match error {
        StoreError::NotFound => anyhow!("there is no webhook {id}; `probity webhooks list` shows all"),
        other => super::failed(other),
    }
}

fn view(org: &Org, webhook: Webhook) -> webhooks::Webhook {
    webhooks::Webhook {
        id: webhook.id.to_string(),
        organization: org.id.to_string(),
        name: webhook.name,
        url: webhook.url,
        events: webhook.events.iter().map(ToString::to_string).collect(),
        test: webhook.test,
        status: if webhook.active { "active" } else { "disabled" }.to_owned(),
        created_at: webhook.created_at,
        last_delivery_at: webhook.last_delivery_at,
    }
}
