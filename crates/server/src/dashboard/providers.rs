//! `GET /app/reports/providers`: how many addresses of which mail provider were verified, and of how many nothing was found out.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_mail::lists::Lists;
use probity_store::reports::{self, OfProvider};
use serde::Serialize;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::query::Query;

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

/// What a provider is called; its id, where the lists do not name it.
pub(super) fn name(id: &str) -> String {
    let known = Lists::embedded().providers().find(|provider| provider.id == id);
    known.map_or_else(|| id.to_owned(), |provider| provider.name.clone())
}

/// The providers of the last days, today included.
pub(crate) async fn get_mix(State(app): State<Arc<App>>, caller: Caller, query: Query) -> Result<Json<Mix>, ApiError> {
    let days = query.whole_within("days", DAYS)?;
    let today = app.now().utc_day();
    let mut conn = app.store.read().await?;
    let mix = reports::by_provider(&mut conn, caller.org(), today - days + 1, today).await?;
    let share = |OfProvider { provider, verified, unknown }: OfProvider| Share {
        name: provider.as_deref().map(name),
        id: provider,
        verified,
        unknown,
    };
    Ok(Json(Mix { data: mix.into_iter().map(share).collect() }))
}
