//! `POST /app/settings/trial`: what other settings would have changed in the organization's last list.

use axum::Json;
use probity_contract::published::accounts::settings::SettingsPatch;
use probity_service::lists::trial;
use probity_service::lists::trial::SettingsTrial;

use crate::callers::caller::Call;
use crate::error::Answer;
use crate::request::body::JsonBody;

/// Tries settings on the last list. The body is that of a change of the settings.
pub(crate) async fn try_settings(
    Call(app, caller): Call,
    JsonBody(patch): JsonBody<SettingsPatch>,
) -> Answer<SettingsTrial> {
    Ok(Json(trial::try_settings(&app, &caller, patch).await?))
}
