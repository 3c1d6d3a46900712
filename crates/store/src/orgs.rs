//! Organizations: the customers, and what everything else belongs to.

use probity_core::id::OrgId;
use probity_core::time::Millis;

use crate::db::{Conn, Row, Tx, args, statements};
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
    /// When it was made.
    pub created_at: Millis,
}

impl Org {
    /// A new, active organization.
    pub fn new(id: OrgId, name: Option<String>, plan: String, now: Millis) -> Self {
        let no = OrgNo::of_id(id.bits());
        let status = OrgStatus::Active;
        Self { no, id, name, plan, status, trial: None, rate_limit_per_minute: None, seats_max: None, created_at: now }
    }
}

statements! {
    INSERT = "INSERT INTO org (org_no, id, name, plan, status, trial_started_at, trial_ends_at, rate_limit_per_minute, \
              seats_max, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    INSERT_ACCOUNT = "INSERT INTO account (org_no, bucket, available, held, spent) VALUES ($1, $2, 0, 0, 0)";
    BY_NO = "SELECT org_no, id, name, plan, status, trial_started_at, trial_ends_at, rate_limit_per_minute, seats_max, \
             created_at FROM org WHERE org_no = $1";
    BY_ID = "SELECT org_no, id, name, plan, status, trial_started_at, trial_ends_at, rate_limit_per_minute, seats_max, \
             created_at FROM org WHERE id = $1";
    PAGE = "SELECT org_no, id, name, plan, status, trial_started_at, trial_ends_at, rate_limit_per_minute, seats_max, \
            created_at FROM org WHERE org_no > $1 ORDER BY org_no LIMIT $2";
    STATUS = "SELECT status FROM org WHERE org_no = $1 {for_update}";
    SET_STATUS = "UPDATE org SET status = $2 WHERE org_no = $1";
    SET_PLAN = "UPDATE org SET plan = $2 WHERE org_no = $1";
}

/// Adds an organization with its empty accounts.
pub async fn insert(tx: &mut Tx, org: &Org) -> Result<()> {
    let (trial_start, trial_end) = org.trial.unzip();
    let values = args![
        org.no,
        org.id.to_string(),
        org.name.as_deref(),
        org.plan.as_str(),
        org.status.as_str(),
        trial_start,
        trial_end,
        org.rate_limit_per_minute,
        org.seats_max,
        org.created_at,
    ];
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

/// Stops an organization or lets it go on, and says how it stood before.
pub async fn set_status(tx: &mut Tx, no: OrgNo, status: OrgStatus) -> Result<OrgStatus> {
    let before = tx.first(&STATUS, args![no]).await?.ok_or(StoreError::NotFound)?.parse("status")?;
    changed(tx.execute(&SET_STATUS, args![no, status.as_str()]).await?)?;
    Ok(before)
}

/// Gives an organization another plan.
pub async fn set_plan(tx: &mut Tx, no: OrgNo, plan: &str) -> Result<()> {
    changed(tx.execute(&SET_PLAN, args![no, plan]).await?)
}

fn changed(rows: u64) -> Result<()> {
    if rows == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

fn read(row: &Row) -> Result<Org> {
    let started: Option<i64> = row.get("trial_started_at")?;
    let ends: Option<i64> = row.get("trial_ends_at")?;
    Ok(Org {
        no: OrgNo(row.get("org_no")?),
        id: row.parse("id")?,
        name: row.get("name")?,
        plan: row.get("plan")?,
        status: row.parse("status")?,
        trial: started.zip(ends).map(|(from, to)| (Millis(from), Millis(to))),
        rate_limit_per_minute: row.get("rate_limit_per_minute")?,
        seats_max: row.get("seats_max")?,
        created_at: Millis(row.get("created_at")?),
    })
}
