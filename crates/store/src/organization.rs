//! Organizations: the customers, and what everything else belongs to.
//!
//! A row has the plan, where the account stands and what its own terms are. The functions that change a part of it read it under
//! its lock ([`lock`]) and write it whole ([`write()`]), so two changes follow each other and none undoes the other's. Whoever
//! locks accounts besides locks the organization first. A stopped organization keeps everything; that nothing is done for it any
//! more is up to those who look at its status. Organizations are never removed.

use probity_account::credits::Credits;
use probity_account::id::OrgId;
use probity_account::plans::{Entitlements, Period, Plan};
use probity_mail::time::Millis;

use crate::db::{Args, Argument as _, Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// Where an account stands. `Suspended`, `Paused` and `Banned` stop the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrgStatus {
    /// Everything works.
    Active,
    /// Stopped by the operator, to be lifted.
    Suspended,
    /// Stopped for a while.
    Paused,
    /// Stopped for good.
    Banned,
    /// Works; somebody looks at it.
    UnderReview,
    /// Works; the owner has yet to show who they are.
    NeedsIdentityVerification,
}

impl OrgStatus {
    /// Every status.
    pub const ALL: [Self; 6] =
        [Self::Active, Self::Suspended, Self::Paused, Self::Banned, Self::UnderReview, Self::NeedsIdentityVerification];

    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Paused => "paused",
            Self::Banned => "banned",
            Self::UnderReview => "under_review",
            Self::NeedsIdentityVerification => "needs_identity_verification",
        }
    }

    /// Whether requests are refused.
    pub fn is_stopped(self) -> bool {
        matches!(self, Self::Suspended | Self::Paused | Self::Banned)
    }
}

impl std::str::FromStr for OrgStatus {
    type Err = ();
    fn from_str(name: &str) -> std::result::Result<Self, ()> {
        Self::ALL.into_iter().find(|status| status.as_str() == name).ok_or(())
    }
}

/// An organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Org {
    /// Its number inside.
    pub no: OrgNo,
    /// Its id outside.
    pub id: OrgId,
    /// What it is called.
    pub name: Option<String>,
    /// The name of its plan.
    pub plan: String,
    /// Where it stands.
    pub status: OrgStatus,
    /// When its trial began and ends, if it has one.
    pub trial: Option<(Millis, Millis)>,
    /// Requests a minute for all its keys; none where the instance's value counts.
    pub rate_limit_per_minute: Option<i64>,
    /// How many people may belong to it; none where nobody counts them.
    pub seats_max: Option<i64>,
    /// Where it stands in its plan.
    pub term: Term,
    /// What holds for it whatever its plan says.
    pub own: Own,
    /// Why the operator stopped it, or looks at it.
    pub hold_reason: Option<String>,
    /// When it was made.
    pub created_at: Millis,
}

/// Where an organization stands in its plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// From which day its months are counted; none where they are those of the calendar.
    pub since: Option<Millis>,
    /// How many plans it has had before.
    pub plan_no: i64,
    /// When credits are due; none where the plan gives none.
    pub renews_at: Option<Millis>,
    /// The beginning of the month in which credits were put in, and how often.
    pub refilled: Option<(Millis, i64)>,
    /// Whether its balance is low, and that was told.
    pub is_low: bool,
    /// How many prepaid credits had been spent when it began.
    pub spent_before: Credits,
}

/// What holds for one organization in the place of what its plan says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// What it may use.
    pub entitled: Entitlements,
    /// What it may not; stronger than the former.
    pub unentitled: Entitlements,
    /// Below how many credits its balance is low; none where its plan says.
    pub low_balance: Option<Credits>,
}

impl Org {
    /// What it may use on a plan.
    pub fn entitlements(&self, plan: &Plan) -> Entitlements {
        plan.entitlements.and(self.own.entitled).without(self.own.unentitled)
    }

    /// How many people may belong to it on a plan; none where nobody counts.
    pub fn seats(&self, plan: &Plan) -> Option<i64> {
        self.seats_max.or(plan.seats)
    }

    /// Below how many credits its balance is low on a plan.
    pub fn low_balance(&self, plan: &Plan) -> Option<Credits> {
        self.own.low_balance.or(plan.low_balance)
    }

    /// Whether its trial runs.
    pub fn on_trial(&self, now: Millis) -> bool {
        self.trial.is_some_and(|(from, to)| from <= now && now < to)
    }

    /// The period that its use and its credits are counted in: the trial as long as it runs, then a month of its plan, or one
    /// of the calendar. Its first day is whole: usage is counted by day.
    pub fn period(&self, now: Millis) -> Period {
        match (self.trial, self.term.since) {
            (Some((from, end)), _) if self.on_trial(now) => Period { start: Millis::from_utc_day(from.utc_day()), end },
            (_, Some(since)) => Period::month_of(since, now),
            _ => Period::calendar_month(now),
        }
    }

    /// A new, active organization.
    pub fn new(id: OrgId, name: Option<String>, plan: String, now: Millis) -> Self {
        let no = OrgNo::of_id(id.bits());
        let status = OrgStatus::Active;
        Self {
            no,
            id,
            name,
            plan,
            status,
            trial: None,
            rate_limit_per_minute: None,
            seats_max: None,
            term: Term::default(),
            own: Own::default(),
            hold_reason: None,
            created_at: now,
        }
    }
}

/// The columns that [`read`] needs.
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

/// Its number and all of it that can change, in the order of both statements that write it.
fn changeable(org: &Org) -> Args {
    let (trial_start, trial_end) = org.trial.unzip();
    let (refilled_in, refills) = org.term.refilled.unzip();
    args![
        org.no,
        org.name.as_deref(),
        org.plan.as_str(),
        org.status.as_str(),
        trial_start,
        trial_end,
        org.rate_limit_per_minute,
        org.seats_max,
        org.term.since,
        org.term.plan_no,
        org.term.renews_at,
        refilled_in,
        refills.unwrap_or(0),
        org.own.entitled.bits(),
        org.own.unentitled.bits(),
        org.own.low_balance,
        i64::from(org.term.is_low),
        org.hold_reason.as_deref(),
        org.term.spent_before,
    ]
}

/// Adds an organization with its empty accounts.
pub async fn insert(tx: &mut Tx, org: &Org) -> Result<()> {
    let mut values = changeable(org);
    org.id.to_string().add(&mut values);
    org.created_at.add(&mut values);
    tx.execute(&INSERT, values).await?;
    for bucket in ["subscription", "prepaid"] {
        tx.execute(&INSERT_ACCOUNT, args![org.no, bucket]).await?;
    }
    Ok(())
}

/// The organization with a number.
pub async fn by_no(conn: &mut Conn, no: OrgNo) -> Result<Org> {
    conn.first(&BY_NO, args![no]).await?.as_ref().map_or(Err(StoreError::NotFound), read)
}

/// The organization with an id.
pub async fn by_id(conn: &mut Conn, id: OrgId) -> Result<Org> {
    conn.first(&BY_ID, args![id.to_string()]).await?.as_ref().map_or(Err(StoreError::NotFound), read)
}

/// Organizations in the order in which they were made, after one of them; at most `at_most`.
pub async fn page(conn: &mut Conn, after: Option<OrgNo>, at_most: i64) -> Result<Vec<Org>> {
    let after = after.unwrap_or(OrgNo(i64::MIN));
    conn.rows(&PAGE, args![after, at_most]).await?.iter().map(read).collect()
}

/// The organization with a number, locked: nobody else changes it until the transaction ends.
pub async fn lock(tx: &mut Tx, no: OrgNo) -> Result<Org> {
    tx.first(&LOCK, args![no]).await?.as_ref().map_or(Err(StoreError::NotFound), read)
}

/// Writes all of an organization that can change. It was locked before.
pub async fn write(tx: &mut Tx, org: &Org) -> Result<()> {
    if tx.execute(&WRITE, changeable(org)).await? == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

/// Stops an organization or lets it go on, and says how it stood before. No reason is kept; one that was there goes.
pub async fn set_status(tx: &mut Tx, no: OrgNo, status: OrgStatus) -> Result<OrgStatus> {
    set_hold(tx, no, status, None).await
}

/// The same with a reason, which is for operators only.
pub async fn set_hold(tx: &mut Tx, no: OrgNo, status: OrgStatus, reason: Option<&str>) -> Result<OrgStatus> {
    let org = lock(tx, no).await?;
    let before = org.status;
    write(tx, &Org { status, hold_reason: reason.map(str::to_owned), ..org }).await?;
    Ok(before)
}

fn read(row: &Row) -> Result<Org> {
    let started: Option<i64> = row.get("trial_started_at")?;
    let ends: Option<i64> = row.get("trial_ends_at")?;
    let refilled_in: Option<i64> = row.get("refilled_in")?;
    let refills: i64 = row.get("refills")?;
    Ok(Org {
        no: OrgNo(row.get("org_no")?),
        id: row.parse("id")?,
        name: row.get("name")?,
        plan: row.get("plan")?,
        status: row.parse("status")?,
        trial: started.zip(ends).map(|(from, to)| (Millis(from), Millis(to))),
        rate_limit_per_minute: row.get("rate_limit_per_minute")?,
        seats_max: row.get("seats_max")?,
        term: Term {
            since: row.get::<Option<i64>>("plan_since")?.map(Millis),
            plan_no: row.get("plan_no")?,
            renews_at: row.get::<Option<i64>>("renews_at")?.map(Millis),
            refilled: refilled_in.map(|start| (Millis(start), refills)),
            is_low: row.get::<i64>("is_low")? == 1,
            spent_before: row.get("spent_before")?,
        },
        own: Own {
            entitled: Entitlements::from_bits(row.get("entitled")?),
            unentitled: Entitlements::from_bits(row.get("unentitled")?),
            low_balance: row.get("low_balance")?,
        },
        hold_reason: row.get("hold_reason")?,
        created_at: Millis(row.get("created_at")?),
    })
}
