//! `/v1/organization/settings`: what an organization overrides in its batches, how long it keeps them and its log of deliveries,
//! how
//! fast its keys are.
//!
//! A change is a JSON merge patch (RFC 7396): what is left out stays, `null` clears, a list replaces the one before. It is all
//! or nothing, it is written down for the timeline field by field, and it counts for every result from then on; what has come
//! out before stays as it was. Settings belong to the organization: test keys see and change the same.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_account::overrides::{Gate, IGNORABLE, Wishes};
use probity_mail::time::DAY_MS;
use probity_mail::verdict::Status;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::merge_patch::Said;
use probity_service::published::settings::{
    GateName, RETENTION_DAYS_MAX, SettingsPatch, SettingsShown, StatusName, WORDS_MAX, Word,
};
use probity_service::published::whole::Whole;
use probity_store::events::{self, What};
use probity_store::organization::Org;
use probity_store::settings::{self, Settings};
use probity_store::{ScopedFutureExt as _, organization};
use serde_json::Value;

use crate::auth;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;

/// Get the settings
///
/// Returns the settings for list verdicts, for the retention of jobs and deliveries, and for the organization's own rate
/// limit.
#[utoipa::path(
    get,
    path = "/v1/organization/settings",
    tag = "Account",
    security(("bearer" = ["read:account"])),
    responses((status = 200, description = "The settings.", body = SettingsShown))
)]
pub(crate) async fn get_settings(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<SettingsShown>, Refusal> {
    let standing = settings::read(&mut app.store.read().await?, caller.org()).await?;
    Ok(Json(standing.into()))
}

/// Update the settings
///
/// Takes a JSON merge patch: omitted fields stay, null clears a field, and a list replaces the whole list. Changes apply
/// to all later results, including those of running jobs; existing results stay. Settings change neither prices nor the
/// verdicts of `GET /v1/verify`.
#[utoipa::path(
    patch,
    path = "/v1/organization/settings",
    tag = "Account",
    request_body(content = SettingsPatch, description = "Fields to change."),
    security(("bearer" = ["write:account"])),
    responses((status = 200, description = "The updated settings.", body = SettingsShown))
)]
pub(crate) async fn patch_settings(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(patch): JsonBody<SettingsPatch>,
) -> Result<Json<SettingsShown>, Refusal> {
    let org = organization::by_no(&mut app.store.read().await?, caller.org()).await?;
    let change = Change::of(patch, &app, &org)?;
    let (now, actor) = (app.now(), Some(caller.actor()));
    let changed = app.store.write(|tx| {
        async {
            let before = settings::lock(tx, org.no).await?;
            let after = change.applied_to(&before);
            if after != before {
                settings::write(tx, org.no, &after, now).await?;
                events::add(tx, org.no, now, actor, &differences(&before, &after)).await?;
            }
            Ok(after)
        }
        .scope_boxed()
    });
    let after = changed.await?;
    // Its keys are remembered together with their limits.
    app.keyring.forget();
    Ok(Json(after.into()))
}

/// A patch that makes sense. Lists that are none stay as they are.
pub(crate) struct Change {
    ignored_reasons: Option<Vec<Gate>>,
    ignored_statuses: Option<Vec<Status>>,
    banned_words: Option<Vec<String>>,
    role_words: Option<Vec<String>>,
    retention_days: Said<i64>,
    delivery_retention_days: Said<i64>,
    rate_limit_per_minute: Said<i64>,
}

impl Change {
    /// Of a body; refused where it asks for what may not be.
    pub(crate) fn of(patch: SettingsPatch, app: &App, org: &Org) -> Result<Self, Refusal> {
        let fastest = auth::operators_limit(app, org.rate_limit_per_minute, &org.plan);
        // In the contract's order, each once.
        let gates = |list: Vec<GateName>| {
            Gate::ALL.into_iter().filter(|gate| list.iter().any(|named| named.0 == *gate)).collect()
        };
        let statuses = |list: Vec<StatusName>| {
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
        })
    }

    /// The settings after it.
    pub(crate) fn applied_to(&self, before: &Settings) -> Settings {
        let Settings { overrides, retention_days, delivery_retention_days, rate_limit_per_minute } = before;
        Settings {
            overrides: Wishes {
                ignored_reasons: self.ignored_reasons.as_ref().unwrap_or(&overrides.ignored_reasons).clone(),
                ignored_statuses: self.ignored_statuses.as_ref().unwrap_or(&overrides.ignored_statuses).clone(),
                banned_words: self.banned_words.as_ref().unwrap_or(&overrides.banned_words).clone(),
                role_words: self.role_words.as_ref().unwrap_or(&overrides.role_words).clone(),
            },
            retention_days: self.retention_days.over(*retention_days),
            delivery_retention_days: self.delivery_retention_days.over(*delivery_retention_days),
            rate_limit_per_minute: self.rate_limit_per_minute.over(*rate_limit_per_minute),
        }
    }
}

/// For how many days the installation keeps deliveries: the most that can be wished for.
fn deliveries_days(app: &App) -> u32 {
    u32::try_from(app.config.deliveries_keep_ms / DAY_MS).unwrap_or(u32::MAX).max(1)
}

/// Each word once, in the order in which they came.
fn words(field: &str, list: Vec<Word>) -> Result<Vec<String>, Refusal> {
    if list.len() > WORDS_MAX {
        return Err(ApiError::invalid(field, format_args!("may have at most {WORDS_MAX} words")).into());
    }
    let mut seen = HashSet::new();
    Ok(list.into_iter().map(|Word(word)| word).filter(|word| seen.insert(word.clone())).collect())
}

fn bounded(field: &str, number: Said<Whole>, most: u32) -> Result<Said<i64>, Refusal> {
    match number {
        Said::Nothing => Ok(Said::Nothing),
        Said::Cleared => Ok(Said::Cleared),
        Said::Given(number) => Ok(number.within(field, 1, most, ", or null").map(Said::Given)?),
    }
}

/// Every field that has another value than before, as an event of its own.
fn differences(before: &Settings, after: &Settings) -> Vec<What> {
    let fields = |settings: &Settings| match serde_json::to_value(SettingsShown::from(settings.clone())) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("settings are shown as an object"),
    };
    let (before, mut after) = (fields(before), fields(after));
    let change = |(name, before): (String, Value)| {
        let after = after.remove(&name).unwrap_or_default();
        let setting = format!("organization.{name}");
        (before != after).then_some(What::SettingsChange { setting, before, after, connection: None })
    };
    before.into_iter().filter_map(change).collect()
}
