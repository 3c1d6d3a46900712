//! What a plan lets an organization use.

use std::fmt;
use std::str::FromStr;

/// One of the things that a plan can include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entitlement {
    /// Event notifications.
    Webhooks,
    /// Cleaning of new contacts as they arrive.
    Instafloss,
    /// Correction of misspelt addresses.
    TypoFixer,
    /// Rules that exclude addresses.
    Exclusions,
    /// Tags written back to a connection.
    UpdateTags,
    /// Single sign-on.
    Sso,
    /// Daily cleaning.
    Autofloss,
    /// Monthly re-verification.
    DecayBasic,
    /// Re-verification by a schedule of one's own.
    DecayCustom,
}

impl Entitlement {
    /// All of them, in the contract's order.
    pub const ALL: [Self; 9] = [
        Self::Webhooks,
        Self::Instafloss,
        Self::TypoFixer,
        Self::Exclusions,
        Self::UpdateTags,
        Self::Sso,
        Self::Autofloss,
        Self::DecayBasic,
        Self::DecayCustom,
    ];

    /// The name in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webhooks => "webhooks",
            Self::Instafloss => "instafloss",
            Self::TypoFixer => "typo_fixer",
            Self::Exclusions => "exclusions",
            Self::UpdateTags => "update_tags",
            Self::Sso => "sso",
            Self::Autofloss => "autofloss",
            Self::DecayBasic => "decay_basic",
            Self::DecayCustom => "decay_custom",
        }
    }

    fn bit(self) -> u16 {
        match self {
            Self::Webhooks => 1,
            Self::Instafloss => 1 << 1,
            Self::TypoFixer => 1 << 2,
            Self::Exclusions => 1 << 3,
            Self::UpdateTags => 1 << 4,
            Self::Sso => 1 << 5,
            Self::Autofloss => 1 << 6,
            Self::DecayBasic => 1 << 7,
            Self::DecayCustom => 1 << 8,
        }
    }
}

impl fmt::Display for Entitlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Entitlement {
    type Err = ();
    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|one| one.as_str() == name).ok_or(())
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
