//! Sessions of a team member, for the operator. Of the sessions of others, the dashboard's pages see only when they were last used;
//! those of their own user are in [`sessions`](crate::accounts::people::sessions).

use std::collections::BTreeMap;

use probity_account::id::{SessionId, UserId};
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::accounts::people::{DeletedSessions, SessionListed};
use probity_contract::timestamp::Timestamp;
use probity_store::accounts::people::sessions;
use probity_store::accounts::users;
use probity_store::activity::events::{AccountChange, AccountEventKind, EventSubject};
use probity_store::work;
use serde::Serialize;

use crate::app::App;
use crate::callers::admission::require_operator;
use crate::callers::caller::Caller;

/// Error for all other callers. No route offers them these acts; the check guards against mistakes.
const ONLY_OPERATOR: &str = "only the operator can see and end sessions of others";

/// Lists the sessions of a member of the caller's organization, most recently used first.
pub async fn list_member_sessions(app: &App, caller: &Caller, user: UserId) -> Result<List<SessionListed>, ApiError> {
    let org = require_operator(caller, ONLY_OPERATOR)?;
    let mut conn = app.store.read().await?;
    users::by_id(&mut conn, org, user).await?;
    let all = sessions::of_user(&mut conn, org, user, app.people.config.lifetimes, app.now()).await?;
    Ok(List::whole(all.into_iter().map(|session| SessionListed::of(session, None)).collect()))
}

/// Last uses of the valid sessions of members, by member.
#[derive(Debug, Serialize)]
pub struct LastUses(BTreeMap<UserId, Timestamp>);

/// Returns when the members of the caller's organization were last active, of those who are signed in.
pub async fn list_last_uses(app: &App, caller: &Caller) -> Result<LastUses, ApiError> {
    let mut conn = app.store.read().await?;
    let seen = sessions::last_uses(&mut conn, caller.org(), app.people.config.lifetimes, app.now()).await?;
    Ok(LastUses(seen.into_iter().map(|(user, at)| (user, at.into())).collect()))
}

/// Ends one or all sessions of a member. Fails with "not found" if the member has no such session.
pub async fn sign_out_member(
    app: &App,
    caller: &Caller,
    user: UserId,
    session: Option<SessionId>,
) -> Result<DeletedSessions, ApiError> {
    let (org, now) = (require_operator(caller, ONLY_OPERATOR)?, app.now());
    let ended = app.store.write(work!(|tx| {
        users::by_id(tx, org, user).await?;
        let ended = match session {
            Some(id) => sessions::revoke(tx, org, user, id).await.map(|()| 1)?,
            None => sessions::revoke_all(tx, org, user, None).await?,
        };
        if ended > 0 {
            let what = [AccountChange::about(AccountEventKind::SessionsRevoked, EventSubject::Member(user))];
            caller.note(tx, now, &what).await?;
        }
        Ok(ended)
    }));
    Ok(DeletedSessions { deleted: ended.await? })
}
