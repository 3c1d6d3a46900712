//! One-time links: made, and turned back into what they are stored under.
//!
//! A link's secret has 256 random bits and stands behind the `#` of its URL: a browser does not send that part, so no log of a
//! server or proxy, and no `Referer`, has it. The page behind the link hands it on. The secret of the link in a mail follows
//! from a seed in the database and the pepper: it can be sent again without being stored, and neither the database nor the
//! pepper alone gives it.

use probity_account::api_key::secret_text;
use probity_mail::time::Millis;
use probity_store::users::User;
use probity_store::users::invitations::{Invitation, Mailed};

use crate::secrets::Secrets;

/// For how long links work unless somebody says otherwise, in milliseconds.
pub const LINK_LIFE_MS: i64 = 7 * 24 * 3_600_000;

/// How links are made.
#[derive(Clone, Copy, Debug)]
pub struct Making<'a> {
    pub(crate) secrets: &'a Secrets,
    /// For how long they work, in milliseconds.
    pub life_ms: i64,
    /// Whether one is sent to the person, too.
    pub by_mail: bool,
}

impl Making<'_> {
    /// An invitation to be stored, and the secret of its link to be shown, which is nowhere else.
    pub(crate) fn invitation(self, user: &User, now: Millis) -> (Invitation, String) {
        let secret = secret_text(crate::random::bytes());
        let mailed = || {
            let seed = crate::random::bytes();
            Mailed { hash: self.secrets.link(&mailed_secret(self.secrets, &seed)), seed }
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

/// The secret of the link that a mail has.
pub(crate) fn mailed_secret(secrets: &Secrets, seed: &[u8; 16]) -> String {
    secret_text(secrets.mailed_link(seed))
}

/// The URL of a link. Without an address of the service it is a path, which is right in a page of the service itself.
pub fn url(public_url: Option<&str>, secret: &str) -> String {
    format!("{}/#/link/{secret}", public_url.unwrap_or_default().trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use probity_account::id::UserId;
    use probity_store::OrgNo;
    use probity_store::users::{Role, UserStatus};

    use super::*;

    fn ann() -> User {
        User {
            org: OrgNo(1),
            id: UserId::from_bits(1),
            email: Some("ann@example.org".into()),
            name: None,
            role: Role::Contributor,
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
        assert_eq!(making.invitation(&User { email: None, ..ann() }, Millis(5)).0.mailed, None);
        let silent = Making { by_mail: false, ..making };
        assert_eq!(silent.invitation(&ann(), Millis(5)).0.mailed, None);
    }

    #[test]
    fn the_secret_stands_where_no_server_sees_it() {
        assert_eq!(url(Some("https://verify.example.com/"), "abc"), "https://verify.example.com/#/link/abc");
        assert_eq!(url(None, "abc"), "/#/link/abc");
    }
}
