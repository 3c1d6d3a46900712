//! `GET /app/jobs/{id}/progress`: how far a list is. Events carry the same.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::lists::progress::Progress;

use crate::api::batch::Named;
use crate::auth::Caller;
use crate::error::Refusal;

/// Where a job stands, once: for browsers that get no events.
pub(crate) async fn get_progress(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named,
) -> Result<Json<Progress>, Refusal> {
    Ok(Json(Progress::of(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?))
}
