//! Settings of a connection, and the form in which connections and runs store them.

use probity_mail::verdict::{Reason, Status};
use serde::{Deserialize, Serialize};

use super::{Aggressiveness, DECAY_DAYS, GateSet, UNCONFIRMED_CONTACTS, UNCONFIRMED_PERCENT, UnconfirmedLimit};
use crate::overrides::IgnorableReason;

/// Maximum length of a tag template, in characters: all platforms accept it.
pub const TAG_CHARS_MAX: usize = 60;

/// Placeholders of a tag template.
const STATUS: &str = "{status}";
const REASON: &str = "{reason}";

probity_mail::named! {
    /// Action on a contact whose verdict passes a gate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ConnectionAction {
        /// Stops mail to the contact.
        Unsubscribe = "unsubscribe",
        /// Removes the contact.
        Delete = "delete",
        /// Adds a tag to the contact.
        UpdateTags = "update_tags",
        /// Writes the verdict into a field of the contact.
        UpdateCustomFields = "update_custom_fields",
        /// Reports the verdict only.
        DoNothing = "do_nothing",
    }
}

impl ConnectionAction {
    /// Returns whether the action cannot be undone.
    pub fn is_destructive(self) -> bool {
        matches!(self, Self::Unsubscribe | Self::Delete)
    }
}

/// Settings of a connection. A run keeps the settings with which it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags of the contract")]
pub struct ConnectionSettings {
    /// Preset of the gates.
    pub aggressiveness: Aggressiveness,
    /// Whether a user decides about every action.
    pub manual_mode: bool,
    /// Number of contacts that runs may always change without confirmation.
    pub unconfirmed_contacts: i64,
    /// Share of the contacts that they may change, in percent, if that is more.
    pub unconfirmed_percent: i64,
    /// Whether new contacts are verified every night.
    pub autofloss: bool,
    /// Whether all contacts are verified again, a share every night.
    pub decay_protection: bool,
    /// Period in which all contacts are verified again, in days.
    pub decay_days: i64,
    /// Whether new contacts are verified as they arrive.
    pub instafloss: bool,
    /// Action; `None` until the customer chooses one, and then nothing is done.
    pub action: Option<ConnectionAction>,
    /// Open gates.
    pub checks: GateSet,
    /// Template of the tag for `update_tags`: [`tag_text`].
    pub tag: String,
    /// Field for `update_custom_fields`.
    pub field: String,
    /// Whether misspelled addresses are corrected at the platform.
    pub fix_typos: bool,
    /// IDs of the lists whose contacts are verified; if empty, all lists.
    pub lists: Vec<String>,
}

impl Default for ConnectionSettings {
    /// Returns the settings of a new connection, which verifies on request and changes no contact.
    fn default() -> Self {
        Self {
            aggressiveness: Aggressiveness::Normal,
            manual_mode: false,
            unconfirmed_contacts: UNCONFIRMED_CONTACTS,
            unconfirmed_percent: UNCONFIRMED_PERCENT,
            autofloss: false,
            decay_protection: false,
            decay_days: DECAY_DAYS,
            instafloss: false,
            action: None,
            checks: GateSet::NORMAL,
            tag: format!("probity-{STATUS}"),
            field: "probity".to_owned(),
            fix_typos: false,
            lists: Vec::new(),
        }
    }
}

impl ConnectionSettings {
    /// Applies a preset, or marks the current gates as the customer's own.
    pub fn set_aggressiveness(&mut self, to: Aggressiveness) {
        self.aggressiveness = to;
        self.checks = to.gates().unwrap_or(self.checks);
    }

    /// Opens or closes a gate. Gates that differ from their preset become the customer's own.
    pub fn set_check(&mut self, gate: IgnorableReason, is_open: bool) {
        self.checks = self.checks.with(gate, is_open);
        if self.aggressiveness.gates().is_some_and(|preset| preset != self.checks) {
            self.aggressiveness = Aggressiveness::Custom;
        }
    }

    /// Returns the action on a contact with this reason; `None` if there is none.
    pub fn action_for(&self, reason: Reason) -> Option<ConnectionAction> {
        self.chosen_action().filter(|_| self.checks.would_act(reason))
    }

    /// Returns the action, unless nothing is to be done.
    fn chosen_action(&self) -> Option<ConnectionAction> {
        self.action.filter(|action| *action != ConnectionAction::DoNothing)
    }

    /// Returns whether these settings allow an action on a contact that the confirmed settings did not. Any other action counts,
    /// and so does another field, whose value is overwritten. Without corrections, the action applies to misspelled addresses.
    pub fn ask_for_more_than(&self, confirmed: &Self) -> bool {
        let Some(action) = self.chosen_action() else { return false };
        Some(action) != confirmed.chosen_action()
            || (action == ConnectionAction::UpdateCustomFields && self.field != confirmed.field)
            || self.fix_typos != confirmed.fix_typos
            || self.checks.opens_more_than(confirmed.checks)
            || self.has_more_lists_than(confirmed)
            || self.unconfirmed_contacts > confirmed.unconfirmed_contacts
            || self.unconfirmed_percent > confirmed.unconfirmed_percent
    }

    /// Applies the lower limits of other settings.
    pub fn lower_limits(&mut self, others: &Self) {
        self.unconfirmed_contacts = self.unconfirmed_contacts.min(others.unconfirmed_contacts);
        self.unconfirmed_percent = self.unconfirmed_percent.min(others.unconfirmed_percent);
    }

    /// Returns how many contacts runs may change without confirmation.
    pub fn unconfirmed_limit(&self) -> UnconfirmedLimit {
        UnconfirmedLimit { contacts: self.unconfirmed_contacts, percent: self.unconfirmed_percent }
    }

    /// Returns whether contacts of further lists are verified.
    fn has_more_lists_than(&self, other: &Self) -> bool {
        let is_of_other = |list: &String| other.lists.contains(list);
        !other.lists.is_empty() && (self.lists.is_empty() || !self.lists.iter().all(is_of_other))
    }
}

/// Reason why a tag template is invalid. The messages are worded to follow a field name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagFault {
    /// A brace outside a placeholder.
    #[error("may have the placeholders {STATUS} and {REASON}, and no other braces")]
    Brace,
}

/// Returns the tag of a verdict: the template with the names of its status and reason in place of `{status}` and
/// `{reason}`.
pub fn tag_text(template: &str, status: Status, reason: Reason) -> Result<String, TagFault> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (name, placeholder) = match () {
            () if rest.starts_with(STATUS) => (status.as_str(), STATUS),
            () if rest.starts_with(REASON) => (reason.as_str(), REASON),
            () => return Err(TagFault::Brace),
        };
        text.push_str(name);
        rest = &rest[placeholder.len()..];
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overrides::IgnorableReason;

    fn gate(name: &str) -> IgnorableReason {
        IgnorableReason::from_name(name).unwrap()
    }

    #[test]
    fn settings_come_back_as_they_were_stored() {
        let action = Some(ConnectionAction::UpdateTags);
        let mut settings = ConnectionSettings { action, ..ConnectionSettings::default() };
        settings.set_check(gate("complainers"), false);
        settings.lists = vec!["7".to_owned()];
        let stored = serde_json::to_value(&settings).unwrap();
        assert_eq!(stored["action"], "update_tags");
        assert_eq!(stored["aggressiveness"], "custom");
        assert_eq!(stored["checks"], serde_json::json!(["nonexistent", "deactivated", "bounced"]));
        assert_eq!(serde_json::from_value::<ConnectionSettings>(stored).unwrap(), settings);
        let usual = serde_json::to_value(ConnectionSettings::default()).unwrap();
        assert!(usual["action"].is_null());
        assert_eq!(serde_json::from_value::<ConnectionSettings>(usual).unwrap(), ConnectionSettings::default());
    }

    #[test]
    fn gates_and_presets_agree() {
        let mut settings = ConnectionSettings::default();
        settings.set_check(gate("nonexistent"), true);
        assert_eq!(settings.aggressiveness, Aggressiveness::Normal, "nothing differs from the preset");
        settings.set_check(gate("disposable"), true);
        assert_eq!(settings.aggressiveness, Aggressiveness::Custom);
        let own = settings.checks;
        settings.set_aggressiveness(Aggressiveness::Custom);
        assert_eq!(settings.checks, own);
        settings.set_aggressiveness(Aggressiveness::Aggressive);
        assert_eq!(settings.checks, GateSet::AGGRESSIVE);
    }

    #[test]
    fn nothing_is_done_until_the_customer_chooses() {
        let mut settings = ConnectionSettings::default();
        assert_eq!(settings.action_for(Reason::Invalid), None);
        settings.action = Some(ConnectionAction::DoNothing);
        assert_eq!(settings.action_for(Reason::Invalid), None);
        settings.action = Some(ConnectionAction::Delete);
        assert_eq!(settings.action_for(Reason::Invalid), Some(ConnectionAction::Delete));
        assert_eq!(settings.action_for(Reason::Disposable), None);
        assert_eq!(settings.action_for(Reason::Valid), None);
    }

    /// Settings that tag contacts of two lists.
    fn tagging() -> ConnectionSettings {
        let lists = vec!["a".to_owned(), "b".to_owned()];
        ConnectionSettings { action: Some(ConnectionAction::UpdateTags), lists, ..ConnectionSettings::default() }
    }

    fn with(change: impl Fn(&mut ConnectionSettings)) -> ConnectionSettings {
        let mut changed = tagging();
        change(&mut changed);
        changed
    }

    fn acting(action: Option<ConnectionAction>) -> ConnectionSettings {
        with(|one| one.action = action)
    }

    fn in_lists(ids: &[&str]) -> ConnectionSettings {
        with(|one| one.lists = ids.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn settings_that_may_do_more_than_was_confirmed_ask_for_more() {
        let field = acting(Some(ConnectionAction::UpdateCustomFields));
        let cases = [
            (acting(Some(ConnectionAction::Delete)), tagging()),
            (acting(Some(ConnectionAction::Unsubscribe)), tagging()),
            (tagging(), acting(Some(ConnectionAction::Delete))),
            (tagging(), acting(Some(ConnectionAction::DoNothing))),
            (tagging(), acting(None)),
            (with(|one| one.set_check(gate("unverified"), true)), tagging()),
            (with(|one| one.set_aggressiveness(Aggressiveness::Aggressive)), tagging()),
            (with(|one| one.fix_typos = true), tagging()),
            (tagging(), with(|one| one.fix_typos = true)),
            (in_lists(&["a", "b", "c"]), tagging()),
            (in_lists(&["c"]), tagging()),
            (in_lists(&[]), tagging()),
            (ConnectionSettings { field: "COUNTRY".to_owned(), ..field.clone() }, field),
        ];
        for (settings, confirmed) in &cases {
            assert!(settings.ask_for_more_than(confirmed), "{settings:?} after {confirmed:?}");
        }
    }

    #[test]
    fn settings_that_do_nothing_else_than_was_confirmed_do_not_ask_for_more() {
        let idle = acting(Some(ConnectionAction::DoNothing));
        let mut open = idle.clone();
        open.set_check(gate("unverified"), true);
        let cases = [
            (tagging(), tagging()),
            (idle.clone(), tagging()),
            (acting(None), tagging()),
            (open, idle),
            (with(|one| one.set_check(gate("bounced"), false)), tagging()),
            (tagging(), with(|one| one.set_aggressiveness(Aggressiveness::Aggressive))),
            (in_lists(&["b"]), tagging()),
            (tagging(), in_lists(&[])),
            (with(|one| one.field = "COUNTRY".to_owned()), tagging()),
            (with(|one| one.tag = "bad".to_owned()), tagging()),
            (with(|one| (one.manual_mode, one.autofloss, one.instafloss) = (true, true, true)), tagging()),
        ];
        for (settings, confirmed) in &cases {
            assert!(!settings.ask_for_more_than(confirmed), "{settings:?} after {confirmed:?}");
        }
    }

    #[test]
    fn tags_name_the_verdict() {
        let tag = |template| tag_text(template, Status::Risky, Reason::Disposable);
        assert_eq!(tag("probity-{status}").unwrap(), "probity-risky");
        assert_eq!(tag("{reason}: {status}!").unwrap(), "disposable: risky!");
        assert_eq!(tag("cleaned").unwrap(), "cleaned");
        for wrong in ["{verdict}", "{status", "a}", "{{status}}"] {
            assert_eq!(tag(wrong), Err(TagFault::Brace), "{wrong}");
        }
        assert!(tag(&ConnectionSettings::default().tag).is_ok());
    }

    #[test]
    fn actions_have_the_names_of_the_contract() {
        for action in ConnectionAction::ALL {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        assert!(ConnectionAction::Delete.is_destructive() && !ConnectionAction::UpdateTags.is_destructive());
    }
}
