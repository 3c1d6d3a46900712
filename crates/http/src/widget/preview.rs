//! `GET /app/widget/preview`: what the dashboard's preview shows.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_backend::widget::answer::WidgetAnswer;
use probity_contract::published::verify::AddressQuery;
use probity_service::app::App;
use probity_service::widget::checks::preview_check;

use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::asking::Asking;

pub(crate) async fn preview(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    Asking(query): Asking<AddressQuery>,
) -> Result<Json<WidgetAnswer>, Refusal> {
    Ok(Json(preview_check(&app, &caller, query).await))
}
