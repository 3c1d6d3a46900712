//! The statuses and reasons of the published contract, in their order.

use std::fmt;

crate::named! {
    /// The four statuses.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Status {
        /// Safe to send.
        Passed = "passed",
        /// Hard fail: no mailbox, or no address.
        Undeliverable = "undeliverable",
        /// Deliverable, but flagged.
        Risky = "risky",
        /// It could not be determined.
        Unknown = "unknown",
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $text:literal $status:ident;)*) => {
        /// Why an address has its status. The order is that in which findings are reported.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason { $($(#[$doc])* $name,)* }

        impl Reason {
            /// All reasons, in the order of the contract's table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in the contract.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The status that a reason belongs to.
            pub fn status(self) -> Status {
                match self { $(Self::$name => Status::$status,)* }
            }
        }
    };
}

reasons! {
    /// The mailbox takes mail.
    Valid "valid" Passed;
    /// Not an address by RFC 5321 and RFC 6531.
    Invalid "invalid" Undeliverable;
    /// The domain takes no mail.
    Illegitimate "illegitimate" Undeliverable;
    /// The exchanger says that there is no such mailbox.
    Nonexistent "nonexistent" Undeliverable;
    /// The mailbox is disabled or closed.
    Deactivated "deactivated" Undeliverable;
    /// Over quota.
    InboxFull "inbox_full" Undeliverable;
    /// A known spam trap or spam account.
    Spam "spam" Risky;
    /// Has complained before.
    Complained "complained" Risky;
    /// Has bounced before.
    Bounced "bounced" Risky;
    /// Matches a blacklist rule.
    Blacklisted "blacklisted" Risky;
    /// A throw-away service.
    Disposable "disposable" Risky;
    /// Carries a banned word.
    BannedWords "banned_words" Risky;
    /// A role mailbox.
    RoleBased "role_based" Risky;
    /// The domain is parked, idle or for sale.
    Available "available" Risky;
    /// The exchanger accepts any local part.
    AcceptAll "accept_all" Unknown;
    /// The exchanger answered, and refuses to say.
    FailedExchange "failed_exchange" Unknown;
    /// No answer.
    Unverified "unverified" Unknown;
}

impl Reason {
    /// The reason of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == name)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{Reason, Status};

    #[test]
    fn names_round_trip_and_the_order_is_that_of_the_contract() {
        assert_eq!(Reason::ALL.len(), 17);
        for reason in Reason::ALL {
            assert_eq!(Reason::from_name(reason.as_str()), Some(*reason));
        }
        assert!(Reason::ALL.is_sorted());
        assert!(Reason::InboxFull < Reason::RoleBased && Reason::RoleBased < Reason::Unverified);
    }

    #[test]
    fn only_one_reason_passes() {
        let passed = Reason::ALL.iter().filter(|reason| reason.status() == Status::Passed);
        assert_eq!(passed.count(), 1);
    }
}
