//! The invariants of accounting: accounts against the ledger, the holds and the usage.

use super::{AuditDiscrepancy, Invariant, differing};
use crate::db::error::Result;
use crate::db::{Conn, Statement, args, statements};

statements! {
    AVAILABLE = concat!("SELECT a.org_no AS org, a.bucket AS subject, a.available AS said, ",
        "CAST(COALESCE(SUM(CASE WHEN l.kind IN ('grant', 'adjust', 'release') THEN 1 WHEN l.kind IN ('hold', 'expire') THEN -1 ",
        "ELSE 0 END * CASE WHEN a.bucket = 'prepaid' THEN l.prepaid ELSE l.subscription END), 0) AS BIGINT) AS found ",
        "FROM account a LEFT JOIN ledger l ON l.org_no = a.org_no GROUP BY a.org_no, a.bucket, a.available");
    HELD = concat!("SELECT a.org_no AS org, a.bucket AS subject, a.held AS said, ",
        "CAST(COALESCE(SUM(CASE WHEN l.kind = 'hold' THEN 1 WHEN l.kind IN ('capture', 'release') THEN -1 ELSE 0 END ",
        "* CASE WHEN a.bucket = 'prepaid' THEN l.prepaid ELSE l.subscription END), 0) AS BIGINT) AS found ",
        "FROM account a LEFT JOIN ledger l ON l.org_no = a.org_no GROUP BY a.org_no, a.bucket, a.held");
    SPENT = concat!("SELECT a.org_no AS org, a.bucket AS subject, a.spent AS said, ",
        "CAST(COALESCE(SUM(CASE WHEN l.kind = 'capture' THEN 1 ELSE 0 END ",
        "* CASE WHEN a.bucket = 'prepaid' THEN l.prepaid ELSE l.subscription END), 0) AS BIGINT) AS found ",
        "FROM account a LEFT JOIN ledger l ON l.org_no = a.org_no GROUP BY a.org_no, a.bucket, a.spent");
    HOLDS = concat!("SELECT a.org_no AS org, a.bucket AS subject, a.held AS said, ",
        "CAST(COALESCE(SUM(CASE WHEN a.bucket = 'prepaid' THEN h.prepaid ELSE h.subscription END), 0) AS BIGINT) AS found ",
        "FROM account a LEFT JOIN hold h ON h.org_no = a.org_no GROUP BY a.org_no, a.bucket, a.held");
    USAGE = concat!("SELECT a.org_no AS org, '' AS subject, CAST(SUM(a.spent) AS BIGINT) AS said, ",
        "CAST((SELECT COALESCE(SUM(u.charged), 0) FROM usage_day u WHERE u.org_no = a.org_no) AS BIGINT) AS found ",
        "FROM account a GROUP BY a.org_no");
}

/// Compares accounts with the ledger, the holds and the usage.
pub(crate) async fn accounts(conn: &mut Conn) -> Result<Vec<AuditDiscrepancy>> {
    let rules: [(Invariant, &'static Statement); 5] = [
        (Invariant::AccountAvailable, &AVAILABLE),
        (Invariant::AccountHeld, &HELD),
        (Invariant::AccountSpent, &SPENT),
        (Invariant::AccountHolds, &HOLDS),
        (Invariant::AccountUsage, &USAGE),
    ];
    let mut found = Vec::new();
    for (invariant, statement) in rules {
        found.extend(differing(conn, invariant, statement, args![]).await?);
    }
    Ok(found)
}
