//! Actions on contacts, and their prerequisites.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::contacts::{ContactScope, PageRule, RecordForm};
use super::http::{ErrorClass, ErrorRule, RequestRule};
use crate::source::{Source, pointer};
use crate::template::{JsonTemplate, Placeholder, PlaceholderFamily, Template};

/// Action on a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    Unsubscribe,
    Delete,
    Tag,
    Fields,
    /// Changes the address.
    Fix,
}

impl ActionKind {
    /// All actions.
    pub const ALL: [Self; 5] = [Self::Unsubscribe, Self::Delete, Self::Tag, Self::Fields, Self::Fix];

    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsubscribe => "unsubscribe",
            Self::Delete => "delete",
            Self::Tag => "tag",
            Self::Fields => "fields",
            Self::Fix => "fix",
        }
    }
}

/// Call for several contacts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRule {
    /// Maximum number of contacts per call.
    pub max: usize,
    /// Place of the contacts: a pointer into the JSON body, or `query:NAME` or `form:NAME`, which are repeated.
    pub at: String,
    /// Item for each contact.
    pub each: JsonTemplate,
    /// Place of failed contacts in the response.
    #[serde(default)]
    pub partial: Option<PartialRule>,
}

/// Failed contacts of a batch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartialRule {
    #[serde(deserialize_with = "pointer")]
    pub records: Source,
    #[serde(default)]
    pub form: RecordForm,
    /// Place of the contact's ID.
    #[serde(default)]
    pub id: Option<Source>,
    /// Place of the contact's address.
    #[serde(default)]
    pub email: Option<Source>,
    /// Value that marks a failed contact; if missing, every record is one.
    #[serde(default)]
    pub failed: Option<FailedRule>,
    pub class: ErrorClass,
}

/// Value of a failed record.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedRule {
    pub at: Source,
    pub is: Vec<String>,
}

/// Read-change-write, for platforms that replace a value with what they receive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaceRule {
    pub read: RequestRule,
    /// Place of the old value: an array for `add`, an object for `set`.
    pub from: Source,
    /// Item to add to an array.
    #[serde(default)]
    pub add: Option<JsonTemplate>,
    /// Place in an item that identifies it.
    #[serde(default)]
    pub same: Option<Source>,
    /// Members to set in an object.
    #[serde(default)]
    pub set: Option<JsonTemplate>,
    /// Members of an object that the platform shows and does not take.
    #[serde(default)]
    pub without: Vec<String>,
    /// Other values that the write needs, as `{read.NAME}`.
    #[serde(default)]
    pub keep: BTreeMap<String, Source>,
}

/// Call before the main call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRule {
    pub request: RequestRule,
    /// Error rules. Class `gone` means that the step was done before.
    #[serde(default)]
    pub errors: Vec<ErrorRule>,
}

/// Calls of an action.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionRule {
    pub scope: ContactScope,
    /// Prerequisites: names of `[ensure.NAME]`.
    #[serde(default)]
    pub ensure: Vec<String>,
    #[serde(default)]
    pub before: Vec<StepRule>,
    #[serde(default)]
    pub replace: Option<ReplaceRule>,
    pub request: RequestRule,
    /// Whether the platform answers a success with an empty body, or with `{}`. Otherwise such a response shows nothing.
    #[serde(default)]
    pub bare: bool,
    #[serde(default)]
    pub batch: Option<BatchRule>,
    /// Place of the contact's new ID, if the action changes the ID.
    #[serde(default)]
    pub id: Option<Source>,
    /// Error rules that precede those of the file.
    #[serde(default)]
    pub errors: Vec<ErrorRule>,
    /// Note for the customer.
    #[serde(default)]
    pub note: Option<String>,
}

impl ActionRule {
    /// Returns whether the platform finds the contact by its ID, which may have another address by now.
    fn goes_by_id(&self) -> bool {
        let mut goes = false;
        let mut visit = |template: &Template| {
            let is_id = |one: &Placeholder| one.family == PlaceholderFamily::Contact && one.name == "id";
            goes |= template.placeholders().any(is_id);
        };
        self.before.iter().for_each(|step| step.request.visit(&mut visit));
        self.request.visit(&mut visit);
        if let Some(batch) = &self.batch {
            batch.each.visit(&mut visit);
        }
        goes
    }

    /// Returns whether contacts are to be read before the action, of which the platform tells the state or not.
    pub(super) fn wants_look(&self, kind: ActionKind, tells_state: bool) -> bool {
        match kind {
            ActionKind::Unsubscribe => self.goes_by_id(),
            // Whoever has unsubscribed is not deleted or corrected, however the platform finds the contact.
            ActionKind::Delete | ActionKind::Fix => tells_state || self.goes_by_id(),
            ActionKind::Tag | ActionKind::Fields => false,
        }
    }
}

/// Actions that a platform supports.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionRules {
    pub unsubscribe: Option<ActionRule>,
    pub delete: Option<ActionRule>,
    pub tag: Option<ActionRule>,
    pub fields: Option<ActionRule>,
    pub fix: Option<ActionRule>,
}

impl ActionRules {
    /// Returns the rule for an action, if the platform supports it.
    pub fn rule(&self, kind: ActionKind) -> Option<&ActionRule> {
        match kind {
            ActionKind::Unsubscribe => self.unsubscribe.as_ref(),
            ActionKind::Delete => self.delete.as_ref(),
            ActionKind::Tag => self.tag.as_ref(),
            ActionKind::Fields => self.fields.as_ref(),
            ActionKind::Fix => self.fix.as_ref(),
        }
    }
}

/// Prerequisite of an action: found, or else created. Its ID is `{ensured.NAME}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnsureRule {
    #[serde(default)]
    pub find: Option<FindRule>,
    #[serde(default)]
    pub make: Option<MakeRule>,
}

/// Search for a prerequisite.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindRule {
    pub request: RequestRule,
    #[serde(deserialize_with = "pointer")]
    pub records: Source,
    #[serde(default)]
    pub form: RecordForm,
    /// Pages of the search.
    #[serde(default)]
    pub page: PageRule,
    /// Place of a record's name, and the name to find.
    #[serde(rename = "where")]
    pub at: Source,
    pub is: Template,
    pub id: Source,
}

/// Creation of a prerequisite. Class `gone` means that it exists.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MakeRule {
    pub request: RequestRule,
    /// Place of the ID; if missing, the name is the ID.
    #[serde(default)]
    pub id: Option<Source>,
    #[serde(default)]
    pub errors: Vec<ErrorRule>,
}
