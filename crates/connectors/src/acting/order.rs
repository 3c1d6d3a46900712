//! Orders of actions, with their outcomes.

use probity_mail::time::Millis;
use serde_json::Value;

use crate::answer::Fault;
use crate::file::ActionKind;
use crate::request::Values;
use crate::template::PlaceholderFamily;

/// Facts about an address for the texts that an action writes.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct VerdictFacts {
    pub status: String,
    pub reason: String,
    /// Suggested address, for the action `fix`.
    pub suggestion: Option<String>,
    /// Verification time.
    pub at: Millis,
}

/// Omits the suggestion, which is an address.
impl std::fmt::Debug for VerdictFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerdictFacts")
            .field("status", &self.status)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

/// Contact to act on.
#[derive(Clone, PartialEq, Eq)]
pub struct ActionTarget {
    pub id: String,
    pub email: String,
    /// Lists from which it was read; empty if the platform does not read by list.
    pub lists: Vec<String>,
    pub verdict: VerdictFacts,
    /// Field value, for the action `fields`.
    pub value: Option<Value>,
}

/// Action on contacts of a connection.
#[derive(Clone, PartialEq, Eq)]
pub struct ActionOrder {
    pub kind: ActionKind,
    /// List to which the action applies, if it applies to one.
    pub list: Option<String>,
    /// Tag name, for the action `tag`.
    pub tag: Option<String>,
    /// Field name, for the action `fields`.
    pub field: Option<String>,
    pub targets: Vec<ActionTarget>,
}

impl ActionOrder {
    pub(super) fn check(&self) -> Result<(), Fault> {
        let is_complete = match self.kind {
            ActionKind::Tag => self.tag.is_some(),
            ActionKind::Fields => self.field.is_some() && self.targets.iter().all(|target| target.value.is_some()),
            ActionKind::Fix => self.targets.iter().all(|target| target.verdict.suggestion.is_some()),
            ActionKind::Unsubscribe | ActionKind::Delete => true,
        };
        if is_complete { Ok(()) } else { Err(Fault::invalid(format!("{} has no value", self.kind.name()))) }
    }

    /// Returns the name of the tag or field.
    pub(super) fn subject(&self) -> &str {
        match self.kind {
            ActionKind::Tag => self.tag.as_deref().unwrap_or_default(),
            ActionKind::Fields => self.field.as_deref().unwrap_or_default(),
            _ => "",
        }
    }

    /// Sets the values of the order and, if an index is given, of that contact.
    pub(super) fn fill(&self, index: Option<usize>, values: &mut Values<'_>) {
        let common = [
            (PlaceholderFamily::List, "id", &self.list),
            (PlaceholderFamily::Tag, "name", &self.tag),
            (PlaceholderFamily::Field, "name", &self.field),
        ];
        for (family, name, value) in common {
            if let Some(value) = value {
                values.set(family, name, value.as_str());
            }
        }
        let Some(target) = index.and_then(|index| self.targets.get(index)) else { return };
        values.set(PlaceholderFamily::Contact, "id", target.id.as_str());
        values.set(PlaceholderFamily::Contact, "email", target.email.as_str());
        let verdict = &target.verdict;
        values.set(PlaceholderFamily::Verdict, "status", verdict.status.as_str());
        values.set(PlaceholderFamily::Verdict, "reason", verdict.reason.as_str());
        values.set(PlaceholderFamily::Verdict, "at", verdict.at.0);
        if let Some(suggestion) = &verdict.suggestion {
            values.set(PlaceholderFamily::Verdict, "suggestion", suggestion.as_str());
        }
        if let Some(value) = &target.value {
            values.set(PlaceholderFamily::Field, "value", value.clone());
        }
    }
}

/// Outcome of an action on a contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    /// Done, with the contact's new ID if the platform changed the ID.
    Done { id: Option<String> },
    /// Already in the requested state, or no longer present.
    Gone,
    /// Address belongs to another contact.
    Taken,
    /// Not done, because the contact has another address now, or has unsubscribed.
    Changed,
    /// Refused by the platform for this contact; a retry cannot succeed.
    Refused { message: String },
}

/// Contact with its outcome, by its index in the order.
#[derive(Clone, PartialEq, Eq)]
pub struct Settled {
    pub index: usize,
    pub outcome: ActionOutcome,
    /// Value of tags or fields before the action, if the file reads it.
    pub before: Option<Value>,
}

/// Omits the previous value, which may be personal data.
impl std::fmt::Debug for Settled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settled").field("index", &self.index).field("outcome", &self.outcome).finish_non_exhaustive()
    }
}
