//! A realistic list ends soon after the least time that its sites allow.

use std::sync::Arc;

use probity_engine::net::ProbeSource;
use probity_engine::verifier::Verifier as _;
use probity_mail::verdict::Reason;
use probity_mailworld::{RealisticList, verify_list};

use crate::world::Lab;

/// Addresses of the list.
const SIZE: usize = 5_000;

fn sources(count: u8) -> Vec<Arc<ProbeSource>> {
    let source = |n| {
        let public = Some(format!("198.51.100.{n}").parse().expect("an address"));
        Arc::new(ProbeSource { bind: None, public, helo: "probe.example.org".into(), proxy: None })
    };
    (1..=count).map(source).collect()
}

/// Verifies the list from so many sources, within 1.1 times of its least time and of every site's rate.
async fn ends_near_its_bound(seed: u64, count: u8) {
    let list = RealisticList::new(SIZE, seed);
    let lab = Lab::new(&list.world, seed, |config| config.sources = sources(count));
    let (slowest, bound) = list.bound(&lab.engine);
    let started = lab.engine.now();
    let said = verify_list(&lab.engine, &list.emails).await;
    let took_ms = lab.engine.now().since(started);
    let ends =
        said.iter().max_by_key(|said| said.evidence.timings.total).map(|last| (&last.email, last.verdict.reason));
    let told = format!("seed {seed}: {took_ms} of {bound:?} at {slowest}, {ends:?} comes last");
    assert!(bound.ms > 0 && took_ms * 10 <= bound.ms * 11, "{told}");
    for host in list.loads.keys() {
        let policy = lab.engine.manners(host).expect("limits").policy;
        let most = lab.net.host(host).most_in_a_minute;
        assert!(most <= u64::from(policy.rcpt_per_minute + policy.burst), "{most} in a minute at {host}, seed {seed}");
    }
    // Yahoo reveals nothing; some servers are dead or accept everybody.
    let share = |reason| said.iter().filter(|said| said.verdict.reason == reason).count() * 100 / said.len();
    let [valid, missing, unknown] = [Reason::Valid, Reason::Nonexistent, Reason::Unverified].map(share);
    assert!(valid >= 78 && missing >= 6 && unknown <= 12, "{told}: {valid}, {missing} and {unknown} percent");
}

#[tokio::test(start_paused = true)]
async fn a_realistic_list_ends_near_its_bound_from_one_source() {
    ends_near_its_bound(1, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_realistic_list_ends_near_its_bound_from_four_sources() {
    ends_near_its_bound(2, 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_realistic_list_ends_near_its_bound_from_twenty_sources() {
    ends_near_its_bound(3, 20).await;
}
