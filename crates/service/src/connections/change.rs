//! Changes of a connection's settings: validated against the platform and the plan, then applied and recorded per field.

use probity_account::connections::{
    Aggressiveness, ConnectionAction, ConnectionSettings, DECAY_DAYS, DECAY_DAYS_MAX, DECAY_DAYS_MIN, TAG_CHARS_MAX,
    UNCONFIRMED_CONTACTS_MAX, tag_text,
};
use probity_account::name;
use probity_account::overrides::IgnorableReason;
use probity_account::plans::Entitlement;
use probity_connectors::{ActionKind, ConnectorFile};
use probity_contract::error::ApiError;
use probity_contract::merge_patch::{Nested, PatchField};
use probity_contract::published::connections::{ChecksPatch, ConnectionPatch, LISTS_MAX, is_list_id};
use probity_contract::published::whole::Whole;
use probity_mail::verdict::{Reason, Status};

use super::integrations::{kind_of, possible_actions};

/// Validated patch of settings.
pub(super) struct ConnectionSettingsChange {
    aggressiveness: Option<Aggressiveness>,
    checks: Vec<(IgnorableReason, bool)>,
    manual_mode: Option<bool>,
    unconfirmed_contacts: Option<i64>,
    unconfirmed_percent: Option<i64>,
    autofloss: Option<bool>,
    decay_protection: Option<bool>,
    decay_days: Option<i64>,
    instafloss: Option<bool>,
    action: PatchField<ConnectionAction>,
    tag: Option<String>,
    field: Option<String>,
    fix_typos: Option<bool>,
    lists: Option<Vec<String>>,
}

impl ConnectionSettingsChange {
    /// Returns the settings of a new connection.
    pub(super) fn initial(file: &ConnectorFile) -> ConnectionSettings {
        ConnectionSettings { field: file.field.usual.clone(), ..ConnectionSettings::default() }
    }

    /// Validates a patch of existing settings against the platform's capabilities.
    pub(super) fn of(
        patch: ConnectionPatch,
        file: &ConnectorFile,
        before: &ConnectionSettings,
    ) -> Result<Self, ApiError> {
        let fix_typos = patch.fix_typos;
        if fix_typos == Some(true) && file.actions.rule(ActionKind::Fix).is_none() {
            let provider = &file.provider.name;
            return Err(ApiError::invalid(
                "fix_typos",
                format_args!("must be false: {provider} can't correct addresses"),
            ));
        }
        Ok(Self {
            aggressiveness: patch.aggressiveness,
            checks: patch.checks.map(|Nested(checks)| checks).map(ChecksPatch::changes).into_iter().flatten().collect(),
            manual_mode: patch.manual_mode,
            autofloss: patch.autofloss,
            decay_protection: patch.decay_protection,
            unconfirmed_contacts: whole(
                "unconfirmed_contacts",
                patch.unconfirmed_contacts,
                0,
                UNCONFIRMED_CONTACTS_MAX,
            )?,
            unconfirmed_percent: whole("unconfirmed_percent", patch.unconfirmed_percent, 0, 100)?,
            decay_days: whole("decay_days", patch.decay_days, DECAY_DAYS_MIN, DECAY_DAYS_MAX)?,
            instafloss: patch.instafloss,
            action: action(patch.action, file)?,
            tag: patch.tag.as_deref().map(tag).transpose()?,
            field: patch.field.map(|name| field(name, &before.field, file)).transpose()?,
            fix_typos,
            lists: patch.lists.map(|ids| lists(ids, file)).transpose()?,
        })
    }

    pub(super) fn apply(&self, to: &mut ConnectionSettings) {
        if let Some(aggressiveness) = self.aggressiveness {
            to.set_aggressiveness(aggressiveness);
        }
        for (gate, is_open) in &self.checks {
            to.set_check(*gate, *is_open);
        }
        to.manual_mode = self.manual_mode.unwrap_or(to.manual_mode);
        to.unconfirmed_contacts = self.unconfirmed_contacts.unwrap_or(to.unconfirmed_contacts);
        to.unconfirmed_percent = self.unconfirmed_percent.unwrap_or(to.unconfirmed_percent);
        to.autofloss = self.autofloss.unwrap_or(to.autofloss);
        to.decay_protection = self.decay_protection.unwrap_or(to.decay_protection);
        to.decay_days = self.decay_days.unwrap_or(to.decay_days);
        to.instafloss = self.instafloss.unwrap_or(to.instafloss);
        to.action = self.action.over(to.action);
        to.fix_typos = self.fix_typos.unwrap_or(to.fix_typos);
        for (value, new) in [(&mut to.tag, &self.tag), (&mut to.field, &self.field)] {
            value.clone_from(new.as_ref().unwrap_or(&value.clone()));
        }
        if let Some(lists) = &self.lists {
            to.lists.clone_from(lists);
        }
    }

    /// Returns the entitlements that the plan must include for this change. Existing settings stay allowed.
    pub(super) fn newly_needed(&self, before: &ConnectionSettings) -> Vec<Entitlement> {
        let mut after = before.clone();
        self.apply(&mut after);
        let (before, after) = (needed(before), needed(&after));
        after.into_iter().filter(|one| !before.contains(one)).collect()
    }
}

fn needed(settings: &ConnectionSettings) -> Vec<Entitlement> {
    let table = [
        (settings.autofloss, Entitlement::Autofloss),
        (settings.decay_protection, Entitlement::DecayBasic),
        (settings.decay_protection && settings.decay_days != DECAY_DAYS, Entitlement::DecayCustom),
        (settings.instafloss, Entitlement::Instafloss),
        (settings.action == Some(ConnectionAction::UpdateTags), Entitlement::UpdateTags),
        (settings.fix_typos, Entitlement::TypoFixer),
    ];
    table.into_iter().filter_map(|(is_set, one)| is_set.then_some(one)).collect()
}

fn action(asked: PatchField<ConnectionAction>, file: &ConnectorFile) -> Result<PatchField<ConnectionAction>, ApiError> {
    asked.try_map(|action| {
        if kind_of(action).is_none_or(|kind| file.actions.rule(kind).is_some()) {
            return Ok(action);
        }
        let names: Vec<_> = possible_actions(file).map(ConnectionAction::as_str).collect();
        let (provider, names) = (&file.provider.name, names.join(", "));
        let what = format!("must be one of {names}: {provider} does not support {action}");
        Err(ApiError::invalid("action", what))
    })
}

fn whole(name: &'static str, given: Option<Whole>, least: i64, most: i64) -> Result<Option<i64>, ApiError> {
    let bound = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    given.map(|number| number.within(name, bound(least), bound(most), "")).transpose()
}

fn tag(text: &str) -> Result<String, ApiError> {
    let tag = name::name(text).map_err(|fault| ApiError::invalid("tag", fault.to_string()))?;
    // Counted as sent, with white space, as in the contract.
    if text.chars().count() > TAG_CHARS_MAX {
        return Err(ApiError::invalid("tag", format_args!("may have at most {TAG_CHARS_MAX} characters")));
    }
    // Any verdict shows whether the template is valid.
    tag_text(tag, Status::Risky, Reason::Disposable).map_err(|fault| ApiError::invalid("tag", fault.to_string()))?;
    Ok(tag.to_owned())
}

/// Validates the name of a field. An existing choice is accepted, even of a field that only the platform should write.
fn field(name: String, before: &str, file: &ConnectorFile) -> Result<String, ApiError> {
    if name != before {
        file.field.check(&name).map_err(|what| ApiError::invalid("field", what))?;
    }
    Ok(name)
}

fn lists(mut ids: Vec<String>, file: &ConnectorFile) -> Result<Vec<String>, ApiError> {
    if !ids.is_empty() && !file.can_choose_lists() {
        let provider = &file.provider.name;
        return Err(ApiError::invalid(
            "lists",
            format_args!("must be empty: all contacts of {provider} are read together"),
        ));
    }
    if ids.len() > LISTS_MAX {
        return Err(ApiError::invalid("lists", format_args!("may have at most {LISTS_MAX} IDs")));
    }
    if let Some(at) = ids.iter().position(|id| !is_list_id(id)) {
        return Err(ApiError::invalid(&format!("lists[{at}]"), "must have 1 to 200 characters"));
    }
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use probity_connectors::Catalog;

    #[test]
    fn lists_are_chosen_only_if_their_contacts_can_be_read_alone() {
        let choose = |slug: &str| lists(vec!["7".to_owned()], Catalog::embedded().get(slug).unwrap());
        assert_eq!(choose("mailman").unwrap(), ["7"]);
        let refused = choose("ghost").unwrap_err();
        assert_eq!(refused.message(), "lists: must be empty: all contacts of Ghost are read together");
    }

    #[test]
    fn a_verdict_is_not_written_into_a_field_of_the_platform() {
        let choose = |slug: &str, name: &str| field(name.to_owned(), "probity", Catalog::embedded().get(slug).unwrap());
        for (slug, own, other) in [
            ("brevo", "FIRSTNAME", "PROBITY"),
            ("mailchimp", "FNAME", "CHECK"),
            ("hubspot", "lifecyclestage", "probity"),
            ("hubspot", "hs_lead_status", "probity"),
            ("mautic", "firstname", "probity"),
            ("customer_io", "unsubscribed", "probity"),
            ("mailerlite", "Company", "Verdict"),
        ] {
            assert!(choose(slug, other).is_ok(), "{slug}: {other}");
            let refused = choose(slug, own).unwrap_err();
            assert!(
                refused.message().starts_with("field: must not be one of the platform's own fields"),
                "{slug}: {own}"
            );
        }
    }

    #[test]
    fn a_chosen_field_of_the_platform_stays_until_it_is_changed() {
        let file = Catalog::embedded().get("brevo").unwrap();
        let change = |name: &str| field(name.to_owned(), "FIRSTNAME", file);
        assert_eq!(change("FIRSTNAME").unwrap(), "FIRSTNAME");
        assert!(change("PROBITY").is_ok() && change("LASTNAME").is_err());
    }
}
