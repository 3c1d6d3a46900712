//! Capabilities of a platform, derived from its file.

use super::{ActionKind, ConnectorFile, ContactScope, HookProof, HookRule, SinceKind};

/// Capabilities of a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "capabilities are independent")]
pub struct PlatformCapabilities {
    pub lists: bool,
    pub contacts: bool,
    /// Reading by creation date.
    pub since_created: bool,
    /// Reading by modification date.
    pub since_updated: bool,
    /// Actions, each with the maximum number of contacts per call.
    pub actions: Vec<(ActionKind, usize)>,
    /// Whether the platform sends notifications of new contacts.
    pub hook: bool,
    /// Whether notifications are signed.
    pub hook_signed: bool,
}

impl PlatformCapabilities {
    /// Returns whether the platform supports an action.
    pub fn has(&self, kind: ActionKind) -> bool {
        self.actions.iter().any(|(known, _)| *known == kind)
    }

    /// Returns the missing capabilities, as the keys that the file lacks.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        let flags = [
            ("lists", self.lists),
            ("contacts", self.contacts),
            ("contacts.since.created", self.since_created),
            ("contacts.since.updated", self.since_updated),
            ("hook", self.hook),
        ];
        lacks.extend(flags.iter().filter(|(_, has)| !has).map(|(name, _)| (*name).to_owned()));
        let actions = ActionKind::ALL.iter().filter(|kind| !self.has(**kind));
        lacks.extend(actions.map(|kind| format!("actions.{}", kind.name())));
        lacks
    }
}

impl ConnectorFile {
    /// Returns whether the contacts of chosen lists can be read without those of others. Where they are read per account, the
    /// platform has lists that nobody can choose.
    pub fn can_choose_lists(&self) -> bool {
        self.lists.is_some() && self.contacts.as_ref().is_some_and(|rule| rule.scope == ContactScope::List)
    }

    /// Returns whether a contact is read again immediately before an action.
    pub fn looks_before(&self, kind: ActionKind) -> bool {
        let Some(contacts) = self.contacts.as_ref().filter(|rule| rule.one.is_some()) else { return false };
        let tells_state = !contacts.fields.state.is_empty();
        self.actions.rule(kind).is_some_and(|rule| rule.wants_look(kind, tells_state))
    }

    /// Returns the rule for notifications, if they let new contacts be found sooner: the platform then filters contacts by
    /// creation date, so that a look after each notification reads few.
    pub fn hook_of_polls(&self) -> Option<&HookRule> {
        let dated = self
            .contacts
            .as_ref()
            .is_some_and(|rule| rule.since(SinceKind::Created).is_some() && rule.fields.created.is_some());
        self.hook.as_ref().filter(|_| dated)
    }

    /// Returns the platform's capabilities.
    pub fn capabilities(&self) -> PlatformCapabilities {
        let contacts = self.contacts.as_ref();
        let since = |kind| contacts.is_some_and(|rule| rule.since(kind).is_some());
        let batch = |kind: ActionKind| {
            let rule = self.actions.rule(kind)?;
            Some((kind, rule.batch.as_ref().map_or(1, |batch| batch.max)))
        };
        PlatformCapabilities {
            lists: self.lists.is_some(),
            contacts: contacts.is_some(),
            since_created: since(SinceKind::Created),
            since_updated: since(SinceKind::Updated),
            actions: ActionKind::ALL.into_iter().filter_map(batch).collect(),
            hook: self.hook.is_some(),
            hook_signed: self.hook.as_ref().is_some_and(|hook| matches!(hook.proof, HookProof::Hmac { .. })),
        }
    }
}
