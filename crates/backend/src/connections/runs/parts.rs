//! Ends large runs in parts, so that the database serves others meanwhile.

use probity_mail::time::Millis;
use probity_store::connections::contacts;
use probity_store::connections::runs::{self, ConnectionRun, RunState};
use probity_store::{ScopedFutureExt as _, Store, StoreError};

/// Contacts that are handled in one transaction.
const PART: i64 = 5_000;

/// Takes back what a run without verdicts has noted of its contacts, before it ends. If it goes on instead, it verifies these
/// contacts again.
pub async fn forget_in_parts(store: &Store, run: &ConnectionRun) -> Result<(), StoreError> {
    if run.rows <= PART || !matches!(run.state, RunState::Reading | RunState::Verifying) {
        return Ok(());
    }
    let mut after = Some(Vec::new());
    while let Some(last) = after {
        after = store.write_bulk(|tx| contacts::forget_part(tx, run, &last, PART).scope_boxed()).await?;
    }
    Ok(())
}

/// Ignores the open actions that a run still has after its end.
pub async fn drop_in_parts(store: &Store, run: &ConnectionRun, now: Millis) -> Result<(), StoreError> {
    while store.write_bulk(|tx| runs::drop_more(tx, (run.org, run.job), now).scope_boxed()).await? {}
    Ok(())
}
