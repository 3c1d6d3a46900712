//! `GET /v1/widget/nonce` and `GET /v1/widget/verify` for the script; `GET /app/widget/preview` for the dashboard's preview.

use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use probity_backend::widget::answer::WidgetAnswer;
use probity_contract::published::verify::{AddressQuery, WidgetCheckQuery};
use probity_contract::query::{FromQuery as _, Query};
use probity_service::widget::checks::{FirstNonce, check_address, issue_nonce, preview_check};

use crate::handler::{Answer, AppState, Asking, Call, answer};
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

/// `GET /app/widget/preview?email=`
pub(crate) async fn preview(Call(app, caller): Call, Asking(query): Asking<AddressQuery>) -> Answer<WidgetAnswer> {
    Ok(Json(preview_check(&app, &caller, query).await))
}
