//! `GET /app/reports/providers`: how many addresses of which mail provider were verified, and of how many nothing was found out.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::lists::progress::provider_name;
use probity_store::reports::{self, OfProvider};
use serde::Serialize;

use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;

/// Days that are looked back: at least, usually, at most.
const DAYS: (i64, i64, i64) = (1, 30, 366);

/// Addresses by provider, the one with the most first.
#[derive(Serialize)]
pub(crate) struct Mix {
    data: Vec<Share>,
}

#[derive(Serialize)]
struct Share {
    /// Null for exchangers that belong to no provider that we know.
    id: Option<String>,
    name: Option<String>,
    verified: i64,
    unknown: i64,
}

/// The providers of the last days, today included.
pub(crate) async fn get_mix(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<Mix>, Refusal> {
    let days = query.whole_within("days", DAYS)?;
    let today = app.now().utc_day();
    let mut conn = app.store.read().await?;
    let mix = reports::by_provider(&mut conn, caller.org(), today - days + 1, today).await?;
    let share = |OfProvider { provider, verified, unknown }: OfProvider| Share {
        name: provider.as_deref().map(provider_name),
        id: provider,
        verified,
        unknown,
    };
    Ok(Json(Mix { data: mix.into_iter().map(share).collect() }))
}
