//! Rules of a team, for the API and the command line alike.
//!
//! Each operation is one transaction that locks the team first. A refused operation has changed nothing. Of two concurrent ones
//! that need the last seat or the same address, one is refused. The timeline records each operation with its actor.

use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_account::plans::Plans;
use probity_account::scope::Scopes;
use probity_contract::error::{ApiError, Code};
use probity_contract::merge_patch::PatchField;
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::accounts::people::sessions;
use probity_store::accounts::users::{self, MemberRole, TeamMember, UserStatus, invitations, profile};
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::{OrgNo, StoreError, Tx};

use crate::links::Making;
use crate::people::attempts;

pub use crate::power::Power;

/// Number of seats without a limit: more than any organization has.
const SEATS_UNLIMITED: i64 = 1_000_000;

/// Reason why a team stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeamRefusal {
    /// The address belongs to a member who has joined.
    #[error("this email address already belongs to a member; use another")]
    Member,
    /// All seats are taken.
    #[error("all {0} seats are taken; remove a member or add seats")]
    Seats(i64),
    /// The operation concerns the owner.
    #[error("the owner cannot be removed, paused or given another role")]
    Primary,
    /// The operation concerns a member who has not accepted yet.
    #[error("an invited member becomes active by accepting; until then, the status cannot be changed")]
    Invited,
    /// A key that expires would grant something permanent.
    #[error("an expiring key cannot invite, reactivate or promote members; use a key without an expiry")]
    Expires,
    /// A key would grant more than it has.
    #[error("the key cannot give the role `{}`: it lacks the scopes {}", role.as_str(), names(*lacking))]
    Beyond {
        /// Role to be granted.
        role: MemberRole,
        /// Scopes that the role has and the key lacks.
        lacking: Scopes,
    },
}

impl From<TeamRefusal> for ApiError {
    fn from(refused: TeamRefusal) -> Self {
        let code = match refused {
            TeamRefusal::Member | TeamRefusal::Seats(_) | TeamRefusal::Primary | TeamRefusal::Invited => Code::Conflict,
            TeamRefusal::Expires | TeamRefusal::Beyond { .. } => Code::ForbiddenScope,
        };
        Self::new(code, refused.to_string())
    }
}

/// Formats scopes for a message.
fn names(scopes: Scopes) -> String {
    scopes.iter().map(|scope| format!("`{scope}`")).collect::<Vec<_>>().join(", ")
}

/// Result of an operation, unless the store failed. A refusal leaves the transaction without a change.
pub type TeamOutcome<T> = Result<Result<T, TeamRefusal>, StoreError>;

/// Returns the number of seats of an organization.
pub fn seats(org: &OrgRecord, plans: &Plans) -> i64 {
    org.seats(plans.of(&org.plan)).unwrap_or(SEATS_UNLIMITED)
}

/// Organization, actor and time of an operation.
#[derive(Clone, Copy, Debug)]
pub struct MemberAct {
    pub org: OrgNo,
    pub actor: EventActor,
    pub power: Power,
    pub now: Millis,
}

impl MemberAct {
    async fn happened(self, tx: &mut Tx, event: AccountEventKind, to: UserId) -> Result<(), StoreError> {
        let what = AccountChange::about(event, EventSubject::Member(to));
        events::add(tx, self.org, self.now, Some(self.actor), &[what]).await
    }
}

#[derive(Clone, Debug)]
pub struct MemberInvitation {
    /// ID of the new member; unused if they are invited already.
    pub id: UserId,
    pub email: String,
    pub name: Option<String>,
    pub role: MemberRole,
    /// Language of the mail; `None` for that of the inviter.
    pub language: Option<PageLanguage>,
    /// Member who invites, or for whom a key does.
    pub inviter: Option<UserId>,
}

impl MemberInvitation {
    /// Returns the language of the mail, if it is known.
    async fn language(&self, tx: &mut Tx, org: OrgNo) -> Result<Option<PageLanguage>, StoreError> {
        let (None, Some(inviter)) = (self.language, self.inviter) else { return Ok(self.language) };
        match profile::read(tx, org, inviter).await {
            Err(StoreError::NotFound) => Ok(None),
            read => Ok(read?.language),
        }
    }
}

/// Invites a member, or repeats an invitation that was not accepted yet. Returns the member and the secret of the link. If the
/// organization has had many invitations mailed, this one is not.
pub async fn invite(
    tx: &mut Tx,
    act: MemberAct,
    wish: &MemberInvitation,
    plans: &Plans,
    making: Making<'_>,
) -> TeamOutcome<(TeamMember, String)> {
    if let Err(refused) = act.power.invites(wish.role) {
        return Ok(Err(refused));
    }
    users::lock_team(tx, act.org).await?;
    let invited = match users::member(tx, act.org, &wish.email).await? {
        Some(user) if user.status != UserStatus::Invited => return Ok(Err(TeamRefusal::Member)),
        Some(user) => {
            let again = TeamMember { name: wish.name.clone().or(user.name), role: wish.role, ..user };
            users::write(tx, &again).await?;
            again
        }
        None => {
            let limit = seats(&organization::by_no(tx, act.org).await?, plans);
            if users::seats_used(tx, act.org).await? >= limit {
                return Ok(Err(TeamRefusal::Seats(limit)));
            }
            let user = fresh(act, wish);
            users::insert(tx, &user).await?;
            user
        }
    };
    let by_mail = making.by_mail && attempts::may_mail(tx, making.secrets, act.org, act.now).await?;
    let (invitation, secret) = Making { by_mail, ..making }.invitation(&invited, act.now);
    invitations::issue(tx, &invitation).await?;
    let language = wish.language(tx, act.org).await?;
    invitations::speak(tx, act.org, invited.id, language).await?;
    act.happened(tx, AccountEventKind::MemberInvited, invited.id).await?;
    Ok(Ok((invited, secret)))
}

fn fresh(act: MemberAct, wish: &MemberInvitation) -> TeamMember {
    let MemberInvitation { id, email, name, role, .. } = wish.clone();
    let (org, status, created_at) = (act.org, UserStatus::Invited, act.now);
    TeamMember { org, id, email: Some(email), name, role, is_primary: false, status, created_at }
}

/// Changes of a member. Missing values stay as they are.
#[derive(Clone, Debug, Default)]
pub struct MemberChange {
    pub name: PatchField<String>,
    pub role: Option<MemberRole>,
    pub status: Option<UserStatus>,
}

impl MemberChange {
    fn applied_to(&self, user: &TeamMember) -> Result<TeamMember, TeamRefusal> {
        let after = TeamMember {
            name: self.name.clone().over(user.name.clone()),
            role: self.role.unwrap_or(user.role),
            status: self.status.unwrap_or(user.status),
            ..user.clone()
        };
        if user.status == UserStatus::Invited && self.status.is_some() {
            return Err(TeamRefusal::Invited);
        }
        if user.is_primary && (after.role != user.role || after.status == UserStatus::Paused) {
            return Err(TeamRefusal::Primary);
        }
        Ok(after)
    }
}

/// Changes a member. Pausing a member signs them out everywhere. If an invited member becomes an administrator, earlier links
/// end: their creators may still have them, and did not invite an administrator.
pub async fn change(tx: &mut Tx, act: MemberAct, id: UserId, change: &MemberChange) -> TeamOutcome<TeamMember> {
    users::lock_team(tx, act.org).await?;
    let before = users::by_id(tx, act.org, id).await?;
    let judged = |after: TeamMember| act.power.changes(&before, &after).map(|()| after);
    let after = match change.applied_to(&before).and_then(judged) {
        Ok(after) => after,
        Err(refused) => return Ok(Err(refused)),
    };
    if after != before {
        users::write(tx, &after).await?;
        act.happened(tx, AccountEventKind::MemberChanged, id).await?;
    }
    if after.status == UserStatus::Invited && crate::power::raises(&before, &after) {
        invitations::withdraw(tx, act.org, id).await?;
    }
    if after.status == UserStatus::Paused {
        sessions::revoke_all(tx, act.org, id, None).await?;
    }
    Ok(Ok(after))
}

/// Removes a member, or withdraws an invitation.
pub async fn remove(tx: &mut Tx, act: MemberAct, id: UserId) -> TeamOutcome<()> {
    users::lock_team(tx, act.org).await?;
    if users::by_id(tx, act.org, id).await?.is_primary {
        return Ok(Err(TeamRefusal::Primary));
    }
    users::remove(tx, act.org, id).await?;
    act.happened(tx, AccountEventKind::MemberRemoved, id).await.map(Ok)
}

#[cfg(test)]
mod tests {
    use probity_account::scope::Scope;

    use super::*;

    fn ann(status: UserStatus, is_primary: bool) -> TeamMember {
        TeamMember {
            org: OrgNo(1),
            id: UserId::from_bits(1),
            email: Some("ann@example.org".into()),
            name: Some("Ann".into()),
            role: MemberRole::Administrator,
            is_primary,
            status,
            created_at: Millis(0),
        }
    }

    #[test]
    fn who_can_be_changed_how() {
        use UserStatus::{Active, Invited, Paused};
        let role = |role| MemberChange { role: Some(role), ..MemberChange::default() };
        let status = |status| MemberChange { status: Some(status), ..MemberChange::default() };
        let name = |name: PatchField<String>| MemberChange { name, ..MemberChange::default() };
        let cases = [
            (Active, false, role(MemberRole::Contributor), None),
            (Active, false, status(Paused), None),
            (Paused, false, status(Active), None),
            (Invited, false, role(MemberRole::Contributor), None),
            (Invited, false, name(PatchField::Cleared), None),
            (Invited, false, status(Active), Some(TeamRefusal::Invited)),
            (Invited, false, status(Paused), Some(TeamRefusal::Invited)),
            (Active, true, name(PatchField::Given("Bea".into())), None),
            (Active, true, role(MemberRole::Administrator), None),
            (Active, true, status(Active), None),
            (Active, true, role(MemberRole::Contributor), Some(TeamRefusal::Primary)),
            (Active, true, status(Paused), Some(TeamRefusal::Primary)),
        ];
        for (before, is_primary, change, refused) in cases {
            let done = change.applied_to(&ann(before, is_primary));
            assert_eq!(done.as_ref().err(), refused.as_ref(), "{before:?} {is_primary} {change:?}");
            if let Ok(after) = done {
                assert_eq!(after.role, change.role.unwrap_or(MemberRole::Administrator));
                assert_eq!(after.status, change.status.unwrap_or(before));
                assert_eq!(after.name, change.name.over(Some("Ann".into())));
            }
        }
    }

    #[test]
    fn a_refusal_is_a_conflict_or_a_lack_of_rights() {
        let error = ApiError::from(TeamRefusal::Seats(3));
        assert_eq!((error.code(), error.message().contains("all 3 seats")), (Code::Conflict, true));
        assert_eq!(ApiError::from(TeamRefusal::Expires).code(), Code::ForbiddenScope);
        let lacking = [Scope::WriteJobs, Scope::Verify].into_iter().collect();
        let error = ApiError::from(TeamRefusal::Beyond { role: MemberRole::Contributor, lacking });
        assert_eq!(error.code(), Code::ForbiddenScope);
        assert_eq!(
            error.message(),
            "the key cannot give the role `contributor`: it lacks the scopes `verify`, `write:jobs`"
        );
    }
}
