//! The invariants of accounting, as questions to the database. Run after each crash test, and as a metric.

use crate::db::{Conn, Statement, args, statements};
use crate::error::Result;

/// A sum that should agree with another and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrepancy {
    /// Which rule is broken.
    pub rule: &'static str,
    /// The organization's number.
    pub org: i64,
    /// The bucket; empty where both are meant.
    pub bucket: String,
    /// What the account says.
    pub account: i64,
    /// What the rows that it should agree with add up to.
    pub rows: i64,
}

statements! {
    AVAILABLE = concat!("SELECT a.org_no AS org, a.bucket AS bucket, a.available AS account, ",
        "CAST(COALESCE(SUM(CASE WHEN l.kind IN ('grant', 'adjust', 'release') THEN 1 WHEN l.kind IN ('hold', 'expire') THEN -1 ",
        "ELSE 0 END * CASE WHEN a.bucket = 'prepaid' THEN l.prepaid ELSE l.subscription END), 0) AS BIGINT) AS total ",
        "FROM account a LEFT JOIN ledger l ON l.org_no = a.org_no GROUP BY a.org_no, a.bucket, a.available");
    HELD = concat!("SELECT a.org_no AS org, a.bucket AS bucket, a.held AS account, ",
        "CAST(COALESCE(SUM(CASE WHEN l.kind = 'hold' THEN 1 WHEN l.kind IN ('capture', 'release') THEN -1 ELSE 0 END ",
        "* CASE WHEN a.bucket = 'prepaid' THEN l.prepaid ELSE l.subscription END), 0) AS BIGINT) AS total ",
        "FROM account a LEFT JOIN ledger l ON l.org_no = a.org_no GROUP BY a.org_no, a.bucket, a.held");
    SPENT = concat!("SELECT a.org_no AS org, a.bucket AS bucket, a.spent AS account, ",
        "CAST(COALESCE(SUM(CASE WHEN l.kind = 'capture' THEN 1 ELSE 0 END ",
        "* CASE WHEN a.bucket = 'prepaid' THEN l.prepaid ELSE l.subscription END), 0) AS BIGINT) AS total ",
        "FROM account a LEFT JOIN ledger l ON l.org_no = a.org_no GROUP BY a.org_no, a.bucket, a.spent");
    HOLDS = concat!("SELECT a.org_no AS org, a.bucket AS bucket, a.held AS account, ",
        "CAST(COALESCE(SUM(CASE WHEN a.bucket = 'prepaid' THEN h.prepaid ELSE h.subscription END), 0) AS BIGINT) AS total ",
        "FROM account a LEFT JOIN hold h ON h.org_no = a.org_no GROUP BY a.org_no, a.bucket, a.held");
    USAGE = concat!("SELECT a.org_no AS org, '' AS bucket, CAST(SUM(a.spent) AS BIGINT) AS account, ",
        "CAST((SELECT COALESCE(SUM(u.charged), 0) FROM usage_day u WHERE u.org_no = a.org_no) AS BIGINT) AS total ",
        "FROM account a GROUP BY a.org_no");
}

/// Every place where the books do not agree; empty when all is well. Reads everything: for tests and rare checks.
pub async fn audit(conn: &mut Conn) -> Result<Vec<Discrepancy>> {
    let rules: [(&'static str, &'static Statement); 5] = [
        ("available = granted + adjusted + released - held - expired", &AVAILABLE),
        ("held = held - captured - released", &HELD),
        ("spent = captured", &SPENT),
        ("held = the holds", &HOLDS),
        ("spent = charged verifications", &USAGE),
    ];
    let mut found = Vec::new();
    for (rule, statement) in rules {
        for row in conn.rows(statement, args![]).await? {
            let (account, rows) = (row.get("account")?, row.get("total")?);
            if account != rows {
                found.push(Discrepancy { rule, org: row.get("org")?, bucket: row.get("bucket")?, account, rows });
            }
        }
    }
    Ok(found)
}
