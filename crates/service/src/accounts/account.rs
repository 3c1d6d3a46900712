//! Account of the team member for whom a caller acts.
//!
//! A key created at the command line, or whose member was removed, acts for the owner. The timeline records which fields
//! changed, never their values.

use probity_contract::error::ApiError;
use probity_contract::published::accounts::account::{Account, AccountPatch};
use probity_store::accounts::users::profile::{self, UserProfile};
use probity_store::accounts::users::{self, TeamMember};
use probity_store::activity::events::AccountChange;
use probity_store::{Conn, StoreError, work};

use crate::app::App;
use crate::callers::caller::Caller;

/// Returns the account of the member for whom the caller acts.
pub async fn get_account(app: &App, caller: &Caller) -> Result<Account, ApiError> {
    let mut conn = app.store.read().await?;
    let user = acting_member(&mut conn, caller).await?;
    let profile = profile::read(&mut conn, user.org, user.id).await?;
    Ok(Account::of(user, profile))
}

/// Changes the account of the member for whom the caller acts.
pub async fn update_account(app: &App, caller: &Caller, patch: AccountPatch) -> Result<Account, ApiError> {
    let now = app.now();
    let changed = app.store.write(work!(|tx| {
        // Writing the name also writes role and status, which others change under the team's lock.
        users::lock_team(tx, caller.org()).await?;
        let id = acting_member(tx, caller).await?.id;
        profile::lock(tx, caller.org(), id).await?;
        let user = users::by_id(tx, caller.org(), id).await?;
        let standing = profile::read(tx, user.org, id).await?;
        let (new_user, new_profile) = patch.applied_to(&user, &standing);
        let changes = changed_fields((&user, &standing), (&new_user, &new_profile));
        if (&new_user, &new_profile) != (&user, &standing) {
            users::write(tx, &new_user).await?;
            profile::write(tx, user.org, id, &new_profile).await?;
            caller.note(tx, now, &changes).await?;
        }
        Ok(Account::of(new_user, new_profile))
    }));
    Ok(changed.await?)
}

/// Returns the member for whom the caller acts.
async fn acting_member(conn: &mut Conn, caller: &Caller) -> Result<TeamMember, StoreError> {
    if let Some(id) = caller.user() {
        match users::by_id(conn, caller.org(), id).await {
            Err(StoreError::NotFound) => {}
            found => return found,
        }
    }
    users::primary(conn, caller.org()).await
}

/// Returns the names of the fields that differ, without their values. The language is not included, because pages send it
/// automatically.
fn changed_fields(before: (&TeamMember, &UserProfile), after: (&TeamMember, &UserProfile)) -> Vec<AccountChange> {
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
    differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| AccountChange::of_person(name)).collect()
}
