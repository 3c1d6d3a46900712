//! Requests about plans and an organization's plan data.

use anyhow::{Context as _, Result, anyhow};
use probity_account::plans::{Entitlement, Entitlements};
use probity_service::admin::{Admin, Asked, BookError, OrgChange, Reference, Said, Until};
use probity_service::store::Org;

use super::{bucket_of, failed, find, future, org_view, unmade};
use crate::admin::{self, Answer, Booking, Change, Moment, Own};

fn names(set: Entitlements) -> Vec<String> {
    set.iter().map(|one| one.as_str().to_owned()).collect()
}

/// Returns one organization in detail.
pub(super) async fn show(admin: &Admin, org: &Org) -> Result<Answer> {
    let plan = admin.plans().of(&org.plan);
    let balance = admin.balance(org).await.map_err(failed)?;
    let period = org.period(probity_engine::clock::Clock::system().now());
    Ok(Answer::Org(Box::new(admin::OrgDetail {
        org: org_view(org),
        hold_reason: org.hold_reason.clone(),
        trial_ends_at: org.trial.map(|(_, end)| end),
        period_start: period.start,
        period_end: period.end,
        renews_at: org.term.renews_at,
        subscription: balance.available.subscription,
        prepaid: balance.available.prepaid,
        low: org.term.is_low,
        low_balance: org.low_balance(plan),
        seats: org.seats(plan),
        rate_per_minute: org.rate_limit_per_minute.or(plan.rate_limit_per_minute),
        entitlements: names(org.entitlements(plan)),
    })))
}

/// Changes an organization and returns it.
pub(super) async fn change(admin: &Admin, org: &Org, change: &Change) -> Result<Answer> {
    let said = |own: Own| match own {
        Own::Unsaid => Said::Nothing,
        Own::AsPlan => Said::Cleared,
        Own::Given(number) => Said::Given(number),
    };
    let entitled = |(name, allowed): &(String, Option<bool>)| {
        let one = name.parse::<Entitlement>().map_err(|()| anyhow!("there is no entitlement {name:?}"))?;
        Ok((one, allowed.map_or(Said::Cleared, Said::Given)))
    };
    let wanted = OrgChange {
        name: change.name.clone(),
        plan: change.plan.clone(),
        seats: said(change.seats),
        rate_limit_per_minute: said(change.rate_per_minute),
        low_balance: said(change.low_balance),
        entitlements: change.entitlements.iter().map(entitled).collect::<Result<_>>()?,
    };
    show(admin, &admin.change_org(org, &wanted).await.map_err(unmade)?).await
}

/// Books credits, once per reference.
pub(super) async fn book(admin: &Admin, booking: Booking) -> Result<Answer> {
    let org = find(admin, booking.org.as_deref()).await?;
    let reference = booking.reference.as_deref().map(str::parse::<Reference>).transpose();
    let reference = reference.context("--reference")?;
    let asked = Asked { bucket: bucket_of(booking.bucket), amount: booking.amount, reference: reference.as_ref() };
    let booked = if booking.is_grant {
        admin.grant_once(&org, asked, booking.until.map(end_of).transpose()?).await
    } else {
        admin.adjust_once(&org, asked).await
    };
    match booked {
        Ok((balance, _)) => super::balance(&org, Ok(balance)),
        Err(BookError::Store(error)) => super::balance(&org, Err(error)),
        Err(refused @ (BookError::ReferenceUsed | BookError::MonthWaits)) => Err(anyhow!("{refused}")),
    }
}

/// Resolves a future time. A relative time stays relative, so that repeating a request gives the same value.
fn end_of(moment: Moment) -> Result<Until> {
    future(moment).map(|until| match moment {
        Moment::At(_) => Until::At(until),
        Moment::After(ms) => Until::After(ms),
    })
}

/// Returns ledger entries.
pub(super) async fn ledger(admin: &Admin, org: &Org, at_most: u32) -> Result<Answer> {
    let rows = admin.bookings(org, None, at_most).await.map_err(failed)?;
    let view = |row: &probity_service::admin::Booked| admin::Booked {
        organization: org.id.to_string(),
        at: row.at,
        kind: row.kind.as_str().to_owned(),
        subscription: row.amount.subscription,
        prepaid: row.amount.prepaid,
        cause: row.cause.clone(),
    };
    Ok(Answer::Ledger(rows.iter().map(view).collect()))
}
