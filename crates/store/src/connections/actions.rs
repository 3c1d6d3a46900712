//! Actions on contacts, each on one row of a run.
//!
//! The settlement of a row plans its action ([`plan`]). A user or the brake makes it due; the node that holds the run
//! performs it and records the outcome ([`settle`]). A row has one action, and only a due one can be settled, so no action
//! takes effect twice. Counters change in the same transactions: rows are never counted.

mod counting;
mod review;
mod settling;

use probity_account::connections::ContactAction;
use probity_account::id::ConnId;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use serde_json::json;

use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::privacy::sealing::SealedField;
use crate::records::{TypedStatements as _, listed, records};

pub(crate) use counting::forget;
pub use counting::{ActionCount, counts};

pub use review::{PlannedReview, ReviewDecision, Undecidable, decide, examples, page, planned, values_before, waiting};
pub(crate) use settling::TAKEN;
pub use settling::{PARTLY, begin, record, settle};

probity_mail::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ActionState {
        /// Planned; a user or the brake decides.
        Planned = "planned",
        Due = "due",
        Done = "done",
        /// Already in the requested state, or no longer present.
        Gone = "gone",
        /// Suggested address belongs to another contact.
        Taken = "taken",
        /// Refused by the platform for this contact.
        Refused = "refused",
        /// Request rejected by the platform as invalid.
        Parked = "parked",
        /// Dropped.
        Ignored = "ignored",
    }
}
crate::records::names!(ActionState);

/// Reason why only a decision about its contact alone makes an action due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionDoubt {
    /// The field holds no address, or more than one.
    UnclearAddress,
    /// The contact was unsubscribed, and is subscribed again since this time.
    SubscribedAgain(Millis),
}

impl std::fmt::Display for ActionDoubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnclearAddress => f.write_str("the contact has no single address"),
            Self::SubscribedAgain(at) => {
                let at = at.to_rfc3339();
                write!(f, "subscribed again at the platform on {}", at.split('T').next().unwrap_or(&at))
            }
        }
    }
}

/// Action to plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedAction {
    /// Row of the job.
    pub idx: i64,
    pub kind: ContactAction,
    pub reason: Reason,
    /// Settlement time of the verdict.
    pub verified_at: Millis,
    pub doubt: Option<ActionDoubt>,
}

/// Action of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAction {
    /// Row of the job.
    pub idx: i64,
    pub kind: ContactAction,
    pub reason: Reason,
    pub state: ActionState,
    /// Settlement time of the verdict.
    pub verified_at: Millis,
    /// Time at which the verdict was confirmed or, for a fix, the suggestion was verified.
    pub checked_at: Option<Millis>,
    pub attempts: i64,
    /// Platform's message, without addresses and credentials.
    pub message: Option<String>,
    /// Why only a decision about its contact alone makes it due ([`ActionDoubt`]).
    pub doubt: Option<String>,
    pub settled_at: Option<Millis>,
}

impl RowAction {
    /// Returns whether the contact is in the state that the action requests.
    pub fn is_done(&self) -> bool {
        Self::leaves_as_wanted(self.kind, self.state)
    }

    /// Returns whether the action has changed the contact: in all of its lists, or in some.
    pub fn has_changed(&self) -> bool {
        self.is_done() || self.is_partly_done()
    }

    /// Returns whether the action was performed in some of the contact's lists, but not in all.
    pub fn is_partly_done(&self) -> bool {
        self.message.as_deref().is_some_and(|message| message.starts_with(PARTLY))
    }

    /// Returns whether an action in this state leaves the contact as requested. A deleted contact has no tag.
    pub fn leaves_as_wanted(kind: ContactAction, state: ActionState) -> bool {
        let by_absence = matches!(kind, ContactAction::Unsubscribe | ContactAction::Delete);
        state == ActionState::Done || (state == ActionState::Gone && by_absence)
    }
}

/// Outcome of a due action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledAction {
    pub idx: i64,
    pub state: ActionState,
    /// Platform's message, without addresses and credentials.
    pub message: Option<String>,
    /// Values before the action (JSON).
    pub undo: Option<Vec<u8>>,
    /// Keyed hash of the contact's ID.
    pub mark: [u8; 16],
    /// Keyed hash of what the action does, and to which address.
    pub effect: Option<[u8; 16]>,
}

/// Columns of an action.
macro_rules! columns {
    () => {
        "idx, kind, reason, state, verified_at, checked_at, attempts, message, doubt, settled_at"
    };
}
pub(crate) use columns;

statements! {
    PLAN = "INSERT INTO contact_action (org_no, job_no, idx, connection_id, kind, reason, verified_at, doubt, state, attempts) \
            SELECT CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST(each.value ->> 0 AS BIGINT), CAST($4 AS TEXT), each.value ->> 1, \
            each.value ->> 2, CAST(each.value ->> 3 AS BIGINT), each.value ->> 4, 'planned', 0 FROM {each:$1} WHERE 1 = 1 \
            ON CONFLICT (org_no, job_no, idx) DO NOTHING RETURNING kind, reason";
    COPIES = "SELECT idx, first_idx FROM job_duplicate WHERE org_no = $1 AND job_no = $2 \
              AND first_idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3})";
    DUE = concat!("SELECT ", columns!(), " FROM contact_action WHERE org_no = $1 AND job_no = $2 AND idx >= $3 AND state = 'due' \
          ORDER BY idx LIMIT $4");
    UNCHECKED = concat!("SELECT ", columns!(), " FROM contact_action WHERE org_no = $1 AND job_no = $2 AND idx >= $3 \
                AND state = 'planned' AND kind = 'fix' AND checked_at IS NULL ORDER BY idx LIMIT $4");
    STANDING = concat!("SELECT ", columns!(), " FROM contact_action WHERE org_no = $1 AND job_no = $2 AND idx >= $3 AND idx < $4 \
               ORDER BY idx");
    REPLACE_KIND = "UPDATE contact_action SET kind = $4, checked_at = NULL, attempts = attempts + 1 \
                    WHERE org_no = $1 AND job_no = $2 AND idx = $3 AND state = $5 AND kind = $6 RETURNING reason";
    DROP_PLANNED = "UPDATE contact_action SET state = 'ignored', message = $5, settled_at = $4 \
                    WHERE org_no = $1 AND job_no = $2 AND idx = $3 AND state = 'planned' AND kind = $6 RETURNING reason";
    CHECKED = "UPDATE contact_action SET checked_at = $4 WHERE org_no = $1 AND job_no = $2 AND idx = $3 \
               AND state IN ('planned', 'due')";
    TRIED = "UPDATE contact_action SET attempts = attempts + 1 WHERE org_no = $1 AND job_no = $2 AND idx = $3 AND state = 'due'";
    MOVE = "UPDATE contact_action SET state = $4 WHERE org_no = $1 AND job_no = $2 AND state = $3";
    MAKE_DUE = "UPDATE contact_action SET state = 'due' WHERE org_no = $1 AND job_no = $2 AND state = 'planned' AND doubt IS NULL";
    DOUBTED = "SELECT kind, reason, COUNT(*) AS actions FROM contact_action WHERE org_no = $1 AND job_no = $2 AND state = 'planned' \
               AND doubt IS NOT NULL GROUP BY kind, reason";
    DROP_ROWS = "UPDATE contact_action SET state = 'ignored' WHERE org_no = $1 AND job_no = $2 AND state = $4 \
                 AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3}) RETURNING kind, reason";
    LAST_OF_PART = "SELECT idx FROM (SELECT idx FROM contact_action WHERE org_no = $1 AND job_no = $2 AND state = $3 ORDER BY idx \
                    LIMIT $4) AS part ORDER BY idx DESC LIMIT 1";
    DROP_PART = "UPDATE contact_action SET state = 'ignored', settled_at = $3 WHERE org_no = $1 AND job_no = $2 AND state = $4 \
                 AND idx <= $5 RETURNING kind, reason";
    [counting, review, settling]
}

/// Plans actions in the transaction that settles their rows; the job's row is locked. Rows with an action keep it.
pub async fn plan(
    tx: &mut Tx,
    (org, job): (OrgNo, JobNo),
    connection: ConnId,
    planned: &[PlannedAction],
) -> Result<()> {
    if planned.is_empty() {
        return Ok(());
    }
    let row = |of: &PlannedAction| {
        let doubt = of.doubt.map(|doubt| doubt.to_string());
        json!([of.idx, of.kind, of.reason.as_str(), of.verified_at.0, doubt])
    };
    let rows: Vec<_> = planned.iter().map(row).collect();
    let added: Vec<_> = tx.all(&PLAN, args![json!(rows).to_string(), org, job, connection]).await?;
    counting::add(tx, org, job, added.into_iter().map(|(kind, reason)| (kind, reason, ActionState::Planned, 1))).await
}

/// Returns the rows that share the results of these rows: each row, and the row that it repeats.
pub async fn copies(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<Vec<(i64, i64)>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    conn.all(&COPIES, args![org, job, listed(rows)]).await
}

/// Returns due actions from a row on, in row order.
pub async fn due(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, at_most: i64) -> Result<Vec<RowAction>> {
    conn.all(&DUE, args![org, job, from, at_most]).await
}

/// Returns planned fixes from a row on whose suggestions are not verified.
pub async fn unchecked(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, at_most: i64) -> Result<Vec<RowAction>> {
    conn.all(&UNCHECKED, args![org, job, from, at_most]).await
}

/// Returns the actions of the rows in `from..to`.
pub async fn standing(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<RowAction>> {
    conn.all(&STANDING, args![org, job, from, to]).await
}

/// Returns the place of the values before an action.
pub(crate) fn undo_of(job: JobNo, idx: i64) -> SealedField<'static> {
    SealedField::numbered("contact_action.undo", job.0, idx)
}

/// Replaces an impossible fix by another action, or ignores it if there is none. No effect if the fix is in another state.
pub async fn replace_fix(
    tx: &mut Tx,
    (org, job, idx): (OrgNo, JobNo, i64),
    state: ActionState,
    by: Option<ContactAction>,
    now: Millis,
) -> Result<()> {
    let fix = ContactAction::Fix;
    let counted = if let Some(kind) = by {
        let replaced = tx.find(&REPLACE_KIND, args![org, job, idx, kind, state, fix]).await?;
        let Some(reason) = replaced else { return Ok(()) };
        [(fix, reason, state, -1), (kind, reason, state, 1)]
    } else {
        let why = "the suggested address could not be verified";
        let dropped = tx.find(&DROP_PLANNED, args![org, job, idx, now, why, fix]).await?;
        let Some(reason) = dropped else { return Ok(()) };
        [(fix, reason, ActionState::Planned, -1), (fix, reason, ActionState::Ignored, 1)]
    };
    counting::add(tx, org, job, counted).await
}

/// Records that the verdict of an action, or the suggestion of a fix, was confirmed.
pub async fn checked(tx: &mut Tx, org: OrgNo, job: JobNo, idx: i64, now: Millis) -> Result<()> {
    tx.execute(&CHECKED, args![org, job, idx, now]).await.map(drop)
}

/// Counts an attempt at due actions that are retried later.
pub async fn tried(tx: &mut Tx, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<()> {
    for idx in rows {
        tx.execute(&TRIED, args![org, job, *idx]).await?;
    }
    Ok(())
}

/// Moves all actions of a locked run from one state to another.
pub(crate) async fn move_all(tx: &mut Tx, org: OrgNo, job: JobNo, from: ActionState, to: ActionState) -> Result<()> {
    tx.execute(&MOVE, args![org, job, from, to]).await?;
    counting::move_all(tx, org, job, from, to).await
}

/// Makes the planned actions of a locked run due, except those in doubt.
pub(crate) async fn make_due(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<()> {
    tx.execute(&MAKE_DUE, args![org, job]).await?;
    counting::move_all(tx, org, job, ActionState::Planned, ActionState::Due).await?;
    let stay = doubted(tx, org, job).await?.into_iter();
    let stay = stay
        .flat_map(|(kind, reason, n)| [(kind, reason, ActionState::Due, -n), (kind, reason, ActionState::Planned, n)]);
    counting::add(tx, org, job, stay).await
}

/// Counts the planned actions of a run that are in doubt, by kind and reason.
pub(crate) async fn doubted(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<Vec<(ContactAction, Reason, i64)>> {
    tx.all(&DOUBTED, args![org, job]).await
}

/// Ignores planned and due actions of a locked run, up to a number of each. Returns whether others may be left.
pub(crate) async fn drop_some(tx: &mut Tx, (org, job): (OrgNo, JobNo), now: Millis, at_most: i64) -> Result<bool> {
    let mut is_left = false;
    for state in [ActionState::Planned, ActionState::Due] {
        let last: Option<i64> = tx.find(&LAST_OF_PART, args![org, job, state, at_most]).await?;
        let Some(last) = last else { continue };
        let dropped: Vec<_> = tx.all(&DROP_PART, args![org, job, now, state, last]).await?;
        is_left |= i64::try_from(dropped.len()).is_ok_and(|count| count == at_most);
        let deltas = |(kind, reason)| [(kind, reason, state, -1), (kind, reason, ActionState::Ignored, 1)];
        counting::add(tx, org, job, dropped.into_iter().flat_map(deltas)).await?;
    }
    Ok(is_left)
}

/// Ignores the planned and due actions of these rows.
pub(crate) async fn drop_rows(tx: &mut Tx, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<()> {
    for state in [ActionState::Planned, ActionState::Due] {
        let dropped: Vec<_> = tx.all(&DROP_ROWS, args![org, job, listed(rows), state]).await?;
        let deltas = |(kind, reason)| [(kind, reason, state, -1), (kind, reason, ActionState::Ignored, 1)];
        counting::add(tx, org, job, dropped.into_iter().flat_map(deltas)).await?;
    }
    Ok(())
}

records!(row => RowAction {
    idx, kind, reason, state, verified_at, checked_at, attempts, message, doubt, settled_at
});
