//! Requests to the API's own routes, in process and as staff: lists, settings, usage, the timeline and suppression matches.

mod lists;

use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use probity_account::suppression::List;
use probity_http::desk::{Ask, Desk, DeskError};
use probity_http::service::Verifiers;
use probity_service::instance::Instance;
use probity_service::store::Org;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::admin::reports::{self, About, Question};
use crate::admin::settings::{self, Wish};
use crate::admin::{Answer, DeskWish, Told, suppressions};
use crate::config::Settings;
use crate::exit::{Ends, Exit};
use crate::net;
use crate::service::{config, webhooks};
use crate::verifier::Offline;

/// Lowest HTTP status that is the service's failure, not the caller's.
const FAILED: u16 = 500;

/// Calls the routes of an organization.
pub(super) async fn answer(instance: &Instance, settings: &Settings, org: &Org, wish: DeskWish) -> Result<Answer> {
    // Only estimates are made here, so the engine needs no network.
    let silent = Arc::new(Offline(net::engine(settings, Arc::new(net::NoNet))?));
    let verifiers = Verifiers { live: silent.clone(), sandbox: silent };
    let test = matches!(wish, DeskWish::Lists { test: true, .. });
    let desk = Desk::open(instance, &config(settings, webhooks(settings, true)?), &verifiers, org, test);
    let told = match wish {
        DeskWish::Lists { wish, .. } => lists::answer(&desk, wish).await,
        DeskWish::Settings(wish) => settings_of(&desk, wish).await,
        DeskWish::Report(question) => report(&desk, &question).await,
        DeskWish::FindSuppression(email) => on_lists(&desk, &email).await,
    };
    desk.close().await;
    told.map(Answer::Told)
}

async fn settings_of(desk: &Desk, wish: Wish) -> Result<Told> {
    const SETTINGS: &str = "/v1/organization/settings";
    match wish {
        Wish::Show => Told::one(desk.get(SETTINGS).await.map_err(refused)?, settings::shown),
        Wish::Set(change) => {
            Told::one(desk.send("PATCH", SETTINGS, Some(&change)).await.map_err(refused)?, settings::shown)
        }
        Wish::Try(change) => {
            let tried = desk.send("POST", "/app/settings/trial", Some(&change)).await.map_err(refused)?;
            Told::one(tried, settings::trials)
        }
    }
}

async fn report(desk: &Desk, question: &Question) -> Result<Told> {
    let path = match question.about {
        About::Usage => "/v1/reports/usage",
        About::Days => "/v1/reports/usage/daily",
        About::Providers => "/app/reports/providers",
        About::Timeline | About::Summary => "/v1/account/timeline",
    };
    let query = borrowed(&question.parameters);
    let answer = desk.get(Ask::with(path, &query)).await.map_err(refused)?;
    match question.about {
        About::Usage => Told::one(answer, reports::periods),
        About::Days => Ok(Told::all(page(&answer)?.data, reports::days)),
        About::Providers => Ok(Told::all(page(&answer)?.data, reports::providers)),
        About::Timeline => Ok(Told::all(read::<Happened>(&answer)?.events, reports::events)),
        About::Summary => {
            let Happened { window, summary, .. } = read(&answer)?;
            Told::one(format!("{{\"window\":{window},\"summary\":{summary}}}"), reports::summaries)
        }
    }
}

/// Finds the suppression lists that have an address.
async fn on_lists(desk: &Desk, email: &str) -> Result<Told> {
    let mut objects = Vec::new();
    for list in List::ALL {
        let path = format!("/v1/organization/suppressions/{}", list.as_str());
        let answer = desk.get(Ask::with(&path, &[("email", email)])).await.map_err(refused)?;
        objects.push(RawValue::from_string(answer).context(NO_JSON)?);
    }
    Ok(Told::all(objects, suppressions::found))
}

/// Message for an unreadable response.
const NO_JSON: &str = "the response is not JSON";

fn read<'a, T: Deserialize<'a>>(answer: &'a str) -> Result<T> {
    serde_json::from_str(answer).context(NO_JSON)
}

/// Parts of a timeline.
#[derive(Deserialize)]
struct Happened {
    window: Box<RawValue>,
    summary: Box<RawValue>,
    events: Vec<Box<RawValue>>,
}

/// A page of any route's list.
#[derive(Deserialize)]
struct Page {
    data: Vec<Box<RawValue>>,
    #[serde(default)]
    pagination: Option<Pagination>,
}

#[derive(Deserialize)]
struct Pagination {
    next_cursor: Option<String>,
}

fn page(answer: &str) -> Result<Page> {
    read(answer)
}

fn borrowed<'a>(parameters: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    parameters.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// Maps a refusal to a usage error, and a service failure to a local one.
fn refused(error: DeskError) -> anyhow::Error {
    match error {
        DeskError::Refused { status, message } if status < FAILED => anyhow!("{message}"),
        other => anyhow::Error::new(other).context(Ends(Exit::Local)),
    }
}
