//! Fills every table with rows generated from its columns, so that tables added later are tested as well.

use std::fmt::Write as _;
use std::sync::Mutex;

use probity_trialdb::postgres;

use super::schema::{Column, Table, tables};
use super::{copy_all, made, take_alone};
use crate::db::{ColumnType, Conn, StatementArgs, args};
use crate::{DatabasePlace, ScopedFutureExt as _, SqlDialect, Store, StoreConfig};

/// More rows than one statement accepts.
const ROWS: i64 = 2_345;

/// Values of columns that a constraint links to others.
const JOINED: &[(&str, &str, i64)] = &[("job", "processed", 4), ("job", "rows_total", 4)];

async fn open(place: DatabasePlace) -> Store {
    let store = Store::open(&StoreConfig::new(place)).await.unwrap();
    store.migrate().await.unwrap();
    store
}

/// Whether the column is in the primary key and may have any value; whether it may be NULL; and a text that a constraint allows.
struct Rules {
    key: bool,
    null: bool,
    allowed: Option<String>,
}

async fn rules(conn: &mut Conn, table: &Table, column: &Column) -> Rules {
    let text = "SELECT i.pk AS pk, i.\"notnull\" AS needed, s.sql AS sql FROM pragma_table_info($1) i \
                JOIN sqlite_schema s ON s.name = $1 WHERE i.name = $2";
    let rows = conn.rows_made(text.into(), args![table.name.as_str(), column.name.as_str()]).await.unwrap();
    let number = |name| rows[0].get::<i64>(name).unwrap();
    let sql: String = rows[0].get("sql").unwrap();
    let list = sql.split_once(&format!("{} IN ('", column.name));
    let allowed = list.map(|(_, list)| list.split_once('\'').unwrap().0.to_owned());
    // A flag does not distinguish rows; other columns of the key do.
    let is_flag = sql.contains(&format!("CHECK ({} IN (0, 1))", column.name));
    Rules { key: number("pk") > 0 && !is_flag, null: number("needed") == 0, allowed }
}

/// Value of a column in the `n`th row: a value of its type, distinct in each row where necessary.
fn value(table: &Table, column: &Column, rules: &Rules, n: i64, args: StatementArgs) -> StatementArgs {
    let empty = rules.null && n % 2 == 0;
    let joined = JOINED.iter().find(|(name, joined, _)| *name == table.name && *joined == column.name);
    match column.kind {
        ColumnType::Whole if empty => args.with(None::<i64>),
        ColumnType::Whole if rules.key => args.with(i64::MAX - n),
        ColumnType::Whole => args.with(joined.map_or(1, |(.., value)| *value)),
        ColumnType::Text if empty => args.with(None::<String>),
        ColumnType::Text => args.with(rules.allowed.clone().unwrap_or_else(|| format!("{n}: it's \"ünï\\code\" 📬\n"))),
        ColumnType::Bytes if empty => args.with(None::<Vec<u8>>),
        ColumnType::Bytes => args.with([&[0, 0xff, b'\\'][..], &n.to_be_bytes()].concat()),
        ColumnType::Double => unreachable!("no table has one yet"),
    }
}

async fn fill(store: &Store, table: &Table) {
    let mut conn = store.read().await.unwrap();
    let mut of_columns = Vec::new();
    for column in &table.columns {
        of_columns.push(rules(&mut conn, table, column).await);
    }
    drop(conn);
    let places: Vec<String> = (1..=table.columns.len()).map(|n| format!("${n}")).collect();
    let insert = format!("INSERT INTO {} ({}) VALUES ({})", table.quoted(), table.columns(), places.join(", "));
    let (insert, of_columns) = (&insert, &of_columns);
    let filled = store.write(|tx| {
        async move {
            for n in 0..ROWS {
                let columns = table.columns.iter().zip(of_columns);
                let args = columns
                    .fold(StatementArgs::default(), |args, (column, rules)| value(table, column, rules, n, args));
                tx.execute_made(insert.as_str().into(), args, true).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    filled.await.unwrap_or_else(|error| panic!("{}: {error:?}", table.name));
}

/// Content of a table, as text in an order independent of the database.
async fn content(store: &Store, table: &Table) -> Vec<String> {
    let mut conn = store.read().await.unwrap();
    let rows = conn.rows_made(format!("SELECT {} FROM {}", table.columns(), table.quoted()), args![]).await.unwrap();
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let mut line = String::new();
            for Column { name, kind } in &table.columns {
                let _ = match kind {
                    ColumnType::Whole => write!(line, "{:?} ", row.get::<Option<i64>>(name).unwrap()),
                    ColumnType::Double => write!(line, "{:?} ", row.get::<Option<f64>>(name).unwrap()),
                    ColumnType::Text => write!(line, "{:?} ", row.get::<Option<String>>(name).unwrap()),
                    ColumnType::Bytes => write!(line, "{:?} ", row.get::<Option<Vec<u8>>>(name).unwrap()),
                };
            }
            line
        })
        .collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn every_row_of_every_table_arrives_as_it_was() {
    let Some(cluster) = postgres() else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = open(DatabasePlace::Sqlite(directory.path().join("probity.db"))).await;
    let database = cluster.create_database();
    let target = open(DatabasePlace::Postgres(database.url().to_owned())).await;
    let tables = tables(&mut source.read().await.unwrap()).await.unwrap();
    assert_eq!(target.dialect(), SqlDialect::Postgres);
    for table in &tables {
        fill(&source, table).await;
    }
    let copied = target.write(|tx| {
        async {
            take_alone(tx, &tables).await?;
            copy_all(&mut source.read().await?, tx, &tables, &|_, _| ()).await
        }
        .scope_boxed()
    });
    let copied = copied.await.unwrap();
    assert!(copied.iter().all(|copied| i64::try_from(copied.rows) == Ok(ROWS)), "{copied:?}");
    for table in &tables {
        let (here, there) = (content(&source, table).await, content(&target, table).await);
        assert_eq!(here.len(), usize::try_from(ROWS).unwrap(), "{}", table.name);
        assert!(here == there, "{} differs", table.name);
    }
    let listed = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class \
                  WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT LIKE '\\_sqlx%'";
    let mut moved: Vec<_> = copied.iter().map(|copied| copied.table.as_str()).chain(["lease", "node"]).collect();
    moved.sort_unstable();
    assert_eq!(database.query(listed).unwrap(), moved.join(" "), "no table is left out but those about nodes");
    source.close().await;
    target.close().await;
}

#[tokio::test]
async fn what_a_number_with_a_fraction_is_stays() {
    let Some(cluster) = postgres() else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = open(DatabasePlace::Sqlite(directory.path().join("probity.db"))).await;
    let database = cluster.create_database();
    let target = open(DatabasePlace::Postgres(database.url().to_owned())).await;
    for store in [&source, &target] {
        let create = "CREATE TABLE share (id BIGINT NOT NULL PRIMARY KEY, part DOUBLE PRECISION)";
        store.write(|tx| made(tx, create.into()).scope_boxed()).await.unwrap();
    }
    let rows = "INSERT INTO share VALUES (1, 0.1), (2, 1e300), (3, NULL), (4, -3)";
    source.write(|tx| made(tx, rows.into()).scope_boxed()).await.unwrap();
    let mut tables = tables(&mut source.read().await.unwrap()).await.unwrap();
    tables.retain(|table| table.name == "share");
    let copied =
        target.write(|tx| async { copy_all(&mut source.read().await?, tx, &tables, &|_, _| ()).await }.scope_boxed());
    copied.await.unwrap();
    assert_eq!(content(&source, &tables[0]).await, content(&target, &tables[0]).await);
    source.close().await;
    target.close().await;
}

/// At most one slice is in memory: 1,000 rows, and no more than the row that completes a megabyte.
#[tokio::test]
async fn a_long_table_goes_over_in_slices() {
    let Some(cluster) = postgres() else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = open(DatabasePlace::Sqlite(directory.path().join("probity.db"))).await;
    let database = cluster.create_database();
    let target = open(DatabasePlace::Postgres(database.url().to_owned())).await;
    let many = "INSERT INTO many WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000) \
                SELECT n, randomblob(20) FROM c";
    let large = "INSERT INTO large WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30) \
                 SELECT n, randomblob(300000) FROM c";
    for (table, bytes) in [("many", many), ("large", large)] {
        for (store, kind) in [(&source, "BLOB"), (&target, "BYTEA")] {
            let create = format!("CREATE TABLE {table} (n BIGINT NOT NULL PRIMARY KEY, bytes {kind} NOT NULL)");
            store.write(|tx| made(tx, create.clone()).scope_boxed()).await.unwrap();
        }
        source.write(|tx| made(tx, bytes.into()).scope_boxed()).await.unwrap();
    }
    let mut tables = tables(&mut source.read().await.unwrap()).await.unwrap();
    tables.retain(|table| ["many", "large"].contains(&table.name.as_str()));
    let steps = Mutex::new(Vec::new());
    let told = |table: &str, rows: u64| steps.lock().unwrap().push((table.to_owned(), rows));
    let copied =
        target.write(|tx| async { copy_all(&mut source.read().await?, tx, &tables, &told).await }.scope_boxed());
    copied.await.unwrap();
    let steps = steps.into_inner().unwrap();
    for (table, slice, rows) in [("many", 1_000, 100_000), ("large", 4, 30)] {
        let mut before = 0;
        for (_, told) in steps.iter().filter(|(name, _)| name == table) {
            assert!(told - before <= slice, "{table}: {before} to {told}");
            before = *told;
        }
        assert_eq!(before, rows, "{table}");
    }
    for table in &tables {
        assert!(content(&source, table).await == content(&target, table).await, "{} differs", table.name);
    }
    source.close().await;
    target.close().await;
}
