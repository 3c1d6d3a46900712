//! Limits of the whole engine: what slow and many servers may take of us, and what is kept for those who wait.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use probity_engine::net::ProbeSource;
use probity_engine::verifier::Verifier as _;
use probity_engine::{JobAddress, LiveCall, PriorAttempts};
use probity_mail::policy::PaceProfile;
use probity_mailworld::{
    At, FaultKind, Greylist, Happening, HostReach, MailboxState, Mailboxes, Personality, Tls, World, Zone,
};

use crate::evil::{Wrong, lab};
use crate::world::{Lab, brief};

/// Domains whose exchangers say a byte a second, and one that answers at once.
fn tarpits(count: usize) -> Arc<World> {
    let mut slow = Personality { tls: Tls::None, ..Personality::default() };
    slow.pace.byte_ms = 1_000;
    let people = (0..10).fold(Mailboxes::default(), |all, n| all.with(&format!("u{n}"), MailboxState::Exists));
    let mut builder = World::builder().site("honest.example.com", people, Personality::default());
    for n in 0..count {
        builder = builder.site(&format!("t{n}-pit.net"), Mailboxes::percent(100), slow.clone());
    }
    builder.build().expect("a world")
}

fn at_tarpits(count: u64) -> Vec<JobAddress> {
    (0..count)
        .map(|key| JobAddress {
            key,
            email: format!("ann@t{key}-pit.net").into(),
            customer: 0,
            tries: PriorAttempts::default(),
        })
        .collect()
}

/// Ten live calls, and how long each took.
async fn calls(lab: &Lab) -> Vec<i64> {
    let mut took = Vec::new();
    for n in 0..10 {
        let started = lab.engine.now();
        let said =
            lab.engine.verify(&format!("u{n}@honest.example.com"), LiveCall { timeout_ms: 20_000, scope: 0 }).await;
        assert_eq!(brief(&said), "passed/valid/");
        took.push(lab.engine.now().since(started));
    }
    took
}

/// S1
#[tokio::test(start_paused = true)]
async fn thousands_of_sessions_in_tarpits_do_not_slow_a_live_call_elsewhere() {
    let world = tarpits(5_000);
    let many = |config: &mut probity_engine::EngineConfig| {
        config.sessions_max = 8_000;
        config.domains_max = 6_000;
    };
    let idle = calls(&Lab::new(&world, 1, many)).await;
    let (busy, seen) = lab(&world, Wrong::default(), many);
    let engine = busy.engine.clone();
    let batch = tokio::spawn(async move { engine.verify_many(at_tarpits(5_000), Arc::new(|_| {})).await });
    busy.engine.wait_until(busy.engine.now() + 2_000).await;
    assert_eq!(busy.engine.counters().sessions_open, 5_000);
    assert_eq!(calls(&busy).await, idle);
    assert!(busy.engine.counters().sessions_open >= 5_000, "the tarpits held out");
    batch.await.expect("the batch comes to an end");
    assert!(seen.most_open.load(Ordering::SeqCst) <= 8_000);
}

/// S1
#[tokio::test(start_paused = true)]
async fn a_batch_in_tarpits_leaves_sessions_to_live_calls() {
    let lab = Lab::new(&tarpits(400), 1, |config| config.sessions_max = 100);
    let engine = lab.engine.clone();
    let batch = tokio::spawn(async move { engine.verify_many(at_tarpits(400), Arc::new(|_| {})).await });
    lab.engine.wait_until(lab.engine.now() + 5_000).await;
    assert_eq!(lab.engine.counters().sessions_open, 75);
    let took = calls(&lab).await;
    assert!(took.iter().all(|took_ms| *took_ms < 1_000), "{took:?}");
    batch.await.expect("the batch comes to an end");
}

/// S12
#[tokio::test(start_paused = true)]
async fn there_are_never_more_sessions_than_the_limit() {
    let (lab, seen) = lab(&tarpits(600), Wrong::default(), |config| {
        config.sessions_max = 40;
        config.profile = PaceProfile::Open;
    });
    let engine = lab.engine.clone();
    let batch = tokio::spawn(async move { engine.verify_many(at_tarpits(600), Arc::new(|_| {})).await });
    let live = (0..200).map(|n| {
        let engine = lab.engine.clone();
        tokio::spawn(async move {
            engine.verify(&format!("ann@t{n}-pit.net"), LiveCall { timeout_ms: 20_000, scope: 0 }).await
        })
    });
    for ended in live.collect::<Vec<_>>() {
        assert_eq!(ended.await.expect("a verdict").verdict.status().as_str(), "unknown");
    }
    batch.await.expect("the batch comes to an end");
    let most = seen.most_open.load(Ordering::SeqCst);
    assert_eq!(most, 40);
    lab.engine.close(400_000).await;
    assert_eq!(lab.engine.counters().sessions_open, 0);
}

/// A deadline that comes while a limit of ours keeps the call waiting is told as such, and not as the silence of a server.
#[tokio::test(start_paused = true)]
async fn a_live_call_says_whether_it_waited_for_a_server_or_for_a_limit_of_ours() {
    let ask = |lab: &Lab, email: &str| {
        let (engine, email) = (lab.engine.clone(), email.to_owned());
        tokio::spawn(async move { brief(&engine.verify(&email, LiveCall { timeout_ms: 3_000, scope: 0 }).await) })
    };
    // All sessions of this process, and all connections of a site, are in tarpits.
    for (sessions_max, crowd, late) in [(4, ["t0", "t1", "t2", "t3"], "t9"), (100, ["t0"; 4], "t0")] {
        let lab = Lab::new(&tarpits(10), 1, |config| config.sessions_max = sessions_max);
        let calls: Vec<_> =
            crowd.iter().enumerate().map(|(n, pit)| ask(&lab, &format!("u{n}@{pit}-pit.net"))).collect();
        lab.engine.wait_until(lab.engine.now() + 1_000).await;
        let held = ask(&lab, &format!("ann@{late}-pit.net")).await.expect("a verdict");
        assert_eq!(held, "unknown/unverified/budget", "{sessions_max} sessions");
        let mut said = Vec::new();
        for call in calls {
            said.push(call.await.expect("a verdict"));
        }
        let in_pits = usize::try_from(lab.engine.counters().connections).expect("few");
        let timeouts = said.iter().filter(|said| *said == "unknown/unverified/timeout").count();
        assert!(timeouts >= 2 && timeouts <= in_pits, "{said:?} of {in_pits} sessions");
    }
}

/// S12
#[tokio::test(start_paused = true)]
async fn one_site_holds_no_more_connections_than_its_policy_allows() {
    let mut slow = Personality { tls: Tls::None, ..Personality::default() };
    slow.pace.reply_ms = 3_000;
    let mut builder = World::builder().host("mx.shared.example.net", slow);
    for n in 0..50 {
        let zone = Zone::served_by(&["mx.shared.example.net"]).with_mailboxes(Mailboxes::percent(100));
        builder = builder.zone(&format!("s{n}.example.com"), zone);
    }
    let lab = Lab::polite(&builder.build().expect("a world"));
    let items = (0..50).map(|key| JobAddress {
        key,
        email: format!("a@s{key}.example.com").into(),
        customer: 0,
        tries: PriorAttempts::default(),
    });
    let engine = lab.engine.clone();
    let batch = tokio::spawn(async move { engine.verify_many(items.collect(), Arc::new(|_| {})).await });
    lab.live("b@s1.example.com").await;
    batch.await.expect("the batch comes to an end");
    assert_eq!(lab.net.host("mx.shared.example.net").most_from_one_source, 2);
}

#[tokio::test(start_paused = true)]
async fn a_batch_leaves_a_quarter_of_a_sites_rate_to_live_calls() {
    let people = (0..60).map(|n| format!("u{n}")).chain((0..4).map(|n| format!("live{n}")));
    let people = people.fold(Mailboxes::default(), |all, name| all.with(&name, MailboxState::Exists));
    let world = World::builder().site("one.example.com", people, Personality::default()).build().expect("a world");
    let lab = Lab::polite(&world);
    let items = (0..60).map(|key| JobAddress {
        key,
        email: format!("u{key}@one.example.com").into(),
        customer: 0,
        tries: PriorAttempts::default(),
    });
    let engine = lab.engine.clone();
    let batch = tokio::spawn(async move { engine.verify_many(items.collect(), Arc::new(|_| {})).await });
    lab.engine.wait_until(lab.engine.now() + 500).await;
    for n in 0..4 {
        let started = lab.engine.now();
        lab.live(&format!("live{n}@one.example.com")).await;
        assert!(lab.engine.now().since(started) < 500, "call {n} took {} ms", lab.engine.now().since(started));
    }
    batch.await.expect("the batch comes to an end");
}

#[tokio::test(start_paused = true)]
async fn a_greylisted_address_is_asked_about_again_from_the_same_source_and_sender() {
    let grey = Greylist { delay_s: 300, hint: true };
    let personality = Personality { greylist: Some(grey), tls: Tls::None, ..Personality::default() };
    let mut builder = World::builder();
    for n in 0..12 {
        builder = builder.site(&format!("g{n}.example.com"), Mailboxes::only(&["ann"]), personality.clone());
    }
    let lab = Lab::new(&builder.build().expect("a world"), 1, |config| {
        let other = |n: u8| ProbeSource {
            public: Some(std::net::Ipv4Addr::new(198, 51, 100, n).into()),
            ..(*config.sources[0]).clone()
        };
        config.sources = (1..=4).map(|n| Arc::new(other(n))).collect();
    });
    let emails: Vec<String> = (0..12).map(|n| format!("ann@g{n}.example.com")).collect();
    for said in lab.batch(&emails).await {
        assert_eq!(brief(&said), "passed/valid/", "{}", said.email);
    }
    let mut sources = std::collections::BTreeMap::<_, std::collections::BTreeSet<_>>::new();
    for event in lab.net.trace().events() {
        match &event.what {
            Happening::Connect(client) => {
                sources.entry(event.name.clone()).or_default().insert(*client);
            }
            Happening::Command(line) if line.starts_with("MAIL") => {
                assert_eq!(line.split(' ').nth(1), Some("FROM:<probe@example.org>"));
            }
            _ => {}
        }
    }
    assert!(sources.values().all(|clients| clients.len() == 1), "{sources:?}");
    let used: std::collections::BTreeSet<_> = sources.values().flatten().collect();
    assert!(used.len() > 1, "different domains are asked from different sources");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_busy_is_passed_over_and_one_that_refuses_us_is_not() {
    for (refusal, wanted) in [("421 4.3.2 Service not available", "valid"), ("554 5.7.1 blocked", "failed_exchange")] {
        let world = World::builder()
            .zone(
                "two.example.com",
                Zone::served_by(&["a.example.net", "b.example.net"]).with_mailboxes(Mailboxes::only(&["ann"])),
            )
            .host("a.example.net", Personality::default().refusing(At::Banner, refusal))
            .host("b.example.net", Personality::default())
            .build()
            .expect("a world");
        let lab = Lab::polite(&world);
        assert_eq!(lab.live("ann@two.example.com").await.verdict.reason.as_str(), wanted, "{refusal}");
        assert_eq!(lab.net.host("b.example.net").connections > 0, wanted == "valid", "{refusal}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_policy_says_so_no_random_recipient_is_asked_and_acceptance_says_little() {
    let world = |host: &str| {
        World::builder()
            .zone("shop.com", Zone::served_by(&[host]).with_mailboxes(Mailboxes::only(&["ann"])))
            .host(host, Personality::default())
            .build()
            .expect("a world")
    };
    let lab = Lab::polite(&world("shop-com.olc.protection.outlook.com"));
    assert_eq!(brief(&lab.live("ann@shop.com").await), "unknown/unverified/catch_all_unknown");
    assert_eq!(lab.live("nobody@shop.com").await.verdict.reason.as_str(), "nonexistent");
    assert_eq!(lab.engine.counters().random_rcpts, 0);
    let lab = Lab::polite(&world("mx.shop.com"));
    assert_eq!(brief(&lab.live("ann@shop.com").await), "passed/valid/");
    assert_eq!(lab.engine.counters().random_rcpts, 1);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_warm_sessions_and_waiting_probes() {
    let grey = Greylist { delay_s: 300, hint: true };
    let world = World::builder()
        .site(
            "grey.example.com",
            Mailboxes::only(&["ann"]),
            Personality { greylist: Some(grey), ..Personality::default() },
        )
        .site("warm.example.com", Mailboxes::only(&["ann"]), Personality::default())
        .build()
        .expect("a world");
    let lab = Lab::open(&world);
    lab.live("ann@grey.example.com").await;
    lab.live("ann@warm.example.com").await;
    assert!(lab.engine.counters().sessions_open > 0, "a session was kept warm");
    let started = lab.engine.now();
    lab.engine.close(60_000).await;
    assert!(lab.engine.now().since(started) < 3_000, "nothing was left to wait for");
    assert_eq!((lab.engine.counters().sessions_open, lab.net.hosts().open), (0, 0));
    let asked = lab.net.hosts().rcpt;
    lab.engine.wait_until(lab.engine.now() + 3_600_000).await;
    assert_eq!(lab.net.hosts().rcpt, asked, "no probe goes on after the end");
}

#[tokio::test(start_paused = true)]
async fn an_exchanger_that_ends_every_session_is_left_alone_for_a_minute() {
    for personality in [
        Personality::default().with_fault(At::Banner, FaultKind::Close),
        Personality::default().with_fault(At::Ehlo, FaultKind::Close),
        Personality::default().refusing(At::Banner, "421 4.3.2 Server busy"),
    ] {
        let world = World::builder().site("one.example.com", Mailboxes::percent(100), personality.clone());
        let (lab, seen) = lab(&world.build().expect("a world"), Wrong::default(), |_| {});
        for n in 0..20 {
            let said = brief(&lab.live(&format!("u{n}@one.example.com")).await);
            assert!(said.starts_with("unknown/unverified/"), "{said}: {personality:?}");
        }
        assert_eq!(seen.dials(), 3, "{personality:?}");
        lab.engine.wait_until(lab.engine.now() + 61_000).await;
        for n in 20..40 {
            lab.live(&format!("u{n}@one.example.com")).await;
        }
        assert_eq!(seen.dials(), 4, "one trial a minute: {personality:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_exchanger_that_never_answers_costs_its_timeout_once() {
    let plan = probity_mailworld::HostPlan { reach: HostReach::Silent, ..probity_mailworld::HostPlan::default() };
    let world = World::builder()
        .zone("dead.example.com", Zone::served_by(&["mx.dead.example.com"]))
        .host_with("mx.dead.example.com", Personality::default(), plan)
        .build()
        .expect("a world");
    let (lab, seen) = lab(&world, Wrong::default(), |_| {});
    let started = lab.engine.now();
    for n in 0..20 {
        assert_eq!(brief(&lab.live(&format!("u{n}@dead.example.com")).await), "unknown/unverified/timeout");
    }
    assert_eq!((seen.dials(), lab.engine.now().since(started)), (1, 5_000));
}
