//! Properties of a [`Meaning`], so that callers list no variants.

use super::{AboutUs, Meaning};

/// Why an address is undeliverable, by one reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Undeliverable {
    /// There is no such mailbox.
    NonExistent,
    /// The mailbox is disabled or closed.
    Deactivated,
    /// The mailbox is over quota.
    InboxFull,
}

impl Meaning {
    /// All meanings.
    pub const ALL: &'static [Self] = &[
        Self::Accepted,
        Self::Exists,
        Self::NoSuchUser,
        Self::Deactivated,
        Self::InboxFull,
        Self::QuotaTemporary,
        Self::Restricted,
        Self::CannotVerify,
        Self::Greylisted,
        Self::InProgress,
        Self::AccessDenied,
        Self::AboutUs(AboutUs::Blocked),
        Self::AboutUs(AboutUs::RateLimited),
        Self::AboutUs(AboutUs::Identity),
        Self::AboutUs(AboutUs::Sender),
        Self::AboutUs(AboutUs::TlsRequired),
        Self::AboutUs(AboutUs::AuthRequired),
        Self::AboutUs(AboutUs::Policy),
        Self::NotResponsible,
        Self::SessionLimit,
        Self::ServerTemporary,
        Self::ServerPermanent,
        Self::NeedsSmtpUtf8,
        Self::Unmatched,
    ];

    /// The name in rule files and tables of cases.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Exists => "exists",
            Self::NoSuchUser => "no_such_user",
            Self::Deactivated => "deactivated",
            Self::InboxFull => "inbox_full",
            Self::QuotaTemporary => "quota_temporary",
            Self::Restricted => "restricted",
            Self::CannotVerify => "cannot_verify",
            Self::Greylisted => "greylisted",
            Self::InProgress => "in_progress",
            Self::AccessDenied => "access_denied",
            Self::NotResponsible => "not_responsible",
            Self::SessionLimit => "session_limit",
            Self::ServerTemporary => "server_temporary",
            Self::ServerPermanent => "server_permanent",
            Self::NeedsSmtpUtf8 => "needs_smtputf8",
            Self::Unmatched => "unmatched",
            Self::AboutUs(AboutUs::Blocked) => "us.blocked",
            Self::AboutUs(AboutUs::RateLimited) => "us.rate_limited",
            Self::AboutUs(AboutUs::Identity) => "us.identity",
            Self::AboutUs(AboutUs::Sender) => "us.sender",
            Self::AboutUs(AboutUs::TlsRequired) => "us.tls_required",
            Self::AboutUs(AboutUs::AuthRequired) => "us.auth_required",
            Self::AboutUs(AboutUs::Policy) => "us.policy",
        }
    }

    /// The meaning of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|meaning| meaning.name() == name)
    }

    /// Why the address is undeliverable, by this reply alone. [`Meaning::AccessDenied`] counts only if the domain accepts other
    /// recipients, so it is not included.
    pub fn makes_undeliverable(self) -> Option<Undeliverable> {
        match self {
            Self::NoSuchUser => Some(Undeliverable::NonExistent),
            Self::Deactivated => Some(Undeliverable::Deactivated),
            Self::InboxFull => Some(Undeliverable::InboxFull),
            _ => None,
        }
    }

    /// Whether the reply says that the mailbox exists, is full, closed or missing.
    pub fn is_about_recipient(self) -> bool {
        matches!(self, Self::Exists | Self::QuotaTemporary | Self::AccessDenied) || self.makes_undeliverable().is_some()
    }

    /// Cause of a client refusal. It opens the circuit breaker of the source IP at this destination.
    pub fn is_about_us(self) -> Option<AboutUs> {
        match self {
            Self::AboutUs(why) => Some(why),
            _ => None,
        }
    }

    /// Whether a retry from the same source IP may succeed within minutes to an hour.
    pub fn worth_retrying(self) -> bool {
        matches!(
            self,
            Self::Greylisted
                | Self::InProgress
                | Self::SessionLimit
                | Self::ServerTemporary
                | Self::AboutUs(AboutUs::RateLimited)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Meaning, Undeliverable};

    #[test]
    fn what_makes_undeliverable_is_neither_about_us_nor_worth_retrying() {
        for meaning in Meaning::ALL {
            let undeliverable = meaning.makes_undeliverable().is_some();
            assert!(!undeliverable || meaning.is_about_us().is_none(), "{meaning:?}");
            assert!(!undeliverable || !meaning.worth_retrying(), "{meaning:?}");
        }
        assert_eq!(Meaning::NoSuchUser.makes_undeliverable(), Some(Undeliverable::NonExistent));
        assert_eq!(Meaning::AccessDenied.makes_undeliverable(), None);
        assert!(Meaning::Greylisted.worth_retrying());
    }
}
