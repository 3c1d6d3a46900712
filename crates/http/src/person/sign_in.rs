//! `POST /app/sign-in` and `POST /app/sign-out`. A session starts with a new token, regardless of the request's cookies.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use probity_contract::published::accounts::people::{AskForLink, AskedForLink, SignIn, SignInOptions};
use probity_service::accounts::people::sign_in::SignInOutcome;
use probity_service::accounts::people::{forgotten_password, sessions, sign_in};

use crate::handler::{Answer, AppState, JsonBody, Refusal, answer};
use crate::person::cookie;
use crate::person::guard::{Arrival, Person};

/// Signs a member in.
pub(crate) async fn sign_in(
    State(app): AppState,
    Arrival { transport, visitor }: Arrival,
    headers: HeaderMap,
    JsonBody(given): JsonBody<SignIn>,
) -> Result<Response, Refusal> {
    let mark = cookie::DEVICE.get(transport, &headers);
    match sign_in::sign_in(&app, &visitor, mark.as_deref(), given).await? {
        SignInOutcome::Ambiguous(shown) => Ok(Json(shown).into_response()),
        SignInOutcome::Begun { session, mark } => {
            let mut response = cookie::with_session(transport, session);
            response.headers_mut().append(header::SET_COOKIE, cookie::DEVICE.set(transport, &mark));
            Ok(response)
        }
    }
}

/// Returns the ways to sign in that the page offers.
pub(crate) async fn get_options(State(app): AppState) -> Answer<SignInOptions> {
    answer(forgotten_password::get_sign_in_options(&app).await)
}

/// Mails a link for resetting the password, if the address is a member's.
pub(crate) async fn ask_for_link(
    State(app): AppState,
    Arrival { visitor, .. }: Arrival,
    JsonBody(given): JsonBody<AskForLink>,
) -> Answer<AskedForLink> {
    answer(forgotten_password::ask_for_link(&app, &visitor, given).await)
}

/// Ends the session.
pub(crate) async fn sign_out(
    State(app): AppState,
    Arrival { transport, .. }: Arrival,
    Person(session): Person,
) -> Result<Response, Refusal> {
    let ended = sessions::sign_out(&app, &session).await?;
    Ok(([(header::SET_COOKIE, cookie::SESSION.clear(transport))], Json(ended)).into_response())
}
