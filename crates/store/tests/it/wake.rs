//! Wake-ups between nodes.

use std::time::Duration;

use probity_account::id::{DeliveryId, EventId};
use probity_mail::time::Millis;
use probity_store::nodes::wake::{self, WakeUp, WakeUpListener};
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery};
use probity_store::{DatabasePlace, OrgNo, ScopedFutureExt as _, Store, StoreConfig, StoreError};
use probity_trialdb::{Cluster, TrialDatabase, postgres};

use crate::databases::{file_in, open};

/// Longer than any test should wait.
const PATIENCE: Duration = Duration::from_mins(2);

fn message(n: u128) -> NewDelivery {
    NewDelivery {
        org: OrgNo(1),
        id: DeliveryId::from_bits(n),
        event: EventId::from_bits(n),
        kind: "job.finished".into(),
        url: "https://example.org/".into(),
        content: DeliveryContent::Bytes(Vec::new()),
        job: None,
        signer: String::new(),
        created_at: Millis(1),
    }
}

async fn put(store: &Store, n: u128) {
    let message = message(n);
    store.write(|tx| outbox::put(tx, &message).scope_boxed()).await.unwrap();
}

async fn heard(listener: &mut WakeUpListener) -> Result<WakeUp, StoreError> {
    tokio::time::timeout(PATIENCE, listener.next()).await.expect("a bell or an end")
}

async fn on_postgres() -> Option<(TrialDatabase, Store)> {
    let database = postgres()?.create_database();
    let store = open(StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await;
    Some((database, store))
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_bell_is_heard_when_its_transaction_is_committed_and_only_then() {
    let Some((database, store)) = on_postgres().await else { return };
    let mut listener = wake::listen(&store).await.unwrap().unwrap();
    let rolled_back = message(1);
    let failed: Result<(), _> = store
        .write(|tx| {
            async {
                outbox::put(tx, &rolled_back).await?;
                Err(StoreError::Conflict)
            }
            .scope_boxed()
        })
        .await;
    assert!(failed.is_err());
    database.query("NOTIFY probity, 'work'; NOTIFY probity, 'of a newer program'; NOTIFY other, 'import'").unwrap();
    assert_eq!(heard(&mut listener).await.unwrap(), WakeUp::Work, "nothing of what was rolled back");
    put(&store, 2).await;
    assert_eq!(heard(&mut listener).await.unwrap(), WakeUp::Outbox, "and nothing that is not known");
    store.close().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_listener_that_is_cut_off_says_so_and_another_can_follow() {
    let Some((database, store)) = on_postgres().await else { return };
    let mut listener = wake::listen(&store).await.unwrap().unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'probity listener' AND datname = current_database()";
    assert_eq!(database.query(cut).unwrap(), "t");
    assert!(matches!(heard(&mut listener).await, Err(StoreError::Unavailable { .. })));
    drop(listener);
    let mut listener = wake::listen(&store).await.unwrap().unwrap();
    put(&store, 1).await;
    assert_eq!(heard(&mut listener).await.unwrap(), WakeUp::Outbox);
    store.close().await;
}

/// Advances the time for a listener only.
async fn silence<T>(listening: &tokio::task::JoinHandle<T>) {
    // Lets the listener start to wait.
    tokio::task::yield_now().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    assert!(!listening.is_finished());
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_listener_asks_a_silent_server_whether_it_is_there() {
    let Some(cluster) = Cluster::private() else { return };
    let database = cluster.create_database();
    let store = open(StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await;
    let mut listener = wake::listen(&store).await.unwrap().unwrap();
    let listening = tokio::spawn(async move { (heard(&mut listener).await, listener) });
    silence(&listening).await;
    put(&store, 1).await;
    let (bell, mut listener) = listening.await.unwrap();
    assert_eq!(bell.unwrap(), WakeUp::Outbox, "it is there");
    cluster.pause();
    let listening = tokio::spawn(async move { heard(&mut listener).await });
    silence(&listening).await;
    assert!(matches!(listening.await.unwrap(), Err(StoreError::Unavailable { .. })), "it is not");
    cluster.resume();
    store.close().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn on_sqlite_nobody_listens() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(StoreConfig::new(DatabasePlace::Sqlite(file_in(&directory)))).await;
    assert!(wake::listen(&store).await.unwrap().is_none());
    put(&store, 1).await;
}
