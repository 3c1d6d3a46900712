//! `/app/session`, `/app/sessions` and `/app/password`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use probity_account::id::SessionId;
use probity_contract::page::List;
use probity_contract::published::accounts::people::{
    ChangePassword, DeletedSession, DeletedSessions, SessionListed, SessionShown,
};
use probity_service::accounts::people::{password_change, sessions};
use probity_service::app::App;

use crate::error::Refusal;
use crate::person::cookie;
use crate::person::guard::{Arrival, Person};
use crate::request::body::JsonBody;
use crate::request::path::PathId;

/// Shows the session that asks.
pub(crate) async fn get_session(
    State(app): State<Arc<App>>,
    Arrival { visitor, .. }: Arrival,
    Person(session): Person,
) -> Result<Json<SessionShown>, Refusal> {
    Ok(Json(sessions::get_session(&app, &visitor, &session).await?))
}

/// Lists where the person is signed in.
pub(crate) async fn list_sessions(
    State(app): State<Arc<App>>,
    Person(session): Person,
) -> Result<Json<List<SessionListed>>, Refusal> {
    Ok(Json(sessions::list_sessions(&app, &session).await?))
}

/// Ends one session of the person.
pub(crate) async fn delete_session(
    State(app): State<Arc<App>>,
    Person(session): Person,
    PathId(id): PathId<SessionId>,
) -> Result<Json<DeletedSession>, Refusal> {
    Ok(Json(sessions::delete_session(&app, &session, id).await?))
}

/// Ends every other session of the person.
pub(crate) async fn delete_other_sessions(
    State(app): State<Arc<App>>,
    Person(session): Person,
) -> Result<Json<DeletedSessions>, Refusal> {
    Ok(Json(sessions::delete_other_sessions(&app, &session).await?))
}

/// Changes the password.
pub(crate) async fn change_password(
    State(app): State<Arc<App>>,
    Arrival { transport, visitor }: Arrival,
    Person(session): Person,
    JsonBody(given): JsonBody<ChangePassword>,
) -> Result<Response, Refusal> {
    let changed = password_change::change_password(&app, &visitor, &session, given).await?;
    Ok(cookie::with_session(transport, changed))
}
