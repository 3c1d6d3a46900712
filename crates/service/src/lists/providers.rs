//! Counts verified and inconclusive addresses by mail provider.

use probity_backend::lists::progress::provider_name;
use probity_contract::error::ApiError;
use probity_contract::query::{FromQuery, Query};
use probity_store::activity::reports::{self, ProviderUsage};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;

/// Days to look back: minimum, default and maximum.
const DAYS: (i64, i64, i64) = (1, 30, 366);

/// Period of the counts.
#[derive(Clone, Copy, Debug)]
pub struct ProvidersQuery {
    /// Days to look back, including today.
    days: i64,
}

impl FromQuery for ProvidersQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { days: query.whole_within("days", DAYS)? })
    }
}

/// Address counts by provider, largest first.
#[derive(Serialize)]
pub struct ProviderCounts {
    pub data: Vec<ProviderCount>,
}

/// Address counts of one provider.
#[derive(Serialize)]
pub struct ProviderCount {
    /// Provider ID; null for MX hosts of no known provider.
    id: Option<String>,
    name: Option<String>,
    verified: i64,
    unknown: i64,
}

/// Counts the addresses of the last days by provider.
pub async fn count_providers(app: &App, caller: &Caller, query: ProvidersQuery) -> Result<ProviderCounts, ApiError> {
    let today = app.now().utc_day();
    let mut conn = app.store.read().await?;
    let mix = reports::by_provider(&mut conn, caller.org(), today - query.days + 1, today).await?;
    let share = |ProviderUsage { provider, verified, unknown }: ProviderUsage| ProviderCount {
        name: provider.as_deref().map(provider_name),
        id: provider,
        verified,
        unknown,
    };
    Ok(ProviderCounts { data: mix.into_iter().map(share).collect() })
}
