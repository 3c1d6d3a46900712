//! `GET /app/widget/preview`: what the dashboard's preview shows. The sandbox answers: it asks no mail server and spends nothing,
//! so it needs neither key nor nonce, and every outcome can be tried.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_engine::Live;
use probity_service::app::App;
use probity_service::widget::answer::Answer;

use crate::api::verify;
use crate::asking::Asking;
use crate::error::Refusal;
use crate::person::guard::Person;
use crate::widget::checks::PATIENCE;

pub(crate) async fn preview(
    State(app): State<Arc<App>>,
    person: Person,
    Asking(query): Asking,
) -> Result<Json<Answer>, Refusal> {
    let email = verify::email(&query)?;
    let timeout_ms = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
    let live = Live { timeout_ms, scope: person.signed_in.session.org.0.unsigned_abs() };
    Ok(Json(Answer::of(&app.sandbox.verify(email.trim_ascii(), live).await, None)))
}
