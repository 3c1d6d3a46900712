//! Shutdown: running requests finish, new ones are refused, and the process ends in time.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use probity_trialdb::postgres;
use rustix::process::Signal;

use crate::serve::bench::account::{Account, settled};
use crate::serve::bench::client::{Answer, Client, Failed};
use crate::serve::bench::node::{Installation, Node, wait_for};
use crate::serve::bench::traffic::Seen;

const CLIENTS: u16 = 6;
const GRANTED: u32 = 100;

/// Address with a delay of 4 s, long enough for the checks.
const SLOW: &str = "valid+delay-4s@sandbox.test";

fn installation(on: Installation) -> Installation {
    on.counted(GRANTED).set(&["server.request_timeout=6s"])
}

type Asking = Vec<JoinHandle<Result<Answer, Failed>>>;

/// Starts clients with one slow request each, and waits until all requests are running.
fn in_flight(node: &Node) -> Asking {
    let key = node.key("Live key");
    let asking = (0..CLIENTS).map(|_| {
        let mut client = Client::new(node.address, &key);
        std::thread::spawn(move || client.verify(SLOW))
    });
    let asking = asking.collect();
    let under_way = format!("probity_http_requests_in_flight {}\n", CLIENTS + 1);
    wait_for("the requests", || node.client("").get("/metrics").unwrap().body.contains(&under_way).then_some(()));
    asking
}

fn told_to_stop(node: &Node) {
    node.launched.signal(Signal::TERM);
    wait_for("the end of readiness", || (node.readiness() == Some(503)).then_some(()));
}

fn lost(asking: Asking) -> Seen {
    let answers = asking.into_iter().map(|client| client.join().unwrap());
    assert!(answers.into_iter().all(|answer| matches!(answer, Err(Failed::Lost))));
    Seen { lost: u64::from(CLIENTS), ..Seen::default() }
}

fn requests_in_flight_are_finished(installation: &Installation) {
    let mut node = installation.start();
    let mut waiting = node.client("");
    assert_eq!(waiting.get("/healthz").unwrap().status, 200);
    let asking = in_flight(&node);
    told_to_stop(&node);
    let refused = node.client(&node.key("Live key")).verify("valid@sandbox.test").unwrap();
    assert!(refused.is_unavailable() && refused.head.contains("retry-after: 1"), "{refused:?}");
    // A connection may take one more request before its task hears of the end.
    let closed = || waiting.get("/healthz").err();
    assert_eq!(wait_for("the end of connections without a request", closed), Failed::Lost);
    for client in asking {
        let answer = client.join().unwrap().unwrap();
        assert_eq!((answer.status, answer.json()["reason"].as_str()), (200, Some("valid")), "{answer:?}");
    }
    let (status, _) = node.launched.ended();
    assert_eq!(status.code(), Some(0));
    let spent = u64::from(CLIENTS);
    let available = u64::from(GRANTED) - spent;
    assert_eq!(Account::of(installation), Account { available, held: 0, spent });
    crate::serve::bench::account::audit(installation);
}

#[test]
#[ignore = "thorough"]
fn requests_in_flight_are_finished_in_sqlite() {
    requests_in_flight_are_finished(&installation(Installation::on_sqlite()));
}

#[test]
#[ignore = "thorough"]
fn requests_in_flight_are_finished_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    requests_in_flight_are_finished(&installation(Installation::on(cluster.create_database())));
}

#[test]
#[ignore = "thorough"]
fn what_outlasts_the_grace_is_cut_and_costs_nothing() {
    let installation = installation(Installation::on_sqlite()).set(&["server.shutdown_grace=500ms"]);
    let mut node = installation.start();
    let asking = in_flight(&node);
    let begun = Instant::now();
    told_to_stop(&node);
    let (status, _) = node.launched.ended();
    assert!(begun.elapsed() < Duration::from_secs(4), "it did not wait for them");
    assert_eq!(status.code(), Some(0));
    lost(asking);
    assert_eq!(Account::of(&installation), Account { available: u64::from(GRANTED), held: 0, spent: 0 });
}

#[test]
#[ignore = "thorough"]
fn a_second_signal_ends_it_at_once() {
    let installation = installation(Installation::on_sqlite());
    let mut node = installation.start();
    let asking = in_flight(&node);
    told_to_stop(&node);
    let begun = Instant::now();
    node.launched.signal(Signal::TERM);
    let (status, _) = node.launched.ended();
    assert!(begun.elapsed() < Duration::from_secs(2), "it waited");
    assert_eq!(status.code(), Some(130));
    assert!(installation.log().contains("second signal"), "{}", installation.log());
    let seen = lost(asking);
    let _again = installation.start();
    assert_eq!(settled(&installation, u64::from(GRANTED), &seen).spent, 0);
}
