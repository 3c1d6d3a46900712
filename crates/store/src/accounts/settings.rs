//! Organization settings: verdict overrides, retention of jobs, rate limits of keys.
//!
//! One row per organization, read in the transaction that settles results and by maintenance. An organization without a row has the
//! defaults.

use probity_account::overrides::{IgnorableReason, Wishes};
use probity_mail::time::Millis;
use probity_mail::verdict::Status;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::record;

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
    // Serializes changes of settings, even for an organization without a row.
    LOCK = "SELECT org_no FROM org WHERE org_no = $1 {for_update}";
    WRITE = "INSERT INTO org_settings (org_no, ignored_reasons, ignored_statuses, banned_words, role_words, retention_days, \
             delivery_retention_days, rate_limit_per_minute, changed_at, time_zone) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
             ON CONFLICT (org_no) DO UPDATE SET ignored_reasons = excluded.ignored_reasons, \
             ignored_statuses = excluded.ignored_statuses, banned_words = excluded.banned_words, \
             role_words = excluded.role_words, retention_days = excluded.retention_days, \
             delivery_retention_days = excluded.delivery_retention_days, \
             rate_limit_per_minute = excluded.rate_limit_per_minute, time_zone = excluded.time_zone, changed_at = excluded.changed_at";
}

pub async fn read(conn: &mut Conn, org: OrgNo) -> Result<OrgSettings> {
    let row = conn.first(&READ, args![org]).await?;
    row.as_ref().map_or_else(|| Ok(OrgSettings::default()), settings)
}

/// An organization's settings, locked until the transaction ends.
pub async fn lock(tx: &mut Tx, org: OrgNo) -> Result<OrgSettings> {
    tx.first(&LOCK, args![org]).await?.ok_or(StoreError::NotFound)?;
    read(tx, org).await
}

pub async fn write(tx: &mut Tx, org: OrgNo, settings: &OrgSettings, now: Millis) -> Result<()> {
    let OrgSettings { overrides, retention_days, delivery_retention_days, rate_limit_per_minute, time_zone } = settings;
    let gates: Vec<_> = overrides.ignored_reasons.iter().map(|gate| gate.as_str()).collect();
    let statuses: Vec<_> = overrides.ignored_statuses.iter().map(|status| status.as_str()).collect();
    let values = args![
        org,
        json(&gates),
        json(&statuses),
        json(&overrides.banned_words).into_bytes(),
        json(&overrides.role_words).into_bytes(),
        *retention_days,
        *delivery_retention_days,
        *rate_limit_per_minute,
        now,
        time_zone.as_deref(),
    ];
    tx.execute(&WRITE, values).await.map(drop)
}

fn json<T: AsRef<str> + serde::Serialize>(texts: &[T]) -> String {
    serde_json::to_string(texts).expect("texts are plain JSON")
}

fn settings(row: &ResultRow) -> Result<OrgSettings> {
    let names = |column: &str| -> Result<Vec<String>> { texts(row.get::<String>(column)?.as_bytes()) };
    let words = |column: &str| -> Result<Vec<String>> { texts(&row.get::<Vec<u8>>(column)?) };
    let gate =
        |name: &String| IgnorableReason::from_name(name).ok_or_else(|| StoreError::corrupt("a reason in settings"));
    let status = |name: &String| Status::from_name(name).ok_or_else(|| StoreError::corrupt("a status in settings"));
    Ok(record!(row => OrgSettings {
        retention_days, delivery_retention_days, rate_limit_per_minute, time_zone;
        overrides: Wishes {
            ignored_reasons: names("ignored_reasons")?.iter().map(gate).collect::<Result<_>>()?,
            ignored_statuses: names("ignored_statuses")?.iter().map(status).collect::<Result<_>>()?,
            banned_words: words("banned_words")?,
            role_words: words("role_words")?,
        },
    }))
}

fn texts(json: &[u8]) -> Result<Vec<String>> {
    serde_json::from_slice(json).map_err(|error| StoreError::Corrupt(error.into()))
}
