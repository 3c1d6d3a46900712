//! `/unsubscribe/{token}`: the link in every report. Mail programs POST to it (RFC 8058); browsers get a page with a button,
//! because scanners open links too. The token is sufficient proof, without a session or page token.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::{ACCEPT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use probity_account::language::PageLanguage;
use probity_contract::error::{ApiError, Code};
use probity_letters::UnsubscribeTexts;
use probity_service::accounts::unsubscribe::{self, UnsubscribeLink};
use probity_service::app::App;

use crate::error::ErrorPage;
use crate::handler::{AppState, Refusal};

const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        ),
    ),
];

const HEAD: &str = "<head><meta charset=\"utf-8\"><title>Probity</title>\
    <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\"></head>\n\
    <body style=\"margin:15vh auto;max-width:28rem;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;color:#1d2430\">\n";

pub(crate) fn routes(app: &Arc<App>) -> Router {
    let methods = get(ask).post(end).fallback(async || Refusal(ApiError::of(Code::MethodNotAllowed)));
    Router::new().route("/unsubscribe/{token}", methods).with_state(app.clone())
}

async fn ask(State(app): AppState, Path(token): Path<String>, head: HeaderMap) -> Result<Response, Refusal> {
    match unsubscribe::get_unsubscribe_link(&app, &token).await {
        Ok(UnsubscribeLink { kind, language }) => Ok(page(language, UnsubscribeTexts::question(language, kind))),
        Err(error) => refused(error, &head),
    }
}

async fn end(State(app): AppState, Path(token): Path<String>, head: HeaderMap) -> Result<Response, Refusal> {
    match unsubscribe::redeem_unsubscribe_link(&app, &token).await {
        Ok(UnsubscribeLink { kind, language }) => Ok(page(language, UnsubscribeTexts::done(language, kind))),
        Err(error) => refused(error, &head),
    }
}

/// Returns a page for a damaged link. Its owner is unknown, so the browser's language is used.
fn refused(error: ApiError, head: &HeaderMap) -> Result<Response, Refusal> {
    if error.code() != ApiError::not_found().code() {
        return Err(Refusal(error));
    }
    let accepted = head.get(ACCEPT_LANGUAGE).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    let known = |tag: &str| PageLanguage::from_name(tag.trim().get(..2)?);
    let language = accepted.split(',').find_map(known).unwrap_or_default();
    let content = page(language, UnsubscribeTexts::damaged(language));
    Ok((StatusCode::NOT_FOUND, Extension(ErrorPage), content).into_response())
}

fn page(language: PageLanguage, texts: UnsubscribeTexts) -> Response {
    let UnsubscribeTexts { heading, paragraph, button } = texts;
    let paragraph = if paragraph.is_empty() { String::new() } else { format!("<p>{paragraph}</p>\n") };
    let form = if button.is_empty() {
        String::new()
    } else {
        format!("<form method=\"post\"><button style=\"font:inherit;padding:.5rem 1rem\">{button}</button></form>\n")
    };
    let html = format!(
        "<!doctype html>\n<html lang=\"{language}\">{HEAD}<main>\n<h1>{heading}</h1>\n{paragraph}{form}</main>\n</body></html>\n"
    );
    (HEADERS, html).into_response()
}
