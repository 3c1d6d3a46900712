//! What organizations wish: which verdicts they override, how long jobs are kept, how fast their keys may be.
//!
//! One row each, read in the transaction that settles results and by upkeep. An organization without a row has wished nothing.

use probity_account::overrides::{Gate, Wishes};
use probity_mail::time::Millis;
use probity_mail::verdict::Status;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// An organization's settings. The default is that of one that has wished nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What it overrides in the verdicts of its batches.
    pub overrides: Wishes,
    /// For how many days closed jobs are kept; none where the instance's value counts.
    pub retention_days: Option<i64>,
    /// For how many days the log of deliveries is kept. The instance's value counts where it is lower, or there is none.
    pub delivery_retention_days: Option<i64>,
    /// Requests a minute for all its keys. The operator's limit counts where it is lower.
    pub rate_limit_per_minute: Option<i64>,
}

statements! {
    READ = "SELECT ignored_reasons, ignored_statuses, banned_words, role_words, retention_days, delivery_retention_days, \
            rate_limit_per_minute FROM org_settings WHERE org_no = $1";
    // Settings are changed one after the other, also those of an organization that has no row yet.
    LOCK = "SELECT org_no FROM org WHERE org_no = $1 {for_update}";
    WRITE = "INSERT INTO org_settings (org_no, ignored_reasons, ignored_statuses, banned_words, role_words, retention_days, \
             delivery_retention_days, rate_limit_per_minute, changed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
             ON CONFLICT (org_no) DO UPDATE SET ignored_reasons = excluded.ignored_reasons, \
             ignored_statuses = excluded.ignored_statuses, banned_words = excluded.banned_words, \
             role_words = excluded.role_words, retention_days = excluded.retention_days, \
             delivery_retention_days = excluded.delivery_retention_days, \
             rate_limit_per_minute = excluded.rate_limit_per_minute, changed_at = excluded.changed_at";
}

/// An organization's settings.
pub async fn read(conn: &mut Conn, org: OrgNo) -> Result<Settings> {
    let row = conn.first(&READ, args![org]).await?;
    row.as_ref().map_or_else(|| Ok(Settings::default()), settings)
}

/// An organization's settings, which stay as they are until the transaction ends.
pub async fn lock(tx: &mut Tx, org: OrgNo) -> Result<Settings> {
    tx.first(&LOCK, args![org]).await?.ok_or(StoreError::NotFound)?;
    read(tx, org).await
}

/// Replaces an organization's settings.
pub async fn write(tx: &mut Tx, org: OrgNo, settings: &Settings, now: Millis) -> Result<()> {
    let Settings { overrides, retention_days, delivery_retention_days, rate_limit_per_minute } = settings;
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
    ];
    tx.execute(&WRITE, values).await?;
    Ok(())
}

fn json<T: AsRef<str> + serde::Serialize>(texts: &[T]) -> String {
    serde_json::to_string(texts).expect("texts are plain JSON")
}

fn settings(row: &Row) -> Result<Settings> {
    let names = |column: &str| -> Result<Vec<String>> { texts(row.get::<String>(column)?.as_bytes()) };
    let words = |column: &str| -> Result<Vec<String>> { texts(&row.get::<Vec<u8>>(column)?) };
    let gate = |name: &String| Gate::from_name(name).ok_or_else(|| StoreError::corrupt("a reason in settings"));
    let status = |name: &String| Status::from_name(name).ok_or_else(|| StoreError::corrupt("a status in settings"));
    Ok(Settings {
        overrides: Wishes {
            ignored_reasons: names("ignored_reasons")?.iter().map(gate).collect::<Result<_>>()?,
            ignored_statuses: names("ignored_statuses")?.iter().map(status).collect::<Result<_>>()?,
            banned_words: words("banned_words")?,
            role_words: words("role_words")?,
        },
        retention_days: row.get("retention_days")?,
        delivery_retention_days: row.get("delivery_retention_days")?,
        rate_limit_per_minute: row.get("rate_limit_per_minute")?,
    })
}

fn texts(json: &[u8]) -> Result<Vec<String>> {
    serde_json::from_slice(json).map_err(|error| StoreError::Corrupt(error.into()))
}
