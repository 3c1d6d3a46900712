//! PostgreSQL stops or becomes unresponsive under a running service, and comes back.

use std::time::{Duration, Instant};

use probity_trialdb::Cluster;

use crate::serve::bench::account::nothing_lost;
use crate::serve::bench::node::{Installation, Node, wait_for};
use crate::serve::bench::traffic::{Asking, Traffic};

const GRANTED: u32 = 50_000;
const CLIENTS: usize = 8;

/// Time limit of a request under these settings, plus the delay of a busy machine.
const REQUEST_MAX: Duration = Duration::from_secs(3 + 3);

fn installation(cluster: &Cluster) -> Installation {
    Installation::on(cluster.create_database()).metered(GRANTED).set(&["database.acquire_timeout=1s"])
}

fn becomes_ready(node: &Node) {
    wait_for("readiness", || (node.readiness() == Some(200)).then_some(()));
}

fn becomes_unready(node: &Node) {
    wait_for("the end of readiness", || (node.readiness() == Some(503)).then_some(()));
}

/// Checks that a request gets a 503 in time.
fn unavailable_in_time(one: &mut Asking) {
    let begun = Instant::now();
    one.until("503", |answer| {
        assert!(answer.is_unavailable(), "{answer:?}");
        true
    });
    assert!(begun.elapsed() < REQUEST_MAX, "{:?}", begun.elapsed());
}

#[test]
#[ignore = "thorough"]
fn a_database_that_crashes_is_missed_and_found_again() {
    let Some(cluster) = Cluster::private() else { return };
    let installation = installation(&cluster);
    let node = installation.start();
    let key = node.key("Live key");
    let mut one = Asking::new(&node, &key);
    let traffic = Traffic::start(node.address, &key, CLIENTS);
    for _ in 0..2 {
        let answered = traffic.answers();
        wait_for("answers", || (traffic.answers() > answered + 50).then_some(()));
        cluster.stop_immediate();
        becomes_unready(&node);
        unavailable_in_time(&mut one);
        cluster.start_again();
        becomes_ready(&node);
        let answered = traffic.answers();
        wait_for("answers", || (traffic.answers() > answered + 50).then_some(()));
    }
    let mut seen = traffic.end();
    assert!(seen.failed > 0 && seen.lost == 0, "{seen:?}");
    one.until("a verdict", |answer| answer.status == 200);
    seen.add(one.seen);
    let account = nothing_lost(&installation, u64::from(GRANTED), &seen);
    println!("{account:?}, {seen:?}");
    node.stop();
}

#[test]
#[ignore = "thorough"]
fn a_database_that_stands_still_keeps_nobody_waiting_for_ever() {
    let Some(cluster) = Cluster::private() else { return };
    let installation = installation(&cluster);
    let node = installation.start();
    let key = node.key("Live key");
    let mut one = Asking::new(&node, &key);
    let traffic = Traffic::start(node.address, &key, CLIENTS);
    wait_for("answers", || (traffic.answers() > 50).then_some(()));
    cluster.pause();
    becomes_unready(&node);
    unavailable_in_time(&mut one);
    let begun = Instant::now();
    assert_eq!(node.client("").get("/healthz").unwrap().status, 200);
    assert!(begun.elapsed() < Duration::from_secs(2), "liveness needs no database");
    cluster.resume();
    becomes_ready(&node);
    let mut seen = traffic.end();
    one.until("a verdict", |answer| answer.status == 200);
    seen.add(one.seen);
    let account = nothing_lost(&installation, u64::from(GRANTED), &seen);
    println!("{account:?}, {seen:?}");
    assert_eq!(seen.lost, 0, "every request was answered");
    node.stop();
}

#[test]
#[ignore = "thorough"]
fn a_start_tells_why_the_server_cannot_be_used_and_never_the_password() {
    let installation = Installation::on_sqlite().set(&["database.acquire_timeout=500ms"]);
    let cases = [
        ("postgres://x:s3cret@127.0.0.1:1/x", "PostgreSQL at 127.0.0.1:1, database \"x\": Connection refused"),
        ("postgres://x:s3cret@127.0.0.1:99999/x", "the database URL is not valid"),
    ];
    for (url, told) in cases {
        for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate"]] {
            let set = format!("database.url={url}");
            let ran = installation.run(&[command, &["--set", &set]].concat());
            assert_eq!(ran.code, Some(5), "{ran:?}");
            assert!(ran.err.contains(told) && !ran.err.contains("s3cret"), "{ran:?}");
        }
    }
}
