//! `/app/sso`: single sign-on. The browser returns to `/app/sso/callback` by a redirect of the provider, so that route has
//! neither a page token nor our own origin; the cookie of the sign-in replaces both.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use probity_contract::published::accounts::people::GivenPassword;
use probity_contract::published::accounts::sso::{BeginSso, DeletedSso, ProveDomain, SetSso, SsoShown, SsoTested};
use probity_service::accounts::people::sso::sign_in::SsoAnswer;
use probity_service::accounts::people::sso::{domains, setup, sign_in};

use crate::handler::{Answer, AppState, Call, JsonBody, Refusal, answer};
use crate::person::cookie;
use crate::person::guard::{Arrival, Person};

/// Returns the single sign-on of the organization.
pub(crate) async fn get_sso(Call(app, caller): Call) -> Answer<SsoShown> {
    answer(setup::get_sso(&app, &caller).await)
}

/// Sets the provider and claims domains.
pub(crate) async fn set_sso(
    State(app): AppState,
    Arrival { visitor, .. }: Arrival,
    Person(session): Person,
    JsonBody(given): JsonBody<SetSso>,
) -> Answer<SsoShown> {
    answer(setup::set_sso(&app, &visitor, &session, given).await)
}

/// Deletes the provider.
pub(crate) async fn delete_sso(
    State(app): AppState,
    Arrival { visitor, .. }: Arrival,
    Person(session): Person,
    JsonBody(given): JsonBody<GivenPassword>,
) -> Answer<DeletedSso> {
    answer(setup::delete_sso(&app, &visitor, &session, given).await)
}

/// Tests the provider.
pub(crate) async fn test_sso(Call(app, caller): Call) -> Answer<SsoTested> {
    answer(setup::test_sso(&app, &caller).await)
}

/// Looks up the record that proves a domain.
pub(crate) async fn prove_domain(Call(app, caller): Call, JsonBody(given): JsonBody<ProveDomain>) -> Answer<SsoShown> {
    answer(domains::prove_domain(&app, &caller, &given.domain).await)
}

/// Redirects the browser, which keeps the state that the response must match.
pub(crate) async fn begin_sso(
    State(app): AppState,
    Arrival { transport, visitor }: Arrival,
    JsonBody(given): JsonBody<BeginSso>,
) -> Result<Response, Refusal> {
    let (begun, kept) = sign_in::begin_sso(&app, &visitor, given).await?;
    Ok(([(header::SET_COOKIE, cookie::SSO.set(transport, &kept))], Json(begun)).into_response())
}

/// Starts a session, or redirects to the sign-in page with an error code.
pub(crate) async fn finish_sso(
    State(app): AppState,
    Arrival { transport, visitor }: Arrival,
    headers: HeaderMap,
    answer: Result<Query<SsoAnswer>, QueryRejection>,
) -> Response {
    let kept = cookie::SSO.get(transport, &headers);
    let answer = answer.map(|Query(answer)| answer).unwrap_or_default();
    let finished = sign_in::finish_sso(&app, &visitor, kept.as_deref(), answer).await;
    let place = match &finished {
        Ok(_) => "/",
        Err(refusal) => &format!("/#/sign-in?sso={}", refusal.word()),
    };
    let base = app.config.public_url.as_deref().unwrap_or_default().trim_end_matches('/');
    let mut response = StatusCode::SEE_OTHER.into_response();
    let to = response.headers_mut();
    // Our own words, below the operator's URL.
    let place = HeaderValue::try_from(format!("{base}{place}")).unwrap_or(HeaderValue::from_static("/"));
    to.insert(header::LOCATION, place);
    to.append(header::SET_COOKIE, cookie::SSO.clear(transport));
    if let Ok(begun) = finished {
        to.append(header::SET_COOKIE, cookie::SESSION.set(transport, &begun.session.token));
        to.append(header::SET_COOKIE, cookie::DEVICE.set(transport, &begun.mark));
    }
    response
}
