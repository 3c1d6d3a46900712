//! Limits on the rights that an actor can grant: no more than they have.
//!
//! Decisions use the state of a member while the team is locked, not an earlier one. In between, another request may have
//! changed the member's role.

use probity_account::role::MemberRole;
use probity_account::scope::Scopes;
use probity_contract::error::ApiError;
use probity_store::accounts::users::{TeamMember, UserStatus};

use crate::callers::caller::Caller;

/// Rights that an actor can grant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Power {
    scopes: Scopes,
    /// Whether the actor's own rights expire.
    expires: bool,
}

impl Power {
    pub(super) fn of(caller: &Caller) -> Self {
        Self { scopes: caller.scopes(), expires: caller.expires_at().is_some() }
    }

    /// Checks that the actor may invite a member with this role.
    pub(super) fn invites(self, role: MemberRole) -> Result<(), ApiError> {
        self.lasts()?;
        self.gives(role)
    }

    /// Checks that the actor may make this change. Reactivating a member counts as granting their role. Otherwise a paused
    /// member could return by a key of their own.
    pub(super) fn changes(self, before: &TeamMember, after: &TeamMember) -> Result<(), ApiError> {
        let revives = after.status == UserStatus::Active && before.status != UserStatus::Active;
        if revives || raises(before, after) {
            self.lasts()?;
            self.gives(after.role)
        } else {
            // A lower role only takes rights away.
            Ok(())
        }
    }

    /// Refuses an actor whose rights expire. A member outlasts the key that invited them, and could create keys that do not
    /// expire. For the same reason, an expiring key creates no key that lasts longer.
    fn lasts(self) -> Result<(), ApiError> {
        if !self.expires {
            return Ok(());
        }
        let why = "an expiring key cannot invite, reactivate or promote members; use a key without an expiry";
        Err(ApiError::forbidden_scope(why))
    }

    /// Refuses a role with scopes that the actor lacks. Actors see the links of members they invite, and could otherwise raise
    /// their own rights.
    fn gives(self, role: MemberRole) -> Result<(), ApiError> {
        let lacking: Scopes = role.scopes().iter().filter(|scope| !self.scopes.contains(*scope)).collect();
        if lacking.is_empty() { Ok(()) } else { Err(ApiError::forbidden_scope(beyond(role, lacking))) }
    }
}

fn beyond(role: MemberRole, lacking: Scopes) -> String {
    let names = lacking.iter().map(|scope| format!("`{scope}`")).collect::<Vec<_>>().join(", ");
    format!("the key cannot give the role `{}`: it lacks the scopes {names}", role.as_str())
}

/// Whether a change makes a member an administrator.
pub(super) fn raises(before: &TeamMember, after: &TeamMember) -> bool {
    after.role == MemberRole::Administrator && before.role != MemberRole::Administrator
}

#[cfg(test)]
mod tests {
    use probity_account::id::UserId;
    use probity_account::scope::Scope;
    use probity_mail::time::Millis;
    use probity_store::OrgNo;

    use super::*;

    fn ann(role: MemberRole, status: UserStatus) -> TeamMember {
        let (org, id, created_at) = (OrgNo(1), UserId::from_bits(1), Millis(0));
        TeamMember { org, id, email: None, name: None, role, is_primary: false, status, created_at }
    }

    fn power(scopes: Scopes) -> Power {
        Power { scopes, expires: false }
    }

    fn why(judged: Result<(), ApiError>) -> Result<(), String> {
        judged.map_err(|error| error.message().to_owned())
    }

    /// If scopes of a role are missing, one or several, the role is refused, and exactly those are named.
    #[test]
    fn a_role_is_given_by_who_may_do_all_that_it_may() {
        for role in MemberRole::ALL {
            assert_eq!(why(power(role.scopes()).invites(role)), Ok(()));
            for scope in Scope::ALL {
                let without = power(Scope::ALL.into_iter().filter(|one| *one != scope).collect());
                let lacking = Scopes::from_iter([scope]);
                let expected = if role.scopes().contains(scope) { Err(beyond(role, lacking)) } else { Ok(()) };
                assert_eq!(why(without.invites(role)), expected, "{role:?} {scope}");
            }
            let team = power([Scope::WriteTeam].into_iter().collect());
            let lacking = role.scopes().iter().filter(|scope| *scope != Scope::WriteTeam).collect();
            assert_eq!(why(team.invites(role)), Err(beyond(role, lacking)));
        }
    }

    #[test]
    fn what_takes_away_or_gives_nothing_needs_no_more_than_the_call() {
        use MemberRole::{Administrator, Contributor};
        use UserStatus::{Active, Invited, Paused};
        let team = power([Scope::WriteTeam].into_iter().collect());
        let cases = [
            ((Contributor, Active), (Contributor, Paused), true),
            ((Administrator, Active), (Contributor, Active), true),
            ((Administrator, Active), (Contributor, Paused), true),
            ((Administrator, Invited), (Administrator, Invited), true),
            ((Administrator, Invited), (Contributor, Invited), true),
            ((Contributor, Active), (Administrator, Active), false),
            ((Contributor, Active), (Administrator, Paused), false),
            ((Contributor, Paused), (Administrator, Paused), false),
            ((Contributor, Paused), (Contributor, Active), false),
            ((Administrator, Paused), (Contributor, Active), false),
        ];
        for ((role, status), (to_role, to_status), may) in cases {
            let (before, after) = (ann(role, status), ann(to_role, to_status));
            assert_eq!(team.changes(&before, &after).is_ok(), may, "{before:?} {after:?}");
            assert_eq!(why(power(Scopes::all()).changes(&before, &after)), Ok(()));
        }
        let contributor = power(Contributor.scopes());
        assert_eq!(why(contributor.changes(&ann(Contributor, Paused), &ann(Contributor, Active))), Ok(()));
        let lacking = [Scope::WriteJobs, Scope::Verify].into_iter().collect();
        let message = "the key cannot give the role `contributor`: it lacks the scopes `verify`, `write:jobs`";
        assert_eq!(beyond(Contributor, lacking), message);
    }
}
