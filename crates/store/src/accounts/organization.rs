//! Organizations: the customers, which own all other data.
//!
//! A row has the plan, the state of the account and its own terms. Functions that change a part read the row under its lock
//! ([`lock`]) and write it whole ([`write()`]), so concurrent changes do not undo each other. Lock the organization before its
//! accounts. A restricted organization keeps its data; callers check the status before they act for it. Organizations are never
//! removed.

use probity_account::credits::CreditCount;
use probity_account::id::OrgId;
use probity_account::plans::{EntitlementSet, Period, Plan};
use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, StatementArgs, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, record, records};

probity_mail::named! {
    /// State of an account. `Suspended`, `Paused` and `Banned` stop the API.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OrgState {
        /// No restriction.
        Active = "active",
        /// Restricted by the operator, to be lifted.
        Suspended = "suspended",
        /// Restricted for a while.
        Paused = "paused",
        /// Restricted permanently.
        Banned = "banned",
        /// Works; the operator is reviewing it.
        UnderReview = "under_review",
        /// Works; the owner has yet to verify their identity.
        NeedsIdentityVerification = "needs_identity_verification",
    }
}
crate::records::names!(OrgState);

impl OrgState {
    /// Whether requests are rejected.
    pub fn is_stopped(self) -> bool {
        matches!(self, Self::Suspended | Self::Paused | Self::Banned)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrgRecord {
    /// Internal number.
    pub no: OrgNo,
    /// Public id.
    pub id: OrgId,
    pub name: Option<String>,
    pub plan: String,
    pub status: OrgState,
    /// Beginning and end of its trial, if it has one.
    pub trial: Option<(Millis, Millis)>,
    /// Requests per minute for all its keys; `None` for the instance's limit.
    pub rate_limit_per_minute: Option<i64>,
    /// Maximum team members; `None` for no limit.
    pub seats_max: Option<i64>,
    /// Position within its plan.
    pub term: Term,
    /// Terms that override its plan.
    pub own: OwnTerms,
    /// Operator's reason for a restriction or review.
    pub hold_reason: Option<String>,
    pub created_at: Millis,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// Day from which its months are counted; `None` for calendar months.
    pub since: Option<Millis>,
    /// Number of earlier plans.
    pub plan_no: i64,
    /// Time of the next grant; `None` if the plan grants none.
    pub renews_at: Option<Millis>,
    /// Beginning of the month of the last refill, and the number of refills in it.
    pub refilled: Option<(Millis, i64)>,
    /// Whether its balance is low, and that was reported.
    pub is_low: bool,
    /// Prepaid credits spent before this plan.
    pub spent_before: CreditCount,
}

/// Terms of one organization that override its plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTerms {
    /// Additional entitlements.
    pub entitled: EntitlementSet,
    /// Withdrawn entitlements; they override the additional ones.
    pub unentitled: EntitlementSet,
    /// Low-balance threshold in credits; `None` for the plan's.
    pub low_balance: Option<CreditCount>,
}

impl OrgRecord {
    /// Entitlements on a plan.
    pub fn entitlements(&self, plan: &Plan) -> EntitlementSet {
        plan.entitlements.and(self.own.entitled).without(self.own.unentitled)
    }

    /// Maximum team members on a plan; `None` for no limit.
    pub fn seats(&self, plan: &Plan) -> Option<i64> {
        self.seats_max.or(plan.seats)
    }

    /// Low-balance threshold on a plan.
    pub fn low_balance(&self, plan: &Plan) -> Option<CreditCount> {
        self.own.low_balance.or(plan.low_balance)
    }

    /// Whether it is in its trial.
    pub fn on_trial(&self, now: Millis) -> bool {
        self.trial.is_some_and(|(from, to)| from <= now && now < to)
    }

    /// Period in which its use and its credits are counted: the trial while it runs, then a month of its plan or of the calendar.
    /// The first day counts in full, because usage is counted by day.
    pub fn period(&self, now: Millis) -> Period {
        match (self.trial, self.term.since) {
            (Some((from, end)), _) if self.on_trial(now) => Period { start: Millis::from_utc_day(from.utc_day()), end },
            (_, Some(since)) => Period::month_of(since, now),
            _ => Period::calendar_month(now),
        }
    }

    /// Creates an active organization.
    pub fn new(id: OrgId, name: Option<String>, plan: String, now: Millis) -> Self {
        Self {
            no: OrgNo::of_id(id.bits()),
            id,
            name,
            plan,
            status: OrgState::Active,
            trial: None,
            rate_limit_per_minute: None,
            seats_max: None,
            term: Term::default(),
            own: OwnTerms::default(),
            hold_reason: None,
            created_at: now,
        }
    }
}

/// Columns of an [`OrgRecord`].
macro_rules! columns {
    () => {
        "org_no, id, name, plan, status, trial_started_at, trial_ends_at, rate_limit_per_minute, seats_max, plan_since, plan_no, \
         renews_at, refilled_in, refills, entitled, unentitled, low_balance, is_low, hold_reason, spent_before, created_at"
    };
}

statements! {
    INSERT = "INSERT INTO org (org_no, name, plan, status, trial_started_at, trial_ends_at, rate_limit_per_minute, \
              seats_max, plan_since, plan_no, renews_at, refilled_in, refills, entitled, unentitled, low_balance, is_low, \
              hold_reason, spent_before, id, created_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)";
    INSERT_ACCOUNT = "INSERT INTO account (org_no, bucket, available, held, spent) VALUES ($1, $2, 0, 0, 0)";
    BY_NO = concat!("SELECT ", columns!(), " FROM org WHERE org_no = $1");
    LOCK = concat!("SELECT ", columns!(), " FROM org WHERE org_no = $1 {for_update}");
    BY_ID = concat!("SELECT ", columns!(), " FROM org WHERE id = $1");
    PAGE = concat!("SELECT ", columns!(), " FROM org WHERE org_no > $1 ORDER BY org_no LIMIT $2");
    WRITE = "UPDATE org SET name = $2, plan = $3, status = $4, trial_started_at = $5, trial_ends_at = $6, \
             rate_limit_per_minute = $7, seats_max = $8, plan_since = $9, plan_no = $10, renews_at = $11, \
             refilled_in = $12, refills = $13, entitled = $14, unentitled = $15, low_balance = $16, is_low = $17, \
             hold_reason = $18, spent_before = $19 WHERE org_no = $1";
}

/// Its number and all changeable columns, in the order of both statements that write them.
fn changeable(org: &OrgRecord) -> StatementArgs {
    let (trial_start, trial_end) = org.trial.unzip();
    let (refilled_in, refills) = org.term.refilled.unzip();
    args![
        org.no,
        &org.name,
        &org.plan,
        org.status,
        trial_start,
        trial_end,
        org.rate_limit_per_minute,
        org.seats_max,
        org.term.since,
        org.term.plan_no,
        org.term.renews_at,
        refilled_in,
        refills.unwrap_or(0),
        org.own.entitled,
        org.own.unentitled,
        org.own.low_balance,
        org.term.is_low,
        &org.hold_reason,
        org.term.spent_before,
    ]
}

/// Adds an organization with empty accounts.
pub async fn insert(tx: &mut Tx, org: &OrgRecord) -> Result<()> {
    tx.execute(&INSERT, changeable(org).with(org.id.to_string()).with(org.created_at.0)).await?;
    for bucket in ["subscription", "prepaid"] {
        tx.execute(&INSERT_ACCOUNT, args![org.no, bucket]).await?;
    }
    Ok(())
}

pub async fn by_no(conn: &mut Conn, no: OrgNo) -> Result<OrgRecord> {
    conn.one(&BY_NO, args![no]).await
}

pub async fn by_id(conn: &mut Conn, id: OrgId) -> Result<OrgRecord> {
    conn.one(&BY_ID, args![id]).await
}

/// Organizations in creation order, after a given one; at most `at_most`.
pub async fn page(conn: &mut Conn, after: Option<OrgNo>, at_most: i64) -> Result<Vec<OrgRecord>> {
    conn.all(&PAGE, args![after.unwrap_or(OrgNo(i64::MIN)), at_most]).await
}

/// The organization with a number, locked until the transaction ends.
pub async fn lock(tx: &mut Tx, no: OrgNo) -> Result<OrgRecord> {
    tx.one(&LOCK, args![no]).await
}

/// Writes the changeable columns of an organization, which must be locked.
pub async fn write(tx: &mut Tx, org: &OrgRecord) -> Result<()> {
    tx.change(&WRITE, changeable(org), StoreError::NotFound).await
}

/// Changes an organization's status; returns the former one. Clears the reason.
pub async fn set_status(tx: &mut Tx, no: OrgNo, status: OrgState) -> Result<OrgState> {
    set_hold(tx, no, status, None).await
}

/// As [`set_status`], with a reason for operators only.
pub async fn set_hold(tx: &mut Tx, no: OrgNo, status: OrgState, reason: Option<&str>) -> Result<OrgState> {
    let org = lock(tx, no).await?;
    let before = org.status;
    write(tx, &OrgRecord { status, hold_reason: reason.map(str::to_owned), ..org }).await?;
    Ok(before)
}

records!(row => OrgRecord {
    no = "org_no", id, name, plan, status, rate_limit_per_minute, seats_max, hold_reason, created_at;
    trial: row.read::<Option<_>>("trial_started_at")?.zip(row.read("trial_ends_at")?),
    term: record!(row => Term {
        since = "plan_since", plan_no, renews_at, is_low, spent_before;
        refilled: row.read::<Option<_>>("refilled_in")?.zip(row.read("refills")?),
    }),
    own: record!(row => OwnTerms { entitled, unentitled, low_balance }),
});
