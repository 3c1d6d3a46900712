//! Credits of organizations: put in, corrected, looked at.

mod view;

use axum::Json;
use axum::extract::State;
use probity_account::credits::{Balance, Bucket};
use probity_account::id::OrgId;
use probity_mail::time::Millis;
use probity_service::admin::{Asked, BookError, Reference, Until};
use probity_service::error::ApiError;
use probity_service::page::{Asked as Page, List};
use probity_store::StoreError;
use probity_store::organization::Org;

use crate::asking::Asking;
use crate::body::JsonBody;
use crate::error::Refusal;
use crate::operator::credits::view::{Account, Adjustment, Entry, Grant};
use crate::operator::organizations::find;
use crate::operator::{Shared, uncovered};
use crate::path::PathId;

/// What a cursor of the ledger is good for, together with the organization.
const LEDGER: &str = "/admin/v1/organizations/{id}/credits/ledger";
/// The most credits of one booking: what an unlimited plan has.
const CREDITS_MAX: i64 = probity_account::credits::UNLIMITED;

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
    request_body(content = Grant, description = "Number of credits and your reference."),
    responses((status = 200, description = "The new balance.", body = Account))
)]
pub(crate) async fn grant_credits(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
    JsonBody(grant): JsonBody<Grant>,
) -> Result<Json<Account>, Refusal> {
    let (bucket, reference) = (bucket(&grant.bucket)?, reference(&grant.reference)?);
    if !(1..=CREDITS_MAX).contains(&grant.amount) {
        return Err(ApiError::invalid("amount", format_args!("must be from 1 to {CREDITS_MAX}")).into());
    }
    let until = grant.until.map(|until| until.0);
    if until.is_some() && bucket == Bucket::Prepaid {
        return Err(ApiError::invalid("until", "is only for subscription credits; prepaid credits never expire").into());
    }
    let org = find(&operator, id).await?;
    let is_over = until.is_some_and(|until| until <= operator.app.now());
    if is_over && !operator.admin.has_granted(&org, &reference).await? {
        return Err(ApiError::invalid("until", "must be in the future").into());
    }
    let asked = Asked { bucket, amount: grant.amount, reference: Some(&reference) };
    let booked = operator.admin.grant_once(&org, asked, until.map(Until::At)).await;
    account(&operator, &org, booked).await
}

/// Correct a balance
///
/// Adds or removes credits. Removing more than is available gets 409. Books once per reference, like a grant.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/credits/adjustments",
    tag = "Credits",
    params(("id" = String, Path, description = "Organization ID.")),
    request_body(content = Adjustment, description = "Number of credits and your reference."),
    responses((status = 200, description = "The new balance.", body = Account))
)]
pub(crate) async fn adjust_credits(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
    JsonBody(adjustment): JsonBody<Adjustment>,
) -> Result<Json<Account>, Refusal> {
    let (bucket, reference) = (bucket(&adjustment.bucket)?, reference(&adjustment.reference)?);
    let amount = adjustment.amount;
    if amount == 0 || !(-CREDITS_MAX..=CREDITS_MAX).contains(&amount) {
        return Err(ApiError::invalid(
            "amount",
            format_args!("must be from -{CREDITS_MAX} to {CREDITS_MAX}, and not 0"),
        )
        .into());
    }
    let org = find(&operator, id).await?;
    let asked = Asked { bucket, amount, reference: Some(&reference) };
    let booked = operator.admin.adjust_once(&org, asked).await;
    account(&operator, &org, booked).await
}

/// List ledger entries
///
/// Lists grants, adjustments and expiries, newest first, without spending. Entries of the same time stay on one page, so
/// a page can have a few more rows than `per_page`.
#[utoipa::path(
    get,
    path = "/admin/v1/organizations/{id}/credits/ledger",
    tag = "Credits",
    params(
        ("id" = String, Path, description = "Organization ID."),
        ("per_page" = Option<u32>, Query, description = "Rows per page, 1 to 100, default 25."),
        ("next" = Option<String>, Query, description = "Cursor: `pagination.next_cursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of ledger entries.", body = List<Entry>))
)]
pub(crate) async fn read_ledger(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
    Asking(query): Asking,
) -> Result<Json<List<Entry>>, Refusal> {
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

fn bucket(name: &str) -> Result<Bucket, Refusal> {
    Ok(Bucket::from_name(name).ok_or_else(|| ApiError::invalid("bucket", "must be `prepaid` or `subscription`"))?)
}

fn reference(text: &str) -> Result<Reference, Refusal> {
    Ok(text.parse().map_err(|fault| ApiError::invalid("reference", fault))?)
}

async fn account(
    operator: &Shared,
    org: &Org,
    booked: Result<(Balance, bool), BookError>,
) -> Result<Json<Account>, Refusal> {
    match booked {
        Ok((balance, now)) => {
            let end = operator.admin.subscription_end(org).await?;
            Ok(Json(Account::of(&balance, end, now)))
        }
        Err(refused @ (BookError::ReferenceUsed | BookError::MonthWaits)) => {
            Err(ApiError::conflict(refused.to_string()).into())
        }
        Err(BookError::Store(StoreError::InsufficientCredits { .. })) => Err(uncovered().into()),
        Err(BookError::Store(error)) => Err(error.into()),
    }
}
