//! Erases keyword rules that contain an erased address. The whole rule is removed, because it would match nothing without its
//! keyword.

use probity_account::id::RuleId;
use probity_mail::time::Millis;
use probity_store::connections::{connection, rules};
use probity_store::privacy::erasures::record;
use probity_store::privacy::erasures::registry::ColumnEraser;
use probity_store::{ScopedFutureExt as _, StoreError};

use super::{Sweep, SweepStop};

/// Rules read at a time.
const RULES: i64 = 500;

impl Sweep<'_> {
    pub(super) async fn keyword_rules(&mut self) -> Result<(), SweepStop> {
        let (org, test) = (self.claimed.erasure.org, self.claimed.erasure.test);
        let up_to = self.claimed.erasure.requested_at;
        let mut behind: Option<RuleId> = None;
        loop {
            let mut conn = self.keeper.store.read().await?;
            let found = rules::behind(&mut conn, (org, test), behind, RULES).await?;
            drop(conn);
            let Some((_, last)) = found.last() else { return Ok(()) };
            behind = Some(last.id);
            for (connection, stored) in found {
                if stored.created_at > up_to || !self.matcher.names(&stored.rule.keyword) {
                    continue;
                }
                slice!(self, ColumnEraser::KeywordRules, |tx, _matcher| async {
                    connection::lock(tx, org, connection, test).await?;
                    let is_removed = rules::remove(tx, (org, connection, stored.kind), stored.id).await?;
                    Ok::<_, StoreError>(u64::from(is_removed))
                });
            }
            self.hold_if_due().await?;
        }
    }
}
