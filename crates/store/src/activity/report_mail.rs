//! Queue of reports to members: each waits for a relay.
//!
//! As with other mail, [`claim`] leases what is due to one run, and [`record()`] is fenced by the run's name. Recipients are
//! checked twice, when a report is due and when it is claimed: members who left or unsubscribed get none, and none is sent to
//! restricted organizations, or to an address from which no mailed link was used.

/// Whether a member `u` of an organization `o` gets reports of a kind: the states are those of `OrgState::is_stopped`, the bits
/// those of `profile::NotificationSettings`.
macro_rules! gets {
    ($kind:literal) => {
        concat!(
            "u.status = 'active' AND u.email IS NOT NULL AND u.email_verified = 1 \
             AND o.status NOT IN ('suspended', 'paused', 'banned') AND u.notifications & (CASE ",
            $kind,
            " WHEN 'run' THEN 1 WHEN 'weekly' THEN 2 WHEN 'monthly' THEN 4 END) <> 0"
        )
    };
}

mod figures;
mod planning;

use probity_account::connections::RunCause;
use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_account::reports::ReportKind;
use probity_mail::time::Millis;

use crate::connections::runs::ConnectionRun;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

pub use figures::{DoneActions, WaitingConnection, done, waiting};
pub use planning::{DuePlan, any_plan_due, due_plans, plan};

/// Report claimed by a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedReport {
    pub org: OrgNo,
    pub org_name: Option<String>,
    /// Name of the organization's time zone.
    pub time_zone: Option<String>,
    /// Recipient, and their address.
    pub user: UserId,
    pub email: String,
    /// Language of the recipient, if known.
    pub language: Option<PageLanguage>,
    pub kind: ReportKind,
    /// ID of the run, or first date of the period.
    pub subject: String,
    pub created_at: Millis,
    /// Finished attempts.
    pub attempts: i64,
    /// Name of the run that sends it.
    pub run: String,
}

statements! {
    OF_RUN = concat!("INSERT INTO report_mail (org_no, user_id, kind, subject, created_at, attempts, next_at) \
              SELECT u.org_no, u.id, 'run', CAST($2 AS TEXT), CAST($3 AS BIGINT), 0, CAST($3 AS BIGINT) FROM users u \
              JOIN org o ON o.org_no = u.org_no WHERE u.org_no = $1 AND ", gets!("'run'"),
              " ON CONFLICT (org_no, user_id, kind, subject) DO UPDATE SET created_at = excluded.created_at, attempts = 0, \
              next_at = excluded.next_at, lease_until = NULL, run = NULL");
    FIRST_POLL = "UPDATE connection SET poll_mailed_day = $3 WHERE org_no = $1 AND id = $2 AND poll_mailed_day <> $3";
    ANY_DUE = "SELECT 1 AS one FROM report_mail WHERE next_at IS NOT NULL AND next_at <= $1 \
               AND (lease_until IS NULL OR lease_until <= $1) LIMIT 1";
    CLAIM = "WITH due AS MATERIALIZED (
            SELECT org_no, user_id, kind, subject FROM report_mail WHERE next_at IS NOT NULL AND next_at <= $1
            AND (lease_until IS NULL OR lease_until <= $1) ORDER BY next_at LIMIT $2 {skip_locked})
        UPDATE report_mail SET lease_until = $3, run = $4 \
        WHERE (org_no, user_id, kind, subject) IN (SELECT org_no, user_id, kind, subject FROM due)";
    HELD = concat!("SELECT m.org_no, m.user_id, m.kind, m.subject, m.created_at, m.attempts, m.run, u.email, u.language, o.name AS org_name, s.time_zone \
            FROM report_mail m JOIN users u ON u.org_no = m.org_no AND u.id = m.user_id JOIN org o ON o.org_no = m.org_no \
            LEFT JOIN org_settings s ON s.org_no = m.org_no WHERE m.next_at IS NOT NULL AND m.run = $1 AND ",
            gets!("m.kind"), " ORDER BY m.next_at LIMIT $2");
    // The member left or unsubscribed, or the organization is restricted.
    DROP = concat!("DELETE FROM report_mail WHERE next_at IS NOT NULL AND run = $1 AND NOT EXISTS (SELECT 1 FROM users u \
            JOIN org o ON o.org_no = u.org_no WHERE u.org_no = report_mail.org_no AND u.id = report_mail.user_id \
            AND ", gets!("report_mail.kind"), ")");
    AGAIN = "UPDATE report_mail SET attempts = attempts + 1, next_at = $6, lease_until = NULL, run = NULL \
             WHERE org_no = $1 AND user_id = $2 AND kind = $3 AND subject = $4 AND run = $5";
    OVER_RUN = "DELETE FROM report_mail WHERE org_no = $1 AND user_id = $2 AND kind = $3 AND subject = $4 AND run = $5";
    OVER_PERIOD = "UPDATE report_mail SET attempts = attempts + 1, next_at = NULL, lease_until = NULL, run = NULL \
                   WHERE org_no = $1 AND user_id = $2 AND kind = $3 AND subject = $4 AND run = $5";
    FORGET = "DELETE FROM report_mail WHERE org_no = $1 AND user_id = $2";
    [figures, planning]
}

/// Queues the report of a run for its subscribers, in place of an unsent one. A connection's polls are reported once a day,
/// because strangers who sign up cause them.
pub async fn of_run(tx: &mut Tx, run: &ConnectionRun, now: Millis) -> Result<()> {
    if run.cause == RunCause::Instafloss
        && tx.execute(&FIRST_POLL, args![run.org, run.connection, now.utc_day()]).await? == 0
    {
        return Ok(());
    }
    tx.execute(&OF_RUN, args![run.org, run.id, now]).await.map(drop)
}

/// Whether [`claim`] would find work: reads only, so that an idle sender never takes the writer's turn.
pub async fn any_due(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY_DUE, args![now]).await
}

/// Leases up to `at_most` due reports to a run. `run` must be a text that no other claim uses: a random one. Reports without a
/// recipient are dropped.
pub async fn claim(tx: &mut Tx, now: Millis, lease_ms: i64, run: &str, at_most: u32) -> Result<Vec<ClaimedReport>> {
    if tx.execute(&CLAIM, args![now, at_most, now + lease_ms, run]).await? == 0 {
        return Ok(Vec::new());
    }
    tx.execute(&DROP, args![run]).await?;
    tx.all(&HELD, args![run, at_most]).await
}

records!(row => ClaimedReport {
    org = "org_no", org_name, time_zone, user = "user_id", kind, subject, created_at, attempts, run;
    email: row.text("email")?,
    language: row.language()?,
});

/// Records the outcome of an attempt: retried at `again`, or finished if that is `None`. [`StoreError::LeaseLost`]: it was dropped
/// meanwhile, or another run has it.
pub async fn record(tx: &mut Tx, claimed: &ClaimedReport, again: Option<Millis>) -> Result<()> {
    let held = args!(claimed => org, user, kind, subject, run);
    match again {
        Some(at) => tx.change(&AGAIN, held.with(at.0), StoreError::LeaseLost).await,
        None if claimed.kind == ReportKind::Run => tx.change(&OVER_RUN, held, StoreError::LeaseLost).await,
        None => tx.change(&OVER_PERIOD, held, StoreError::LeaseLost).await,
    }
}

/// Removes the reports of a removed member.
pub(crate) async fn forget(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<()> {
    tx.execute(&FORGET, args![org, user]).await.map(drop)
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
        }
    }
}
