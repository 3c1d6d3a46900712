//! Connections to email platforms: the platforms, connections with their settings, and keyword rules.
//!
//! Only test keys see a connection that a test key created. The operator reaches live and test connections by ID.
//! Credentials are tried at the platform before they are stored, and are never returned.

pub mod acts;
mod change;
pub mod changes;
pub mod hooks;
pub mod integrations;
mod live;
pub mod review;
pub mod review_file;
pub mod rules;
pub mod runs;
pub mod schedule;
pub mod trial;

use probity_account::id::ConnId;
use probity_account::plans::Entitlement;
use probity_connectors::ConnectorFile;
use probity_contract::error::ApiError;
use probity_store::accounts::organization;
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::jobs::{self, Job, JobNo};
use probity_store::{Conn, OrgNo, StoreError};
use serde::Deserialize;

use crate::app::App;
use crate::callers::caller::Caller;

pub(crate) use schedule::follow_zone;

/// Maximum number of connections of an organization, including those of test keys and excluding deleted ones.
const CONNECTIONS_MAX: i64 = 100;

/// Path of a connection: its platform and ID.
#[derive(Clone, Debug, Deserialize)]
pub struct ConnectionPlace {
    /// Name or alias of the platform.
    #[serde(rename = "type")]
    pub provider: String,
    pub id: ConnId,
}

/// Returns the platform with a name or an alias.
fn platform<'a>(app: &'a App, name: &str) -> Result<&'a ConnectorFile, ApiError> {
    app.platforms.catalog().get(name).ok_or_else(ApiError::not_found)
}

/// Returns the refusal of an act that needs a platform's contacts.
fn unlisted(file: &ConnectorFile) -> ApiError {
    ApiError::conflict(format!(
        "{} does not list its contacts, so they can't be read; upload an export as a list",
        file.provider.name
    ))
}

/// Returns the connection with its platform, if the caller may see it.
async fn visible<'a>(
    conn: &mut Conn,
    app: &'a App,
    caller: &Caller,
    place: &ConnectionPlace,
) -> Result<(&'a ConnectorFile, StoredConnection), ApiError> {
    let file = platform(app, &place.provider)?;
    let found = connection::by_id(conn, caller.org(), place.id, caller.is_test()).await;
    let found = match (caller, found) {
        (Caller::Staff { .. }, Err(StoreError::NotFound)) => {
            connection::by_id(conn, caller.org(), place.id, !caller.is_test()).await
        }
        (_, found) => found,
    }?;
    if found.provider == file.provider.slug { Ok((file, found)) } else { Err(ApiError::not_found()) }
}

/// Returns the job of a run, if it and its rows are still stored.
async fn stored_job(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Option<Job>, StoreError> {
    match jobs::by_no(conn, org, job).await {
        Err(StoreError::NotFound) => Ok(None),
        found => found.map(|job| Some(job).filter(|job| job.purged_at.is_none())),
    }
}

/// Refuses the request if the plan lacks an entitlement.
async fn require(app: &App, caller: &Caller, needed: &[Entitlement]) -> Result<(), ApiError> {
    if needed.is_empty() {
        return Ok(());
    }
    let org = organization::by_no(&mut app.store.read().await?, caller.org()).await?;
    let entitled = org.entitlements(app.config.plans.of(&org.plan));
    match needed.iter().find(|one| !entitled.contains(**one)) {
        Some(lacking) => Err(ApiError::forbidden_scope(format!(
            "the organization's plan does not include `{lacking}`; choose a plan that does"
        ))),
        None => Ok(()),
    }
}
