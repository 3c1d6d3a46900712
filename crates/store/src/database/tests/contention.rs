//! Provokes lost races: a deadlock that both sides survive, and a disk that is full for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use probity_trialdb::postgres;
use tokio::sync::Barrier;

use crate::db::{Statement, args};
use crate::nodes::instance;
use crate::{DatabasePlace, ScopedFutureExt as _, Store, StoreConfig, StoreError};

static TOUCH: Statement = Statement::new("TOUCH", "UPDATE instance SET value = value || $2 WHERE name = $1");

async fn open(place: DatabasePlace) -> Store {
    let store = Store::open(&StoreConfig::new(place)).await.unwrap();
    store.migrate().await.unwrap();
    store
}

/// Changes two rows in the given order. In the first run, the other side changes its first row in between; `runs` counts.
async fn touch_both(store: Store, names: [&'static str; 2], barrier: Arc<Barrier>, runs: Arc<AtomicU32>) {
    let is_first = AtomicBool::new(true);
    let touched = store.write(|tx| {
        async {
            runs.fetch_add(1, Ordering::Relaxed);
            tx.execute(&TOUCH, args![names[0], "+"]).await?;
            if is_first.swap(false, Ordering::Relaxed) {
                barrier.wait().await;
            }
            tx.execute(&TOUCH, args![names[1], "+"]).await?;
            Ok(())
        }
        .scope_boxed()
    });
    touched.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sides_of_a_deadlock_get_through() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let store = open(DatabasePlace::Postgres(database.url().to_owned())).await;
    for name in ["a", "b"] {
        store.write(|tx| instance::set_once(tx, name, ".").scope_boxed()).await.unwrap();
    }
    let (barrier, runs) = (Arc::new(Barrier::new(2)), Arc::new(AtomicU32::new(0)));
    let one = tokio::spawn(touch_both(store.clone(), ["a", "b"], barrier.clone(), runs.clone()));
    let other = tokio::spawn(touch_both(store.clone(), ["b", "a"], barrier, runs.clone()));
    one.await.unwrap();
    other.await.unwrap();
    // One of the two was the victim, and its first run was rolled back. On a busy machine, the next runs may collide again.
    let runs = runs.load(Ordering::Relaxed);
    assert!(runs >= 3, "{runs} runs");
    assert_eq!(store.pool_use().retries, u64::from(runs) - 2);
    let mut conn = store.read().await.unwrap();
    for name in ["a", "b"] {
        assert_eq!(instance::value(&mut conn, name).await.unwrap().as_deref(), Some(".++"));
    }
    drop(conn);
    store.close().await;
}

static NO_ROOM: Statement = Statement::new("NO_ROOM", "PRAGMA max_page_count = 1");

#[tokio::test]
async fn a_transaction_that_found_the_disk_full_does_not_stand_in_the_way_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(DatabasePlace::Sqlite(directory.path().join("probity.db"))).await;
    let large = "x".repeat(1 << 20);
    // The limit belongs to the connection, so the next one has space again.
    let full = store.write(|tx| {
        async {
            tx.execute(&NO_ROOM, args![]).await?;
            instance::set_once(tx, "large", &large).await
        }
        .scope_boxed()
    });
    let error = full.await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    assert!(!store.is_writable());
    store.write(|tx| instance::set_once(tx, "large", &large).scope_boxed()).await.unwrap();
    assert!(store.is_writable());
    assert_eq!(instance::value(&mut store.read().await.unwrap(), "large").await.unwrap(), Some(large));
}
