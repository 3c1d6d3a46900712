//! Plans of organizations: first day, new months, plan changes, refills.
//!
//! The configuration defines each [`Plan`]; this module books it. Each act locks the organization's row first and then its
//! accounts. Each grant's cause names the plan's number and the month, and the ledger accepts it once. So of two nodes that renew
//! at once, or of a run that died after its commit and its successor, only one grants. Nothing is taken from one organization for
//! another, and no balance drops below zero: if an organization may spend more than it has, it is refilled first ([`cover`]).

use std::collections::BTreeMap;

use probity_account::credits::{CreditBucket, CreditCount, UNLIMITED};
use probity_account::plans::{Period, Plan, Plans};
use probity_mail::time::Millis;
use serde_json::json;

use crate::accounts::organization::{self, OrgRecord, Term};
use crate::activity::events::{self, AccountChange, AccountEventKind, EventActor};
use crate::activity::letters::{self, LetterKey, LetterKind};
use crate::credits::{self, CreditBooking, CreditsAtPlanChange};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

statements! {
    // A restricted organization waits: when it is reactivated, it gets the month of that time. The same applies to an unconfigured
    // plan.
    DUE = "SELECT org_no FROM org WHERE renews_at <= $1 AND status NOT IN ('suspended', 'paused', 'banned') \
           AND plan IN (SELECT each.value ->> 'p' FROM {each:$2}) ORDER BY renews_at, org_no LIMIT $3";
    UNKNOWN = "SELECT DISTINCT plan FROM org WHERE plan NOT IN (SELECT each.value ->> 'p' FROM {each:$1}) LIMIT $2";
    // Low balances are checked even without a threshold, because it may have been removed.
    WATCHED = "SELECT org_no, plan, low_balance, is_low, (SELECT CAST(SUM(account.available) AS BIGINT) FROM account \
               WHERE account.org_no = org.org_no) AS available FROM org WHERE org_no > $1 \
               AND (low_balance IS NOT NULL OR is_low = 1 OR plan IN (SELECT each.value ->> 'p' FROM {each:$2})) ORDER BY org_no LIMIT $3";
}

/// Adds an organization on a plan, with its initial credits and its trial.
pub async fn open(tx: &mut Tx, new: &OrgRecord, plan: &Plan) -> Result<OrgRecord> {
    let at = new.created_at;
    let today = at.utc_day();
    let trial = plan.trial.map(|trial| (at, Millis::from_utc_day(today.saturating_add(trial.days).saturating_add(1))));
    let since = trial.map_or(Millis::from_utc_day(today), |(_, end)| end);
    let mut org = OrgRecord { plan: plan.name.clone(), trial: trial.or(new.trial), ..new.clone() };
    org.term = Term { since: (!plan.is_built_in()).then_some(since), ..Term::default() };
    organization::insert(tx, &org).await?;
    let cause = if plan.is_unlimited() { "unlimited" } else { "initial" };
    put(tx, &org, (CreditBucket::Prepaid, plan.initial), cause, None, at).await?;
    match (plan.trial, trial) {
        (Some(terms), Some((_, end))) => {
            put(tx, &org, (CreditBucket::Subscription, terms.credits), "trial", Some(end), at).await?;
            org.term.renews_at = Some(end).filter(|_| org.term.since.is_some());
        }
        _ => begin_month(tx, &mut org, plan, at).await?,
    }
    settle_low(tx, &mut org, plan).await?;
    organization::write(tx, &org).await?;
    Ok(org)
}

/// Organizations on these plans whose next month has begun, the longest waiting first.
pub async fn due(conn: &mut Conn, plans: &Plans, now: Millis, at_most: i64) -> Result<Vec<OrgNo>> {
    conn.all(&DUE, args![now, names(plans.all().map(|plan| &*plan.name)), at_most]).await
}

/// Names of unconfigured plans that organizations are on.
pub async fn unknown(conn: &mut Conn, plans: &Plans, at_most: i64) -> Result<Vec<String>> {
    conn.all(&UNKNOWN, args![names(plans.all().map(|plan| &*plan.name)), at_most]).await
}

fn names<'a>(of: impl Iterator<Item = &'a str>) -> String {
    of.map(|name| json!({ "p": name })).collect::<serde_json::Value>().to_string()
}

/// Grants an organization the credits of the current month, unless it has them; returns their number. Skipped months are lost,
/// because they could not have been used. On an unconfigured plan nothing happens; even the month stays due, until the plan is
/// configured again.
pub async fn renew(tx: &mut Tx, no: OrgNo, plans: &Plans, now: Millis) -> Result<CreditCount> {
    let mut org = organization::lock(tx, no).await?;
    if org.status.is_stopped() || org.term.renews_at.is_none_or(|at| at > now) {
        return Ok(0);
    }
    let Some(plan) = plans.get(&org.plan) else { return Ok(0) };
    begin_month(tx, &mut org, plan, now).await?;
    organization::write(tx, &org).await?;
    Ok(plan.monthly)
}

/// Replaces the rest of the former month with the credits of the month of `now`. A plan that grants none is checked again next
/// month: it may grant some then.
async fn begin_month(tx: &mut Tx, org: &mut OrgRecord, plan: &Plan, now: Millis) -> Result<()> {
    let Some(since) = org.term.since else { return Ok(()) };
    let month = Period::month_of(since, now);
    let until = (!plan.keeps_unused).then_some(month.end);
    let cause = format!("plan:{}:{}", org.term.plan_no, month.start.0);
    let booking =
        CreditBooking { org: org.no, bucket: CreditBucket::Subscription, amount: plan.monthly, cause: &cause, at: now };
    credits::begin_month(tx, &booking, until).await?;
    org.term.renews_at = Some(month.end);
    Ok(())
}

/// Changes an organization's plan from today on, which also starts its months. Credits of the old plan's month and of a trial end,
/// and the new plan's first month is granted. Credits granted without months become prepaid. Bought credits stay. Leaving the
/// unlimited plan takes back its grant, less what was spent under it; this is [`StoreError::CreditsHeld`] while some of it is on
/// hold, because later releases would look bought. The same plan again changes nothing.
pub async fn change(tx: &mut Tx, no: OrgNo, plans: &Plans, to: &Plan, now: Millis) -> Result<OrgRecord> {
    let mut org = organization::lock(tx, no).await?;
    if org.plan == to.name {
        return Ok(org);
    }
    let from = plans.of(&org.plan);
    let on_trial = org.on_trial(now);
    org.term.plan_no += 1;
    let cause = format!("plan:{}", org.term.plan_no);
    let left = if org.term.renews_at.is_some() || on_trial {
        CreditsAtPlanChange::OfMonth
    } else {
        CreditsAtPlanChange::Granted
    };
    credits::end_subscription(tx, no, left, &cause, now).await?;
    if from.is_unlimited() {
        take_back(tx, &org, &cause, now).await?;
    }
    org.term.spent_before = credits::spent(tx, no).await?.prepaid;
    if to.is_unlimited() {
        let cause = format!("unlimited:{}", org.term.plan_no);
        put(tx, &org, (CreditBucket::Prepaid, UNLIMITED), &cause, None, now).await?;
    }
    if on_trial {
        org.trial = org.trial.map(|(begun, _)| (begun, now));
    }
    org.plan.clone_from(&to.name);
    org.term.since = (!to.is_built_in()).then(|| Millis::from_utc_day(now.utc_day()));
    (org.term.renews_at, org.term.refilled) = (None, None);
    begin_month(tx, &mut org, to, now).await?;
    settle_low(tx, &mut org, to).await?;
    if !org.term.is_low {
        letters::remove(tx, &LetterKey::notice(no, LetterKind::LowBalance)).await?;
    }
    organization::write(tx, &org).await?;
    Ok(org)
}

/// Takes back the unspent grant of the unlimited plan. Spending under it counts against its grant, so that it is not paid with
/// bought credits.
async fn take_back(tx: &mut Tx, org: &OrgRecord, cause: &str, now: Millis) -> Result<()> {
    let no = org.no;
    if credits::holds_prepaid(tx, no).await? {
        return Err(StoreError::CreditsHeld);
    }
    let used = credits::spent(tx, no).await?.prepaid.saturating_sub(org.term.spent_before);
    // Manual adjustments may have removed more than was bought.
    let left = UNLIMITED.saturating_sub(used).max(0).min(credits::available(tx, no).await?.prepaid);
    credits::adjust(tx, &CreditBooking { org: no, bucket: CreditBucket::Prepaid, amount: -left, cause, at: now }).await
}

/// Applies a changed threshold: a balance low by the new one is reported again, and the old report is over.
pub async fn threshold_changed(tx: &mut Tx, org: &mut OrgRecord) -> Result<()> {
    org.term.is_low = false;
    letters::remove(tx, &LetterKey::notice(org.no, LetterKind::LowBalance)).await
}

/// Makes `needed` credits available through the refills that the plan allows: as many as needed or, if that exceeds the rest of
/// this month's refills, none. Returns whether they are available now. Trials and restricted accounts get none.
pub async fn cover(tx: &mut Tx, no: OrgNo, plans: &Plans, needed: CreditCount, now: Millis) -> Result<bool> {
    let mut org = organization::lock(tx, no).await?;
    let missing = needed.saturating_sub(credits::lock(tx, no).await?.total());
    if missing <= 0 {
        return Ok(true);
    }
    let Some(Refilling { month, times, credits }) = refilling(&org, plans, missing, now) else { return Ok(false) };
    let cause = format!("refill:{}:{}:{}", org.term.plan_no, month.0, times);
    put(tx, &org, (CreditBucket::Prepaid, credits), &cause, None, now).await?;
    record_event(tx, no, AccountEventKind::AutoRefill, now).await?;
    org.term.refilled = Some((month, times));
    organization::write(tx, &org).await?;
    Ok(true)
}

async fn record_event(tx: &mut Tx, no: OrgNo, kind: AccountEventKind, now: Millis) -> Result<()> {
    events::add(tx, no, now, Some(EventActor::System), &[AccountChange::Account(kind, None)]).await
}

/// Refills that cover the missing credits.
struct Refilling {
    /// Beginning of the month in which they count.
    month: Millis,
    /// Number of refills in that month, including these.
    times: i64,
    /// Total of their credits.
    credits: CreditCount,
}

/// Number of refills needed; `None` if that exceeds the rest of this month's refills, or the organization gets none.
fn refilling(org: &OrgRecord, plans: &Plans, missing: CreditCount, now: Millis) -> Option<Refilling> {
    let refill = plans.of(&org.plan).refill.filter(|refill| refill.credits > 0)?;
    if org.status.is_stopped() || org.on_trial(now) {
        return None;
    }
    let month = org.period(now).start;
    let used = org.term.refilled.filter(|(start, _)| *start == month).map_or(0, |(_, times)| times);
    let times = missing.saturating_add(refill.credits - 1) / refill.credits;
    (times <= refill.times - used).then(|| Refilling {
        month,
        times: used + times,
        credits: times.saturating_mul(refill.credits),
    })
}

/// Whether [`cover`] would succeed: reads only. So an organization without credits does not take the writer's turn with each
/// request, and a forecast predicts the start. Credits may be available by now, because another request triggered the last refill.
pub async fn would_cover(conn: &mut Conn, no: OrgNo, plans: &Plans, needed: CreditCount, now: Millis) -> Result<bool> {
    // In this order, a concurrent refill is seen as available credits, and never only as a used refill.
    let org = organization::by_no(conn, no).await?;
    let missing = needed.saturating_sub(credits::available(conn, no).await?.total());
    Ok(missing <= 0 || refilling(&org, plans, missing, now).is_some())
}

/// Organizations whose balance has crossed their threshold, among `at_most` after a given one; and the position to continue from.
pub async fn crossing(
    conn: &mut Conn,
    plans: &Plans,
    after: Option<OrgNo>,
    at_most: i64,
) -> Result<(Vec<OrgNo>, Option<OrgNo>)> {
    let lows: BTreeMap<_, _> = plans.all().filter_map(|plan| Some((&*plan.name, plan.low_balance?))).collect();
    let after = after.unwrap_or(OrgNo(i64::MIN));
    let rows = conn.rows(&WATCHED, args![after, names(lows.keys().copied()), at_most]).await?;
    let (mut crossing, mut last) = (Vec::new(), None);
    for row in &rows {
        let no = OrgNo(row.get("org_no")?);
        last = Some(no);
        let own: Option<i64> = row.get("low_balance")?;
        let plan: String = row.get("plan")?;
        let low = own.or_else(|| lows.get(&*plan).copied());
        let is_low = low.is_some_and(|low| row.get::<i64>("available").is_ok_and(|available| available < low));
        if is_low != (row.get::<i64>("is_low")? == 1) {
            crossing.push(no);
        }
    }
    let more = i64::try_from(rows.len()).is_ok_and(|rows| rows >= at_most);
    Ok((crossing, last.filter(|_| more)))
}

/// Records that a balance has become low, or no longer is; returns which, if it has crossed. A low balance is reported once: by an
/// event and, if the service sends mail, by a notice.
pub async fn cross(
    tx: &mut Tx,
    no: OrgNo,
    plans: &Plans,
    by_mail: bool,
    now: Millis,
) -> Result<Option<(OrgRecord, bool)>> {
    let mut org = organization::lock(tx, no).await?;
    let was = org.term.is_low;
    let plan = plans.of(&org.plan);
    settle_low(tx, &mut org, plan).await?;
    if org.term.is_low == was {
        return Ok(None);
    }
    organization::write(tx, &org).await?;
    if org.term.is_low {
        record_event(tx, no, AccountEventKind::LowBalance, now).await?;
        if by_mail {
            letters::put(tx, &LetterKey::notice(no, LetterKind::LowBalance), now, Some(now)).await?;
        }
    } else {
        letters::remove(tx, &LetterKey::notice(no, LetterKind::LowBalance)).await?;
    }
    let is_low = org.term.is_low;
    Ok(Some((org, is_low)))
}

/// A balance that is low from the start, or through a plan, has not crossed.
async fn settle_low(tx: &mut Tx, org: &mut OrgRecord, plan: &Plan) -> Result<()> {
    let available = credits::available(tx, org.no).await?.total();
    org.term.is_low = org.low_balance(plan).is_some_and(|low| available < low);
    Ok(())
}

async fn put(
    tx: &mut Tx,
    org: &OrgRecord,
    (bucket, amount): (CreditBucket, CreditCount),
    cause: &str,
    until: Option<Millis>,
    at: Millis,
) -> Result<()> {
    if amount == 0 {
        return Ok(());
    }
    credits::grant(tx, &CreditBooking { org: org.no, bucket, amount, cause, at }, until).await
}
