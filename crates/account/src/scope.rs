//! Permissions of a restricted key.
//!
//! A set of scopes is one number with a bit per scope, so requests are checked without a look-up and a database stores it in a
//! column. Bits are stored: a scope keeps its bit forever, and a new one gets the next. Reading a set drops unknown bits, so an
//! older version never grants what it does not support. Externally, a set is a list of names in the order of the contract.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

probity_mail::named! {
    /// Permission of a key. Add new ones at the end: the position is the bit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Scope {
        /// Live verification.
        Verify = "verify",
        /// Jobs, their results and the timeline.
        ReadJobs = "read:jobs",
        /// Submit and cancel jobs.
        WriteJobs = "write:jobs",
        /// The account and the organization.
        ReadAccount = "read:account",
        /// Change the account and the organization's settings.
        WriteAccount = "write:account",
        /// Members and invitations.
        ReadTeam = "read:team",
        /// Invite and remove members.
        WriteTeam = "write:team",
        /// Reports of usage.
        ReadReports = "read:reports",
        /// Connections to list providers.
        ReadIntegrations = "read:integrations",
        /// Change connections and sync them.
        WriteIntegrations = "write:integrations",
        /// Webhook endpoints and their deliveries.
        ReadWebhooks = "read:webhooks",
        /// Change webhook endpoints.
        WriteWebhooks = "write:webhooks",
        /// Erase a person's data.
        WriteErasures = "write:erasures",
        /// Create and revoke keys.
        WriteKeys = "write:keys",
    }
}

impl Scope {
    const fn bit(self) -> i64 {
        1 << self as i64
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Scopes(i64);

impl Scopes {
    /// Returns all scopes: those of `live` and `test` keys.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Returns the set as a number, with a bit per scope.
    pub const fn bits(self) -> i64 {
        self.0
    }

    /// Returns the set of these bits; unknown bits are dropped.
    pub fn from_bits(bits: i64) -> Self {
        Self(bits & Self::all().0)
    }

    /// Returns whether the set contains a scope.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the scopes, in the order of the contract.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Scope::as_str)).finish()
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScopeNames;

        impl<'de> de::Visitor<'de> for ScopeNames {
            type Value = Scopes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of the names of scopes")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut names: A) -> Result<Scopes, A::Error> {
                // Added one by one: a list with a million repetitions takes no memory.
                let mut scopes = Scopes::default();
                while let Some(scope) = names.next_element::<Scope>()? {
                    scopes.0 |= scope.bit();
                }
                Ok(scopes)
            }
        }

        deserializer.deserialize_seq(ScopeNames)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Scope, Scopes};

    #[test]
    fn names_and_stored_bits_are_those_of_the_contract() {
        let expected = [
            "verify",
            "read:jobs",
            "write:jobs",
            "read:account",
            "write:account",
            "read:team",
            "write:team",
            "read:reports",
            "read:integrations",
            "write:integrations",
            "read:webhooks",
            "write:webhooks",
            "write:erasures",
            "write:keys",
        ];
        assert_eq!(Scope::ALL.iter().map(|scope| scope.as_str()).collect::<Vec<_>>(), expected);
        for (place, name) in expected.into_iter().enumerate() {
            let scope = Scope::from_name(name).expect(name);
            assert_eq!(Scopes::from_iter([scope]).bits(), 1 << place, "{name}");
            assert_eq!(scope.to_string(), name);
        }
        assert_eq!(Scopes::all().bits(), (1 << expected.len()) - 1);
    }

    #[test]
    fn other_names_are_no_scopes() {
        for name in ["", "Verify", "verify ", "read", "read:", "read:keys", "jobs:read", "*"] {
            assert_eq!(Scope::from_name(name), None, "{name:?}");
        }
    }

    #[test]
    fn bits_that_no_scope_has_grant_nothing() {
        let first_unknown = 1 << Scope::ALL.len();
        let cases = [(0, 0), (first_unknown, 0), (i64::MIN, 0), (first_unknown | 1, 1), (-1, Scopes::all().bits())];
        for (stored, kept) in cases {
            assert_eq!(Scopes::from_bits(stored).bits(), kept, "{stored:x}");
        }
    }

    #[test]
    fn json_is_a_list_of_names_in_the_order_of_the_contract() {
        let cases = [
            (r#"["write:keys","verify","read:jobs"]"#, r#"["verify","read:jobs","write:keys"]"#),
            (r#"["verify","verify"]"#, r#"["verify"]"#),
            (r#"["\u0076erify"]"#, r#"["verify"]"#),
            ("[]", "[]"),
        ];
        for (read, written) in cases {
            let scopes: Scopes = serde_json::from_str(read).expect(read);
            assert_eq!(serde_json::to_string(&scopes).expect("a list"), written);
        }
        for wrong in [r#"["verify","admin"]"#, r#""verify""#, "[1]", "null", "1", "{}"] {
            assert!(serde_json::from_str::<Scopes>(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_set_holds_what_was_put_in(places in prop::collection::btree_set(0..Scope::ALL.len(), 0..14)) {
            let chosen: Vec<Scope> = places.iter().map(|&place| Scope::ALL[place]).collect();
            let scopes: Scopes = chosen.iter().rev().copied().collect();
            prop_assert_eq!(scopes.iter().collect::<Vec<_>>(), chosen.clone());
            prop_assert_eq!(scopes.is_empty(), chosen.is_empty());
            prop_assert_eq!(Scopes::from_bits(scopes.bits()), scopes);
            for scope in Scope::ALL {
                prop_assert_eq!(scopes.contains(scope), chosen.contains(&scope));
            }
        }
    }
}
