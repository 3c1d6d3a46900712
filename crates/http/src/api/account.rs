//! `/v1/account`: the person whom a key acts for, and what they say of themselves.
//!
//! A key that belongs to nobody in particular, because it was made at the command line or its person was removed, acts for the
//! owner. A change is a JSON merge patch (RFC 7396), also within `address` and `notifications`. The timeline tells which
//! fields were changed, never what they hold.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::published::account::{Account, AccountPatch};
use probity_store::events::{self, What};
use probity_store::users::profile::{self, Profile};
use probity_store::users::{self, User};
use probity_store::{Conn, ScopedFutureExt as _, StoreError};

use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;

/// Get the account
///
/// Returns the account of the team member for whom the key acts: its creator, or the owner.
#[utoipa::path(
    get,
    path = "/v1/account",
    tag = "Account",
    security(("bearer" = ["read:account"])),
    responses((status = 200, description = "The account.", body = Account))
)]
pub(crate) async fn get_account(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Account>, Refusal> {
    let mut conn = app.store.read().await?;
    let user = person(&mut conn, &caller).await?;
    let profile = profile::read(&mut conn, user.org, user.id).await?;
    Ok(Json(Account::of(user, profile)))
}

/// Update the account
///
/// Takes a JSON merge patch, sent as `application/json`: omitted fields stay, null clears a field. The name can be
/// changed but not cleared. Fields that the request body does not list are read-only.
#[utoipa::path(
    patch,
    path = "/v1/account",
    tag = "Account",
    request_body(content = AccountPatch, description = "Fields to change."),
    security(("bearer" = ["write:account"])),
    responses((status = 200, description = "The updated account.", body = Account))
)]
pub(crate) async fn patch_account(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(patch): JsonBody<AccountPatch>,
) -> Result<Json<Account>, Refusal> {
    change(&app, &caller, &patch).await.map(Json)
}

/// Changes the person whom the caller acts for.
pub(crate) async fn change(app: &App, caller: &Caller, patch: &AccountPatch) -> Result<Account, Refusal> {
    let (now, actor) = (app.now(), Some(caller.actor()));
    let changed = app.store.write(|tx| {
        async {
            // The name is written with role and status, which others change under the lock of the team.
            users::lock_team(tx, caller.org()).await?;
            let id = person(tx, caller).await?.id;
            profile::lock(tx, caller.org(), id).await?;
            let user = users::by_id(tx, caller.org(), id).await?;
            let standing = profile::read(tx, user.org, id).await?;
            let (new_user, new_profile) = patch.applied_to(&user, &standing);
            let changes = changed_fields((&user, &standing), (&new_user, &new_profile));
            if !changes.is_empty() {
                users::write(tx, &new_user).await?;
                profile::write(tx, user.org, id, &new_profile).await?;
                events::add(tx, user.org, now, actor, &changes).await?;
            }
            Ok(Account::of(new_user, new_profile))
        }
        .scope_boxed()
    });
    Ok(changed.await?)
}

/// The person whom the caller acts for.
async fn person(conn: &mut Conn, caller: &Caller) -> Result<User, StoreError> {
    if let Some(id) = caller.user() {
        match users::by_id(conn, caller.org(), id).await {
            Err(StoreError::NotFound) => {}
            found => return found,
        }
    }
    users::primary(conn, caller.org()).await
}

/// The fields that differ, by name only.
fn changed_fields(before: (&User, &Profile), after: (&User, &Profile)) -> Vec<What> {
    let ((user, old), (new_user, new)) = (before, after);
    let differs = [
        ("name", user.name != new_user.name),
        ("phone", old.phone != new.phone),
        ("organization", old.company != new.company),
        ("vat_id", old.vat_id != new.vat_id),
        ("country", old.country != new.country),
        ("address", old.address != new.address),
        ("notifications", old.notifications != new.notifications),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| What::of_person(name)).collect()
}
