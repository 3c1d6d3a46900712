//! Figures in reports about an organization's connections: actions done, and connections that wait for a user.

use probity_account::connections::ContactAction;

use crate::connections::schedule::ScheduleWait;
use crate::db::error::Result;
use crate::db::{Conn, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Number of actions of one kind that runs have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoneActions {
    pub kind: ContactAction,
    pub actions: i64,
}

/// Connection that waits for a user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitingConnection {
    pub name: String,
    /// Whether the platform refuses the credentials.
    pub is_refused: bool,
    /// Number of planned actions of runs that wait for confirmation.
    pub planned: i64,
    /// Whether its automatic runs wait for credits.
    pub needs_credits: bool,
}

statements! {
    DONE = "SELECT kind, CAST(SUM(actions) AS BIGINT) AS actions FROM contact_action_day \
            WHERE org_no = $1 AND day >= $2 AND day <= $3 GROUP BY kind";
    // An organization has at most 100 connections.
    WAITING = "SELECT c.name, c.disconnected_why, (SELECT CAST(COALESCE(SUM(a.actions), 0) AS BIGINT) FROM connection_run r \
               JOIN contact_action_count a ON a.org_no = r.org_no AND a.job_no = r.job_no AND a.state = 'planned' \
               WHERE r.org_no = c.org_no AND r.connection_id = c.id AND r.state = 'needs_confirmation') AS planned, \
               CASE WHEN EXISTS (SELECT 1 FROM connection_schedule s WHERE s.org_no = c.org_no AND s.connection_id = c.id \
               AND s.waits_for = $2) THEN 1 ELSE 0 END AS needs_credits \
               FROM connection c WHERE c.org_no = $1 AND c.test = 0 \
               AND (c.disconnected_why IS NULL OR c.disconnected_why = 'credential')";
}

/// Returns the actions that were done from a day (UTC) to another, in the contract's order. Test connections never act.
pub async fn done(conn: &mut Conn, org: OrgNo, (first, last): (i64, i64)) -> Result<Vec<DoneActions>> {
    let mut all: Vec<DoneActions> = conn.all(&DONE, args![org, first, last]).await?;
    all.sort_by_key(|done| done.kind);
    Ok(all)
}

records!(row => DoneActions { kind, actions });

/// Returns the connections that wait for a user, by name.
pub async fn waiting(conn: &mut Conn, org: OrgNo) -> Result<Vec<WaitingConnection>> {
    let mut all: Vec<WaitingConnection> = conn.all(&WAITING, args![org, ScheduleWait::Credits]).await?;
    all.retain(|one| one.is_refused || one.planned > 0 || one.needs_credits);
    all.sort();
    Ok(all)
}

records!(row => WaitingConnection {
    name, planned, needs_credits;
    is_refused: row.get::<Option<String>>("disconnected_why")?.is_some(),
});
