//! Connector file: one platform as data.
//!
//! The loader ([`ConnectorFile::parse`]) refuses unknown keys, unknown placeholders, and placeholders without a value at
//! their place. A fault names the file, the key and the valid forms, so writing a file does not require reading this code.

mod action;
mod capability;
mod check;
mod contacts;
mod error_rules;
mod fault;
mod field;
mod hook;
mod http;
mod load;
mod token;
mod walk;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::template::{Placeholder, PlaceholderFamily};

pub use action::{
    ActionKind, ActionRule, ActionRules, BatchRule, EnsureRule, FindRule, MakeRule, PartialRule, ReplaceRule, StepRule,
};
pub use capability::PlatformCapabilities;
pub use contacts::{
    AmongRule, ContactScope, ContactState, ContactsRule, DateAt, FieldRules, ListsRule, MembershipRule, OneContactRule,
    PageEnd, PageRule, RecordForm, SinceKind, SinceRule, SinceRules, StateRule,
};
pub use fault::ConnectorFault;
pub use field::{FieldLetters, FieldNameRule};
pub use hook::{HookBody, HookContact, HookEvent, HookHash, HookProof, HookRegister, HookRule, SignatureForm};
pub use http::{
    AuthRule, CredentialField, CredentialKind, ErrorClass, ErrorRule, HttpRule, OtherApi, QuotaEnd, RateLimit,
    RateRule, RateSubject, RequestRule, TestRule, WaitForm, WaitRule,
};
pub(crate) use load::FILE_MAX;
pub use token::{ReplacedCredential, TokenRule};

/// Confidence in a platform's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Tried, or read in the vendor's specification or source code.
    High,
    /// Read in client libraries or secondary sources.
    Good,
    /// From memory or outdated sources.
    Low,
}

/// Origin of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Embedded in the program.
    Embedded,
    /// Added by the operator, and shown as beta.
    #[default]
    Operator,
}

/// Names of a platform, and the source of its description.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderFacts {
    /// Name in the API.
    pub slug: String,
    /// Additional names that the API accepts.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Display name.
    pub name: String,
    /// Date and source of the description.
    pub checked: String,
    /// Platform's own documentation page.
    pub docs: String,
    pub confidence: Confidence,
}

/// Connector file: how to reach a platform, its capabilities and its calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectorFile {
    pub provider: ProviderFacts,
    #[serde(rename = "credential", default)]
    pub credentials: Vec<CredentialField>,
    pub http: HttpRule,
    /// Call that gives an access token; `None` if the platform takes the credentials themselves.
    #[serde(default)]
    pub token: Option<TokenRule>,
    pub test: TestRule,
    #[serde(default)]
    pub rate: RateRule,
    #[serde(default)]
    pub lists: Option<ListsRule>,
    /// Rule for contacts; `None` if the platform does not list its contacts.
    #[serde(default)]
    pub contacts: Option<ContactsRule>,
    #[serde(default)]
    pub actions: ActionRules,
    /// Tags, fields and other prerequisites of actions, by name.
    #[serde(default)]
    pub ensure: BTreeMap<String, EnsureRule>,
    /// Valid field names for the action `fields`.
    #[serde(default)]
    pub field: FieldNameRule,
    #[serde(default)]
    pub hook: Option<HookRule>,
    /// Meanings of the platform's errors. The first match applies, then the defaults.
    #[serde(rename = "error", default)]
    pub errors: Vec<ErrorRule>,
    #[serde(skip)]
    pub origin: Origin,
}

impl ConnectorFile {
    /// Returns whether the dashboard marks the connector as beta.
    pub fn is_beta(&self) -> bool {
        self.origin == Origin::Operator || self.provider.confidence == Confidence::Low
    }

    /// Returns the field of a credential.
    pub fn credential(&self, name: &str) -> Option<&CredentialField> {
        self.credentials.iter().find(|field| field.name == name)
    }

    /// Returns whether no text may show the value of a placeholder.
    pub(crate) fn is_secret(&self, placeholder: &Placeholder) -> bool {
        match placeholder.family {
            PlaceholderFamily::Token => true,
            PlaceholderFamily::Credential => {
                self.credential(&placeholder.name).is_some_and(|field| field.kind == CredentialKind::Secret)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
