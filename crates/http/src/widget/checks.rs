//! `GET /v1/widget/nonce` and `GET /v1/widget/verify`: what the script asks.

use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use probity_backend::widget::answer::WidgetAnswer;
use probity_contract::published::verify::WidgetCheckQuery;
use probity_contract::query::{FromQuery as _, Query};
use probity_service::widget::checks::{FirstNonce, check_address, issue_nonce};

use crate::handler::{Answer, AppState, answer};
use crate::widget::entry;

/// `GET /v1/widget/nonce?key=`
pub(crate) async fn nonce(State(app): AppState, parts: Parts) -> Answer<FirstNonce> {
    let now = app.now();
    let visitor = entry::enter(&app, &parts, now).await?;
    Ok(Json(issue_nonce(&app, &visitor, now)))
}

/// `GET /v1/widget/verify?key=&nonce=&email=`
pub(crate) async fn verify(State(app): AppState, parts: Parts) -> Answer<WidgetAnswer> {
    let now = app.now();
    let visitor = entry::enter(&app, &parts, now).await?;
    let query = WidgetCheckQuery::from_query(&Query::of(&parts.uri))?;
    answer(check_address(&app, &visitor, query, now).await)
}
