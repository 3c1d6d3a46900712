//! The questions that callers ask of a [`Meaning`], so that no caller lists variants itself.

use super::{AboutUs, Meaning};

/// Why mail to an address cannot arrive, as far as one reply says.
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
    /// Whether the reply answers the question that RCPT asks, one way or the other.
    pub fn is_about_recipient(self) -> bool {
        match self {
            Self::Accepted
            | Self::Exists
            | Self::NoSuchUser
            | Self::Deactivated
            | Self::InboxFull
            | Self::QuotaTemporary
            | Self::Restricted
            | Self::AccessDenied => true,
            Self::CannotVerify
            | Self::Greylisted
            | Self::InProgress
            | Self::AboutUs(_)
            | Self::NotResponsible
            | Self::SessionLimit
            | Self::ServerTemporary
            | Self::ServerPermanent
            | Self::NeedsSmtpUtf8
            | Self::Unmatched => false,
        }
    }

    /// What makes the address undeliverable, if this reply alone does. [`Meaning::AccessDenied`] does not: it needs the
    /// knowledge that the domain accepts other recipients.
    pub fn makes_undeliverable(self) -> Option<Undeliverable> {
        match self {
            Self::NoSuchUser => Some(Undeliverable::NonExistent),
            Self::Deactivated => Some(Undeliverable::Deactivated),
            Self::InboxFull => Some(Undeliverable::InboxFull),
            _ => None,
        }
    }

    /// Why the server refuses us, if it does. Such a reply opens the breaker of the source at this destination.
    pub fn is_about_us(self) -> Option<AboutUs> {
        match self {
            Self::AboutUs(why) => Some(why),
            _ => None,
        }
    }

    /// Whether the mailbox is proven to exist, even though this reply may be a refusal.
    pub fn proves_existence(self) -> bool {
        matches!(self, Self::Accepted | Self::Exists | Self::QuotaTemporary | Self::InboxFull | Self::Restricted)
    }

    /// Whether the same question can have another answer soon (minutes to an hour) from the same source.
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

    /// Whether nothing more should be asked in this session. A 421 ends a session whatever it means (RFC 5321 3.8).
    pub fn ends_session(self) -> bool {
        matches!(self, Self::AboutUs(_) | Self::SessionLimit)
    }

    /// Whether the next exchanger of the domain may know better. Never after a refusal of us: that would be escaping it.
    pub fn try_next_exchanger(self) -> bool {
        matches!(self, Self::NotResponsible | Self::ServerTemporary | Self::ServerPermanent)
    }
}

#[cfg(test)]
mod tests {
    use super::{AboutUs, Meaning, Undeliverable};

    const ALL: [Meaning; 18] = [
        Meaning::Accepted,
        Meaning::Exists,
        Meaning::NoSuchUser,
        Meaning::Deactivated,
        Meaning::InboxFull,
        Meaning::QuotaTemporary,
        Meaning::Restricted,
        Meaning::CannotVerify,
        Meaning::Greylisted,
        Meaning::InProgress,
        Meaning::AccessDenied,
        Meaning::AboutUs(AboutUs::Blocked),
        Meaning::AboutUs(AboutUs::RateLimited),
        Meaning::NotResponsible,
        Meaning::SessionLimit,
        Meaning::ServerTemporary,
        Meaning::ServerPermanent,
        Meaning::Unmatched,
    ];

    #[test]
    fn the_answers_agree_with_each_other() {
        for meaning in ALL {
            let undeliverable = meaning.makes_undeliverable().is_some();
            assert!(!undeliverable || meaning.is_about_recipient(), "{meaning:?}");
            assert!(meaning.is_about_us().is_none() || !meaning.is_about_recipient(), "{meaning:?}");
            assert!(meaning.is_about_us().is_none() || meaning.ends_session(), "{meaning:?}");
            assert!(meaning.is_about_us().is_none() || !meaning.try_next_exchanger(), "{meaning:?}");
            assert!(!meaning.proves_existence() || meaning.is_about_recipient(), "{meaning:?}");
            assert!(!(meaning.is_about_recipient() && meaning.worth_retrying()), "{meaning:?}");
        }
        assert_eq!(Meaning::NoSuchUser.makes_undeliverable(), Some(Undeliverable::NonExistent));
        assert_eq!(Meaning::AccessDenied.makes_undeliverable(), None);
        assert!(Meaning::NotResponsible.try_next_exchanger() && Meaning::Greylisted.worth_retrying());
    }
}
