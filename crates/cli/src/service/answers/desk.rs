//! Requests that the API's own routes answer, in process and as the staff: lists, settings, usage, the timeline, and what is on
//! suppression lists.

mod lists;

use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use probity_account::suppression::List;
use probity_server::desk::{Ask, Desk, DeskError};
use probity_server::instance::Instance;
use probity_server::service::Verifiers;
use probity_server::store::Org;
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

/// The lowest status of HTTP at which the service failed and not whoever asked.
const FAILED: u16 = 500;

/// Asks the routes of an organization.
pub(super) async fn answer(instance: &Instance, settings: &Settings, org: &Org, wish: DeskWish) -> Result<Answer> {
    // Nobody is asked for a verdict here, only how addresses would be asked about.
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

/// On which suppression lists an address is.
async fn on_lists(desk: &Desk, email: &str) -> Result<Told> {
    let mut objects = Vec::new();
    for list in List::ALL {
        let path = format!("/v1/organization/suppressions/{}", list.as_str());
        let answer = desk.get(Ask::with(&path, &[("email", email)])).await.map_err(refused)?;
        objects.push(RawValue::from_string(answer).context(NO_JSON)?);
    }
    Ok(Told::all(objects, suppressions::found))
}

/// What is said of an answer that cannot be read.
const NO_JSON: &str = "the response is not JSON";

fn read<'a, T: Deserialize<'a>>(answer: &'a str) -> Result<T> {
    serde_json::from_str(answer).context(NO_JSON)
}

/// A timeline in its parts.
#[derive(Deserialize)]
struct Happened {
    window: Box<RawValue>,
    summary: Box<RawValue>,
    events: Vec<Box<RawValue>>,
}

/// A page of a list, of whichever route.
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

/// Usage where what was asked for is not to be had, this machine otherwise.
fn refused(error: DeskError) -> anyhow::Error {
    match error {
        DeskError::Refused { status, message } if status < FAILED => anyhow!("{message}"),
        other => anyhow::Error::new(other).context(Ends(Exit::Local)),
    }
}
