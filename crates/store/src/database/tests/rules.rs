//! Rules that let one SQL text serve both databases, checked for every statement and every migration.

use std::path::{Path, PathBuf};

use probity_trialdb::postgres;

use crate::db::Statement;
use crate::{DatabasePlace, SqlDialect, Store, StoreConfig, statements};

/// Words that have a different meaning in the two databases, depend on the server's clock or on chance, or compare texts by
/// language rules.
const FORBIDDEN: &[&str] = &[
    "NOW",
    "LIKE",
    "ILIKE",
    "GLOB",
    "SIMILAR",
    "REGEXP",
    "LOWER",
    "UPPER",
    "OFFSET",
    "GREATEST",
    "LEAST",
    "RANDOM",
    "GEN_RANDOM_UUID",
    "DATETIME",
    "STRFTIME",
    "CLOCK_TIMESTAMP",
    "LOCALTIMESTAMP",
    "NEXTVAL",
    "ARRAY",
    "COLLATE",
    "TRIGGER",
    "REPLACE",
];

/// Statements that read the server's clock, because nodes share it.
const ASKING_TIME: &[&str] = &["nodes::clock::NOW"];

/// Columns that a statement may sort by: numbers, times, bytes, and IDs and fixed names, whose letters every collation orders
/// equally. Never user text.
const SORTABLE: &[&str] = &[
    "contact",
    "first_idx",
    "idx",
    "chunk_no",
    "id",
    "key_id",
    "bucket",
    "day",
    "at",
    "fold_after",
    "tag",
    "verified",
];
const SORTABLE_ENDS: &[&str] = &["_no", "_at", "_until", "_us"];

/// Statements that may count rows: a customer's team members, which are few, and a run's actions in doubt, once when the run plans and
/// once when it ends, by an index of their own; and a webhook's newest deliveries, up to a limit.
const COUNTING: &[&str] =
    &["accounts::users::SEATS", "connections::actions::DOUBTED", "webhooks::outbox::deliveries::BY_HOUR"];

/// Tables that belong to the installation, not to a customer; and the table of customers.
const SHARED_TABLES: &[&str] = &["instance", "domain_fact", "org", "node", "lease", "attempt", "forgotten_password"];

/// Types that both databases return equally.
const TYPES: &[&str] = &["BIGINT", "TEXT", "DOUBLE", "{bytes}"];

fn files(directory: &str, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == end) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Full names of the statements that a file declares with `statements!`.
fn declared(path: &Path) -> Vec<String> {
    let file = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap().with_extension("");
    let module: Vec<_> = file.iter().map(|part| part.to_str().unwrap()).collect();
    let mut names = Vec::new();
    let mut inside = false;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        if line.trim_end().ends_with("statements! {") {
            inside = !line.contains("macro_rules!");
        } else if line.starts_with('}') {
            inside = false;
        } else if inside {
            let name = line.trim_start().split(" =").next().unwrap();
            let is_name =
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
            if is_name && line.starts_with("    ") && !line.starts_with("     ") && line.contains(" =") {
                names.push(format!("{}::{name}", module.join("::")));
            }
        }
    }
    names
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(str::to_ascii_uppercase)
}

/// Rule violations of a statement.
fn objections(name: &str, text: &str) -> Vec<String> {
    let mut found: Vec<String> = words(text)
        .filter(|word| FORBIDDEN.contains(&word.as_str()) || word.starts_with("CURRENT_"))
        .filter(|word| word != "CLOCK_TIMESTAMP" || !ASKING_TIME.contains(&name))
        .map(|word| format!("{word} is forbidden"))
        .collect();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (at, _) in flat.match_indices("COUNT(") {
        let counted =
            flat[at..].split_once(" FROM ").filter(|(count, _)| count.split(" AS ").next() == Some("COUNT(*)"));
        let bounded = counted.is_some_and(|(_, from)| from.starts_with("(SELECT 1 ") && from.contains("LIMIT"));
        if !bounded && !COUNTING.contains(&name) {
            found.push("COUNT is for bounded counts only; counters are maintained".into());
        }
    }
    for sorted in flat.split("ORDER BY ").skip(1) {
        let end = [" LIMIT", ")", " FOR UPDATE", " RETURNING"].iter().filter_map(|end| sorted.find(end)).min();
        for column in sorted[..end.unwrap_or(sorted.len())].split(',') {
            let column = column.trim().trim_end_matches(" DESC").trim_end_matches(" ASC");
            let column = column.rsplit('.').next().unwrap_or(column);
            if !SORTABLE.contains(&column) && !SORTABLE_ENDS.iter().any(|end| column.ends_with(end)) {
                found.push(format!("{column} is not known as sortable"));
            }
        }
    }
    found
}

/// Rule violations of a table definition.
fn table_objections(name: &str, body: &str) -> Vec<String> {
    let mut found = Vec::new();
    for item in items(body) {
        let mut parts = item.split_whitespace();
        let (Some(column), Some(kind)) = (parts.next(), parts.next()) else { continue };
        let is_column = column.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if is_column && !TYPES.contains(&kind) {
            found.push(format!("{name}.{column} has type {kind}"));
        }
    }
    let key = items(body).into_iter().find(|item| item.contains("PRIMARY KEY"));
    let first = key.map(|item| match item.strip_prefix("PRIMARY KEY (") {
        Some(columns) => columns.split([',', ')']).next().unwrap_or(""),
        None => item.split_whitespace().next().unwrap_or(""),
    });
    match first {
        None => found.push(format!("{name} has no primary key")),
        Some("org_no") => {}
        Some(_) if SHARED_TABLES.contains(&name) => {}
        Some(column) => found.push(format!("the key of {name} begins with {column}")),
    }
    found
}

/// Columns and constraints of a table.
fn items(body: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = body.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// Tables of a migration without its comments: names, and the text between their parentheses.
fn tables(migration: &str) -> Vec<(&str, &str)> {
    let parts = migration.split("CREATE TABLE ").skip(1);
    parts.map(|part| part.split_once(';').unwrap().0.split_once(" (\n").unwrap()).collect()
}

fn without_comments(sql: &str) -> String {
    sql.lines().map(|line| line.split("--").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_declared_statement_is_in_the_list() {
    let sources = files("src", "rs");
    let mut declared: Vec<String> = sources.iter().flat_map(|path| declared(path)).collect();
    let mut listed: Vec<String> = statements().iter().map(|statement| statement.name().to_owned()).collect();
    declared.sort();
    listed.sort();
    assert!(declared.len() > 10, "the search finds declarations: {declared:?}");
    assert_eq!(declared, listed);
}

#[test]
fn no_statement_says_what_the_databases_understand_differently() {
    for statement in statements() {
        for dialect in [SqlDialect::Sqlite, SqlDialect::Postgres] {
            let objections = objections(statement.name(), statement.text(dialect));
            assert!(objections.is_empty(), "{} on {dialect:?}: {objections:?}", statement.name());
        }
    }
}

#[test]
fn what_is_forbidden_is_found() {
    let cases = [
        ("SELECT now() AS t", "NOW"),
        ("SELECT id FROM users WHERE lower(name) = $1", "LOWER"),
        ("SELECT id FROM users WHERE name LIKE $1", "LIKE"),
        ("SELECT id FROM users ORDER BY id LIMIT 5 OFFSET $1", "OFFSET"),
        ("SELECT CURRENT_TIMESTAMP AS t", "CURRENT_TIMESTAMP"),
        ("SELECT COUNT(*) AS n FROM users WHERE org_no = $1", "COUNT"),
        ("SELECT id FROM users ORDER BY created_at DESC, users.name DESC LIMIT 5", "name is not"),
    ];
    for (text, objection) in cases {
        let found = objections("X", text);
        assert!(found.len() == 1 && found[0].contains(objection), "{text}: {found:?}");
    }
    let fine = "SELECT id FROM users WHERE known_until < $1 ORDER BY users.created_at DESC, id LIMIT 5";
    assert_eq!(objections("X", fine), Vec::<String>::new());
}

#[test]
fn tables_of_customers_begin_their_keys_with_the_organization() {
    let migrations = files("migrations", "sql");
    let mut seen = 0;
    for path in &migrations {
        let text = without_comments(&std::fs::read_to_string(path).unwrap());
        for (name, body) in tables(&text) {
            seen += 1;
            assert_eq!(table_objections(name, body), Vec::<String>::new(), "{}", path.display());
        }
    }
    assert!(seen >= 10, "the search finds tables: {seen}");
}

#[test]
fn a_wrong_table_is_found() {
    let cases = [
        ("    id TEXT NOT NULL,\n    PRIMARY KEY (id, org_no)\n", "the key of job begins with id"),
        ("    id TEXT NOT NULL PRIMARY KEY\n", "the key of job begins with id"),
        ("    org_no BIGINT NOT NULL\n", "job has no primary key"),
        ("    org_no BIGINT NOT NULL PRIMARY KEY, n BIGINT CHECK (n IN (0, 1)), at TIME\n", "job.at has type TIME"),
        ("    at TIMESTAMP,\n    PRIMARY KEY (org_no, at)\n", "job.at has type TIMESTAMP"),
    ];
    for (body, objection) in cases {
        assert_eq!(table_objections("job", body), [objection]);
    }
}

/// Prepares everything; reports all statements that a database rejects.
async fn prepare(store: &Store, statements: &[&'static Statement]) {
    store.migrate().await.unwrap();
    for &statement in statements {
        // One connection each: PostgreSQL's connection recovers from an error, but the test must not depend on that.
        let prepared = store.read().await.unwrap().prepare(statement).await;
        assert!(prepared.is_ok(), "{}: {prepared:?}\n{}", statement.name(), statement.text(store.dialect()));
    }
}

#[tokio::test]
async fn sqlite_prepares_every_statement() {
    let directory = tempfile::tempdir().unwrap();
    let place = DatabasePlace::Sqlite(directory.path().join("probity.db"));
    let store = Store::open(&StoreConfig::new(place)).await.unwrap();
    prepare(&store, &statements()).await;
}

#[tokio::test]
async fn postgres_prepares_every_statement() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let store = Store::open(&StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await.unwrap();
    prepare(&store, &statements()).await;
    store.close().await;
}
