//! Validation of values that several acts take, and changes that acts report.

use std::borrow::Cow;

use probity_account::id::ConnId;
use probity_account::name::name;
use probity_contract::error::ApiError;
use probity_contract::merge_patch::PatchField;
use probity_contract::published::whole::Whole;
use probity_store::StoreError;
use probity_store::activity::events::AccountChange;
use serde::Serialize;
use serde_json::{Map, Value};

/// Returns the name in the field `name`, without outer blanks.
pub(crate) fn checked_name(text: &str) -> Result<String, ApiError> {
    name(text).map(str::to_owned).map_err(|fault| ApiError::invalid("name", fault))
}

/// Returns an optional number that is at least 1.
pub(crate) fn above_zero(field: &str, number: Option<Whole>) -> Result<Option<i64>, ApiError> {
    number.map(|number| number.within(field, 1, u32::MAX, "")).transpose()
}

/// Returns a number that is at least 1 and can be cleared.
pub(crate) fn bounded(field: &str, number: PatchField<Whole>, most: u32) -> Result<PatchField<i64>, ApiError> {
    number.try_map(|number| number.within(field, 1, most, ", or null"))
}

/// Returns the error of a failed act, with a message for a conflict with other acts.
pub(crate) fn in_conflict(error: StoreError, message: impl Into<Cow<'static, str>>) -> ApiError {
    if let StoreError::Conflict = error { ApiError::conflict(message) } else { error.into() }
}

/// Returns a timeline change for each setting that differs. `of` names the owner of the settings.
pub(crate) fn changed_settings<T: Serialize>(
    of: &str,
    before: &T,
    after: &T,
    connection: Option<ConnId>,
) -> Vec<AccountChange> {
    let (before, mut after) = (fields(before), fields(after));
    let change = |(name, before): (String, Value)| {
        let after = after.remove(&name).unwrap_or_default();
        let setting = format!("{of}.{name}");
        (before != after).then_some(AccountChange::SettingsChange { setting, before, after, connection })
    };
    before.into_iter().filter_map(change).collect()
}

fn fields(settings: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("settings are an object"),
    }
}
