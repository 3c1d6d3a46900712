//! The log of requests with API keys, for the developers of an organization.
//!
//! Collected by [`probity_access::requests`]. An entry names the route's template, so it has no address, path or query.

use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::query::{FromQuery, Query};
use probity_contract::timestamp::Timestamp;
use probity_store::activity::requests::{self, LoggedRequest, RequestFilter};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;

/// Name of the list in its cursors.
const LIST: &str = "/app/requests";
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Status codes by name.
const STATUSES: [(&str, (i64, i64)); 4] =
    [("succeeded", (200, 399)), ("failed", (400, 599)), ("refused", (400, 499)), ("broken", (500, 599))];

#[derive(Clone, Debug, Default)]
pub struct RequestsQuery {
    status: Option<(&'static str, (i64, i64))>,
    method: Option<String>,
    key: Option<String>,
    route: Option<String>,
    page: PageQuery,
}

impl FromQuery for RequestsQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let status = query.one_of("status", &STATUSES.map(|(name, _)| name))?;
        Ok(Self {
            status: STATUSES.into_iter().find(|(name, _)| status.as_deref() == Some(name)),
            method: query.one_of("method", &METHODS)?,
            key: query.filled("key_id")?,
            route: query.filled("route")?,
            page: PageQuery::from_query(query)?,
        })
    }
}

/// A request that was answered.
#[derive(Clone, Debug, Serialize)]
pub struct RequestShown {
    /// Request ID, as in `X-Request-Id`.
    id: String,
    /// Time of the response.
    at: Timestamp,
    method: String,
    /// Template of the route.
    route: String,
    /// Status code; 499 if the client left before the response.
    status: i64,
    took_ms: i64,
    key_id: String,
}

impl From<LoggedRequest> for RequestShown {
    fn from(of: LoggedRequest) -> Self {
        let LoggedRequest { id, at, method, route, status, took_ms, key, .. } = of;
        Self { id, at: at.into(), method, route, status, took_ms, key_id: key.to_string() }
    }
}

/// Lists requests of live keys or of test keys, newest first.
pub async fn list_requests(app: &App, caller: &Caller, query: RequestsQuery) -> Result<List<RequestShown>, ApiError> {
    let RequestsQuery { status, method, key, route, page } = &query;
    let list = format!("{LIST} {} {:?}", caller.is_test(), (status, method, key, route));
    let asked = AskedPage::of(&app.cursors, page, caller.org_id().to_string(), list)?;
    let filter = RequestFilter {
        key: key.as_deref(),
        method: method.as_deref(),
        route: route.as_deref(),
        statuses: status.map(|(_, codes)| codes),
    };
    let mut conn = app.store.read().await?;
    let after = asked.after.clone();
    let rows = requests::page(&mut conn, caller.org(), caller.is_test(), &filter, after, asked.at_most()).await?;
    Ok(asked.list(rows, |row| (row.at, row.id.clone()), RequestShown::from))
}
