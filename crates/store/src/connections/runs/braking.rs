//! Figures that the brake compares: the run's plan, its connection, and earlier runs that acted without confirmation.
//!
//! Earlier runs count since the last one that was held for their sum and then confirmed, because that confirmation covered them.

use probity_account::connections::{
    BrakeCount, BrakeReason, ConnectionSettings, RunCause, RunFacts, UnaskedRuns, brake, together_ms,
};

use super::ending::Standing;
use super::{ConnectionRun, ContactPick, STARTED_BY_KEY};
use crate::connections::connection::json;
use crate::db::error::Result;
use crate::db::{Tx, args, statements};
use crate::jobs;
use crate::records::{TypedStatements as _, damaged};

/// Runs of a connection since a time that acted without confirmation, on the account of a run.
macro_rules! unasked {
    () => {
        "r.org_no = $1 AND r.connection_id = $2 AND r.created_at >= $3 AND r.account_tag = $4 AND r.unasked = 1 \
         AND r.confirmed_at IS NULL AND r.created_at > COALESCE((SELECT MAX(k.created_at) FROM connection_run k \
         WHERE k.org_no = $1 AND k.connection_id = $2 AND k.created_at >= $3 AND k.together_contacts IS NOT NULL \
         AND k.confirmed_at IS NOT NULL), 0)"
    };
}

statements! {
    // Of a run that ended early, only its completed actions count, so its contacts do not raise the limit.
    CONTACTS = concat!("SELECT CAST(COALESCE(SUM(CASE WHEN r.cause = 'manual' THEN 0 ELSE r.rows_total END), 0) AS BIGINT) AS of_some, \
               CAST(COALESCE(MAX(CASE WHEN r.cause = 'manual' THEN r.rows_total ELSE 0 END), 0) AS BIGINT) AS of_all \
               FROM connection_run r WHERE r.state = 'finished' AND ", unasked!());
    ACTIONS = concat!("SELECT CAST(COALESCE(SUM(c.actions), 0) AS BIGINT) AS n FROM connection_run r \
              JOIN contact_action_count c ON c.org_no = r.org_no AND c.job_no = r.job_no WHERE ", unasked!(),
              " AND c.kind IN ('unsubscribe', 'delete', 'fix') AND c.state IN ('due', 'done', 'gone', 'taken')");
    // Up to a number of known contacts, without those that runs have removed, or that the last run over all contacts has not met.
    LEFT = "SELECT COUNT(*) AS n FROM (SELECT 1 AS one FROM contact_mark WHERE org_no = $1 AND connection_id = $2 \
            AND (acted IS NULL OR acted NOT IN ('unsubscribe', 'delete')) \
            AND seen_at >= COALESCE((SELECT MAX(r.created_at) FROM connection_run r WHERE r.org_no = $1 AND r.connection_id = $2 \
            AND r.cause = 'manual' AND r.state IN ('needs_confirmation', 'acting', 'finished')), 0) LIMIT $3) AS part";
    COUNTED = "UPDATE connection_run SET unasked = $3, together_contacts = $4, together_actions = $5, settings = $6 \
               WHERE org_no = $1 AND job_no = $2";
}

/// Returns the settings with which a run started.
pub(super) fn settings_of(run: &ConnectionRun) -> Result<ConnectionSettings> {
    serde_json::from_str(&run.settings).map_err(damaged)
}

/// Returns why a run with this number of planned irreversible actions must wait, and stores its count for later runs.
pub(super) async fn held_by(
    tx: &mut Tx,
    run: &ConnectionRun,
    of: &Standing,
    destructive: i64,
) -> Result<Option<BrakeReason>> {
    let mut settings = settings_of(run)?;
    settings.lower_limits(&of.settings);
    let limit = settings.unconfirmed_limit();
    let own = BrakeCount { contacts: run.rows, destructive };
    let facts = RunFacts {
        is_dry: run.is_dry || of.test,
        is_trusted: of.trusted,
        manual_mode: settings.manual_mode,
        is_watched: is_watched(tx, run).await?,
        is_whole: destructive > 0 && is_whole(tx, run, destructive).await?,
        own,
        together: earlier(tx, run, together_ms(settings.decay_days)).await?.with(own, run.pick == ContactPick::All),
        limit,
    };
    let held_by = brake(facts);
    let unasked = (held_by.is_none() && !facts.is_watched).then_some(1_i64);
    let is_by_sum =
        held_by == Some(BrakeReason::TooMany) && !limit.is_exceeded(own) && limit.is_exceeded(facts.together);
    let together = Some(facts.together).filter(|_| is_by_sum && !facts.is_whole);
    let (contacts, actions) = together.map(|count| (count.contacts, count.destructive)).unzip();
    tx.execute(&COUNTED, args![run.org, run.job, unasked, contacts, actions, json(&settings)?]).await?;
    Ok(held_by)
}

/// Returns whether a user started a run, and so sees its results.
async fn is_watched(tx: &mut Tx, run: &ConnectionRun) -> Result<bool> {
    if run.cause.is_automatic() {
        return Ok(false);
    }
    let job = jobs::by_no(tx, run.org, run.job).await?;
    Ok(job.started_by.as_deref() != Some(STARTED_BY_KEY))
}

/// Returns whether this many actions would leave no other contact: of those that a run over all contacts has met, or of those that
/// runs have ever read. The latter may have left the platform.
async fn is_whole(tx: &mut Tx, run: &ConnectionRun, destructive: i64) -> Result<bool> {
    if run.pick == ContactPick::All && run.cause != RunCause::Instafloss && run.rows <= destructive {
        return Ok(true);
    }
    let known: i64 = tx.one(&LEFT, args!(run => org, connection; destructive + 1)).await?;
    Ok(known <= destructive)
}

/// Counts what earlier runs did without confirmation.
async fn earlier(tx: &mut Tx, run: &ConnectionRun, within_ms: i64) -> Result<UnaskedRuns> {
    let since = run.created_at + -within_ms;
    let values = || args!(run => org, connection; since, &run.account_tag);
    let (some, all) = tx.one(&CONTACTS, values()).await?;
    Ok(UnaskedRuns { some, all, destructive: tx.one(&ACTIONS, values()).await? })
}
