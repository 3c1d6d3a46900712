//! `POST /app/settings/trial`: what other settings would have changed in the organization's last list.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_contract::published::accounts::settings::SettingsPatch;
use probity_service::app::App;
use probity_service::lists::trial;
use probity_service::lists::trial::SettingsTrial;

use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::body::JsonBody;

/// Tries settings on the last list. The body is that of a change of the settings.
pub(crate) async fn try_settings(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    JsonBody(patch): JsonBody<SettingsPatch>,
) -> Result<Json<SettingsTrial>, Refusal> {
    Ok(Json(trial::try_settings(&app, &caller, patch).await?))
}
