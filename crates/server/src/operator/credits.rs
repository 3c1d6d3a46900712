//! Credits of organizations: put in, corrected, looked at.

mod view;

use axum::Json;
use axum::extract::State;
use probity_core::credits::{Balance, Bucket};
use probity_core::id::OrgId;
use probity_core::time::Millis;
use probity_store::StoreError;
use probity_store::organization::Org;

use self::view::{Account, Adjustment, Entry, Grant};
use super::organizations::find;
use super::{Shared, uncovered};
use crate::admin::{Asked, BookError, Reference, Until};
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::page::{Asked as Page, List};
use crate::path::PathId;
use crate::query::Query;

/// What a cursor of the ledger is good for, together with the organization.
const LEDGER: &str = "/admin/v1/organizations/{id}/credits/ledger";
/// The most credits of one booking: what an unlimited plan has.
const CREDITS_MAX: i64 = probity_core::credits::UNLIMITED;

/// Grant credits
///
/// Once for a reference: the same request a second time grants nothing and answers 200 with `booked: false`, whenever it
/// comes. The same reference with another amount or `until` is a conflict. Subscription credits have one end: what is there and what is
/// granted share the later one, and none where one of them has none. While an organization is stopped, a month of it may end that no other
/// follows yet: until the hold is lifted, subscription credits are a conflict then, because the next month would end them.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/credits/grants",
    tag = "Credits",
    params(("id" = String, Path, description = "The organization's id.")),
    request_body(content = Grant, description = "How many, and by what you know it."),
    responses((status = 200, description = "What there is then.", body = Account))
)]
pub(crate) async fn grant_credits(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
    JsonBody(grant): JsonBody<Grant>,
) -> Result<Json<Account>, ApiError> {
    let (bucket, reference) = (bucket(&grant.bucket)?, reference(&grant.reference)?);
    if !(1..=CREDITS_MAX).contains(&grant.amount) {
        return Err(ApiError::invalid("amount", format_args!("must be from 1 to {CREDITS_MAX}")));
    }
    let until = grant.until.map(|until| until.0);
    if until.is_some() && bucket == Bucket::Prepaid {
        return Err(ApiError::invalid("until", "is for subscription credits; prepaid ones stay"));
    }
    let org = find(&operator, id).await?;
    let is_over = until.is_some_and(|until| until <= operator.app.now());
    if is_over && !operator.admin.has_granted(&org, &reference).await? {
        return Err(ApiError::invalid("until", "must lie in the future"));
    }
    let asked = Asked { bucket, amount: grant.amount, reference: Some(&reference) };
    let booked = operator.admin.grant_once(&org, asked, until.map(Until::At)).await;
    account(&operator, &org, booked).await
}

/// Correct a balance
///
/// Upward or downward, never below nothing. Once for a reference, as a grant.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/credits/adjustments",
    tag = "Credits",
    params(("id" = String, Path, description = "The organization's id.")),
    request_body(content = Adjustment, description = "How many more or less, and by what you know it."),
    responses((status = 200, description = "What there is then.", body = Account))
)]
pub(crate) async fn adjust_credits(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
    JsonBody(adjustment): JsonBody<Adjustment>,
) -> Result<Json<Account>, ApiError> {
    let (bucket, reference) = (bucket(&adjustment.bucket)?, reference(&adjustment.reference)?);
    let amount = adjustment.amount;
    if amount == 0 || !(-CREDITS_MAX..=CREDITS_MAX).contains(&amount) {
        return Err(ApiError::invalid(
            "amount",
            format_args!("must be from -{CREDITS_MAX} to {CREDITS_MAX}, and not 0"),
        ));
    }
    let org = find(&operator, id).await?;
    let asked = Asked { bucket, amount, reference: Some(&reference) };
    let booked = operator.admin.adjust_once(&org, asked).await;
    account(&operator, &org, booked).await
}

/// Read the ledger
///
/// Grants, corrections and what has ended, the newest first; not what was spent. A page ends with a whole moment, so it may
/// have a few rows more than `per_page`.
#[utoipa::path(
    get,
    path = "/admin/v1/organizations/{id}/credits/ledger",
    tag = "Credits",
    params(
        ("id" = String, Path, description = "The organization's id."),
        ("per_page" = Option<u32>, Query, description = "Rows on a page, 1 to 100; 25 unless it is given."),
        ("next" = Option<String>, Query, description = "`pagination.next_cursor` of the page before."),
    ),
    responses((status = 200, description = "One page of the ledger.", body = List<Entry>))
)]
pub(crate) async fn read_ledger(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
    query: Query,
) -> Result<Json<List<Entry>>, ApiError> {
    let org = find(&operator, id).await?;
    let asked: Page<'_, Millis> = Page::of(&operator.app.cursors, &query, org.id.to_string(), LEDGER)?;
    let rows = operator.admin.bookings(&org, asked.after, asked.per_page).await?;
    let full = u32::try_from(rows.len()).is_ok_and(|rows| rows >= asked.per_page);
    let more = match rows.last().filter(|_| full) {
        Some(last) => !operator.admin.bookings(&org, Some(last.at), 1).await?.is_empty(),
        None => false,
    };
    let next = rows.last().filter(|_| more).map(|last| asked.cursor(&last.at));
    Ok(Json(List::new(rows.into_iter().map(Entry::from).collect(), next)))
}

fn bucket(name: &str) -> Result<Bucket, ApiError> {
    Bucket::from_name(name).ok_or_else(|| ApiError::invalid("bucket", "must be `prepaid` or `subscription`"))
}

fn reference(text: &str) -> Result<Reference, ApiError> {
    text.parse().map_err(|fault| ApiError::invalid("reference", fault))
}

async fn account(
    operator: &Shared,
    org: &Org,
    booked: Result<(Balance, bool), BookError>,
) -> Result<Json<Account>, ApiError> {
    match booked {
        Ok((balance, now)) => {
            let end = operator.admin.subscription_end(org).await?;
            Ok(Json(Account::of(&balance, end, now)))
        }
        Err(refused @ (BookError::ReferenceUsed | BookError::MonthWaits)) => {
            Err(ApiError::conflict(refused.to_string()))
        }
        Err(BookError::Store(StoreError::InsufficientCredits { .. })) => Err(uncovered()),
        Err(BookError::Store(error)) => Err(error.into()),
    }
}
