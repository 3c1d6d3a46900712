//! Actions of a run on a contact, and causes of runs.

use super::ConnectionAction;
use crate::webhook::ContactChange;

probity_mail::named! {
    /// Action of a run on a contact.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ContactAction {
        /// Stops mail to the contact.
        Unsubscribe = "unsubscribe",
        /// Removes the contact.
        Delete = "delete",
        /// Adds a tag to the contact.
        UpdateTags = "update_tags",
        /// Writes the verdict into a field of the contact.
        UpdateCustomFields = "update_custom_fields",
        /// Changes the address to the suggested one.
        Fix = "fix",
    }
}

impl ContactAction {
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

    /// Returns the action that a connection performs, which has the same name; `None` if it performs none.
    pub fn of(action: ConnectionAction) -> Option<Self> {
        Self::from_name(action.as_str())
    }
}

probity_mail::named! {
    /// Cause of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RunCause {
        /// Request of a user or a key.
        Manual = "manual",
        /// Daily schedule.
        Autofloss = "autofloss",
        /// New contact.
        Instafloss = "instafloss",
        /// Monthly schedule.
        DecayProtection = "decay_protection",
    }
}

impl RunCause {
    /// Returns whether the run starts without a user.
    pub fn is_automatic(self) -> bool {
        self != Self::Manual
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
        for action in ConnectionAction::ALL {
            assert_eq!(ContactAction::of(action).is_none(), action == ConnectionAction::DoNothing, "{action}");
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
