//! Counts in the dashboard's navigation: work in progress, and items that wait for the member.

use probity_contract::error::ApiError;
use probity_store::connections::runs;
use probity_store::jobs;
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;

/// Maximum count. Pages show it with a plus.
const COUNT_MAX: i64 = 100;

/// Counts of one mode, each at most [`COUNT_MAX`].
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct NavigationCounts {
    /// Lists that have not ended.
    lists: usize,
    /// Connections with a run that waits for confirmation.
    connections: i64,
}

/// Counts an organization's lists in progress, and its connections that wait for a member.
pub async fn get_navigation_counts(app: &App, caller: &Caller) -> Result<NavigationCounts, ApiError> {
    let (org, test) = (caller.org(), caller.is_test());
    let mut conn = app.store.read().await?;
    let lists = jobs::in_progress(&mut conn, org, test, COUNT_MAX).await?.len();
    let connections = runs::count_waiting_connections(&mut conn, org, test, COUNT_MAX).await?;
    Ok(NavigationCounts { lists, connections })
}
