//! Admission to the widget's routes.
//!
//! A `pub` key in the query (401, 403) and an origin that it allows (403 `domain_not_authorized`) are checked before the
//! visitor's admission ([`probity_service::widget::entry`]). From the second check on, pages of that origin may read every
//! response, so that the script can distinguish a used nonce from an unavailable service. Other pages never may.

use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use probity_contract::error::{ApiError, Code};
use probity_contract::query::Query;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::callers::admission;
use probity_service::widget::entry::{WidgetVisitor, admit_visitor, recognize_page};
use probity_telemetry::metrics::AuthFailure;

use crate::callers::auth;
use crate::edge::shell::assure;
use crate::error::Refusal;
use crate::person::origin;

/// Admits a visitor, or returns the error; adds the headers that let the page read the response.
pub(super) async fn enter(app: &App, parts: &Parts, now: Millis) -> Result<WidgetVisitor, Refusal> {
    let mut headers = vec![(header::VARY, HeaderValue::from_static("origin"))];
    let entered = admitted(app, parts, now, &mut headers).await;
    assure(&parts.extensions, headers);
    entered
}

async fn admitted(
    app: &App,
    parts: &Parts,
    now: Millis,
    headers: &mut Vec<(HeaderName, HeaderValue)>,
) -> Result<WidgetVisitor, Refusal> {
    let text = key(app, &Query::of(&parts.uri))?;
    let from = auth::from_parts(app, &parts.extensions, &parts.headers);
    let known = admission::recognize_key(app, &text, from, now).await.map_err(|(error, _)| error)?;
    let said = parts.headers.get(header::ORIGIN);
    let own = if said.is_none() { own_origins(app, parts) } else { Vec::new() };
    let origins = said.map(HeaderValue::as_bytes).into_iter().chain(own.iter().map(String::as_bytes));
    let page = recognize_page(app, known, &origins.collect::<Vec<_>>())?;
    headers.extend(said.map(|origin| (header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone())));
    let exposed = HeaderValue::from_static("retry-after, x-request-id");
    headers.push((header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed));
    Ok(admit_visitor(app, page, from, now)?)
}

/// Returns the origins of a page of this service, whose browser sends no `Origin` with a GET.
fn own_origins(app: &App, parts: &Parts) -> Vec<String> {
    if parts.headers.get("sec-fetch-site").is_none_or(|site| site != "same-origin") {
        return Vec::new();
    }
    origin::own(origin::host(&parts.uri, &parts.headers), app.config.public_url.as_deref())
}

/// Returns the key in the query.
fn key(app: &App, query: &Query) -> Result<String, Refusal> {
    // A text that cannot be decoded is not a key.
    let text = query.text("key").map_err(|_| ApiError::invalid_api_key())?.filter(|text| !text.is_empty());
    let Some(text) = text else {
        app.metrics.accounts().auth_failed(AuthFailure::Missing);
        return Err(ApiError::new(Code::MissingApiKey, "no key given: send a `pub` key as `key`").into());
    };
    Ok(text.into_owned())
}
