//! First steps of a new organization, derived from its data: nothing is stored for them.

use probity_contract::error::ApiError;
use probity_store::accounts::{keys, organization};
use probity_store::activity::events::AccountChange;
use probity_store::activity::reports;
use probity_store::connections::connection;
use probity_store::jobs::{self, JobFilter};
use probity_store::{Conn, work};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::App;
use crate::callers::admission::require_administrator;
use crate::callers::caller::Caller;
use crate::callers::given::checked_name;
use crate::operator::first_start::UNNAMED;

/// Newest keys to search for one that a user created or used.
const KEYS: i64 = 20;

/// First step of an organization, on live or on test data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FirstStep {
    /// The organization has a name of its own.
    Named,
    /// An address was verified in live mode. Verdicts of test data are not in the usage: the page of the user who saw one knows.
    Verified,
    /// The organization has a list.
    Listed,
    /// A user created a key, or a key was used.
    Keyed,
    /// A platform is connected.
    Connected,
}

/// Steps that an organization has taken.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FirstSteps {
    done: Vec<FirstStep>,
}

/// Returns the steps that a caller's organization has taken.
pub async fn get_first_steps(app: &App, caller: &Caller) -> Result<FirstSteps, ApiError> {
    let org = caller.org();
    let mut conn = app.store.read().await?;
    let name = organization::by_no(&mut conn, org).await?.name;
    let found = keys::page(&mut conn, org, None, KEYS).await?;
    let is_listed = has_list(&mut conn, caller, false).await? || has_list(&mut conn, caller, true).await?;
    let steps = [
        (FirstStep::Named, name.is_some_and(|name| name != UNNAMED)),
        (FirstStep::Verified, reports::any_verified(&mut conn, org).await?),
        (FirstStep::Listed, is_listed),
        (FirstStep::Keyed, found.iter().any(|key| key.user.is_some() || key.last_used_at.is_some())),
        (
            FirstStep::Connected,
            is_connected(&mut conn, caller, false).await? || is_connected(&mut conn, caller, true).await?,
        ),
    ];
    Ok(FirstSteps { done: steps.into_iter().filter_map(|(step, done)| done.then_some(step)).collect() })
}

async fn is_connected(conn: &mut Conn, caller: &Caller, test: bool) -> Result<bool, ApiError> {
    Ok(!connection::active(conn, caller.org(), test, 1).await?.is_empty())
}

async fn has_list(conn: &mut Conn, caller: &Caller, test: bool) -> Result<bool, ApiError> {
    let filter = JobFilter { test, ..JobFilter::default() };
    Ok(!jobs::page(conn, caller.org(), &filter, None, 1).await?.is_empty())
}

/// New name of an organization.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrganizationName {
    name: String,
}

/// Organization that was named.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct NamedOrganization {
    name: String,
}

/// Names the caller's organization.
pub async fn name_organization(
    app: &App,
    caller: &Caller,
    wish: OrganizationName,
) -> Result<NamedOrganization, ApiError> {
    require_administrator(caller)?;
    let named = checked_name(&wish.name)?;
    let now = app.now();
    let written = app.store.write(work!(|tx| {
        let mut org = organization::lock(tx, caller.org()).await?;
        let before = org.name.replace(named.clone());
        if before.as_deref() == Some(&*named) {
            return Ok(());
        }
        organization::write(tx, &org).await?;
        let setting = "organization.name".to_owned();
        let (before, after) = (Value::from(before), Value::from(named.clone()));
        let change = AccountChange::SettingsChange { setting, before, after, connection: None };
        caller.note(tx, now, &[change]).await
    }));
    written.await?;
    Ok(NamedOrganization { name: named })
}
