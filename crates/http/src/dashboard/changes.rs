//! `GET /app/changes`: changes of a page's parts, as server-sent events; and `GET /app/changes/counts`: counts in the navigation.
//!
//! Events name a part without its content, which the page then requests. [`stream`] describes their duration and end.

use axum::response::Response;
use probity_service::activity::changes::{ChangeFeed, ChangesQuery, PageChange, follow_changes};
use probity_service::activity::counts::{NavigationCounts, get_navigation_counts};
use serde_json::json;

use crate::dashboard::stream;
use crate::dashboard::stream::PageFeed;
use crate::handler::{Answer, Asking, Call, Refusal, answer};
use crate::person::guard::Person;

impl PageFeed for ChangeFeed {
    async fn next_event(&mut self) -> Option<String> {
        Some(match self.next().await? {
            PageChange::Ready => stream::event("ready", "{}"),
            PageChange::Of(part) => stream::event("changed", &json!({ "of": part }).to_string()),
        })
    }
}

/// Streams changes of the parts that a page names.
pub(crate) async fn get_changes(
    Call(app, caller): Call,
    person: Person,
    Asking(query): Asking<ChangesQuery>,
) -> Result<Response, Refusal> {
    let scopes = query.scopes();
    let feed = follow_changes(&app, &caller, person.signed_in.session.id, query).await?;
    Ok(stream::respond(app, person, scopes, feed))
}

/// Returns the counts in the navigation.
pub(crate) async fn get_counts(Call(app, caller): Call) -> Answer<NavigationCounts> {
    answer(get_navigation_counts(&app, &caller).await)
}
