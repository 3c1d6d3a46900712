//! What a plan lets an organization use.

probity_mail::named! {
    /// One of the things that a plan can include. Bits are stored by this order, so a new one goes to the end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Entitlement {
        /// Event notifications.
        Webhooks = "webhooks",
        /// Cleaning of new contacts as they arrive.
        Instafloss = "instafloss",
        /// Correction of misspelt addresses.
        TypoFixer = "typo_fixer",
        /// Rules that exclude addresses.
        Exclusions = "exclusions",
        /// Tags written back to a connection.
        UpdateTags = "update_tags",
        /// Single sign-on.
        Sso = "sso",
        /// Nightly verification of new contacts.
        Autofloss = "autofloss",
        /// Re-verification of all contacts.
        DecayBasic = "decay_basic",
        /// Re-verification by a schedule of one's own.
        DecayCustom = "decay_custom",
    }
}

impl Entitlement {
    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// A set of entitlements. Its bits are stored, so they never change their meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EntitlementSet(u16);

impl EntitlementSet {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Everything.
    pub const ALL: Self = Self(0b1_1111_1111);

    /// Whether one is in it.
    pub fn contains(self, one: Entitlement) -> bool {
        self.0 & one.bit() != 0
    }

    /// What is in this set or in the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Those in it, in the contract's order.
    pub fn iter(self) -> impl Iterator<Item = Entitlement> {
        Entitlement::ALL.into_iter().filter(move |one| self.contains(*one))
    }

    /// As a number, to be stored.
    pub fn bits(self) -> i64 {
        self.0.into()
    }

    /// From a stored number. Bits that mean nothing are left out.
    pub fn from_bits(bits: i64) -> Self {
        Self(u16::try_from(bits & Self::ALL.bits()).unwrap_or(0))
    }
}

impl From<Entitlement> for EntitlementSet {
    fn from(one: Entitlement) -> Self {
        Self(one.bit())
    }
}

impl FromIterator<Entitlement> for EntitlementSet {
    fn from_iter<I: IntoIterator<Item = Entitlement>>(all: I) -> Self {
        all.into_iter().fold(Self::NONE, |set, one| set.and(one.into()))
    }
}
