//! Settings of an organization: verdicts of lists, retention of jobs and deliveries, and the rate limit of its keys.
//!
//! A change is applied whole or not at all, and each changed field is an event of the timeline. It affects later results
//! only. Settings belong to the organization, so test keys see and change the same ones.

use std::collections::HashSet;

use probity_account::connections::AccountZone;
use probity_account::overrides::{IGNORABLE, IgnorableReason, Wishes};
use probity_contract::error::ApiError;
use probity_contract::merge_patch::PatchField;
use probity_contract::published::accounts::settings::{
    GateName, IgnorableStatus, RETENTION_DAYS_MAX, SettingsPatch, SettingsShown, WORDS_MAX, Word,
};
use probity_mail::time::DAY_MS;
use probity_mail::verdict::Status;
use probity_store::accounts::organization;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::settings::{self, OrgSettings};
use probity_store::work;

use crate::app::App;
use crate::callers::admission;
use crate::callers::caller::Caller;
use crate::callers::given::{bounded, changed_settings};
use crate::connections::follow_zone;

/// Returns the settings of the caller's organization.
pub async fn get_settings(app: &App, caller: &Caller) -> Result<SettingsShown, ApiError> {
    let standing = settings::read(&mut app.store.read().await?, caller.org()).await?;
    Ok(standing.into())
}

/// Changes the settings of the caller's organization.
pub async fn update_settings(app: &App, caller: &Caller, patch: SettingsPatch) -> Result<SettingsShown, ApiError> {
    let org = organization::by_no(&mut app.store.read().await?, caller.org()).await?;
    let update = SettingsUpdate::of(patch, app, &org)?;
    let now = app.now();
    let changed = app.store.write(work!(|tx| {
        let before = settings::lock(tx, org.no).await?;
        let after = update.applied_to(&before);
        if after != before {
            settings::write(tx, org.no, &after, now).await?;
            if after.time_zone != before.time_zone {
                follow_zone(tx, org.no, after.time_zone.as_deref(), now).await?;
            }
            let shown = |settings: &OrgSettings| SettingsShown::from(settings.clone());
            caller.note(tx, now, &changed_settings("organization", &shown(&before), &shown(&after), None)).await?;
        }
        Ok(after)
    }));
    let after = changed.await?;
    // The keyring caches keys with their limits.
    app.keyring.forget();
    Ok(after.into())
}

/// Validated patch of settings.
pub struct SettingsUpdate {
    ignored_reasons: Option<Vec<IgnorableReason>>,
    ignored_statuses: Option<Vec<Status>>,
    banned_words: Option<Vec<String>>,
    role_words: Option<Vec<String>>,
    retention_days: PatchField<i64>,
    delivery_retention_days: PatchField<i64>,
    rate_limit_per_minute: PatchField<i64>,
    time_zone: PatchField<String>,
}

impl SettingsUpdate {
    /// Validates a patch against the limits of the installation and of the operator.
    pub fn of(patch: SettingsPatch, app: &App, org: &OrgRecord) -> Result<Self, ApiError> {
        let fastest = admission::operators_limit(app, org.rate_limit_per_minute, &org.plan);
        // In the contract's order, without duplicates.
        let gates = |list: Vec<GateName>| {
            IgnorableReason::ALL.into_iter().filter(|gate| list.iter().any(|named| named.0 == *gate)).collect()
        };
        let statuses = |list: Vec<IgnorableStatus>| {
            IGNORABLE.into_iter().filter(|status| list.iter().any(|named| named.0 == *status)).collect()
        };
        Ok(Self {
            ignored_reasons: patch.ignored_reasons.list().map(gates),
            ignored_statuses: patch.ignored_statuses.list().map(statuses),
            banned_words: patch.banned_words.list().map(|list| words("banned_words", list)).transpose()?,
            role_words: patch.role_words.list().map(|list| words("role_words", list)).transpose()?,
            retention_days: bounded("retention_days", patch.retention_days, RETENTION_DAYS_MAX)?,
            delivery_retention_days: bounded(
                "delivery_retention_days",
                patch.delivery_retention_days,
                deliveries_days(app),
            )?,
            rate_limit_per_minute: bounded("rate_limit_per_minute", patch.rate_limit_per_minute, fastest)?,
            time_zone: zone(patch.time_zone)?,
        })
    }

    /// Returns the settings after the change.
    pub fn applied_to(&self, before: &OrgSettings) -> OrgSettings {
        let OrgSettings { overrides, retention_days, delivery_retention_days, rate_limit_per_minute, time_zone } =
            before;
        OrgSettings {
            overrides: Wishes {
                ignored_reasons: self.ignored_reasons.as_ref().unwrap_or(&overrides.ignored_reasons).clone(),
                ignored_statuses: self.ignored_statuses.as_ref().unwrap_or(&overrides.ignored_statuses).clone(),
                banned_words: self.banned_words.as_ref().unwrap_or(&overrides.banned_words).clone(),
                role_words: self.role_words.as_ref().unwrap_or(&overrides.role_words).clone(),
            },
            retention_days: self.retention_days.over(*retention_days),
            delivery_retention_days: self.delivery_retention_days.over(*delivery_retention_days),
            rate_limit_per_minute: self.rate_limit_per_minute.over(*rate_limit_per_minute),
            time_zone: self.time_zone.clone().over(time_zone.clone()),
        }
    }
}

/// Returns the longest retention of deliveries that an organization can set, in days: the installation's own.
fn deliveries_days(app: &App) -> u32 {
    u32::try_from(app.config.deliveries_keep_ms / DAY_MS).unwrap_or(u32::MAX).max(1)
}

/// Returns the words without duplicates, in the list's order.
fn words(field: &str, list: Vec<Word>) -> Result<Vec<String>, ApiError> {
    if list.len() > WORDS_MAX {
        return Err(ApiError::invalid(field, format_args!("may have at most {WORDS_MAX} words")));
    }
    let mut seen = HashSet::new();
    Ok(list.into_iter().map(|Word(word)| word).filter(|word| seen.insert(word.clone())).collect())
}

/// Returns the name in the spelling of the IANA database.
fn zone(name: PatchField<String>) -> Result<PatchField<String>, ApiError> {
    let what = "must be a name of the IANA database, such as `Europe/Berlin`, or null";
    name.try_map(|name| match AccountZone::named(&name) {
        Some(zone) => Ok(zone.name().to_owned()),
        None => Err(ApiError::invalid("time_zone", what)),
    })
}
