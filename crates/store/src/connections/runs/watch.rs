//! Conditions that may forbid the next action of a run, in one query.
//!
//! Actions are decided in slices, and a slice may take minutes at a slow platform. The query is repeated before each call: if its
//! result differs from the one before the slice, the slice is decided again.

use super::RunFence;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, args, statements};

/// Conditions that may forbid the next action of a held run. Two equal results mean that nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWatch {
    organization: String,
    /// Status, account and settings of the connection.
    connection: (String, Vec<u8>, String),
    /// Number of rules and the newest one, of blacklist and whitelist.
    rules: [(i64, Option<i64>); 2],
    newest_erasure: Option<i64>,
    is_erasing: bool,
}

statements! {
    WATCH = "SELECT o.status AS organization, c.status, c.account_tag, c.settings, c.blacklist_count, c.whitelist_count, \
             (SELECT MAX(k.created_at) FROM connection_rule k WHERE k.org_no = $1 AND k.connection_id = c.id \
             AND k.kind = 'blacklist') AS blacklisted_at, \
             (SELECT MAX(k.created_at) FROM connection_rule k WHERE k.org_no = $1 AND k.connection_id = c.id \
             AND k.kind = 'whitelist') AS whitelisted_at, \
             (SELECT MAX(e.requested_at) FROM erasure e WHERE e.org_no = $1 AND e.test = c.test) AS erased_at, \
             (SELECT MAX(e.requested_at) FROM erasure e WHERE e.org_no = $1 AND e.test = c.test AND e.completed_at IS NULL) \
             AS erasing_at \
             FROM connection_run r JOIN connection c ON c.org_no = r.org_no AND c.id = r.connection_id \
             JOIN org o ON o.org_no = r.org_no \
             WHERE r.org_no = $1 AND r.job_no = $2 AND r.epoch = $3 AND r.state = 'acting'";
}

impl RunWatch {
    /// Returns whether an erasure of the run's mode is open, which may have to remove its contacts first.
    pub fn is_erasing(&self) -> bool {
        self.is_erasing
    }
}

/// Reads the conditions of a run that acts. [`StoreError::LeaseLost`]: another node has it, it no longer acts, or its connection
/// was removed.
pub async fn watch(conn: &mut Conn, fence: &RunFence) -> Result<RunWatch> {
    let row = conn.first(&WATCH, args![fence.org, fence.job, fence.epoch]).await?.ok_or(StoreError::LeaseLost)?;
    Ok(RunWatch {
        organization: row.get("organization")?,
        connection: (row.get("status")?, row.get("account_tag")?, row.get("settings")?),
        rules: [
            (row.get("blacklist_count")?, row.get("blacklisted_at")?),
            (row.get("whitelist_count")?, row.get("whitelisted_at")?),
        ],
        newest_erasure: row.get("erased_at")?,
        is_erasing: row.get::<Option<i64>>("erasing_at")?.is_some(),
    })
}
