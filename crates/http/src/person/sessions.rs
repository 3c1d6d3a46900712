//! `/app/session`, `/app/sessions` and `/app/password`.

use axum::extract::State;
use axum::response::Response;
use probity_account::id::SessionId;
use probity_contract::page::List;
use probity_contract::published::accounts::people::{
    ChangePassword, DeletedSession, DeletedSessions, SessionListed, SessionShown,
};
use probity_service::accounts::people::{password_change, sessions};

use crate::handler::{Answer, AppState, JsonBody, PathId, Refusal, answer};
use crate::person::cookie;
use crate::person::guard::{Arrival, Person};

/// Returns the current session.
pub(crate) async fn get_session(
    State(app): AppState,
    Arrival { visitor, .. }: Arrival,
    Person(session): Person,
) -> Answer<SessionShown> {
    answer(sessions::get_session(&app, &visitor, &session).await)
}

/// Lists the member's sessions.
pub(crate) async fn list_sessions(State(app): AppState, Person(session): Person) -> Answer<List<SessionListed>> {
    answer(sessions::list_sessions(&app, &session).await)
}

/// Ends one of the member's sessions.
pub(crate) async fn delete_session(
    State(app): AppState,
    Person(session): Person,
    PathId(id): PathId<SessionId>,
) -> Answer<DeletedSession> {
    answer(sessions::delete_session(&app, &session, id).await)
}

/// Ends all other sessions of the member.
pub(crate) async fn delete_other_sessions(State(app): AppState, Person(session): Person) -> Answer<DeletedSessions> {
    answer(sessions::delete_other_sessions(&app, &session).await)
}

/// Changes the password.
pub(crate) async fn change_password(
    State(app): AppState,
    Arrival { transport, visitor }: Arrival,
    Person(session): Person,
    JsonBody(given): JsonBody<ChangePassword>,
) -> Result<Response, Refusal> {
    let changed = password_change::change_password(&app, &visitor, &session, given).await?;
    Ok(cookie::with_session(transport, changed))
}
