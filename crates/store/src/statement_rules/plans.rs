//! Checks what statements read on SQLite: in a table that may be large, only what an index finds.
//!
//! Maintenance and job tasks poll every few seconds, some of them in transactions; a full scan would block everybody for longer as
//! an installation grows. This finds queries that need a new index, and queries whose index the database does not use: a partial
//! index applies only if the statement repeats its condition.

use crate::db::{Conn, args};
use crate::{Place, Store, StoreConfig, statements};

/// Statements that may scan a table, and why. A name that ends with `::` covers all names below it.
const MAY_SCAN: &[(&str, &str)] = &[
    ("ahead::", "at a start, and once an hour on PostgreSQL; what has most rows is found by an index"),
    ("audit::", "it looks at everything, when an operator asks for it"),
    ("jobs::purge::DUE", "organizations, of which each has its own time; of their jobs only those that are due"),
    ("limits::PURGE", "the buckets of keys that were used within the last minutes"),
    ("nodes::", "as many rows as there are nodes and leases"),
    ("notices::COUNT_WAITING", "mail that waits to be sent, for its gauge"),
    ("notices::HELD", "mail that waits to be sent"),
    ("plans::UNKNOWN", "once, at the start"),
    ("users::ANYWHERE", "when an operator names a person"),
];

/// Tables that a statement scans. A partial index contains no more than what is queried.
async fn scanned(conn: &mut Conn, text: &str) -> Vec<String> {
    let details = plan(conn, text).await;
    let made = |name: &str| {
        name.starts_with('(')
            || ["CO-ROUTINE", "MATERIALIZE"].iter().any(|made| details.contains(&format!("{made} {name}")))
    };
    let mut found = Vec::new();
    for scan in details.iter().filter_map(|detail| detail.strip_prefix("SCAN ")) {
        let (name, rest) = scan.split_once(' ').unwrap_or((scan, ""));
        let is_table = !made(name) && !rest.starts_with("VIRTUAL TABLE") && scan != "CONSTANT ROW";
        if is_table && !is_partial(conn, rest.rsplit(' ').next().unwrap_or_default()).await {
            found.push(scan.to_owned());
        }
    }
    found
}

async fn plan(conn: &mut Conn, text: &str) -> Vec<String> {
    let rows = conn.rows_made(format!("EXPLAIN QUERY PLAN {text}"), args![]).await.unwrap();
    rows.iter().map(|row| row.get("detail").unwrap()).collect()
}

async fn is_partial(conn: &mut Conn, index: &str) -> bool {
    let text = format!("SELECT sql FROM sqlite_master WHERE type = 'index' AND name = '{index}' AND sql IS NOT NULL");
    let rows = conn.rows_made(text, args![]).await.unwrap();
    rows.first().is_some_and(|row| row.get::<String>("sql").unwrap().contains(" WHERE "))
}

async fn store(directory: &tempfile::TempDir) -> Store {
    let place = Place::Sqlite(directory.path().join("probity.db"));
    let store = Store::open(&StoreConfig::new(place)).await.unwrap();
    store.migrate().await.unwrap();
    store
}

#[tokio::test]
async fn no_statement_reads_a_whole_table_that_may_be_large() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let mut conn = store.read().await.unwrap();
    let (mut needed, mut wrong) = (Vec::new(), Vec::new());
    for statement in statements() {
        let name = statement.name();
        let found = scanned(&mut conn, statement.text(store.dialect())).await;
        if found.is_empty() {
            continue;
        }
        let is_meant = |may: &&(&str, &str)| may.0 == name || (may.0.ends_with("::") && name.starts_with(may.0));
        match MAY_SCAN.iter().find(is_meant) {
            Some((name, _)) => needed.push(*name),
            None => wrong.push(format!("{name}: {found:?}")),
        }
    }
    assert!(wrong.is_empty(), "whole tables are read: {wrong:#?}");
    for (name, _) in MAY_SCAN {
        assert!(needed.contains(name), "{name} needs no exception");
    }
}

/// Each claim runs these. If they sorted a job's chunks, a job of a million addresses would sort a thousand chunks a thousand
/// times.
#[tokio::test]
async fn a_claim_reads_the_first_chunks_and_sorts_none() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let mut conn = store.read().await.unwrap();
    for (name, index) in [("jobs::work::HEADS", "chunk_line"), ("jobs::work::FREE_CHUNKS", "chunk_kind")] {
        let statement = statements().into_iter().find(|statement| statement.name() == name).unwrap();
        let plan = plan(&mut conn, statement.text(store.dialect())).await;
        // The few rows read may be sorted.
        let reads: Vec<&String> = plan.iter().take_while(|detail| !detail.starts_with("SCAN first_chunks")).collect();
        assert!(reads.iter().any(|read| read.starts_with("SEARCH chunk") && read.contains(index)), "{name}: {plan:#?}");
        assert!(!reads.iter().any(|read| read.contains("TEMP B-TREE")), "{name}: {plan:#?}");
    }
}

#[tokio::test]
async fn a_whole_table_that_is_read_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let mut conn = store.read().await.unwrap();
    let cases = [
        ("SELECT job_no FROM job WHERE rows_total > $1", true),
        ("SELECT job_no FROM job WHERE packed >= 3 ORDER BY finished_at LIMIT 1", true),
        ("SELECT j.job_no FROM job j WHERE EXISTS (SELECT 1 FROM chunk c WHERE c.size > $1)", true),
        ("SELECT job_no FROM job WHERE packed = 3 ORDER BY finished_at LIMIT 1", false),
        ("WITH few AS MATERIALIZED (SELECT job_no FROM job WHERE org_no = $1) SELECT job_no FROM few", false),
    ];
    for (text, is_whole) in cases {
        assert_eq!(!scanned(&mut conn, text).await.is_empty(), is_whole, "{text}");
    }
}
