//! Credits that the operator grants or removes, and the ledger of an organization.

use probity_account::credits::{Balance, CreditBucket};
use probity_account::id::{Event, Id, OrgId};
use probity_contract::asked_page::AskedPage;
use probity_contract::error::{ApiError, Code};
use probity_contract::page::List;
use probity_contract::published::operator::OperatorPageQuery;
use probity_contract::published::operator::credits::{CreditAccount, LedgerEntry};
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::accounts::plans;
use probity_store::activity::events::AccountEventKind;
use probity_store::credits::booked::{self, BookingKind};
use probity_store::credits::{self, CreditBooking};
use probity_store::{ScopedFutureExt as _, StoreError, Tx};

use crate::app::App;
use crate::operator::organizations::find_organization;
use crate::operator::record;

pub use crate::operator::credit_order::{CreditOrder, Until};

/// Name of the ledger in its cursors.
const LEDGER: &str = "/admin/v1/organizations/{id}/credits/ledger";
/// Error for a reference that is already used.
const REFERENCE_USED: &str = "the reference is already used for another booking of this organization; choose another";
/// Error for subscription credits between two months.
const MONTH_WAITS: &str = "the organization's month has ended, and the start of the next one would end these credits. First \
    lift the restriction or select a configured plan, or book prepaid credits instead";

/// Grants credits, once per reference. Subscription credits expire at the end of the plan's month, or at the ordered time.
pub async fn grant_credits(app: &App, org: OrgId, order: CreditOrder) -> Result<CreditAccount, ApiError> {
    let org = find_organization(app, org).await?;
    let is_over = matches!(order.until, Some(Until::At(until)) if until <= app.now());
    if is_over && !has_granted(app, &org, order.reference.as_deref()).await? {
        return Err(ApiError::invalid("until", "must be in the future"));
    }
    book(app, &org, BookingKind::Grant, &order).await
}

/// Adds or removes credits, once per reference.
pub async fn adjust_credits(app: &App, org: OrgId, order: CreditOrder) -> Result<CreditAccount, ApiError> {
    let org = find_organization(app, org).await?;
    book(app, &org, BookingKind::Adjust, &order).await
}

/// Lists grants, adjustments and expiries, newest first. A page includes all entries of its last millisecond, so it may
/// have a few more rows.
///
/// An unknown organization is reported before an error of the query.
pub async fn read_ledger(
    app: &App,
    org: OrgId,
    query: Result<OperatorPageQuery, ApiError>,
) -> Result<List<LedgerEntry>, ApiError> {
    let org = find_organization(app, org).await?;
    let asked: AskedPage<'_, Millis> = AskedPage::of(&app.cursors, &query?.0, org.id.to_string(), LEDGER)?;
    let mut conn = app.store.read().await?;
    let before = asked.after.unwrap_or(Millis(i64::MAX));
    let rows = booked::page(&mut conn, org.no, before, i64::from(asked.per_page)).await?;
    let full = u32::try_from(rows.len()).is_ok_and(|rows| rows >= asked.per_page);
    let more = match rows.last().filter(|_| full) {
        Some(last) => !booked::page(&mut conn, org.no, last.at, 1).await?.is_empty(),
        None => false,
    };
    let next = rows.last().filter(|_| more).map(|last| asked.cursor(&last.at));
    Ok(List::new(rows.into_iter().map(LedgerEntry::from).collect(), next))
}

/// Returns an organization's available, held and captured credits.
pub async fn read_balance(app: &App, org: OrgId) -> Result<Balance, ApiError> {
    let org = find_organization(app, org).await?;
    Ok(credits::balance(&mut app.store.read().await?, org.no).await?)
}

/// Returns the cause of a booking in the ledger.
fn cause_of(reference: &str) -> String {
    format!("ref:{reference}")
}

async fn has_granted(app: &App, org: &OrgRecord, reference: Option<&str>) -> Result<bool, StoreError> {
    let Some(cause) = reference.map(cause_of) else { return Ok(false) };
    let before = booked::of_cause(&mut app.store.read().await?, org.no, BookingKind::Grant, &cause).await?;
    Ok(before.is_some())
}

async fn book(app: &App, org: &OrgRecord, kind: BookingKind, order: &CreditOrder) -> Result<CreditAccount, ApiError> {
    let at = app.now();
    let cause = order.reference.as_deref().map_or_else(|| unreferenced_cause(at), cause_of);
    let booking = CreditBooking { org: org.no, bucket: order.bucket, amount: order.amount, cause: &cause, at };
    let booked = app.store.write(|tx| put(app, tx, &booking, kind, order.until).scope_boxed()).await;
    let is_new = match booked {
        Ok(true) => true,
        // Checks the reference first: an existing booking may no longer be covered, or its month may have ended.
        refused @ (Ok(false) | Err(StoreError::Conflict | StoreError::InsufficientCredits { .. })) => {
            let before = booked::of_cause(&mut app.store.read().await?, org.no, kind, &cause).await?;
            match (before, refused) {
                (Some(before), _) if before.is(&booking, order.until.map(|until| until.from(before.at))) => false,
                (Some(_), _) => return Err(ApiError::conflict(REFERENCE_USED)),
                (None, Err(error)) => return Err(refuse_booking(error)),
                (None, Ok(_)) => return Err(ApiError::conflict(MONTH_WAITS)),
            }
        }
        Err(error) => return Err(error.into()),
    };
    let mut conn = app.store.read().await?;
    let balance = credits::balance(&mut conn, org.no).await?;
    let end = credits::subscription_end(&mut conn, org.no).await?;
    Ok(CreditAccount::of(&balance, end, is_new))
}

/// Maps an adjustment that exceeds the available credits to a conflict: a 402 would ask the operator to pay.
fn refuse_booking(error: StoreError) -> ApiError {
    match error {
        uncovered @ StoreError::InsufficientCredits { .. } => {
            ApiError::new(Code::Conflict, "amount: removes more credits than are available").because(uncovered)
        }
        other => other.into(),
    }
}

/// Returns a unique cause for a booking without a reference.
fn unreferenced_cause(at: Millis) -> String {
    let id: Id<Event> = probity_access::secrets::random::id(at);
    format!("staff:{id}")
}

/// Books in a transaction. Additional subscription credits belong to the current month, even if maintenance has not granted
/// it yet. Returns false if that month cannot start now.
async fn put(
    app: &App,
    tx: &mut Tx,
    booking: &CreditBooking<'_>,
    kind: BookingKind,
    until: Option<Until>,
) -> Result<bool, StoreError> {
    let CreditBooking { org: no, bucket, amount, at, .. } = *booking;
    let mut org = organization::lock(tx, no).await?;
    if bucket == CreditBucket::Subscription && amount > 0 {
        plans::renew(tx, no, &app.config.plans, at).await?;
        org = organization::by_no(tx, no).await?;
        if month_end(app, &org).is_some_and(|end| end <= at) {
            return Ok(false);
        }
    }
    let event = match kind {
        BookingKind::Adjust => {
            credits::adjust(tx, booking).await?;
            AccountEventKind::CreditsAdjusted
        }
        BookingKind::Grant | BookingKind::Expire => {
            let asked = until.map(|until| until.from(at));
            let end_of_month = month_end(app, &org).filter(|end| *end > at);
            credits::grant(tx, booking, end_of_month.or(asked)).await?;
            booked::ask_until(tx, booking, asked).await?;
            AccountEventKind::CreditsGranted
        }
    };
    record(tx, no, at, event).await?;
    Ok(true)
}

/// Returns the latest expiry of subscription credits: the end of the month, on a plan that keeps no unused credits. If it has
/// passed, the organization is restricted or its plan is not configured, so its next month does not start.
fn month_end(app: &App, org: &OrgRecord) -> Option<Millis> {
    org.term.renews_at.filter(|_| !app.config.plans.of(&org.plan).keeps_unused)
}
