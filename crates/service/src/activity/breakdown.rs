//! Usage of any period by status, source, API key, connection, mail provider or domain.
//!
//! Only the largest parts are returned. The total covers all addresses; the difference is small parts, days before a dimension
//! was counted, and domains too rare or too old to be stored.

use std::collections::BTreeMap;

use probity_backend::lists::progress::provider_name;
use probity_contract::error::ApiError;
use probity_contract::published::activity::breakdown::{BreakdownDay, BreakdownQuery, UsageBreakdown, UsagePart};
use probity_contract::published::activity::reports::Range;
use probity_mail::time::{Millis, civil_from_days};
use probity_store::accounts::keys;
use probity_store::activity::reports::{self, UsageDimension, UsageSum};
use probity_store::connections::connection;
use probity_store::{Conn, OrgNo, StoreError};

use crate::app::App;
use crate::callers::caller::Caller;

/// Maximum number of parts in a response.
const PARTS_MAX: i64 = 10;

/// Counts the addresses verified in a period by part and day.
pub async fn get_usage_breakdown(
    app: &App,
    caller: &Caller,
    query: BreakdownQuery,
) -> Result<UsageBreakdown, ApiError> {
    let (from, to) = query.days(app.now().utc_day())?;
    let only = query.id.as_deref();
    let mut conn = app.store.read().await?;
    let sums = reports::by_part(&mut conn, caller.org(), (from, to), query.by, only, PARTS_MAX).await?;
    let mut totals: BTreeMap<i64, i64> = BTreeMap::new();
    if only.is_some() {
        totals.extend(sums.iter().map(|sum| (sum.of.0, sum.verified)));
    } else {
        for sum in reports::by_day(&mut conn, caller.org(), from, to, None).await? {
            *totals.entry(sum.of.0).or_default() += sum.verified;
        }
    }
    let order = largest_first(&sums);
    let mut parts = Vec::with_capacity(order.len());
    for (part, verified, charged) in &order {
        parts.push(UsagePart {
            id: Some((*part).to_owned()).filter(|id| !id.is_empty()),
            name: name(&mut conn, caller.org(), query.by, part).await?,
            verified: *verified,
            charged: Some(*charged).filter(|_| query.by != UsageDimension::Provider),
        });
    }
    let of_days: BTreeMap<(i64, &str), i64> =
        sums.iter().map(|sum| ((sum.of.0, sum.of.1.as_str()), sum.verified)).collect();
    let count = |day, part| of_days.get(&(day, part)).copied().unwrap_or_default();
    let day = |day: i64| BreakdownDay {
        date: civil_from_days(day).to_string(),
        total: totals.get(&day).copied().unwrap_or_default(),
        parts: order.iter().map(|(part, ..)| count(day, part)).collect(),
    };
    Ok(UsageBreakdown {
        by: query.by,
        range: Range { start: Millis::from_utc_day(from).into(), end: Millis::from_utc_day(to + 1).into() },
        total: totals.values().sum(),
        parts,
        days: (from..=to).map(day).collect(),
    })
}

/// Parts with their addresses and credits.
fn largest_first(sums: &[UsageSum<(i64, String)>]) -> Vec<(&str, i64, i64)> {
    let mut parts: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for sum in sums {
        let (verified, charged) = parts.entry(&sum.of.1).or_default();
        (*verified, *charged) = (*verified + sum.verified, *charged + sum.charged);
    }
    let mut order: Vec<_> = parts.into_iter().map(|(part, (verified, charged))| (part, verified, charged)).collect();
    order.sort_by_key(|(_, verified, _)| std::cmp::Reverse(*verified));
    order
}

/// Returns the current name of a part; `None` if it has none or no longer exists.
async fn name(conn: &mut Conn, org: OrgNo, by: UsageDimension, part: &str) -> Result<Option<String>, ApiError> {
    let found = match by {
        UsageDimension::Key => match part.parse() {
            Ok(id) => keys::by_id(conn, org, id).await.map(|key| key.name),
            Err(_) => return Ok(None),
        },
        UsageDimension::Connection => match part.parse() {
            Ok(id) => connection::by_id(conn, org, id, false).await.map(|connection| connection.name),
            Err(_) => return Ok(None),
        },
        UsageDimension::Provider if !part.is_empty() => Ok(provider_name(part)),
        _ => return Ok(None),
    };
    match found {
        Ok(name) => Ok(Some(name)),
        Err(StoreError::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
