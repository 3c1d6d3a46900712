//! Nodes that share a database.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};

use probity_access::secrets::Secrets;
use probity_account::id::JobId;
use probity_store::nodes::all;
use probity_store::webhooks::outbox;
use probity_store::{DatabasePlace, OrgNo, StoreConfig};
use probity_telemetry::metrics::{Metrics, Start};

use super::*;
use crate::nodes::roles::NodeRole;
use crate::webhooks::{Callbacks, DeliveryParts, WebhookConfig, Worker};

const NOW: Millis = Millis(1_700_000_000_000);

async fn store(directory: &tempfile::TempDir) -> Store {
    let config = StoreConfig::new(DatabasePlace::Sqlite(directory.path().join("probity.db")));
    let store = Store::open(&config).await.unwrap();
    store.migrate().await.unwrap();
    store
}

fn from(sources: &[&str]) -> NodeConfig {
    let sources = sources.iter().map(|source| source.parse().ok()).collect();
    NodeConfig { hostname: "host".into(), sources, ..NodeConfig::default() }
}

fn presence(config: &NodeConfig) -> Arc<NodePresence> {
    Arc::new(NodePresence::new(config, NOW))
}

/// Writes a heartbeat; returns the nodes that hold leases of this one.
async fn beat(presence: &NodePresence, store: &Store, now: Millis) -> BTreeSet<NodeId> {
    presence.beat(store, "", || now).await.unwrap().into_iter().map(|lease| lease.holder).collect()
}

#[tokio::test]
async fn a_source_belongs_to_one_node_and_comes_free_when_that_one_is_silent() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let (one, other) = (presence(&from(&["192.0.2.1", "192.0.2.2"])), presence(&from(&["192.0.2.2", "192.0.2.3"])));
    assert!(!one.may_ask(NOW), "not before it has its sources");
    assert!(beat(&one, &store, NOW).await.is_empty());
    assert_eq!(beat(&other, &store, NOW).await, [one.id()].into());
    assert!(one.may_ask(NOW) && !other.may_ask(NOW));
    assert!(one.is_scheduler(NOW) && !other.is_scheduler(NOW));
    // A node without the database stops before another node can have its leases.
    let silent = NOW + (LEASE_MS - MARGIN_MS);
    assert!(one.may_ask(silent - 1) && !one.may_ask(silent) && !one.is_scheduler(silent));
    assert_eq!(beat(&other, &store, NOW + (LEASE_MS - 1)).await, [one.id()].into());
    let ended = NOW + LEASE_MS;
    assert!(beat(&other, &store, ended).await.is_empty());
    assert!(other.may_ask(ended) && other.is_scheduler(ended));
    assert_eq!(beat(&one, &store, ended).await, [other.id()].into());
    assert!(!one.may_ask(ended) && one.check(ended).is_err());
    // The first node continues after the other one has left.
    store.write(|tx| nodes::leave(tx, other.id()).scope_boxed()).await.unwrap();
    assert!(beat(&one, &store, ended + 1).await.is_empty());
    assert!(one.may_ask(ended + 1) && one.check(ended + 1).is_ok());
    store.close().await;
}

#[tokio::test]
async fn who_asks_nobody_needs_no_source() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let asking = presence(&from(&["192.0.2.1", "unknown"]));
    assert!(beat(&asking, &store, NOW).await.is_empty());
    let roles = [NodeRole::Delivery, NodeRole::Schedule].into_iter().collect();
    let idle = presence(&NodeConfig { roles, ..from(&["192.0.2.1"]) });
    assert!(beat(&idle, &store, NOW).await.is_empty() && !idle.needs_leases());
    let simulated = presence(&from(&[]));
    assert!(beat(&simulated, &store, NOW).await.is_empty() && simulated.may_ask(NOW));
    let listed = all(&mut store.read().await.unwrap()).await.unwrap();
    let sources: BTreeSet<&str> = listed.iter().map(|node| node.sources.as_str()).collect();
    assert_eq!(sources, ["192.0.2.1,unknown", ""].into());
    store.close().await;
}

#[tokio::test]
async fn what_a_node_works_on_is_listed() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let node = presence(&from(&[]));
    let (one, _other, _import) = (node.works_on(Work::Chunk), node.works_on(Work::Chunk), node.works_on(Work::Import));
    drop(one);
    beat(&node, &store, NOW + 7).await;
    let listed = all(&mut store.read().await.unwrap()).await.unwrap();
    assert_eq!((listed[0].chunks, listed[0].imports, listed[0].seen_at), (1, 1, NOW + 7));
    assert!(is_alive(&listed[0], NOW + 7 + LEASE_MS - 1) && !is_alive(&listed[0], NOW + 7 + LEASE_MS));
    store.close().await;
}

#[tokio::test]
async fn a_node_whose_machine_slept_does_not_rely_on_what_ended_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let slept: &'static AtomicI64 = Box::leak(Box::default());
    let (node, clock) = (presence(&from(&["192.0.2.1"])), EngineClock::starting_at(NOW).suspended(slept));
    assert!(node.beat(&store, "", || clock.now()).await.unwrap().is_empty());
    assert!(node.may_ask(clock.now()) && node.is_scheduler(clock.now()));
    slept.store(LEASE_MS, Ordering::Relaxed);
    assert!(!node.may_ask(clock.now()) && !node.is_scheduler(clock.now()), "before it beats again");
    assert!(node.beat(&store, "", || clock.now()).await.unwrap().is_empty());
    assert!(node.may_ask(clock.now()));
    store.close().await;
}

#[tokio::test]
async fn a_node_whose_clock_is_wrong_says_so_and_takes_up_nothing() {
    let Some(cluster) = probity_trialdb::postgres() else { return };
    let database = cluster.create_database();
    let store = Store::open(&StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await.unwrap();
    store.migrate().await.unwrap();
    let (node, clock) = (presence(&from(&["192.0.2.1"])), EngineClock::system());
    for apart_ms in [3_600_000, -3_600_000, 0] {
        let own = || clock.now() + apart_ms;
        assert!(node.beat(&store, "", own).await.unwrap().is_empty());
        let agrees = apart_ms == 0;
        assert_eq!((node.clock_agrees(), node.may_ask(own()), node.is_scheduler(own())), (agrees, agrees, agrees));
        assert!(node.holds_sources(own()), "its lease is counted by its own clock");
        let listed = all(&mut store.read().await.unwrap()).await.unwrap();
        assert_eq!(listed[0].ahead_ms, node.ahead_ms());
        assert!((listed[0].ahead_ms - apart_ms).abs() < 1_800_000, "{apart_ms}: {}", listed[0].ahead_ms);
        assert!(is_alive(&listed[0], clock.now()), "others see it by the database's clock");
    }
    store.close().await;
}

/// Creates an installation whose only nodes are those of the test.
async fn instance(directory: &tempfile::TempDir) -> Instance {
    let config = StoreConfig::new(DatabasePlace::Sqlite(directory.path().join("probity.db")));
    let instance = Instance::open(&config, &[7; 32]).await.unwrap();
    instance.prepare().await.unwrap();
    instance
}

#[tokio::test]
async fn a_node_does_not_start_while_another_has_its_source() {
    let directory = tempfile::tempdir().unwrap();
    let instance = instance(&directory).await;
    let holder = presence(&from(&["192.0.2.1"]));
    assert!(beat(&holder, &instance.store, instance.clock.now()).await.is_empty());
    let renewing = async {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            beat(&holder, &instance.store, instance.clock.now()).await;
        }
    };
    let wanted = from(&["192.0.2.7", "192.0.2.1"]);
    let refused = tokio::select! {
        joined = join(&instance, &wanted) => joined.unwrap_err().to_string(),
        () = renewing => unreachable!("it renews for ever"),
    };
    assert!(refused.contains("192.0.2.1 ") && refused.contains(&format!("{} on host", holder.id())), "{refused}");
    let listed = all(&mut instance.store.read().await.unwrap()).await.unwrap();
    assert_eq!(listed.iter().map(|node| node.id).collect::<Vec<_>>(), [holder.id()], "who was refused has left");
    instance.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_node_that_was_killed_on_this_machine_keeps_nobody_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let instance = instance(&directory).await;
    let own = process::own();
    let (rest, started) = own.rsplit_once('/').unwrap();
    let now = instance.clock.now();
    let dead = StoredNode {
        id: probity_access::secrets::random::id(now),
        hostname: "host".into(),
        // The PID belongs to this process now, which started at another time.
        process: format!("{rest}/{started}0"),
        roles: String::new(),
        version: String::new(),
        sources: "192.0.2.1".into(),
        chunks: 0,
        imports: 0,
        started_at: now,
        seen_at: now,
        egress: String::new(),
        ahead_ms: 0,
    };
    instance
        .store
        .write(|tx| {
            async {
                nodes::beat(tx, &dead).await?;
                nodes::take(tx, "source:192.0.2.1", dead.id, now, now + 3_600_000).await
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    let joined = join(&instance, &from(&["192.0.2.1"])).await.unwrap();
    let listed = all(&mut instance.store.read().await.unwrap()).await.unwrap();
    assert_eq!(listed.iter().map(|node| node.id).collect::<Vec<_>>(), [joined.id]);
    instance.close().await;
}

/// Creates the delivery worker of a node, with its clock.
fn worker(node: &Arc<NodePresence>, store: &Store, clock: EngineClock) -> Worker {
    let config = WebhookConfig::default();
    let callbacks = Callbacks::new(Arc::new(config.guard()));
    let start = Start { version: "1", at: clock.now(), providers: BTreeSet::new() };
    let parts = DeliveryParts {
        store: store.clone(),
        secrets: Arc::new(Secrets::of(&[7; 32])),
        sender: config.sender(&callbacks, clock),
        clock,
        metrics: Arc::new(Metrics::new(&start)),
    };
    Worker::new(parts, &callbacks, config.delivery).of_node(node.clone())
}

#[tokio::test]
async fn a_node_whose_clock_is_an_hour_ahead_delivers_nothing() {
    let Some(cluster) = probity_trialdb::postgres() else { return };
    let database = cluster.create_database();
    let store = Store::open(&StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await.unwrap();
    store.migrate().await.unwrap();
    let (node, org, now) = (presence(&from(&[])), OrgNo(7), EngineClock::system().now());
    // The first delivery is due. The second is due by the wrong clock only, as if another node had just claimed it.
    let messages = [now, now + 60_000].map(|at| {
        let job = JobId::new(at, [1; 10]);
        Callbacks::job_finished(org, job, "https://hooks.invalid/", b"{}".to_vec(), at)
    });
    for message in &messages {
        assert!(store.write(|tx| outbox::put(tx, message).scope_boxed()).await.unwrap());
    }
    for (ahead_ms, expected) in [(3_600_000, [0, 0]), (0, [1, 0])] {
        let clock = EngineClock::starting_at(now + ahead_ms);
        assert!(node.beat(&store, "", || clock.now()).await.unwrap().is_empty());
        worker(&node, &store, clock).run_once().await;
        let mut attempts = Vec::new();
        for message in &messages {
            let row = outbox::by_id(&mut store.read().await.unwrap(), org, message.id).await.unwrap();
            attempts.push(row.attempts);
        }
        assert_eq!(attempts, expected, "{ahead_ms} ms ahead");
    }
    store.close().await;
}
