//! Administration from the command line: organizations with their plans, keys, credits and users, and what an organization does
//! itself in the dashboard: lists, settings, reports.
//!
//! A command becomes a [`Request`], [`service::ask`] returns an [`Answer`], and the answer is printed: a table on a terminal,
//! otherwise one JSON object per line with the names of the API. Everything but [`service::ask`] is a function of its arguments.
//! IDs are text here; the service checks whether they exist.

mod answer;
mod audit;
pub(crate) mod credits;
pub(crate) mod deliveries;
mod erasures;
mod keys;
pub(crate) mod lists;
mod moment;
mod nodes;
mod orgs;
mod plans;
pub(crate) mod reports;
mod request;
pub(crate) mod settings;
pub(crate) mod suppressions;
pub(crate) mod table;
mod told;
pub(crate) mod users;
pub(crate) mod webhooks;

use std::io::Write as _;

use anyhow::{Context, Result};
use probity_mail::time::Millis;
use serde::Serializer;

use crate::args::{
    AuditArgs, CreditsArgs, DeliveriesArgs, ErasuresArgs, KeysArgs, ListsArgs, NodesArgs, OrgsArgs, PlansArgs,
    SettingsArgs, SuppressionsArgs, TimelineArgs, UsageArgs, UsersArgs, WebhooksArgs,
};
use crate::config::Settings;
use crate::exit::Exit;
use crate::output::Style;
use crate::{log, service};

pub(crate) use answer::Answer;
pub(crate) use audit::Discrepancy;
pub(crate) use credits::{Balance, Booking, Bucket};
pub(crate) use deliveries::{Attempt, Delivery, DeliveryState, Detail};
pub(crate) use erasures::{Erasure, ErasureWish};
pub(crate) use keys::{Key, KeyKind, NewKey};
pub(crate) use moment::Moment;
pub(crate) use nodes::Node;
pub(crate) use orgs::{Change, Org, OrgStatus, Own};
pub(crate) use plans::{Booked, Detail as OrgDetail};
pub(crate) use request::{DeskWish, Request};
pub(crate) use settings::Wished;
pub(crate) use told::Told;
pub(crate) use users::{Fate, Identified, Identity, Link, User, one_person};

pub(crate) async fn orgs(args: &OrgsArgs, settings: &Settings) -> Result<Exit> {
    answered(orgs::request(&args.command)?, args.options.json, settings).await
}

pub(crate) async fn plans(args: &PlansArgs, settings: &Settings) -> Result<Exit> {
    answered(Request::Plans, args.options.json, settings).await
}

pub(crate) async fn keys(args: &KeysArgs, settings: &Settings) -> Result<Exit> {
    answered(keys::request(&args.command)?, args.options.json, settings).await
}

pub(crate) async fn credits(args: &CreditsArgs, settings: &Settings) -> Result<Exit> {
    answered(credits::request(&args.command)?, args.options.json, settings).await
}

pub(crate) async fn audit(args: &AuditArgs, settings: &Settings) -> Result<Exit> {
    answered(Request::Audit, args.options.json, settings).await
}

pub(crate) async fn deliveries(args: &DeliveriesArgs, settings: &Settings) -> Result<Exit> {
    answered(deliveries::request(&args.command), args.options.json, settings).await
}

pub(crate) async fn erasures(args: &ErasuresArgs, settings: &Settings) -> Result<Exit> {
    answered(erasures::request(&args.command)?, args.options.json, settings).await
}

pub(crate) async fn webhooks(args: &WebhooksArgs, settings: &Settings) -> Result<Exit> {
    answered(webhooks::request(&args.command), args.options.json, settings).await
}

pub(crate) async fn suppressions(args: &SuppressionsArgs, settings: &Settings) -> Result<Exit> {
    answered(suppressions::request(&args.command)?, args.options.json, settings).await
}

pub(crate) async fn lists(args: &ListsArgs, settings: &Settings) -> Result<Exit> {
    answered(lists::request(&args.command), args.options.json, settings).await
}

pub(crate) async fn settings(args: &SettingsArgs, settings: &Settings) -> Result<Exit> {
    answered(settings::request(&args.command)?, args.options.json, settings).await
}

pub(crate) async fn usage(args: &UsageArgs, settings: &Settings) -> Result<Exit> {
    answered(reports::usage(&args.command), args.options.json, settings).await
}

pub(crate) async fn timeline(args: &TimelineArgs, settings: &Settings) -> Result<Exit> {
    answered(reports::timeline(args), args.options.json, settings).await
}

pub(crate) async fn nodes(args: &NodesArgs, settings: &Settings) -> Result<Exit> {
    answered(Request::Nodes, args.options.json, settings).await
}

pub(crate) async fn users(args: &UsersArgs, settings: &Settings) -> Result<Exit> {
    answered(users::request(&args.command), args.options.json, settings).await
}

async fn answered(request: Request, json: bool, settings: &Settings) -> Result<Exit> {
    let answer = service::ask(settings, request).await?;
    let text = answer.show(Style::choose(json))?;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")?;
    if let Some(note) = answer.note() {
        log::say(note);
    }
    Ok(answer.exit())
}

/// Returns the only organization, for commands that name none.
pub(crate) fn only(orgs: &[Org]) -> Result<&Org> {
    orgs::only(orgs)
}

/// Formats a time as RFC 3339 in UTC, to the second.
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
