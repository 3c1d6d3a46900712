//! Actions of a run on a contact, and causes of runs.

use std::fmt;
use std::str::FromStr;

use super::ConnectionAction;
use crate::webhook::ContactChange;

/// Action of a run on a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContactAction {
    /// Stops mail to the contact.
    Unsubscribe,
    /// Removes the contact.
    Delete,
    /// Adds a tag to the contact.
    UpdateTags,
    /// Writes the verdict into a field of the contact.
    UpdateCustomFields,
    /// Changes the address to the suggested one.
    Fix,
}

impl ContactAction {
    /// All actions, in the contract's order.
    pub const ALL: [Self; 5] = [Self::Unsubscribe, Self::Delete, Self::UpdateTags, Self::UpdateCustomFields, Self::Fix];

    /// Returns the name in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unsubscribe => "unsubscribe",
            Self::Delete => "delete",
            Self::UpdateTags => "update_tags",
            Self::UpdateCustomFields => "update_custom_fields",
            Self::Fix => "fix",
        }
    }

    /// Returns whether the action cannot be undone.
    pub fn is_destructive(self) -> bool {
        matches!(self, Self::Unsubscribe | Self::Delete | Self::Fix)
    }

    /// Returns the change that webhooks report.
    pub fn change(self) -> ContactChange {
        match self {
            Self::Unsubscribe => ContactChange::Unsubscribed,
            Self::Delete => ContactChange::Deleted,
            Self::UpdateTags => ContactChange::Tagged,
            Self::UpdateCustomFields => ContactChange::Updated,
            Self::Fix => ContactChange::Fixed,
        }
    }
}

impl ContactAction {
    /// Returns the action that a connection performs; `None` if it performs none.
    pub fn of(action: ConnectionAction) -> Option<Self> {
        match action {
            ConnectionAction::Unsubscribe => Some(Self::Unsubscribe),
            ConnectionAction::Delete => Some(Self::Delete),
            ConnectionAction::UpdateTags => Some(Self::UpdateTags),
            ConnectionAction::UpdateCustomFields => Some(Self::UpdateCustomFields),
            ConnectionAction::DoNothing => None,
        }
    }
}

impl fmt::Display for ContactAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ContactAction {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|one| one.as_str() == name).ok_or(())
    }
}

/// Cause of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunCause {
    /// Request of a user or a key.
    Manual,
    /// Daily schedule.
    Autofloss,
    /// New contact.
    Instafloss,
    /// Monthly schedule.
    DecayProtection,
}

impl RunCause {
    /// All causes.
    pub const ALL: [Self; 4] = [Self::Manual, Self::Autofloss, Self::Instafloss, Self::DecayProtection];

    /// Returns the name in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Autofloss => "autofloss",
            Self::Instafloss => "instafloss",
            Self::DecayProtection => "decay_protection",
        }
    }

    /// Returns whether the run starts without a user.
    pub fn is_automatic(self) -> bool {
        self != Self::Manual
    }
}

impl fmt::Display for RunCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RunCause {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|one| one.as_str() == name).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_contract() {
        for action in ContactAction::ALL {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        for cause in RunCause::ALL {
            assert_eq!(cause.as_str().parse(), Ok(cause));
        }
        assert_eq!("do_nothing".parse::<ContactAction>(), Err(()));
    }

    #[test]
    fn each_action_is_its_own_change() {
        let changes: std::collections::BTreeSet<_> = ContactAction::ALL.map(ContactAction::change).into();
        assert_eq!(changes.len(), ContactChange::ALL.len());
    }
}
