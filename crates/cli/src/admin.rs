//! What those who run the service do from the command line: organizations, keys, credits, deliveries, nodes,
//! people.
//!
//! A command becomes a [`Request`], [`service::ask`] answers it with an [`Answer`], and the answer is printed: a table on a
//! terminal, one JSON object a line elsewhere, with the names of the API. So everything but the asking is a function of its
//! arguments. Ids are text here: whether one exists is for the service to say.

mod audit;
pub(crate) mod credits;
pub(crate) mod deliveries;
mod keys;
mod moment;
mod nodes;
mod orgs;
pub(crate) mod table;
mod users;

use std::io::Write as _;

use anyhow::{Context, Result};
use probity_core::time::Millis;
use serde::Serializer;

pub(crate) use audit::Discrepancy;
pub(crate) use credits::{Balance, Bucket};
pub(crate) use deliveries::{Delivery, DeliveryState, Detail};
pub(crate) use keys::{Key, KeyKind, NewKey};
pub(crate) use moment::Moment;
pub(crate) use nodes::Node;
pub(crate) use orgs::{Org, OrgStatus, Plan};
pub(crate) use users::{Fate, Link, User, one_person};

use crate::args::{AuditArgs, CreditsArgs, DeliveriesArgs, KeysArgs, NodesArgs, OrgsArgs, UsersArgs};
use crate::config::Settings;
use crate::exit::Exit;
use crate::output::Style;
use crate::service;

/// What is asked of the service. Where an organization may be left out, the only one that there is is meant ([`only`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// A new organization; without a plan, with that of `credits.plan`. Answered with [`Answer::Orgs`].
    CreateOrg {
        /// For people.
        name: String,
        /// Whether its credits count.
        plan: Option<Plan>,
    },
    /// All organizations.
    ListOrgs,
    /// Suspend, pause, ban or lift. Answered with the organization as it is then.
    SetStatus {
        /// Its id.
        org: String,
        /// What it is to be.
        status: OrgStatus,
    },
    /// A new key. Answered with [`Answer::NewKey`].
    CreateKey {
        /// Whose.
        org: Option<String>,
        /// What it is to be.
        key: NewKey,
    },
    /// The keys of an organization, revoked ones too.
    ListKeys {
        /// Whose.
        org: Option<String>,
    },
    /// The end of a key. Answered with the key as it is then.
    RevokeKey {
        /// Whose it must be, where that was said.
        org: Option<String>,
        /// Its id.
        key: String,
    },
    /// More credits. Answered with [`Answer::Balance`], as are the following.
    Grant {
        /// Whose.
        org: Option<String>,
        /// Which.
        bucket: Bucket,
        /// How many; above zero.
        amount: i64,
        /// When the rest of them expires.
        until: Option<Moment>,
    },
    /// What there is.
    Balance {
        /// Whose.
        org: Option<String>,
    },
    /// A correction.
    Adjust {
        /// Whose.
        org: Option<String>,
        /// Which.
        bucket: Bucket,
        /// How many more or less; not zero.
        amount: i64,
    },
    /// Whether all books agree. Answered with [`Answer::Audit`], as is the following.
    AuditCredits,
    /// Whether the database keeps all promises.
    Audit,
    /// Messages to an organization's servers. Answered with [`Answer::Deliveries`].
    ListDeliveries {
        /// Whose.
        org: Option<String>,
        /// Of which state.
        state: Option<DeliveryState>,
        /// How many at most.
        limit: u32,
    },
    /// One of them. Answered with [`Answer::Delivery`].
    ShowDelivery {
        /// Whose.
        org: Option<String>,
        /// Its id.
        delivery: String,
    },
    /// Sends one once more. Answered with [`Answer::Deliveries`]: as it is then.
    ResendDelivery {
        /// Whose.
        org: Option<String>,
        /// Its id.
        delivery: String,
    },
    /// The nodes on the database. Answered with [`Answer::Nodes`].
    Nodes,
    /// The members of an organization. Answered with [`Answer::Users`].
    ListUsers {
        /// Whose.
        org: Option<String>,
    },
    /// Invites somebody. Answered with [`Answer::Link`].
    InviteUser {
        /// Whereto.
        org: Option<String>,
        /// Their address.
        email: String,
        /// What they are called.
        name: Option<String>,
        /// What they may do, in the API's words.
        role: String,
    },
    /// What becomes of a member. Answered with [`Answer::Users`]: as they are then, or were.
    ChangeUser {
        /// An address, or the id of a person.
        who: String,
        /// Whose, where the address has people in several.
        org: Option<String>,
        /// What becomes of them.
        fate: Fate,
    },
    /// A one-time link with which somebody sets a new password. Answered with [`Answer::Link`].
    ResetLink {
        /// An address, or the id of a person or of an organization.
        who: String,
        /// Whose, where the address has people in several.
        org: Option<String>,
        /// Whether their second factor goes.
        without_second_factor: bool,
    },
}

/// What the service answers.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Organizations.
    Orgs(Vec<Org>),
    /// Keys without their secrets.
    Keys(Vec<Key>),
    /// A key that was just made, with its secret.
    NewKey(Key, String),
    /// What an organization has.
    Balance(Balance),
    /// Where something does not agree.
    Audit(Vec<Discrepancy>),
    /// Messages to customers' servers.
    Deliveries(Vec<Delivery>),
    /// One of them, with all that is known.
    Delivery(Box<Detail>),
    /// Nodes.
    Nodes(Vec<Node>),
    /// Members.
    Users(Vec<User>),
    /// A link that was just made.
    Link(Link),
}

/// Runs `orgs`.
pub(crate) async fn orgs(args: &OrgsArgs, settings: &Settings) -> Result<Exit> {
    answered(orgs::request(&args.command)?, args.options.json, settings).await
}

/// Runs `keys`.
pub(crate) async fn keys(args: &KeysArgs, settings: &Settings) -> Result<Exit> {
    answered(keys::request(&args.command)?, args.options.json, settings).await
}

/// Runs `credits`.
pub(crate) async fn credits(args: &CreditsArgs, settings: &Settings) -> Result<Exit> {
    answered(credits::request(&args.command)?, args.options.json, settings).await
}

/// Runs `audit`.
pub(crate) async fn audit(args: &AuditArgs, settings: &Settings) -> Result<Exit> {
    answered(Request::Audit, args.options.json, settings).await
}

/// Runs `deliveries`.
pub(crate) async fn deliveries(args: &DeliveriesArgs, settings: &Settings) -> Result<Exit> {
    answered(deliveries::request(&args.command), args.options.json, settings).await
}

/// Runs `nodes`.
pub(crate) async fn nodes(args: &NodesArgs, settings: &Settings) -> Result<Exit> {
    answered(Request::Nodes, args.options.json, settings).await
}

/// Runs `users`.
pub(crate) async fn users(args: &UsersArgs, settings: &Settings) -> Result<Exit> {
    answered(users::request(&args.command), args.options.json, settings).await
}

async fn answered(request: Request, json: bool, settings: &Settings) -> Result<Exit> {
    let answer = service::ask(settings, request).await?;
    let text = answer.show(Style::choose(json))?;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")?;
    Ok(answer.exit())
}

impl Answer {
    /// Whether all is well: only an audit can find that it is not.
    fn exit(&self) -> Exit {
        match self {
            Self::Audit(found) if !found.is_empty() => Exit::NotPassed,
            _ => Exit::Done,
        }
    }

    /// The answer as text, with a line break at its end unless it is empty.
    fn show(&self, style: Style) -> Result<String> {
        if style == Style::Json {
            return self.json();
        }
        Ok(match self {
            Self::Orgs(orgs) => orgs::table(orgs),
            Self::Keys(keys) => keys::table(keys),
            Self::NewKey(key, secret) => keys::created(key, secret),
            Self::Balance(balance) => credits::table(balance),
            Self::Audit(found) => audit::audited(found),
            Self::Deliveries(deliveries) => deliveries::table(deliveries),
            Self::Delivery(detail) => deliveries::shown(detail),
            Self::Nodes(nodes) => nodes::table(nodes),
            Self::Users(members) => users::table(members),
            Self::Link(link) => users::shown(link),
        })
    }

    fn json(&self) -> Result<String> {
        match self {
            Self::Orgs(orgs) => lines(orgs),
            Self::Keys(keys) => lines(keys),
            Self::NewKey(key, secret) => lines(&[keys::Created { key, secret }]),
            Self::Balance(balance) => lines(std::slice::from_ref(balance)),
            Self::Audit(found) => lines(found),
            Self::Deliveries(deliveries) => lines(deliveries),
            Self::Delivery(detail) => lines(std::slice::from_ref(&**detail)),
            Self::Nodes(nodes) => lines(nodes),
            Self::Users(members) => lines(members),
            Self::Link(link) => lines(std::slice::from_ref(link)),
        }
    }
}

fn lines<T: serde::Serialize>(items: &[T]) -> Result<String> {
    let mut text = String::new();
    for item in items {
        text.push_str(&serde_json::to_string(item).context("an answer that is no JSON")?);
        text.push('\n');
    }
    Ok(text)
}

/// The organization that is meant where none was named.
pub(crate) fn only(orgs: &[Org]) -> Result<&Org> {
    orgs::only(orgs)
}

/// A point in time as RFC 3339 in UTC, to the second.
pub(crate) fn moment_text(at: Millis) -> String {
    let time = jiff::Timestamp::from_second(at.0.div_euclid(1000));
    time.map_or_else(|_| at.0.to_string(), |time| time.to_string())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to the field")]
fn time<S: Serializer>(at: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&moment_text(*at))
}

#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
fn maybe_time<S: Serializer>(at: &Option<Millis>, serializer: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => time(at, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests;
