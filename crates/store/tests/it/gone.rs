//! A database that is temporarily unavailable: errors report that within bounded time, and the same store works again afterwards.

use std::time::Duration;

use probity_store::nodes::instance;
use probity_store::{DatabasePlace, ScopedFutureExt as _, Store, StoreConfig, StoreError, nodes};
use probity_trialdb::{Cluster, TrialDatabase};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::databases::{file_in, impatient, open, write_something};

/// Much more than these stores wait for a connection.
const LONG: Duration = Duration::from_secs(20);

async fn assert_away(store: &Store) {
    let read = timeout(LONG, store.ping()).await.expect("reading gives up");
    assert!(matches!(read, Err(StoreError::Unavailable { .. })), "{read:?}");
    let written = timeout(LONG, write_something(store)).await.expect("writing gives up");
    assert!(matches!(written, Err(StoreError::Unavailable { .. })), "{written:?}");
}

/// Asserts that the store works again, with patience for a busy machine.
async fn assert_back(store: &Store) {
    let works = async || {
        store.ping().await?;
        write_something(store).await
    };
    assert_eq!(sooner_or_later(works).await, "x");
}

/// Retries until the database is available.
async fn sooner_or_later<T>(act: impl AsyncFn() -> probity_store::Result<T>) -> T {
    let acts = async {
        loop {
            match act().await {
                Err(StoreError::Unavailable { .. }) => tokio::time::sleep(Duration::from_millis(10)).await,
                done => break done.unwrap(),
            }
        }
    };
    timeout(LONG, acts).await.expect("it comes back")
}

/// Opens a store with short timeouts, whose tables were created without them.
async fn impatient_store(database: &TrialDatabase) -> Store {
    let place = DatabasePlace::Postgres(database.url().to_owned());
    open(StoreConfig::new(place.clone())).await.close().await;
    // A recently used connection is not pinged: a silent server is detected by the statement timeout.
    Store::open(&StoreConfig { statement_timeout_ms: 500, ..impatient(place) }).await.unwrap()
}

#[tokio::test]
#[ignore = "thorough"]
async fn postgres_that_crashed_comes_back_to_the_same_store() {
    let Some(cluster) = Cluster::private() else { return };
    let database = cluster.create_database();
    let store = impatient_store(&database).await;
    // Several connections are idle when the server disappears.
    let one = async || store.read().await;
    let several = (sooner_or_later(one).await, sooner_or_later(one).await, sooner_or_later(one).await);
    drop(several);
    cluster.stop_immediate();
    assert_away(&store).await;
    cluster.start_again();
    assert_back(&store).await;
    cluster.pause();
    assert_away(&store).await;
    cluster.resume();
    assert_back(&store).await;
    store.close().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn postgres_that_falls_silent_is_given_up_with_its_connections() {
    let Some(cluster) = Cluster::private() else { return };
    let database = cluster.create_database();
    let store = impatient_store(&database).await;
    let mut reading = sooner_or_later(async || store.read().await).await;
    let writing = store.write(|tx| {
        async {
            cluster.pause();
            instance::set_once(tx, "something", "y").await
        }
        .scope_boxed()
    });
    let written = timeout(LONG, writing).await.expect("writing gives up half-way");
    assert!(matches!(written, Err(StoreError::Unavailable { .. })), "{written:?}");
    let read = timeout(LONG, nodes::all(&mut reading)).await.expect("reading gives up");
    assert!(matches!(read, Err(StoreError::Unavailable { .. })), "{read:?}");
    drop(reading);
    let closed = async {
        while store.pool_use().open > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, closed).await.expect("connections on which nobody answers are closed");
    cluster.resume();
    assert_back(&store).await;
    store.close().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn postgres_that_is_not_there_yet_is_waited_for_later() {
    let Some(cluster) = Cluster::private() else { return };
    let database = cluster.create_database();
    cluster.stop_immediate();
    let store = Store::open(&impatient(DatabasePlace::Postgres(database.url().to_owned()))).await.unwrap();
    let migrated = timeout(LONG, store.migrate()).await.expect("migrating gives up");
    assert!(matches!(migrated, Err(StoreError::Unavailable { .. })), "{migrated:?}");
    cluster.start_again();
    sooner_or_later(async || store.migrate().await).await;
    assert_back(&store).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_writer_of_another_process_is_waited_for_and_then_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let config = impatient(DatabasePlace::Sqlite(file_in(&directory)));
    let (ours, theirs) = (open(config.clone()).await, open(config).await);
    let (holding, held) = oneshot::channel();
    let (let_go, released) = oneshot::channel::<()>();
    let once = std::sync::Mutex::new(Some((holding, released)));
    let holder = tokio::spawn(async move {
        let held = theirs.write(move |tx| {
            let (holding, released) = once.lock().unwrap().take().expect("the lock is had at once");
            async move {
                instance::set_once(tx, "theirs", "y").await?;
                holding.send(()).unwrap();
                released.await.unwrap();
                Ok(())
            }
            .scope_boxed()
        });
        held.await.unwrap();
    });
    held.await.unwrap();
    ours.ping().await.expect("readers go on beside a writer");
    let refused = timeout(LONG, write_something(&ours)).await.expect("writing gives up");
    assert!(matches!(refused, Err(StoreError::Unavailable { .. })), "{refused:?}");
    let waiting = tokio::spawn({
        let ours = ours.clone();
        async move { write_something(&ours).await }
    });
    let_go.send(()).unwrap();
    holder.await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), "x");
}
