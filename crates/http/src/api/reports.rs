//! `/v1/reports`.

use probity_contract::page::List;
use probity_contract::published::activity::breakdown::{BreakdownQuery, UsageBreakdown};
use probity_contract::published::activity::reports::{DailyUsageQuery, Day, UsageQuery, UsageReport};
use probity_service::activity::{breakdown, reports};

use crate::handler::{Answer, Asking, Call, answer};

/// Get usage
///
/// Counts the addresses verified in a period, by status and reason. A repeated address in a list counts once.
#[utoipa::path(
    get,
    path = "/v1/reports/usage",
    tag = "Reports",
    params(UsageQuery),
    security(("bearer" = ["read:reports"])),
    extensions(("x-errors" = json!(["not_found"]))),
    responses((status = 200, description = "The report.", body = UsageReport))
)]
pub(crate) async fn get_usage(Call(app, caller): Call, Asking(query): Asking<UsageQuery>) -> Answer<UsageReport> {
    answer(reports::get_usage(&app, &caller, query).await)
}

/// Get daily usage
///
/// Returns one row per day (UTC), oldest first, including days without verifications; today is last. With
/// `connection_id`, counts only verifications for that connection.
#[utoipa::path(
    get,
    path = "/v1/reports/usage/daily",
    tag = "Reports",
    params(DailyUsageQuery),
    security(("bearer" = ["read:reports"])),
    extensions(("x-errors" = json!(["not_found"]))),
    responses((status = 200, description = "Usage by day.", body = List<Day>))
)]
pub(crate) async fn get_daily_usage(
    Call(app, caller): Call,
    Asking(query): Asking<DailyUsageQuery>,
) -> Answer<List<Day>> {
    answer(reports::get_daily_usage(&app, &caller, query).await)
}

/// Get usage breakdown
///
/// Counts the addresses verified in a period by day, and by status, source, API key, connection, mail provider or domain. Returns
/// the 10 parts with the most addresses; the rest of the total belongs to others. A repeated address in a list counts once.
#[utoipa::path(
    get,
    path = "/v1/reports/usage/breakdown",
    tag = "Reports",
    params(BreakdownQuery),
    security(("bearer" = ["read:reports"])),
    responses((status = 200, description = "Usage by part and day.", body = UsageBreakdown))
)]
pub(crate) async fn get_usage_breakdown(
    Call(app, caller): Call,
    Asking(query): Asking<BreakdownQuery>,
) -> Answer<UsageBreakdown> {
    answer(breakdown::get_usage_breakdown(&app, &caller, query).await)
}
