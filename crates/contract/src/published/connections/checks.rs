//! Reasons for which a connection acts on contacts, each a check that is on or off.

use probity_account::connections::GateSet;
use probity_account::overrides::IgnorableReason;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Type};

use crate::merge_patch::given;
use crate::schema;

/// Declares the checks, in the contract's order, for responses and for patches.
macro_rules! checks {
    ($($(#[$means:meta])+ $name:ident,)+) => {
        const CHECKS: [&str; [$(stringify!($name)),+].len()] = [$(stringify!($name)),+];

        /// Reasons for which contacts are acted upon, by name.
        #[derive(Clone, Copy, Debug, Serialize, ToSchema)]
        pub struct ConnectionChecks {
            $($(#[$means])+ pub $name: bool,)+
        }

        impl From<GateSet> for ConnectionChecks {
            fn from(gates: GateSet) -> Self {
                let is_open = |name| IgnorableReason::from_name(name).is_some_and(|gate| gates.contains(gate));
                Self { $($name: is_open(stringify!($name)),)+ }
            }
        }

        /// Checks to change.
        #[derive(Clone, Copy, Debug, Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct ChecksPatch {
            $(#[serde(deserialize_with = "given")] $name: Option<bool>,)+
        }

        impl ChecksPatch {
            /// Returns the checks that change, with their new values.
            pub fn changes(self) -> impl Iterator<Item = (IgnorableReason, bool)> {
                let all = [$((stringify!($name), self.$name)),+];
                all.into_iter().filter_map(|(name, value)| Some((IgnorableReason::from_name(name)?, value?)))
            }
        }
    };
}

checks! {
    /// Disposable addresses.
    disposable,
    /// Mailboxes that do not exist.
    nonexistent,
    /// Disabled or closed mailboxes.
    deactivated,
    /// Mailboxes over quota.
    inbox_full,
    /// Addresses on the suppression list `bounced`.
    bounced,
    /// Addresses with a banned word.
    banned_words,
    /// Role mailboxes.
    role_based,
    /// Addresses on the suppression list `complained`.
    complainers,
    /// Addresses on the suppression list `spam`.
    spam,
    /// Mailboxes about which the MX host refuses to say anything.
    failed_exchange,
    /// Mailboxes whose MX host did not answer.
    unverified,
    /// Mailboxes of catch-all domains.
    accept_all,
}

schema::schemas! {
    pub(super) checks = CHECKS
        .into_iter()
        .fold(ObjectBuilder::new(), |object, name| object.property(name, ObjectBuilder::new().schema_type(Type::Boolean)))
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
        .description(Some("Checks to change, after the preset is applied. Checks that then differ from their preset are \
            `custom`."))
        .examples([json!({"disposable": true})])
        .build();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_gate() {
        let all: serde_json::Map<_, _> = CHECKS.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
        let patch: ChecksPatch = serde_json::from_value(all.into()).unwrap();
        let changed = patch.changes().fold(GateSet::NONE, |gates, (gate, is_open)| gates.with(gate, is_open));
        assert_eq!(changed, IgnorableReason::ALL.into_iter().collect());
        assert_eq!(ChecksPatch::default().changes().count(), 0);
        assert!(serde_json::from_value::<ChecksPatch>(json!({"invalid": true})).is_err());
        assert!(serde_json::from_value::<ChecksPatch>(json!({"spam": null})).is_err());
    }
}
