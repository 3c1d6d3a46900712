//! The rules of a team, for the API and the command line alike.
//!
//! Each act is one transaction that has locked the team first: who is refused has changed nothing, and of two who want the last
//! seat or the same address one is refused. What was done stands in the timeline, with the one who did it.

pub mod power;

use probity_account::id::UserId;
use probity_account::plans::Plans;
use probity_account::scope::Scopes;
use probity_mail::time::Millis;
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::organization::Org;
use probity_store::users::invitations;
use probity_store::users::{self, Role, User, UserStatus};
use probity_store::{OrgNo, StoreError, Tx, organization, sessions};

use crate::error::{ApiError, Code};
use crate::links::Making;
use crate::merge_patch::Said;
use crate::people::attempts;

pub use power::Power;

/// How many people may belong to an organization where nobody counts: more than an organization has.
const SEATS_UNLIMITED: i64 = 1_000_000;

/// Why a team stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The address is that of somebody who has joined.
    #[error("this email address already belongs to a member; use another")]
    Member,
    /// There is no room.
    #[error("all {0} seats are taken; remove a member or add seats")]
    Seats(i64),
    /// It is about the one whom the organization belongs to.
    #[error("the owner cannot be removed, paused or given another role")]
    Primary,
    /// It is about somebody who has yet to accept.
    #[error("an invited member becomes active by accepting; until then, the status cannot be changed")]
    Invited,
    /// A key that expires would give what stays.
    #[error("an expiring key cannot invite, reactivate or promote members; use a key without an expiry")]
    Expires,
    /// A key would give more than it has.
    #[error("the key cannot give the role `{}`: it lacks the scopes {}", role.as_str(), names(*lacking))]
    Beyond {
        /// The role that it would give.
        role: Role,
        /// What the role may do, and the key may not.
        lacking: Scopes,
    },
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        let code = match refused {
            Refused::Member | Refused::Seats(_) | Refused::Primary | Refused::Invited => Code::Conflict,
            Refused::Expires | Refused::Beyond { .. } => Code::ForbiddenScope,
        };
        Self::new(code, refused.to_string())
    }
}

/// The names of scopes for a message.
fn names(scopes: Scopes) -> String {
    scopes.iter().map(|scope| format!("`{scope}`")).collect::<Vec<_>>().join(", ")
}

/// What became of an act, unless the store failed: a refusal that leaves the transaction without a change.
pub(crate) type Done<T> = Result<Result<T, Refused>, StoreError>;

/// How many people may belong to an organization.
pub fn seats(org: &Org, plans: &Plans) -> i64 {
    org.seats(plans.of(&org.plan)).unwrap_or(SEATS_UNLIMITED)
}

/// Who acts, where and when.
#[derive(Clone, Copy, Debug)]
pub struct Act {
    pub org: OrgNo,
    pub actor: Actor,
    pub power: Power,
    pub now: Millis,
}

impl Act {
    async fn happened(self, tx: &mut Tx, event: AccountEvent) -> Result<(), StoreError> {
        events::add(tx, self.org, self.now, Some(self.actor), &[What::Account(event)]).await
    }
}

/// Who is to be invited.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The id of the person, where they are not invited already.
    pub id: UserId,
    /// An address.
    pub email: String,
    pub name: Option<String>,
    pub role: Role,
}

/// Invites somebody, or once more who has not accepted yet; gives the person and the secret of their link. Where an organization
/// has had many mailed, only the link is made.
pub async fn invite(tx: &mut Tx, act: Act, wish: &Wish, plans: &Plans, making: Making<'_>) -> Done<(User, String)> {
    if let Err(refused) = act.power.invites(wish.role) {
        return Ok(Err(refused));
    }
    users::lock_team(tx, act.org).await?;
    let invited = match users::member(tx, act.org, &wish.email).await? {
        Some(user) if user.status != UserStatus::Invited => return Ok(Err(Refused::Member)),
        Some(user) => {
            let again = User { name: wish.name.clone().or(user.name), role: wish.role, ..user };
            users::write(tx, &again).await?;
            again
        }
        None => {
            let limit = seats(&organization::by_no(tx, act.org).await?, plans);
            if users::seats_used(tx, act.org).await? >= limit {
                return Ok(Err(Refused::Seats(limit)));
            }
            let user = fresh(act, wish);
            users::insert(tx, &user).await?;
            user
        }
    };
    let by_mail = making.by_mail && attempts::may_mail(tx, making.secrets, act.org, act.now).await?;
    let (invitation, secret) = Making { by_mail, ..making }.invitation(&invited, act.now);
    invitations::issue(tx, &invitation).await?;
    act.happened(tx, AccountEvent::MemberInvited).await?;
    Ok(Ok((invited, secret)))
}

fn fresh(act: Act, wish: &Wish) -> User {
    let Wish { id, email, name, role } = wish.clone();
    let (org, status, created_at) = (act.org, UserStatus::Invited, act.now);
    User { org, id, email: Some(email), name, role, is_primary: false, status, created_at }
}

/// What is to be changed of a member. What is not said stays.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub name: Said<String>,
    pub role: Option<Role>,
    pub status: Option<UserStatus>,
}

impl Change {
    fn applied_to(&self, user: &User) -> Result<User, Refused> {
        let after = User {
            name: self.name.clone().over(user.name.clone()),
            role: self.role.unwrap_or(user.role),
            status: self.status.unwrap_or(user.status),
            ..user.clone()
        };
        if user.status == UserStatus::Invited && self.status.is_some() {
            return Err(Refused::Invited);
        }
        if user.is_primary && (after.role != user.role || after.status == UserStatus::Paused) {
            return Err(Refused::Primary);
        }
        Ok(after)
    }
}

/// Changes a member. Who is paused is signed out everywhere. Where somebody who is invited becomes an administrator, the links of
/// before end: whoever made them may have them still, and was not asked to invite an administrator.
pub async fn change(tx: &mut Tx, act: Act, id: UserId, change: &Change) -> Done<User> {
    users::lock_team(tx, act.org).await?;
    let before = users::by_id(tx, act.org, id).await?;
    let judged = |after: User| act.power.changes(&before, &after).map(|()| after);
    let after = match change.applied_to(&before).and_then(judged) {
        Ok(after) => after,
        Err(refused) => return Ok(Err(refused)),
    };
    if after != before {
        users::write(tx, &after).await?;
        act.happened(tx, AccountEvent::MemberChanged).await?;
    }
    if after.status == UserStatus::Invited && power::raises(&before, &after) {
        invitations::withdraw(tx, act.org, id).await?;
    }
    if after.status == UserStatus::Paused {
        sessions::revoke_all(tx, act.org, id, None).await?;
    }
    Ok(Ok(after))
}

/// Removes a member, or takes an invitation back.
pub async fn remove(tx: &mut Tx, act: Act, id: UserId) -> Done<()> {
    users::lock_team(tx, act.org).await?;
    if users::by_id(tx, act.org, id).await?.is_primary {
        return Ok(Err(Refused::Primary));
    }
    users::remove(tx, act.org, id).await?;
    act.happened(tx, AccountEvent::MemberRemoved).await.map(Ok)
}

#[cfg(test)]
mod tests {
    use probity_account::scope::Scope;

    use super::*;

    fn ann(status: UserStatus, is_primary: bool) -> User {
        User {
            org: OrgNo(1),
            id: UserId::from_bits(1),
            email: Some("ann@example.org".into()),
            name: Some("Ann".into()),
            role: Role::Administrator,
            is_primary,
            status,
            created_at: Millis(0),
        }
    }

    #[test]
    fn who_can_be_changed_how() {
        use UserStatus::{Active, Invited, Paused};
        let role = |role| Change { role: Some(role), ..Change::default() };
        let status = |status| Change { status: Some(status), ..Change::default() };
        let name = |name: Said<String>| Change { name, ..Change::default() };
        let cases = [
            (Active, false, role(Role::Contributor), None),
            (Active, false, status(Paused), None),
            (Paused, false, status(Active), None),
            (Invited, false, role(Role::Contributor), None),
            (Invited, false, name(Said::Cleared), None),
            (Invited, false, status(Active), Some(Refused::Invited)),
            (Invited, false, status(Paused), Some(Refused::Invited)),
            (Active, true, name(Said::Given("Bea".into())), None),
            (Active, true, role(Role::Administrator), None),
            (Active, true, status(Active), None),
            (Active, true, role(Role::Contributor), Some(Refused::Primary)),
            (Active, true, status(Paused), Some(Refused::Primary)),
        ];
        for (before, is_primary, change, refused) in cases {
            let done = change.applied_to(&ann(before, is_primary));
            assert_eq!(done.as_ref().err(), refused.as_ref(), "{before:?} {is_primary} {change:?}");
            if let Ok(after) = done {
                assert_eq!(after.role, change.role.unwrap_or(Role::Administrator));
                assert_eq!(after.status, change.status.unwrap_or(before));
                assert_eq!(after.name, change.name.over(Some("Ann".into())));
            }
        }
    }

    #[test]
    fn a_refusal_is_a_conflict_or_a_lack_of_rights() {
        let error = ApiError::from(Refused::Seats(3));
        assert_eq!((error.code(), error.message().contains("all 3 seats")), (Code::Conflict, true));
        assert_eq!(ApiError::from(Refused::Expires).code(), Code::ForbiddenScope);
        let lacking = [Scope::WriteJobs, Scope::Verify].into_iter().collect();
        let error = ApiError::from(Refused::Beyond { role: Role::Contributor, lacking });
        assert_eq!(error.code(), Code::ForbiddenScope);
        assert_eq!(
            error.message(),
            "the key cannot give the role `contributor`: it lacks the scopes `verify`, `write:jobs`"
        );
    }
}
