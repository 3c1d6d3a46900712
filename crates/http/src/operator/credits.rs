//! Credits of organizations: grants, corrections, ledger.

use axum::extract::State;
use probity_account::id::OrgId;
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::operator::OperatorPageQuery;
use probity_contract::published::operator::credits::{AdjustCredits, CreditAccount, GrantCredits, LedgerEntry};
use probity_service::operator::credits;

use crate::handler::{Answer, AppState, Asking, JsonBody, PathId, answer};

/// Grant credits
///
/// Books once per reference: repeating the request, at any time, grants nothing and returns 200 with `booked: false`. The
/// same reference with another amount or `until` gets 409. All subscription credits have one end: a grant and existing
/// credits share the later end, or have none if one of them has none. While an organization is restricted, no new month
/// starts. Once its month has ended, subscription credits get 409 until the restriction is lifted, because the next month
/// would end them.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/credits/grants",
    tag = "Credits",
    params(("id" = String, Path, description = "Organization ID.")),
    request_body(content = GrantCredits, description = "Number of credits and your reference."),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The new balance.", body = CreditAccount))
)]
pub(crate) async fn grant_credits(
    State(app): AppState,
    PathId(id): PathId<OrgId>,
    JsonBody(grant): JsonBody<GrantCredits>,
) -> Answer<CreditAccount> {
    answer(credits::grant_credits(&app, id, grant.try_into()?).await)
}

/// Correct a balance
///
/// Adds or removes credits. Removing more than is available gets 409. Books once per reference, like a grant.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/credits/adjustments",
    tag = "Credits",
    params(("id" = String, Path, description = "Organization ID.")),
    request_body(content = AdjustCredits, description = "Number of credits and your reference."),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The new balance.", body = CreditAccount))
)]
pub(crate) async fn adjust_credits(
    State(app): AppState,
    PathId(id): PathId<OrgId>,
    JsonBody(adjustment): JsonBody<AdjustCredits>,
) -> Answer<CreditAccount> {
    answer(credits::adjust_credits(&app, id, adjustment.try_into()?).await)
}

/// List ledger entries
///
/// Lists grants, adjustments and expiries, newest first, without spending. Entries of the same time stay on one page, so
/// a page can have a few more rows than `per_page`.
#[utoipa::path(
    get,
    path = "/admin/v1/organizations/{id}/credits/ledger",
    tag = "Credits",
    params(("id" = String, Path, description = "Organization ID."), OperatorPageQuery),
    responses((status = 200, description = "A page of ledger entries.", body = List<LedgerEntry>))
)]
pub(crate) async fn read_ledger(
    State(app): AppState,
    PathId(id): PathId<OrgId>,
    Asking(query): Asking<Result<OperatorPageQuery, ApiError>>,
) -> Answer<List<LedgerEntry>> {
    answer(credits::read_ledger(&app, id, query).await)
}
