//! `/app/second-factor`.

use axum::extract::State;
use axum::response::Response;
use probity_contract::published::accounts::people::{BegunSecondFactor, GivenCode, GivenPassword};
use probity_service::accounts::people::second_factor;

use crate::handler::{Answer, AppState, JsonBody, Refusal, answer};
use crate::person::cookie;
use crate::person::guard::{Arrival, Person};

/// Creates a new secret, which a code must confirm.
pub(crate) async fn begin_second_factor(
    State(app): AppState,
    Arrival { visitor, .. }: Arrival,
    Person(session): Person,
    JsonBody(given): JsonBody<GivenPassword>,
) -> Answer<BegunSecondFactor> {
    answer(second_factor::begin_second_factor(&app, &visitor, &session, given).await)
}

/// Enables two-factor authentication, and shows the recovery codes.
pub(crate) async fn confirm_second_factor(
    State(app): AppState,
    Arrival { transport, visitor }: Arrival,
    Person(session): Person,
    JsonBody(given): JsonBody<GivenCode>,
) -> Result<Response, Refusal> {
    let confirmed = second_factor::confirm_second_factor(&app, &visitor, &session, given).await?;
    Ok(cookie::with_session(transport, confirmed))
}

/// Disables two-factor authentication.
pub(crate) async fn delete_second_factor(
    State(app): AppState,
    Arrival { transport, visitor }: Arrival,
    Person(session): Person,
    JsonBody(given): JsonBody<GivenCode>,
) -> Result<Response, Refusal> {
    let removed = second_factor::remove_second_factor(&app, &visitor, &session, given).await?;
    Ok(cookie::with_session(transport, removed))
}
