//! Contacts whose verdict changed, for clients that keep a copy.

use probity_backend::lists::rows;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::connections::{ChangedVerdict, VerdictChangesQuery};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::connections::changes::{self, VerdictChange};
use probity_store::jobs::JobNo;
use probity_store::{Conn, OrgNo};

use super::stored_job;
use crate::app::App;
use crate::callers::caller::Caller;

/// Age from which a change is listed, in milliseconds: longer than any transaction and any difference between the nodes' clocks,
/// so no change appears before a listed position.
const SETTLED_MS: i64 = 60_000;
/// Rows per block of addresses.
const BLOCK: i64 = 1_000;

/// Lists contacts whose status changed between two verdicts, in the order of the changes.
pub async fn list_changes(
    app: &App,
    caller: &Caller,
    query: VerdictChangesQuery,
) -> Result<List<ChangedVerdict>, ApiError> {
    let since = query.since.unwrap_or(Millis(0));
    let list = format!("/v1/changes {} {}", caller.is_test(), since.0);
    let asked = AskedPage::of(&app.cursors, &query.page, caller.org_id().to_string(), list)?;
    let (org, until) = (caller.org(), app.now() + -SETTLED_MS);
    let after = asked.after.unwrap_or((since, JobNo(-1), -1));
    let mut conn = app.store.read().await?;
    let mut found = changes::page(&mut conn, (org, caller.is_test()), until, after, asked.at_most()).await?;
    let next = asked.cut(&mut found, |one| (one.at, one.job, one.idx));
    let mut shown = Vec::with_capacity(found.len());
    for of_block in found.chunk_by(|a, b| (a.job, a.idx / BLOCK) == (b.job, b.idx / BLOCK)) {
        let emails = emails(&mut conn, org, of_block).await?;
        shown.extend(of_block.iter().zip(emails).map(|(one, email)| changed(one, email)));
    }
    Ok(List::new(shown, next))
}

/// Returns the addresses of changes in one block; `None` for erased ones, and for those that are no longer stored.
async fn emails(conn: &mut Conn, org: OrgNo, of: &[VerdictChange]) -> Result<Vec<Option<String>>, ApiError> {
    let rows = of.iter().map(|one| one.idx);
    let (first, end) = (rows.clone().min().unwrap_or(0), rows.clone().max().unwrap_or(0) + 1);
    let mut stored = match stored_job(conn, org, of[0].job).await? {
        Some(job) => rows::emails(conn, &job, first, end).await?,
        None => Vec::new(),
    };
    let place = |idx: i64| usize::try_from(idx - first).ok();
    Ok(rows.map(|idx| place(idx).and_then(|place| stored.get_mut(place)?.take())).collect())
}

fn changed(one: &VerdictChange, email: Option<String>) -> ChangedVerdict {
    ChangedVerdict {
        email: email.unwrap_or_else(|| rows::ERASED_EMAIL.to_owned()),
        previous_status: one.before.as_str(),
        status: one.reason.status().as_str(),
        reason: Reason::as_str(one.reason),
        changed_at: one.at.into(),
        connection_id: one.connection.map(|id| id.to_string()),
        run_id: one.run,
        index: one.idx,
    }
}
