//! One-time links: creates them, and derives the hashes under which they are stored.
//!
//! The secret of a link has 256 random bits and comes after the `#` of its URL. Browsers do not send that part, so no log of a
//! server or proxy, and no `Referer`, contains it. The page behind the link submits it. The secret of a mailed link is derived
//! from a seed in the database and the pepper. It can be mailed again without being stored, and neither the database nor the
//! pepper alone reveals it.

use probity_account::api_key::secret_text;
use probity_mail::time::Millis;
use probity_store::accounts::users::TeamMember;
use probity_store::accounts::users::invitations::{Invitation, MailedLink};

use crate::secrets::Secrets;

/// Default lifetime of links, in milliseconds: 7 days.
pub const LINK_LIFE_MS: i64 = 7 * 24 * 3_600_000;

/// Settings with which links are created.
#[derive(Clone, Copy, Debug)]
pub struct Making<'a> {
    pub secrets: &'a Secrets,
    /// Lifetime of the links, in milliseconds.
    pub life_ms: i64,
    /// Whether a second link is mailed to the user.
    pub by_mail: bool,
}

impl Making<'_> {
    /// Creates an invitation to be stored, and the secret of its link to be shown. The secret itself is not stored.
    pub fn invitation(self, user: &TeamMember, now: Millis) -> (Invitation, String) {
        let secret = secret_text(crate::secrets::random::bytes());
        let mailed = || {
            let seed = crate::secrets::random::bytes();
            MailedLink { hash: self.secrets.link(&mailed_secret(self.secrets, &seed)), seed }
        };
        let invitation = Invitation {
            org: user.org,
            user: user.id,
            hash: self.secrets.link(&secret),
            mailed: (self.by_mail && user.email.is_some()).then(mailed),
            created_at: now,
            expires_at: now + self.life_ms,
        };
        (invitation, secret)
    }
}

/// Derives the secret of a mailed link.
pub fn mailed_secret(secrets: &Secrets, seed: &[u8; 16]) -> String {
    secret_text(secrets.mailed_link(seed))
}

/// Returns the URL of a link. Without the service's URL it is a path, which works in a page of the service itself.
pub fn url(public_url: Option<&str>, secret: &str) -> String {
    format!("{}/#/link/{secret}", public_url.unwrap_or_default().trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use probity_account::id::UserId;
    use probity_store::OrgNo;
    use probity_store::accounts::users::{MemberRole, UserStatus};

    use super::*;

    fn ann() -> TeamMember {
        TeamMember {
            org: OrgNo(1),
            id: UserId::from_bits(1),
            email: Some("ann@example.org".into()),
            name: None,
            role: MemberRole::Contributor,
            is_primary: false,
            status: UserStatus::Invited,
            created_at: Millis(0),
        }
    }

    #[test]
    fn the_two_links_of_an_invitation_are_stored_as_hashes() {
        let secrets = Secrets::of(&[1; 32]);
        let making = Making { secrets: &secrets, life_ms: 1_000, by_mail: true };
        let (invitation, secret) = making.invitation(&ann(), Millis(5));
        let mailed = invitation.mailed.unwrap();
        assert_eq!(secret.len(), 43);
        assert_eq!(invitation.hash, secrets.link(&secret));
        assert_eq!(mailed.hash, secrets.link(&mailed_secret(&secrets, &mailed.seed)));
        assert_ne!(mailed.hash, invitation.hash);
        assert_eq!((invitation.created_at, invitation.expires_at), (Millis(5), Millis(1_005)));
        assert_ne!(making.invitation(&ann(), Millis(5)).1, secret);
    }

    #[test]
    fn who_has_no_address_gets_no_mail() {
        let secrets = Secrets::of(&[1; 32]);
        let making = Making { secrets: &secrets, life_ms: 1_000, by_mail: true };
        assert_eq!(making.invitation(&TeamMember { email: None, ..ann() }, Millis(5)).0.mailed, None);
        let silent = Making { by_mail: false, ..making };
        assert_eq!(silent.invitation(&ann(), Millis(5)).0.mailed, None);
    }

    #[test]
    fn the_secret_stands_where_no_server_sees_it() {
        assert_eq!(url(Some("https://verify.example.com/"), "abc"), "https://verify.example.com/#/link/abc");
        assert_eq!(url(None, "abc"), "/#/link/abc");
    }
}
