//! What the one who acts may give others: no more than they have.
//!
//! Judged by how a member stands when the team is locked, not by how they stood when somebody looked: between the two another
//! may have made an administrator a contributor.

use probity_account::role::Role;
use probity_account::scope::Scopes;
use probity_store::users::{User, UserStatus};

use crate::users::Refused;

/// What somebody may give.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    scopes: Scopes,
    /// Whether what they may do ends some day.
    expires: bool,
}

impl Power {
    /// That of the operator.
    pub(crate) fn all() -> Self {
        Self { scopes: Scopes::all(), expires: false }
    }

    /// That of somebody who may do this much, for ever or until some day.
    pub fn of(scopes: Scopes, expires: bool) -> Self {
        Self { scopes, expires }
    }

    /// Whether they may invite somebody to a role.
    pub(super) fn invites(self, role: Role) -> Result<(), Refused> {
        self.lasts()?;
        self.gives(role)
    }

    /// Whether they may make of a member what the member is to be. Who is made active again is given their role again: else
    /// somebody who was paused would come back by a key of theirs.
    pub(super) fn changes(self, before: &User, after: &User) -> Result<(), Refused> {
        let revives = after.status == UserStatus::Active && before.status != UserStatus::Active;
        if revives || raises(before, after) {
            self.lasts()?;
            self.gives(after.role)
        } else {
            // A lower role takes something away.
            Ok(())
        }
    }

    /// A member stays when the key that made them has expired, and could make keys that do not: so a key that expires makes
    /// none, as it makes no key that lasts longer.
    fn lasts(self) -> Result<(), Refused> {
        if self.expires { Err(Refused::Expires) } else { Ok(()) }
    }

    /// Nobody raises themselves through a member of their making, whose link they are shown: so a role is given only by who
    /// may do all that it may.
    fn gives(self, role: Role) -> Result<(), Refused> {
        let lacking: Scopes = role.scopes().iter().filter(|scope| !self.scopes.contains(*scope)).collect();
        if lacking.is_empty() { Ok(()) } else { Err(Refused::Beyond { role, lacking }) }
    }
}

/// Whether a member becomes an administrator who was none.
pub(super) fn raises(before: &User, after: &User) -> bool {
    after.role == Role::Administrator && before.role != Role::Administrator
}

#[cfg(test)]
mod tests {
    use probity_account::id::UserId;
    use probity_account::scope::Scope;
    use probity_mail::time::Millis;
    use probity_store::OrgNo;

    use super::*;

    fn ann(role: Role, status: UserStatus) -> User {
        let (org, id, created_at) = (OrgNo(1), UserId::from_bits(1), Millis(0));
        User { org, id, email: None, name: None, role, is_primary: false, status, created_at }
    }

    fn power(scopes: Scopes) -> Power {
        Power { scopes, expires: false }
    }

    /// Whatever scope of a role is lacking, alone or among others, the role is not given, and nothing else is named.
    #[test]
    fn a_role_is_given_by_who_may_do_all_that_it_may() {
        for role in Role::ALL {
            assert_eq!(power(role.scopes()).invites(role), Ok(()));
            for &scope in Scope::ALL {
                let without = power(Scope::ALL.iter().copied().filter(|one| *one != scope).collect());
                let lacking = Scopes::from_iter([scope]);
                let expected =
                    if role.scopes().contains(scope) { Err(Refused::Beyond { role, lacking }) } else { Ok(()) };
                assert_eq!(without.invites(role), expected, "{role:?} {scope}");
            }
            let team = power([Scope::WriteTeam].into_iter().collect());
            let lacking = role.scopes().iter().filter(|scope| *scope != Scope::WriteTeam).collect();
            assert_eq!(team.invites(role), Err(Refused::Beyond { role, lacking }));
        }
    }

    #[test]
    fn what_takes_away_or_gives_nothing_needs_no_more_than_the_call() {
        use Role::{Administrator, Contributor};
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
            assert_eq!(Power::all().changes(&before, &after), Ok(()));
        }
        let contributor = power(Contributor.scopes());
        assert_eq!(contributor.changes(&ann(Contributor, Paused), &ann(Contributor, Active)), Ok(()));
    }
}
