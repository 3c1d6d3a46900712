//! Checks SQLite query plans: statements on a table that may be large must find their rows by an index.
//!
//! Maintenance and job tasks poll every few seconds, some of them in transactions; a full scan would block all others, for longer
//! as an installation grows. This finds queries that need a new index, and queries whose index the database does not use: a
//! partial index applies only if the statement repeats its condition.

use crate::db::{Conn, args};
use crate::{DatabasePlace, Store, StoreConfig, statements};

/// Statements that may scan a table, with the reason. A name that ends with `::` covers all names below it.
const MAY_SCAN: &[(&str, &str)] = &[
    ("nodes::ahead::", "at a start, and once an hour on PostgreSQL; what has most rows is found by an index"),
    ("credits::audit::", "it looks at everything, when an operator asks for it"),
    ("jobs::purge::DUE", "organizations, of which each has its own time; of their jobs only those that are due"),
    ("accounts::limits::PURGE", "the buckets of keys that were used within the last minutes"),
    ("nodes::ALL", "as many rows as there are nodes"),
    ("nodes::FORGET_NODES", "as many rows as there are nodes"),
    ("nodes::LEASES", "as many rows as there are leases"),
    ("nodes::LET_GO", "as many rows as there are leases"),
    ("nodes::FORGET_LEASES", "as many rows as there are leases"),
    ("accounts::plans::UNKNOWN", "once, at the start"),
    ("uploads::purge::DUE", "organizations, of which each has its own time; of their uploads only those that are due"),
    ("accounts::users::ANYWHERE", "when an operator names a person"),
    ("accounts::sso::ANY", "it stops at the first row"),
    (
        "credits::usage::OLD_DOMAINS",
        "organizations, of which each has its own time; of their domains only those that are due",
    ),
];

/// Statements that may sort more rows than they return, with the reason why these are few.
const MAY_SORT: &[(&str, &str)] = &[
    ("activity::reports::LARGEST_SOURCES", "an organization's sums of the days asked for, at most 366"),
    ("activity::reports::LARGEST_CONNECTIONS", "an organization's sums of the days asked for, at most 366"),
    ("activity::reports::LARGEST_KEYS", "an organization's sums of the days asked for, at most 366"),
    ("activity::reports::LARGEST_DOMAINS", "an organization's sums of the days asked for, whose number is bounded"),
    ("activity::reports::LARGEST_PROVIDERS", "an organization's sums of the days asked for, at most 366"),
    ("connections::connection::LOST", "an organization's connections, whose number is bounded"),
    ("connections::connection::ACTIVE", "an organization's connections, whose number is bounded"),
    ("connections::connection::FORMER", "an organization's connections, whose number is bounded"),
    ("connections::actions::LAST_OF_PART", "those that the limit let through, to find the last one"),
    ("connections::contacts::picking::LAST_OF_PART", "those that the limit let through, to find the last one"),
    ("connections::schedule::CUT", "those that the limit let through, to find the last one"),
    ("credits::upkeep::ENDED_BUCKETS", "those that the limit let through, to lock them in order"),
    ("credits::upkeep::ENDED_HOLDS", "those that the limit let through, to lock them in order"),
    ("jobs::standing::STALLED", "open jobs"),
    ("jobs::work::HEADS", "the groups of the first chunks, which have a limit of their own"),
    ("jobs::work::OPEN", "open jobs"),
    ("accounts::people::passwords::CANDIDATES", "users with one address"),
    ("privacy::suppressions::REMOVE_SOME", "those that the limit let through, to find the last one"),
    ("accounts::users::BY_EMAIL", "users with one address"),
    ("outcomes::sources::ALL", "an organization's sources, whose number is bounded"),
];

/// Tables that a statement scans. A partial index contains only the queried rows.
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
    let place = DatabasePlace::Sqlite(directory.path().join("probity.db"));
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

/// A statement with a limit stops there only if it reads rows in the requested order. Otherwise it reads and sorts all of them
/// each time.
#[tokio::test]
async fn no_statement_sorts_many_rows_to_return_a_few() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let mut conn = store.read().await.unwrap();
    let (mut needed, mut wrong) = (Vec::new(), Vec::new());
    for statement in statements() {
        let (name, text) = (statement.name(), statement.text(store.dialect()));
        let sorts = plan(&mut conn, text).await.iter().any(|detail| detail.starts_with("USE TEMP B-TREE FOR ORDER BY"));
        if !sorts || !text.contains(" LIMIT ") {
            continue;
        }
        match MAY_SORT.iter().find(|(may, _)| *may == name) {
            Some((name, _)) => needed.push(*name),
            None => wrong.push(name),
        }
    }
    assert!(wrong.is_empty(), "sorted before their limit: {wrong:#?}");
    for (name, _) in MAY_SORT {
        assert!(needed.contains(name), "{name} needs no exception");
    }
}

/// A statement with a list reads it once and finds each row by key. Reading the list for each row would make a list of 500 read
/// all rows of a connection 500 times.
#[tokio::test]
async fn no_statement_reads_its_list_for_each_row() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let mut conn = store.read().await.unwrap();
    let joined = "UPDATE contact_mark SET effect = each.value ->> 1 FROM json_each($1) AS each \
                  WHERE org_no = $2 AND connection_id = $3 AND contact = each.value ->> 0";
    assert!(reads_list_often(&mut conn, joined).await);
    let mut wrong = Vec::new();
    for statement in statements() {
        if reads_list_often(&mut conn, statement.text(store.dialect())).await {
            wrong.push(statement.name());
        }
    }
    assert!(wrong.is_empty(), "lists are read for each row: {wrong:#?}");
}

/// Returns whether the loop over the list is nested in one over rows, which have the same parent in the plan.
async fn reads_list_often(conn: &mut Conn, text: &str) -> bool {
    let rows = conn.rows_made(format!("EXPLAIN QUERY PLAN {text}"), args![]).await.unwrap();
    let loops = rows.iter().map(|row| (row.get::<i64>("parent").unwrap(), row.get::<String>("detail").unwrap()));
    let loops: Vec<_> =
        loops.filter(|(_, detail)| detail.starts_with("SCAN ") || detail.starts_with("SEARCH ")).collect();
    loops.windows(2).any(|pair| {
        let [(outer, _), (inner, detail)] = pair else { return false };
        outer == inner && detail.contains("VIRTUAL TABLE")
    })
}

/// Statements of each claim. If they sorted a job's chunks, a job of a million addresses would sort 1,000 chunks 1,000 times.
#[tokio::test]
async fn a_claim_reads_the_first_chunks_and_sorts_none() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let mut conn = store.read().await.unwrap();
    for (name, index) in [("jobs::work::HEADS", "chunk_line"), ("jobs::work::FREE_CHUNKS", "chunk_kind")] {
        let statement = statements().into_iter().find(|statement| statement.name() == name).unwrap();
        let plan = plan(&mut conn, statement.text(store.dialect())).await;
        // Sorting the few rows read is allowed.
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
