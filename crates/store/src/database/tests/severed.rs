//! Provokes connections that PostgreSQL ends or whose statements it loses: a transaction without effects is run again on another
//! connection. Also covers databases that temporarily accept no writes.

use std::sync::atomic::{AtomicU32, Ordering};

use probity_trialdb::{TrialDatabase, postgres};

use crate::db::error::Result;
use crate::db::{Conn, Statement, Tx, args};
use crate::nodes::instance;
use crate::{DatabasePlace, ScopedFutureExt as _, Store, StoreConfig, StoreError};

static PUT: Statement = Statement::new(
    "PUT",
    "INSERT INTO instance (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = instance.value || $2",
);
static TERMINATE: Statement = Statement::new("TERMINATE", "SELECT pg_terminate_backend(pg_backend_pid()) AS done");
static HURRY: Statement = Statement::new("HURRY", "SET LOCAL idle_in_transaction_session_timeout = 20");
static OWN: Statement = Statement::new("OWN", "SELECT CAST(pg_backend_pid() AS BIGINT) AS pid");
static ANYBODY: Statement =
    Statement::new("ANYBODY", "SELECT CAST(pid AS BIGINT) AS pid FROM pg_stat_activity WHERE pid = CAST($1 AS INT)");
static TERMINATE_OTHERS: Statement = Statement::new(
    "TERMINATE_OTHERS",
    "SELECT CAST(COUNT(pg_terminate_backend(pid, 10000)) AS BIGINT) AS ended FROM pg_stat_activity \
     WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
);
static FORGET: Statement = Statement::new("FORGET", "DEALLOCATE ALL");
static MAKE: Statement = Statement::new("MAKE", "CREATE TABLE something (one BIGINT)");
static CHANGE: Statement = Statement::new("CHANGE", "ALTER TABLE something ADD COLUMN other BIGINT");
static LOOK: Statement = Statement::new("LOOK", "SELECT * FROM something WHERE $1 = 1");
static READ_ONLY: Statement = Statement::new("READ_ONLY", "SET LOCAL transaction_read_only = on");
static FULL: Statement = Statement::new("FULL", "DO 'BEGIN RAISE EXCEPTION USING ERRCODE = ''53100''; END'");

async fn store() -> Option<(TrialDatabase, Store)> {
    let database = postgres()?.create_database();
    let store = Store::open(&StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await.unwrap();
    store.migrate().await.unwrap();
    Some((database, store))
}

/// Accident to a connection within a transaction.
#[derive(Clone, Copy, Debug)]
enum Accident {
    Terminated,
    Idle,
    Forgotten,
}

/// Causes the accident, and then awaits a response on that connection.
async fn happen(accident: Accident, tx: &mut Tx, store: &Store) -> Result<()> {
    match accident {
        Accident::Terminated => {
            tx.first(&TERMINATE, args![]).await?;
        }
        Accident::Idle => {
            tx.execute(&HURRY, args![]).await?;
            let pid: i64 = tx.first(&OWN, args![]).await?.unwrap().get("pid")?;
            let mut other = store.read().await?;
            while other.first(&ANYBODY, args![pid]).await?.is_some() {}
        }
        Accident::Forgotten => {
            tx.execute(&FORGET, args![]).await?;
        }
    }
    tx.execute(&PUT, args!["other", "."]).await.map(drop)
}

/// Writes two texts, with the accident between them in the first run.
async fn put_both(store: &Store, accident: Accident, runs: &AtomicU32) -> Result<()> {
    let put = store.write(|tx| {
        async {
            tx.execute(&PUT, args!["one", "."]).await?;
            if runs.fetch_add(1, Ordering::Relaxed) == 0 {
                happen(accident, tx, store).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    put.await
}

#[tokio::test]
async fn a_transaction_whose_connection_was_lost_is_run_again_on_another() {
    let Some((_database, store)) = store().await else { return };
    for (n, accident) in [Accident::Terminated, Accident::Idle, Accident::Forgotten].into_iter().enumerate() {
        let runs = AtomicU32::new(0);
        put_both(&store, accident, &runs).await.unwrap_or_else(|error| panic!("{accident:?}: {error:?}"));
        assert_eq!(runs.load(Ordering::Relaxed), 2, "{accident:?}");
        assert_eq!(store.pool_use().retries, n as u64 + 1);
        let mut conn = store.read().await.unwrap();
        assert_eq!(instance::value(&mut conn, "one").await.unwrap().as_deref(), Some(".".repeat(n + 1).as_str()));
        assert_eq!(instance::value(&mut conn, "other").await.unwrap(), None, "of the first run nothing stands");
    }
    store.close().await;
}

/// Rows of a statement whose table may have changed.
async fn look(conn: &mut Conn) -> Result<usize> {
    conn.rows(&LOOK, args![1_i64]).await.map(|rows| rows.len())
}

#[tokio::test]
async fn a_connection_whose_statements_no_longer_fit_is_replaced() {
    let Some((_database, store)) = store().await else { return };
    store.write(|tx| async { tx.execute(&MAKE, args![]).await }.scope_boxed()).await.unwrap();
    let mut conn = store.read().await.unwrap();
    assert_eq!(look(&mut conn).await.unwrap(), 0);
    store.write(|tx| async { tx.execute(&CHANGE, args![]).await }.scope_boxed()).await.unwrap();
    let error = look(&mut conn).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    drop(conn);
    assert_eq!(look(&mut store.read().await.unwrap()).await.unwrap(), 0);
    store.close().await;
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_known_for_that_until_one_goes_through() {
    let Some((_database, store)) = store().await else { return };
    for refusal in [&READ_ONLY, &FULL] {
        assert!(store.is_writable());
        let refused = store.write(|tx| {
            async {
                tx.execute(refusal, args![]).await?;
                tx.execute(&PUT, args!["one", "."]).await
            }
            .scope_boxed()
        });
        let error = refused.await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }) && !store.is_writable(), "{error:?}");
        store.write(|tx| instance::lock(tx, "one").scope_boxed()).await.unwrap();
        assert!(!store.is_writable(), "nothing was written");
        store.write(|tx| async { tx.execute(&PUT, args!["one", "."]).await }.scope_boxed()).await.unwrap();
    }
    assert!(store.is_writable());
    store.close().await;
}

/// Opens connections, which stay in the pool, and makes the server end them.
async fn end_idle(store: &Store, other: &Store) {
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut conn = store.read().await.unwrap();
        conn.first(&OWN, args![]).await.unwrap();
        held.push(conn);
    }
    drop(held);
    // Each is pinged on its return.
    while store.pool_use().idle < store.pool_use().open {
        tokio::task::yield_now().await;
    }
    let ended = other.read().await.unwrap().first(&TERMINATE_OTHERS, args![]).await.unwrap().unwrap();
    assert!(ended.get::<i64>("ended").unwrap() >= 4);
}

#[tokio::test]
async fn connections_that_were_ended_while_idle_cost_nobody_an_answer() {
    let Some((database, store)) = store().await else { return };
    let other = Store::open(&StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await.unwrap();
    end_idle(&store, &other).await;
    store.write(|tx| async { tx.execute(&PUT, args!["one", "."]).await }.scope_boxed()).await.unwrap();
    end_idle(&store, &other).await;
    let value = instance::value(&mut store.read().await.unwrap(), "one").await.unwrap();
    assert_eq!(value.as_deref(), Some("."));
    end_idle(&store, &other).await;
    let value = instance::value(&mut store.snapshot().await.unwrap(), "one").await.unwrap();
    assert_eq!(value.as_deref(), Some("."));
    store.close().await;
    other.close().await;
}
