//! Planning of weekly and monthly reports: each member has a time for the next plan.

use probity_account::connections::AccountZone;
use probity_account::id::UserId;
use probity_account::reports::ReportPlan;
use probity_mail::time::Millis;

use crate::activity::letters::gets;
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Member whose reports are to be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuePlan {
    pub org: OrgNo,
    pub user: UserId,
    /// Time that the last plan gave; `None` before the first one.
    pub planned: Option<Millis>,
    /// Time zone of the organization.
    pub zone: AccountZone,
}

statements! {
    ANY_PLAN_DUE = "SELECT 1 AS one FROM users WHERE reports_at <= $1 LIMIT 1";
    DUE_PLANS = "SELECT u.org_no, u.id, u.reports_at, s.time_zone FROM users u \
                 LEFT JOIN org_settings s ON s.org_no = u.org_no WHERE u.reports_at <= $1 ORDER BY u.reports_at LIMIT $2";
    ADVANCE = "UPDATE users SET reports_at = $4 WHERE org_no = $1 AND id = $2 AND reports_at = $3";
    // A period has one report, even if planned repeatedly, and none for members who joined after it.
    ADD = concat!("INSERT INTO letter (org_no, kind, subject, user_id, created_at, attempts, due_at) \
           SELECT u.org_no, CAST($3 AS TEXT), CAST($4 AS TEXT), u.id, CAST($5 AS BIGINT), 0, CAST($5 AS BIGINT) FROM users u \
           JOIN org o ON o.org_no = u.org_no WHERE u.org_no = $1 AND u.id = $2 \
           AND u.created_at < CAST($6 AS BIGINT) AND ", gets!("CAST($3 AS TEXT)"),
           " ON CONFLICT (org_no, kind, subject, user_id) DO NOTHING");
    DROP_OTHERS = "DELETE FROM letter WHERE org_no = $1 AND user_id = $2 AND kind = $3 AND subject <> $4";
}

/// Whether [`due_plans`] would find any.
pub async fn any_plan_due(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY_PLAN_DUE, args![now]).await
}

/// Returns members whose reports are to be planned, the longest due first.
pub async fn due_plans(conn: &mut Conn, now: Millis, at_most: i64) -> Result<Vec<DuePlan>> {
    conn.all(&DUE_PLANS, args![now, at_most]).await
}

records!(row => DuePlan {
    org = "org_no", user = "id";
    planned: Some(row.read("reports_at")?).filter(|planned| *planned != Millis(0)),
    zone: AccountZone::stored(row.get::<Option<String>>("time_zone")?.as_deref()),
});

/// Queues the reports of a member that are due, and sets the time of the next ones. No effect if another node was faster.
pub async fn plan(tx: &mut Tx, due: &DuePlan, now: Millis) -> Result<()> {
    let (user, planned) = (due.user, due.planned.unwrap_or(Millis(0)));
    let made = ReportPlan::at(&due.zone, due.user, due.planned, now);
    if tx.execute(&ADVANCE, args![due.org, user, planned, made.next]).await? == 0 {
        return Ok(());
    }
    for period in made.due {
        let Some((_, end)) = period.times(&due.zone) else { continue };
        let (kind, first) = (period.kind().as_str(), period.first());
        tx.execute(&ADD, args![due.org, user, kind, &*first, now, end]).await?;
        tx.execute(&DROP_OTHERS, args![due.org, user, kind, &*first]).await?;
    }
    Ok(())
}
