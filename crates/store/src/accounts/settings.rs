//! Organization settings: verdict overrides, retention of jobs, rate limits of keys.
//!
//! One row per organization, read in the transaction that settles results and by maintenance. An organization without a row has the
//! defaults.

use probity_account::overrides::{IgnorableReason, Wishes};
use probity_mail::time::Millis;
use serde_json::json;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::{self, OrgNo};
use crate::records::{TypedStatements as _, damaged, records};

/// An organization's settings. The default is that of an organization without a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrgSettings {
    /// Verdict overrides for its jobs.
    pub overrides: Wishes,
    /// Retention of closed jobs, in days; `None` for the instance's.
    pub retention_days: Option<i64>,
    /// Retention of the delivery log, in days. The instance's applies if it is lower, or if this is `None`.
    pub delivery_retention_days: Option<i64>,
    /// Requests per minute for all its keys. The operator's limit applies if it is lower.
    pub rate_limit_per_minute: Option<i64>,
    /// Name of the time zone in whose nights automatic runs start; `None` for UTC.
    pub time_zone: Option<String>,
}

statements! {
    READ = "SELECT ignored_reasons, ignored_statuses, banned_words, role_words, retention_days, delivery_retention_days, \
            rate_limit_per_minute, time_zone FROM org_settings WHERE org_no = $1";
    WRITE = "INSERT INTO org_settings (org_no, ignored_reasons, ignored_statuses, banned_words, role_words, retention_days, \
             delivery_retention_days, rate_limit_per_minute, changed_at, time_zone) \
             VALUES ($5, $6, $7, $8, $9, $1, $2, $3, $10, $4) \
             ON CONFLICT (org_no) DO UPDATE SET ignored_reasons = excluded.ignored_reasons, \
             ignored_statuses = excluded.ignored_statuses, banned_words = excluded.banned_words, \
             role_words = excluded.role_words, retention_days = excluded.retention_days, \
             delivery_retention_days = excluded.delivery_retention_days, \
             rate_limit_per_minute = excluded.rate_limit_per_minute, time_zone = excluded.time_zone, changed_at = excluded.changed_at";
}

pub async fn read(conn: &mut Conn, org: OrgNo) -> Result<OrgSettings> {
    Ok(conn.find(&READ, args![org]).await?.unwrap_or_default())
}

/// An organization's settings, locked until the transaction ends.
pub async fn lock(tx: &mut Tx, org: OrgNo) -> Result<OrgSettings> {
    // Serializes changes of settings, even for an organization without a row.
    number::lock(tx, org).await?;
    read(tx, org).await
}

pub async fn write(tx: &mut Tx, org: OrgNo, settings: &OrgSettings, now: Millis) -> Result<()> {
    let Wishes { ignored_reasons, ignored_statuses, banned_words, role_words } = &settings.overrides;
    let gates: Vec<_> = ignored_reasons.iter().map(|gate| gate.as_str()).collect();
    let (gates, statuses) = (json!(gates).to_string(), json!(ignored_statuses).to_string());
    let (banned, roles) = (json!(banned_words).to_string().into_bytes(), json!(role_words).to_string().into_bytes());
    let values = args!(settings => retention_days, delivery_retention_days, rate_limit_per_minute, time_zone;
        org, gates, statuses, banned, roles, now);
    tx.execute(&WRITE, values).await.map(drop)
}

records!(row => OrgSettings {
    retention_days, delivery_retention_days, rate_limit_per_minute, time_zone;
    overrides: Wishes {
        ignored_reasons: row.json::<Vec<String>>("ignored_reasons")?.iter().map(|name| gate(name)).collect::<Result<_>>()?,
        ignored_statuses: row.json("ignored_statuses")?,
        banned_words: serde_json::from_str(&row.text("banned_words")?).map_err(damaged)?,
        role_words: serde_json::from_str(&row.text("role_words")?).map_err(damaged)?,
    },
});

fn gate(name: &str) -> Result<IgnorableReason> {
    IgnorableReason::from_name(name).ok_or_else(|| StoreError::corrupt("a reason in settings"))
}
