//! Report of a run: its verdicts, what it did, and why it waits.

use probity_account::connections::{AccountZone, ContactAction};
use probity_account::id::JobId;
use probity_letters::{Letter, ReportLinks, RunLetter, RunWait};
use probity_store::accounts::settings;
use probity_store::activity::letters::ClaimedLetter;
use probity_store::connections::actions::{self, ActionCount, ActionState};
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::runs::{self, ConnectionRun, RunState};
use probity_store::jobs::{self, JobCounts};
use probity_store::{Conn, StoreError};

/// Returns the report of a run; `None` if the run or its connection no longer exists, or if the run acts again or was canceled
/// meanwhile.
pub(super) async fn letter(
    conn: &mut Conn,
    claimed: &ClaimedLetter,
    id: JobId,
    links: ReportLinks<'_>,
) -> Result<Option<Letter>, StoreError> {
    let org = claimed.key.org;
    let job = match jobs::by_id(conn, org, id, false).await {
        Err(StoreError::NotFound) => return Ok(None),
        job => job?,
    };
    let Some(run) = runs::by_job(conn, org, job.no).await? else { return Ok(None) };
    let connection = match connection::by_id(conn, org, run.connection, false).await {
        Err(StoreError::NotFound) => return Ok(None),
        connection => connection?,
    };
    let counts = actions::counts(conn, org, run.job).await?;
    let zone = AccountZone::stored(settings::read(conn, org).await?.time_zone.as_deref());
    let report = ReportedRun { run, zone, connection, verdicts: job.counts, counts };
    Ok(report.letter(|letter| letter.written(claimed.language.unwrap_or_default(), links)))
}

/// What is known of a run.
pub(super) struct ReportedRun {
    pub(super) run: ConnectionRun,
    pub(super) zone: AccountZone,
    pub(super) connection: StoredConnection,
    pub(super) verdicts: JobCounts,
    pub(super) counts: Vec<ActionCount>,
}

impl ReportedRun {
    /// Has the report written; `None` if the run goes on.
    pub(super) fn letter(&self, write: impl FnOnce(RunLetter<'_>) -> Letter) -> Option<Letter> {
        let Self { run, zone, connection, verdicts, .. } = self;
        let waits = match run.state {
            RunState::NeedsConfirmation => Some(RunWait {
                planned: self.sum(ActionState::Planned),
                held_by: run.brake,
                fault: run.fault.as_deref(),
            }),
            RunState::Finished => None,
            _ => return None,
        };
        let JobCounts { passed, risky, undeliverable, unknown, .. } = *verdicts;
        let done: Vec<(ContactAction, i64)> = self.in_state(ActionState::Done).collect();
        Some(write(RunLetter {
            id: run.id,
            connection: &connection.name,
            connection_id: connection.id,
            platform: &connection.provider,
            date: zone.date(run.created_at)?,
            contacts: run.rows,
            verdicts: [passed, risky, undeliverable, unknown],
            done: &done,
            refused: self.sum(ActionState::Refused) + self.sum(ActionState::Parked),
            waits,
        }))
    }

    fn in_state(&self, state: ActionState) -> impl Iterator<Item = (ContactAction, i64)> {
        self.counts.iter().filter(move |count| count.state == state).map(|count| (count.kind, count.actions))
    }

    fn sum(&self, state: ActionState) -> i64 {
        self.in_state(state).map(|(_, actions)| actions).sum()
    }
}
