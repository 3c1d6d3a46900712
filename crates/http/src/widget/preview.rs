//! `GET /app/widget/preview`: what the dashboard's preview shows.

use axum::Json;
use probity_backend::widget::answer::WidgetAnswer;
use probity_contract::published::verify::AddressQuery;
use probity_service::widget::checks::preview_check;

use crate::handler::{Answer, Asking, Call};

pub(crate) async fn preview(Call(app, caller): Call, Asking(query): Asking<AddressQuery>) -> Answer<WidgetAnswer> {
    Ok(Json(preview_check(&app, &caller, query).await))
}
