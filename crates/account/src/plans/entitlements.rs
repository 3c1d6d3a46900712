//! Features that a plan includes.

probity_mail::named! {
    /// Feature that a plan can include. Bits are stored in this order, so add new ones at the end.
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
        /// Re-verification on a custom schedule.
        DecayCustom = "decay_custom",
    }
}

impl Entitlement {
    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Set of entitlements. Its bits are stored, so their meaning never changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EntitlementSet(u16);

impl EntitlementSet {
    /// No entitlements.
    pub const NONE: Self = Self(0);
    /// All entitlements.
    pub const ALL: Self = Self(0b1_1111_1111);

    /// Returns whether the set contains an entitlement.
    pub fn contains(self, one: Entitlement) -> bool {
        self.0 & one.bit() != 0
    }

    /// Returns the union of both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns this set without the other one.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Iterates over the entitlements, in the contract's order.
    pub fn iter(self) -> impl Iterator<Item = Entitlement> {
        Entitlement::ALL.into_iter().filter(move |one| self.contains(*one))
    }

    /// Returns the number to store.
    pub fn bits(self) -> i64 {
        self.0.into()
    }

    /// Returns the set of a stored number. Unknown bits are dropped.
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
