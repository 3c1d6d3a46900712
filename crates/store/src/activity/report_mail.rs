//! Reports to members about runs, weeks and months: who gets which, and what is in them. They are sent as letters
//! ([`super::letters`]).

mod figures;
mod planning;

use probity_account::connections::RunCause;
use probity_mail::time::Millis;

use super::letters::gets;
use crate::connections::runs::ConnectionRun;
use crate::db::error::Result;
use crate::db::{Tx, args, statements};

pub use figures::{DoneActions, WaitingConnection, done, waiting};
pub use planning::{DuePlan, any_plan_due, due_plans, plan};

statements! {
    OF_RUN = concat!("INSERT INTO letter (org_no, kind, subject, user_id, created_at, attempts, due_at) \
              SELECT u.org_no, 'run', CAST($2 AS TEXT), u.id, CAST($3 AS BIGINT), 0, CAST($3 AS BIGINT) FROM users u \
              JOIN org o ON o.org_no = u.org_no WHERE u.org_no = $1 AND ", gets!("'run'"),
              " ON CONFLICT (org_no, kind, subject, user_id) DO UPDATE SET created_at = excluded.created_at, attempts = 0, \
              due_at = excluded.due_at, lease_until = NULL, run = NULL");
    FIRST_POLL = "UPDATE connection SET poll_mailed_day = $3 WHERE org_no = $1 AND id = $2 AND poll_mailed_day <> $3";
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
