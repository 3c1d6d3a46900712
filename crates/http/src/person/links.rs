//! `/app/link`: one-time links.
//!
//! The token is in a header: proxies log paths, and a reader of the log could use the link first.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use probity_contract::published::accounts::people::{LinkShown, UseLink};
use probity_service::accounts::people::link_use;

use crate::handler::{Answer, AppState, JsonBody, Refusal, answer};
use crate::person::cookie;
use crate::person::guard::Arrival;

static TOKEN: HeaderName = HeaderName::from_static("x-link-token");

/// Returns the purpose of a link, without using it.
pub(crate) async fn get_link(
    State(app): AppState,
    Arrival { visitor, .. }: Arrival,
    headers: HeaderMap,
) -> Answer<LinkShown> {
    answer(link_use::get_link(&app, &visitor, token(&headers)).await)
}

/// Sets the member's password and starts a session.
pub(crate) async fn redeem_link(
    State(app): AppState,
    Arrival { transport, visitor }: Arrival,
    headers: HeaderMap,
    JsonBody(given): JsonBody<UseLink>,
) -> Result<Response, Refusal> {
    let begun = link_use::redeem_link(&app, &visitor, token(&headers), given).await?;
    Ok(cookie::with_session(transport, begun))
}

/// Returns the token of the request; a missing token counts as an attempt, too.
pub(crate) fn token(headers: &HeaderMap) -> &str {
    headers.get(&TOKEN).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
