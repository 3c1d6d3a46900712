//! Queue of mail to members: a letter stays here until a relay has accepted it.
//!
//! Each kind has at most one letter for a recipient and subject: one that is queued again replaces the earlier one. [`claim`] leases
//! due letters to one run, and [`record()`] writes the outcome and is fenced by the run's name. Letters whose recipient may no longer
//! get them are dropped when they are claimed; letters to an owner without an address are never claimed.

use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_account::reports::ReportKind;
use probity_mail::time::Millis;

use crate::accounts::users::UserStatus;
use crate::connections::connection;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, record, records};

probity_mail::named! {
    /// Kinds of letters, the most urgent first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LetterKind {
        /// A one-time link.
        Link = "link",
        /// To the owner: the balance fell below its threshold.
        LowBalance = "low_balance",
        /// To the owner: a platform refuses the credentials of a connection.
        ConnectionLost = "connection_lost",
        /// A list ended.
        List = "list",
        /// Report of a run.
        Run = "run",
        /// Report of a week.
        Weekly = "weekly",
        /// Report of a month.
        Monthly = "monthly",
    }
}
crate::records::names!(LetterKind);

impl LetterKind {
    /// The kind of report that it is, if any.
    pub fn report(self) -> Option<ReportKind> {
        ReportKind::from_name(self.as_str())
    }

    /// Whether a sent letter is remembered, so that it is not queued again.
    fn is_remembered(self) -> bool {
        matches!(self, Self::Weekly | Self::Monthly)
    }
}

/// What identifies a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterKey {
    pub org: OrgNo,
    pub kind: LetterKind,
    /// Number of the list, ID of the run, or first date of the period.
    pub subject: String,
    /// ID of the recipient; empty for the owner.
    pub to: String,
}

impl LetterKey {
    pub(crate) fn link(org: OrgNo, user: UserId) -> Self {
        Self { org, kind: LetterKind::Link, subject: String::new(), to: user.to_string() }
    }

    /// The mail to a member about the end of a list.
    pub fn list(org: OrgNo, job: JobNo, user: UserId) -> Self {
        Self { org, kind: LetterKind::List, subject: job.0.to_string(), to: user.to_string() }
    }

    /// A notice to the owner.
    pub fn notice(org: OrgNo, kind: LetterKind) -> Self {
        Self { org, kind, subject: String::new(), to: String::new() }
    }
}

/// Letter claimed by a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedLetter {
    pub key: LetterKey,
    /// Recipient, and their address.
    pub user: UserId,
    pub email: String,
    /// Language of the recipient, if known.
    pub language: Option<PageLanguage>,
    /// Whether the recipient has yet to accept an invitation.
    pub is_invited: bool,
    pub org_name: Option<String>,
    /// Time of the event.
    pub created_at: Millis,
    /// Finished attempts.
    pub attempts: i64,
    /// Name of the run.
    pub run: String,
}

/// Maximum of the queue count.
const COUNTED_MAX: i64 = 10_000;

/// Whether a member `u` of an organization `o` gets letters of a kind. Reports go to nobody from whose address no mailed link was
/// used: the states are those of `OrgState::is_stopped`, the bits those of `profile::NotificationSettings`.
macro_rules! gets {
    ($kind:literal) => {
        concat!(
            "u.email IS NOT NULL AND (",
            $kind,
            " IN ('link', 'low_balance', 'connection_lost') OR u.status = 'active' \
             AND (",
            $kind,
            " = 'list' OR u.email_verified = 1 AND o.status NOT IN ('suspended', 'paused', 'banned') \
             AND u.notifications & (CASE ",
            $kind,
            " WHEN 'run' THEN 1 WHEN 'weekly' THEN 2 WHEN 'monthly' THEN 4 END) <> 0))"
        )
    };
}
pub(super) use gets;

/// Whether a letter of the kind $1 can be claimed at $2.
macro_rules! is_due {
    () => {
        "kind = $1 AND due_at <= $2 AND (lease_until IS NULL OR lease_until <= $2) AND (user_id <> '' \
         OR org_no IN (SELECT users.org_no FROM users WHERE users.org_no = letter.org_no AND users.is_primary = 1 \
         AND users.email IS NOT NULL))"
    };
}

statements! {
    PUT = "INSERT INTO letter (org_no, kind, subject, user_id, created_at, attempts, due_at) VALUES ($1, $2, $3, $4, $5, 0, $6) \
           ON CONFLICT (org_no, kind, subject, user_id) DO UPDATE SET created_at = excluded.created_at, attempts = 0, \
           due_at = excluded.due_at, lease_until = NULL, run = NULL";
    EXISTS = "SELECT 1 AS one FROM letter WHERE org_no = $1 AND kind = $2 AND subject = $3 AND user_id = $4";
    REMOVE = "DELETE FROM letter WHERE org_no = $1 AND kind = $2 AND subject = $3 AND user_id = $4";
    REMOVE_LIST = "DELETE FROM letter WHERE org_no = $1 AND kind = 'list' AND subject = $2";
    LIST_ENDED = "UPDATE letter SET created_at = $3, due_at = $3 WHERE org_no = $1 AND kind = 'list' AND subject = $2";
    FORGET_REPORTS = "DELETE FROM letter WHERE org_no = $1 AND kind IN ('run', 'weekly', 'monthly') AND user_id = $2";
    COUNT_WAITING = "SELECT COUNT(*) AS waiting FROM (SELECT 1 AS one FROM letter WHERE due_at IS NOT NULL LIMIT $1) AS part";
    ANY_DUE = concat!("SELECT 1 AS one FROM letter WHERE ", is_due!(), " LIMIT 1");
    CLAIM = concat!("WITH due AS MATERIALIZED (SELECT org_no, kind, subject, user_id FROM letter WHERE ", is_due!(),
            " ORDER BY due_at LIMIT $3 {skip_locked}) UPDATE letter SET lease_until = $4, run = $5 \
            WHERE (org_no, kind, subject, user_id) IN (SELECT org_no, kind, subject, user_id FROM due)");
    DROP = concat!("DELETE FROM letter WHERE kind = $1 AND due_at IS NOT NULL AND run = $2 AND NOT EXISTS (SELECT 1 FROM users u \
            JOIN org o ON o.org_no = u.org_no WHERE u.org_no = letter.org_no \
            AND (u.id = letter.user_id OR letter.user_id = '' AND u.is_primary = 1) AND ", gets!("letter.kind"), ")");
    HELD = "SELECT l.org_no, l.kind, l.subject, l.user_id, l.created_at, l.attempts, l.run, u.id, u.email, u.language, u.status, \
            o.name AS org_name FROM letter l JOIN users u ON u.org_no = l.org_no \
            AND (u.id = l.user_id OR l.user_id = '' AND u.is_primary = 1) JOIN org o ON o.org_no = l.org_no \
            WHERE l.kind = $1 AND l.due_at IS NOT NULL AND l.run = $2 ORDER BY l.due_at LIMIT $3";
    AGAIN = "UPDATE letter SET attempts = attempts + 1, due_at = $6, lease_until = NULL, run = NULL \
             WHERE org_no = $1 AND kind = $2 AND subject = $3 AND user_id = $4 AND run = $5";
    OVER = "DELETE FROM letter WHERE org_no = $1 AND kind = $2 AND subject = $3 AND user_id = $4 AND run = $5";
}

/// Queues a letter about an event, in place of an earlier one. Without a due time, it waits for the end of its list.
pub async fn put(tx: &mut Tx, letter: &LetterKey, created_at: Millis, due_at: Option<Millis>) -> Result<()> {
    tx.execute(&PUT, args!(letter => org, kind, subject, to; created_at, due_at)).await.map(drop)
}

/// Whether a letter is queued.
pub async fn exists(conn: &mut Conn, letter: &LetterKey) -> Result<bool> {
    conn.has(&EXISTS, args!(letter => org, kind, subject, to)).await
}

/// Removes a letter whose event is over.
pub async fn remove(tx: &mut Tx, letter: &LetterKey) -> Result<()> {
    tx.execute(&REMOVE, args!(letter => org, kind, subject, to)).await.map(drop)
}

/// Removes the notice about lost connections once none is left.
pub async fn remove_repaired(tx: &mut Tx, org: OrgNo) -> Result<()> {
    let any = !connection::lost(tx, org).await?.is_empty();
    if any { Ok(()) } else { remove(tx, &LetterKey::notice(org, LetterKind::ConnectionLost)).await }
}

/// Removes the mail about a deleted list.
pub(crate) async fn remove_list(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<()> {
    tx.execute(&REMOVE_LIST, args![org, job.0.to_string()]).await.map(drop)
}

/// Makes the mail about an ended list due.
pub(crate) async fn list_ended(tx: &mut Tx, org: OrgNo, job: JobNo, now: Millis) -> Result<()> {
    tx.execute(&LIST_ENDED, args![org, job.0.to_string(), now]).await.map(drop)
}

/// Removes the reports of a removed member.
pub(crate) async fn forget_reports(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<()> {
    tx.execute(&FORGET_REPORTS, args![org, user]).await.map(drop)
}

/// Letters waiting for a relay, for the metrics, up to 10,000.
pub async fn waiting(conn: &mut Conn) -> Result<i64> {
    conn.one(&COUNT_WAITING, args![COUNTED_MAX]).await
}

/// Whether [`claim`] would find work: reads only, so that an idle sender never takes the writer's turn.
pub async fn any_due(conn: &mut Conn, kind: LetterKind, now: Millis) -> Result<bool> {
    conn.has(&ANY_DUE, args![kind, now]).await
}

/// Leases up to `at_most` due letters of a kind to a run, the longest due first. `run` must be a text that no other claim uses: a
/// random one.
pub async fn claim(
    tx: &mut Tx,
    kind: LetterKind,
    now: Millis,
    lease_ms: i64,
    run: &str,
    at_most: u32,
) -> Result<Vec<ClaimedLetter>> {
    if tx.execute(&CLAIM, args![kind, now, at_most, now + lease_ms, run]).await? == 0 {
        return Ok(Vec::new());
    }
    tx.execute(&DROP, args![kind, run]).await?;
    tx.all(&HELD, args![kind, run, at_most]).await
}

records!(row => ClaimedLetter {
    user = "id", org_name, created_at, attempts, run;
    key: record!(row => LetterKey { org = "org_no", kind, subject, to = "user_id" }),
    email: row.text("email")?,
    language: row.language()?,
    is_invited: row.read::<UserStatus>("status")? == UserStatus::Invited,
});

/// Records the outcome of an attempt: retried at `again`, or finished if that is `None`. [`StoreError::LeaseLost`]: it was replaced
/// or removed meanwhile, or another run has it.
pub async fn record(tx: &mut Tx, claimed: &ClaimedLetter, again: Option<Millis>) -> Result<()> {
    let LetterKey { org, kind, subject, to } = &claimed.key;
    let held = args![org, kind, subject, to, &claimed.run];
    if again.is_some() || kind.is_remembered() {
        return tx.change(&AGAIN, held.with(again.map(|at| at.0)), StoreError::LeaseLost).await;
    }
    tx.change(&OVER, held, StoreError::LeaseLost).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::organization::OrgState;
    use crate::accounts::users::profile::NotificationSettings;

    #[test]
    fn statements_know_restricted_organizations_and_wishes() {
        let gets = gets!("kind");
        let stopped = OrgState::ALL.into_iter().filter(|state| state.is_stopped());
        let stopped: Vec<_> = stopped.map(|state| format!("'{}'", state.as_str())).collect();
        assert!(gets.contains(&format!("o.status NOT IN ({})", stopped.join(", "))), "{gets}");
        let all = NotificationSettings::of_bits(15);
        for kind in ReportKind::ALL {
            let bit = all.bits() - all.without(kind).bits();
            assert!(gets.contains(&format!("WHEN '{kind}' THEN {bit} ")), "{kind}: {gets}");
            assert_eq!(LetterKind::from_name(kind.as_str()).and_then(LetterKind::report), Some(kind));
        }
    }
}
