//! `/v1/organization/settings`. A change is a JSON merge patch (RFC 7396).

use probity_contract::published::accounts::settings::{SettingsPatch, SettingsShown};
use probity_service::accounts::settings;

use crate::handler::{Answer, Call, JsonBody, answer};

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
pub(crate) async fn get_settings(Call(app, caller): Call) -> Answer<SettingsShown> {
    answer(settings::get_settings(&app, &caller).await)
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
    Call(app, caller): Call,
    JsonBody(patch): JsonBody<SettingsPatch>,
) -> Answer<SettingsShown> {
    answer(settings::update_settings(&app, &caller, patch).await)
}
