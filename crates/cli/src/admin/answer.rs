//! Answers of the service, and how they are printed.

use anyhow::{Context as _, Result};
use probity_service::admin::PlanShown;

use super::{
    Balance, Booked, Delivery, Detail, Discrepancy, Erasure, Key, Link, Node, Org, OrgDetail, Told, User, audit,
    credits, deliveries, erasures, keys, nodes, orgs, plans, suppressions, users, webhooks,
};
use crate::exit::Exit;
use crate::output::Style;

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Orgs(Vec<Org>),
    /// One organization in detail.
    Org(Box<OrgDetail>),
    Plans(Vec<PlanShown>),
    /// Ledger entries.
    Ledger(Vec<Booked>),
    Keys(Vec<Key>),
    /// A new key and its secret.
    NewKey(Box<Key>, String),
    Balance(Balance),
    /// Discrepancies.
    Audit(Vec<Discrepancy>),
    Deliveries(Vec<Delivery>),
    Erasures(Vec<Erasure>),
    /// One delivery in detail.
    Delivery(Box<Detail>),
    Webhooks(Vec<webhooks::Webhook>),
    /// A new signing secret.
    WebhookSecret(Box<webhooks::Signed>),
    Suppressions(Vec<suppressions::List>),
    /// A change of a suppression list.
    SuppressionsChanged(suppressions::Changed),
    Nodes(Vec<Node>),
    Users(Vec<User>),
    /// Sessions of a user.
    Sessions(Vec<users::Session>),
    /// A user who was signed out.
    SignedOut(users::SignedOut),
    /// A user's identity check.
    Identified(Box<users::Identified>),
    /// A one-time link.
    Link(Link),
    /// Objects of the API's own routes.
    Told(Told),
}

impl Answer {
    /// Exit status: a failure only if an audit found discrepancies.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Audit(found) if !found.is_empty() => Exit::NotPassed,
            _ => Exit::Done,
        }
    }

    /// Note printed besides the answer.
    pub(super) fn note(&self) -> Option<&'static str> {
        match self {
            Self::Told(told) => told.note(),
            _ => None,
        }
    }

    /// Formats the answer, with a final line break unless it is empty.
    pub(super) fn show(&self, style: Style) -> Result<String> {
        if style == Style::Json {
            return self.json();
        }
        Ok(match self {
            Self::Orgs(orgs) => orgs::table(orgs),
            Self::Org(detail) => plans::shown(detail),
            Self::Plans(all) => plans::table(all),
            Self::Ledger(rows) => plans::ledger(rows),
            Self::Keys(keys) => keys::table(keys),
            Self::NewKey(key, secret) => keys::created(key, secret),
            Self::Balance(balance) => credits::table(balance),
            Self::Audit(found) => audit::audited(found),
            Self::Deliveries(deliveries) => deliveries::table(deliveries),
            Self::Erasures(erasures) => erasures::table(erasures),
            Self::Delivery(detail) => deliveries::shown(detail),
            Self::Webhooks(all) => webhooks::table(all),
            Self::WebhookSecret(secret) => webhooks::shown(secret),
            Self::Suppressions(lists) => suppressions::table(lists),
            Self::SuppressionsChanged(changed) => suppressions::shown(changed),
            Self::Nodes(nodes) => nodes::table(nodes),
            Self::Users(members) => users::table(members),
            Self::Sessions(all) => users::sessions(all),
            Self::SignedOut(out) => users::signed_out(out),
            Self::Identified(one) => users::identified(one),
            Self::Link(link) => users::shown(link),
            Self::Told(told) => told.shown()?,
        })
    }

    fn json(&self) -> Result<String> {
        match self {
            Self::Orgs(orgs) => lines(orgs),
            Self::Org(detail) => lines(std::slice::from_ref(&**detail)),
            Self::Plans(all) => lines(all),
            Self::Ledger(rows) => lines(rows),
            Self::Keys(keys) => lines(keys),
            Self::NewKey(key, secret) => lines(&[keys::Created { key, secret }]),
            Self::Balance(balance) => lines(std::slice::from_ref(balance)),
            Self::Audit(found) => lines(found),
            Self::Deliveries(deliveries) => lines(deliveries),
            Self::Erasures(erasures) => lines(erasures),
            Self::Delivery(detail) => lines(std::slice::from_ref(&**detail)),
            Self::Webhooks(all) => lines(all),
            Self::WebhookSecret(secret) => lines(std::slice::from_ref(&**secret)),
            Self::Suppressions(lists) => lines(lists),
            Self::SuppressionsChanged(changed) => lines(std::slice::from_ref(changed)),
            Self::Nodes(nodes) => lines(nodes),
            Self::Users(members) => lines(members),
            Self::Sessions(all) => lines(all),
            Self::SignedOut(out) => lines(std::slice::from_ref(out)),
            Self::Identified(one) => lines(std::slice::from_ref(&**one)),
            Self::Link(link) => lines(std::slice::from_ref(link)),
            Self::Told(told) => Ok(told.lines()),
        }
    }
}

fn lines<T: serde::Serialize>(items: &[T]) -> Result<String> {
    let mut text = String::new();
    for item in items {
        text.push_str(&serde_json::to_string(item).context("the response is not JSON")?);
        text.push('\n');
    }
    Ok(text)
}
