//! What batches leave to each other and to live calls, and what the engine says beforehand of the room there is.

use std::sync::{Arc, Mutex};

use probity_engine::clock::EngineClock;
use probity_engine::net::ProbeSource;
use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, DestinationCapacity, Engine, JobAddress, LiveCall, PriorAttempts, Throttled};
use probity_mail::time::Millis;
use probity_mailworld::{At, Greylist, MailboxState, Mailboxes, Personality, Tls, World, Zone};

use crate::world::{Lab, brief, config};

/// Domains with the same exchanger, one of a known provider: 200 recipients a minute, one connection for batches.
fn google(domains: usize) -> Arc<World> {
    let mut builder = World::builder().host("aspmx.l.google.com", Personality::default());
    for n in 0..domains {
        let zone = Zone::served_by(&["aspmx.l.google.com"]).with_mailboxes(Mailboxes::percent_of("user", 100));
        builder = builder.zone(&format!("g{n}.example.com"), zone);
    }
    builder.build().expect("a world")
}

/// `count` addresses of a customer at one domain.
fn at_one(customer: u64, domain: usize, from: u64, count: u64) -> Vec<JobAddress> {
    let email = |key: u64| format!("user{key}@g{domain}.example.com").into();
    (from..from + count)
        .map(|key| JobAddress { key, email: email(key), customer, tries: PriorAttempts::default() })
        .collect()
}

/// Four calls of a thousand addresses each for customer 1: twenty minutes' work for the provider.
async fn saturate(engine: &Engine) {
    for call in 0..4 {
        let engine = engine.clone();
        let items = at_one(1, 0, call * 1_000, 1_000);
        tokio::spawn(async move { engine.verify_many(items, Arc::new(|_| {})).await });
    }
    engine.wait_until(engine.now() + 30_000).await;
}

/// How long ten addresses of a customer take beside the million of customer 1, and how many have their verdicts then.
async fn ten_beside_many(customer: u64) -> (i64, usize) {
    let lab = Lab::polite(&google(2));
    saturate(&lab.engine).await;
    let started = lab.engine.now();
    let outcomes = lab.once(at_one(customer, 1, 0, 10)).await;
    let settled = outcomes.iter().filter(|(_, outcome)| matches!(outcome, AddressOutcome::Settled(_))).count();
    (lab.engine.now().since(started), settled)
}

#[tokio::test(start_paused = true)]
async fn many_addresses_of_a_customer_do_not_hold_up_few_of_another_at_the_same_provider() {
    let (another_ms, settled) = ten_beside_many(2).await;
    assert_eq!(settled, 10);
    assert!(another_ms < 20_000, "{another_ms} ms");
    let (own_ms, _) = ten_beside_many(1).await;
    assert!(own_ms > another_ms * 3, "its own addresses stand before them: {own_ms} ms against {another_ms} ms");
}

/// Sixty live calls, one every three seconds, and the slowest but one of them.
async fn live_calls(engine: &Engine) -> i64 {
    let mut took = Vec::new();
    for n in 0..60 {
        let started = engine.now();
        let email = format!("user{}@g1.example.com", 50_000 + n);
        let said = engine.verify(&email, LiveCall { timeout_ms: 20_000, scope: 3 }).await;
        assert_eq!(brief(&said), "passed/valid/");
        took.push(engine.now().since(started));
        engine.wait_until(started + 3_000).await;
    }
    took.sort_unstable();
    took[took.len() - 2]
}

#[tokio::test(start_paused = true)]
async fn live_calls_take_no_longer_beside_a_batch_that_saturates_their_provider() {
    let idle = live_calls(&Lab::polite(&google(2)).engine).await;
    let lab = Lab::polite(&google(2));
    saturate(&lab.engine).await;
    let asked = lab.net.hosts().rcpt;
    let busy = live_calls(&lab.engine).await;
    assert!(lab.net.hosts().rcpt - asked > 400, "the batch went on");
    assert!(busy <= idle, "{busy} ms beside a batch, {idle} ms alone");
}

#[tokio::test(start_paused = true)]
async fn a_live_call_gets_the_only_connection_from_a_batch() {
    let zone = Zone::served_by(&["mx.cautious.example.net"]).with_mailboxes(Mailboxes::percent_of("user", 100));
    let world = World::builder()
        .zone("one.example.com", zone)
        .host("mx.cautious.example.net", Personality::default())
        .build()
        .expect("a world");
    let policy = "format = 1\n[[policy]]\nid = \"cautious\"\nprovider = \"cautious\"\nmx = [\"cautious.example.net\"]\n\
                  source = \"a test\"\nconnections = 1\nrcpt_per_minute = 600\nburst = 100\nflight_rcpt = 1\n";
    let lab = Lab::new(&world, 1, |config| {
        config.data_files.insert(probity_engine::config::POLICIES_FILE.into(), policy.into());
    });
    let email = |n: u64| format!("user{n}@one.example.com");
    let items = (0..2_000).map(|key| JobAddress {
        key,
        email: email(key).into(),
        customer: 1,
        tries: PriorAttempts::default(),
    });
    let (engine, items) = (lab.engine.clone(), items.collect());
    let batch = tokio::spawn(async move { engine.verify_many(items, Arc::new(|_| {})).await });
    lab.engine.wait_until(lab.engine.now() + 20_000).await;
    let started = lab.engine.now();
    assert_eq!(brief(&lab.live(&email(9_999)).await), "passed/valid/");
    assert!(lab.engine.now().since(started) < 3_000, "{} ms", lab.engine.now().since(started));
    assert_eq!(lab.net.host("mx.cautious.example.net").most_from_one_source, 1);
    batch.abort();
}

#[tokio::test(start_paused = true)]
async fn plans_in_line_for_one_site_leave_the_places_of_domains_to_others() {
    let mut builder = World::builder().host("aspmx.l.google.com", Personality::default());
    for n in 0..40 {
        let zone = Zone::served_by(&["aspmx.l.google.com"]).with_mailboxes(Mailboxes::percent_of("user", 100));
        builder = builder.zone(&format!("g{n}.example.com"), zone);
    }
    let own = Personality { tls: Tls::None, ..Personality::default() };
    builder = builder.site("own.example.net", Mailboxes::only(&["ann"]).with("bob", MailboxState::Exists), own);
    let lab = Lab::new(&builder.build().expect("a world"), 1, |config| config.domains_max = 4);
    let items = (0..40).flat_map(|n| at_one(1, n, 0, 100)).collect();
    let engine = lab.engine.clone();
    let batch = tokio::spawn(async move { engine.verify_many(items, Arc::new(|_| {})).await });
    lab.engine.wait_until(lab.engine.now() + 20_000).await;
    let started = lab.engine.now();
    let item = JobAddress { key: 0, email: "ann@own.example.net".into(), customer: 1, tries: PriorAttempts::default() };
    assert!(matches!(&lab.once(vec![item]).await[0].1, AddressOutcome::Settled(_)));
    assert!(lab.engine.now().since(started) < 10_000, "{} ms", lab.engine.now().since(started));
    batch.abort();
}

#[tokio::test(start_paused = true)]
async fn room_is_what_a_provider_takes_within_a_minute() {
    let lab = Lab::polite(&google(2));
    let room = |destination: &str| lab.engine.room(destination, None);
    assert_eq!(room("@g0.example.com"), DestinationCapacity::Now(u32::MAX), "nothing is known");
    assert_eq!(room("google"), DestinationCapacity::Now(u32::MAX));
    saturate(&lab.engine).await;
    let now = lab.engine.now();
    let DestinationCapacity::At(until) = room("@g0.example.com") else { panic!("four thousand wait there") };
    assert!(until.since(now) > 600_000, "{} ms", until.since(now));
    assert_eq!(room("google"), room("@g0.example.com"));
    assert_eq!(room("@elsewhere.example.com"), DestinationCapacity::Now(u32::MAX));
    assert_eq!(lab.engine.room("google", Some("198.51.100.7")), room("google"));
    lab.engine.wait_until(now + 1_500_000).await;
    assert!(matches!(room("google"), DestinationCapacity::Now(rows) if rows > 100), "{:?}", room("google"));
}

#[tokio::test(start_paused = true)]
async fn a_site_that_refuses_us_has_no_room_until_its_pause_is_over() {
    let refusing = Personality { tls: Tls::None, ..Personality::default() }.refusing(At::Banner, "554 5.7.1 blocked");
    let world = World::builder().site("one.example.com", Mailboxes::only(&["ann"]), refusing).build().expect("a world");
    let lab = Lab::polite(&world);
    let item = |key: u64| JobAddress {
        key,
        email: "ann@one.example.com".into(),
        customer: 0,
        tries: PriorAttempts::default(),
    };
    for key in 0..2 {
        lab.once(vec![item(key)]).await;
    }
    let outcomes = lab.once(vec![item(2)]).await;
    let AddressOutcome::PutOff { held: Some(Throttled { at: Some(site) }), tries, not_before, .. } = &outcomes[0].1
    else {
        panic!("it is held back: {outcomes:?}")
    };
    assert_eq!((lab.engine.room(site, None), tries.count), (DestinationCapacity::At(*not_before), 0));
    lab.engine.wait_until(*not_before).await;
    assert!(matches!(lab.engine.room(site, None), DestinationCapacity::Now(_)));
}

/// What becomes of an address that our limits hold back, and did so for the first time so long ago.
async fn held_back_for(waited_ms: i64, world: &Arc<World>) -> String {
    let lab = Lab::polite(world);
    let nobody = |key: u64| JobAddress {
        key,
        email: format!("nobody{key}@one.example.com").into(),
        customer: 0,
        tries: PriorAttempts::default(),
    };
    // A second refusal of us closes the site.
    for _ in 0..2 {
        lab.once((0..50).map(nobody).collect()).await;
    }
    let since = Some(Millis(lab.engine.now().0 - waited_ms));
    let tries = PriorAttempts { since, ..PriorAttempts::default() };
    let item = JobAddress { key: 0, email: "ann@one.example.com".into(), customer: 0, tries };
    match lab.once(vec![item]).await.remove(0).1 {
        AddressOutcome::Settled(said) => brief(&said),
        AddressOutcome::PutOff { tries, held, .. } => {
            assert!(tries.since == since && tries.count == 0 && held.is_some(), "{tries:?}");
            "waits".into()
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_held_back_is_given_up_after_its_time_and_not_before() {
    const HOUR_MS: i64 = 3_600_000;
    let plain = || Personality { tls: Tls::None, ..Personality::default() };
    let refusing = plain().refusing(At::Banner, "554 5.7.1 blocked");
    for (personality, given_up) in
        [(plain(), "unknown/unverified/budget"), (refusing, "unknown/failed_exchange/blocked")]
    {
        let world = World::builder().site("one.example.com", Mailboxes::only(&["ann"]), personality).build();
        let world = world.expect("a world");
        // Two hours are the longest first pause.
        assert_eq!(held_back_for(22 * HOUR_MS, &world).await, "waits");
        assert_eq!(held_back_for(24 * HOUR_MS, &world).await, given_up);
    }
}

#[tokio::test(start_paused = true)]
async fn greylisting_is_passed_from_the_source_of_that_name_alone() {
    let grey = Greylist { delay_s: 300, hint: true };
    let personality = Personality { greylist: Some(grey), tls: Tls::None, ..Personality::default() };
    let world = World::builder().site("grey.example.com", Mailboxes::only(&["ann"]), personality).build();
    let world = world.expect("a world");
    let net = world.net(1);
    let node = |address: &str| {
        let mut config = crate::world::config(1);
        let source = ProbeSource { public: Some(address.parse().expect("an address")), ..(*config.sources[0]).clone() };
        config.sources = vec![Arc::new(source)];
        Engine::new(config, net.clone()).expect("a sound configuration")
    };
    let (first, second) = (node("198.51.100.1"), node("198.51.100.2"));
    let ask = async |engine: &Engine, tries: PriorAttempts| {
        let outcome = Arc::new(Mutex::new(None));
        let kept = outcome.clone();
        let item = JobAddress { key: 0, email: "ann@grey.example.com".into(), customer: 0, tries };
        let sink = move |group: Vec<(u64, AddressOutcome)>| *kept.lock().expect("no panic") = group.into_iter().next();
        engine.verify_many(vec![item], Arc::new(sink)).await;
        let outcome = outcome.lock().expect("no panic").take();
        outcome.expect("an outcome").1
    };
    let AddressOutcome::PutOff { not_before, tries, why, held } = ask(&first, PriorAttempts::default()).await else {
        panic!("it is greylisted")
    };
    assert_eq!((why, held, tries.source.as_deref()), ("greylisted", None, Some("198.51.100.1")));
    assert_eq!(first.source_names(), [tries.source.clone().expect("a source")]);
    first.wait_until(not_before).await;
    let again = ask(&second, tries.clone()).await;
    assert!(
        matches!(again, AddressOutcome::PutOff { why: "greylisted", .. }),
        "another node is not known there: {again:?}"
    );
    assert!(matches!(ask(&first, tries).await, AddressOutcome::Settled(said) if brief(&said) == "passed/valid/"));
}

#[tokio::test(start_paused = true)]
async fn an_engine_beside_another_has_its_clock() {
    let world = google(1);
    let first = Lab::open(&world).engine;
    // The runtime's clock stands still while the machine's goes on.
    while EngineClock::system().now() == first.now() {
        std::hint::spin_loop();
    }
    let beside = first.beside(config(2), world.net(2)).expect("a sound configuration");
    assert_eq!(beside.now(), first.now());
}
