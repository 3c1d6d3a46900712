//! Log of requests with API keys, for developers: route templates, never paths, queries or bodies.
//!
//! Nodes add entries in bulk, without a transaction of the request: after a crash, the last ones are missing. Entries are removed
//! after a time, and the oldest of an organization that has too many earlier ([`trim`]).

use probity_account::id::KeyId;
use probity_mail::time::Millis;
use serde_json::json;

use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

statements! {
    ADD = "INSERT INTO request_log (org_no, at, id, test, key_id, method, route, status, took_ms)
        SELECT CAST(each.value ->> 'org' AS BIGINT), CAST(each.value ->> 'at' AS BIGINT), each.value ->> 'id',
            CAST(each.value ->> 'test' AS BIGINT), each.value ->> 'key', each.value ->> 'method', each.value ->> 'route',
            CAST(each.value ->> 'status' AS BIGINT), CAST(each.value ->> 'took' AS BIGINT)
        FROM {each:$1} WHERE 1 = 1 ON CONFLICT (org_no, at, id) DO NOTHING";
    TRIM = "DELETE FROM request_log WHERE org_no = $1 AND at < (SELECT MIN(k.at) FROM
        (SELECT l.at FROM request_log l WHERE l.org_no = $1 ORDER BY l.at DESC LIMIT $2) AS k)";
    PURGE = "DELETE FROM request_log WHERE (org_no, at, id) IN
        (SELECT org_no, at, id FROM request_log WHERE at < $1 ORDER BY at LIMIT $2)";
    PAGE = "SELECT org_no, at, id, test, key_id, method, route, status, took_ms FROM request_log
        WHERE org_no = $1 AND test = $2 AND (at, id) < ($3, $4) AND key_id = COALESCE($5, key_id)
            AND method = COALESCE($6, method) AND route = COALESCE($7, route) AND status >= $8 AND status <= $9
        ORDER BY at DESC, id DESC LIMIT $10";
}

/// Request with its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    pub org: OrgNo,
    pub key: KeyId,
    /// Whether a test key sent it.
    pub test: bool,
    /// Time of the response.
    pub at: Millis,
    /// Request ID.
    pub id: String,
    pub method: String,
    /// Template of the route.
    pub route: String,
    /// Status code of the response; 499 if the client left before.
    pub status: i64,
    pub took_ms: i64,
}

/// Entries to find. `None` finds all.
#[derive(Clone, Debug, Default)]
pub struct RequestFilter<'a> {
    pub key: Option<&'a str>,
    pub method: Option<&'a str>,
    pub route: Option<&'a str>,
    /// First and last status code.
    pub statuses: Option<(i64, i64)>,
}

pub async fn add(tx: &mut Tx, entries: &[LoggedRequest]) -> Result<()> {
    let rows = entries.iter().map(|of| {
        json!({
            "org": of.org.0, "at": of.at.0, "id": of.id, "test": i64::from(of.test), "key": of.key.to_string(),
            "method": of.method, "route": of.route, "status": of.status, "took": of.took_ms,
        })
    });
    tx.execute(&ADD, args![json!(rows.collect::<Vec<_>>()).to_string()]).await.map(drop)
}

/// Removes entries of an organization that are older than its `newest` newest ones.
pub async fn trim(tx: &mut Tx, org: OrgNo, newest: i64) -> Result<u64> {
    tx.execute(&TRIM, args![org, newest]).await
}

/// Removes at most `at_most` entries from before a time; returns their number.
pub async fn purge(tx: &mut Tx, before: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![before, at_most]).await
}

/// Returns an organization's entries behind a position, newest first.
pub async fn page(
    conn: &mut Conn,
    org: OrgNo,
    test: bool,
    filter: &RequestFilter<'_>,
    after: Option<(Millis, String)>,
    at_most: i64,
) -> Result<Vec<LoggedRequest>> {
    let (at, id) = after.unwrap_or((Millis(i64::MAX), String::new()));
    let (from, to) = filter.statuses.unwrap_or((0, i64::MAX));
    let values = args![org, test, at, id, filter.key, filter.method, filter.route, from, to, at_most];
    conn.all(&PAGE, values).await
}

records!(row => LoggedRequest {
    org = "org_no", key = "key_id", test, at, id, method, route, status, took_ms
});
