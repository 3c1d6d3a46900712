//! What an operator sees of a running engine.

use std::sync::Arc;

use probity_engine::snapshot::{BreakerCounts, LimitUsage, PauseCause, SiteLimit, TEXTS_MAX};
use probity_engine::verifier::Verifier as _;
use probity_engine::{JobAddress, PriorAttempts};
use probity_mail::policy::{PaceProfile, Policies};
use probity_mailworld::{At, Greylist, Mailboxes, Personality, Tls, World, Zone};

use crate::world::Lab;

fn site(name: &str, personality: Personality) -> Arc<World> {
    World::builder().site(name, Mailboxes::only(&["ann", "bob"]), personality).build().expect("a world")
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_was_asked_nothing_holds_nothing() {
    let lab = Lab::new(&site("one.example.com", Personality::default()), 1, |config| {
        (config.sessions_max, config.domains_max) = (100, 7);
    });
    let seen = lab.snapshot();
    let none_of = |limit| LimitUsage { used: 0, limit };
    assert_eq!((seen.sessions.all, seen.sessions.batch, seen.sessions.idle), (none_of(100), none_of(75), none_of(25)));
    assert_eq!((seen.domains, seen.background.used, seen.tasks), (none_of(7), 0, 0));
    assert_eq!((seen.breakers, seen.caches.facts), (BreakerCounts::default(), Some(0)));
    assert!(seen.held.is_empty() && seen.budgets.is_empty() && seen.unmatched.sample.is_empty());
}

#[tokio::test(start_paused = true)]
async fn sessions_and_domains_of_a_batch_are_counted_while_it_runs() {
    let mut slow = Personality { tls: Tls::None, ..Personality::default() };
    slow.pace.byte_ms = 1_000;
    let mut builder = World::builder();
    for n in 0..10 {
        builder = builder.site(&format!("s{n}.example.com"), Mailboxes::only(&["ann"]), slow.clone());
    }
    let lab = Lab::new(&builder.build().expect("a world"), 1, |config| config.sessions_max = 8);
    let items = (0..10).map(|key| JobAddress {
        key,
        email: format!("ann@s{key}.example.com").into(),
        customer: 0,
        tries: PriorAttempts::default(),
    });
    let (engine, items) = (lab.engine.clone(), items.collect());
    let batch = tokio::spawn(async move { engine.verify_many(items, Arc::new(|_| {})).await });
    lab.engine.wait_until(lab.engine.now() + 2_000).await;
    let seen = lab.snapshot();
    assert_eq!(seen.sessions.all, LimitUsage { used: 6, limit: 8 }, "a batch leaves a quarter");
    assert_eq!((seen.sessions.batch, seen.domains.used), (LimitUsage { used: 6, limit: 6 }, 10));
    assert_eq!(seen.counters.sessions_open, 6);
    batch.await.expect("the batch comes to an end");
    lab.engine.close(400_000).await;
    let seen = lab.snapshot();
    assert_eq!((seen.sessions.all.used, seen.sessions.batch.used, seen.domains.used, seen.tasks), (0, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_site_that_refuses_us_is_named_until_its_pause_is_over() {
    let refusing = Personality { tls: Tls::None, ..Personality::default() }.refusing(At::Banner, "554 5.7.1 blocked");
    let lab = Lab::polite(&site("one.example.com", refusing));
    let policy = Policies::embedded().for_exchanger("mx.one.example.com", PaceProfile::Polite);
    lab.live("ann@one.example.com").await;
    assert_eq!(lab.snapshot().breakers.open, 0, "one refusal may be misread");
    lab.live("bob@one.example.com").await;
    let seen = lab.snapshot();
    assert_eq!((seen.breakers.open, seen.breakers.half_open, seen.breakers.closed), (1, 0, 0));
    let [held] = &seen.held[..] else { panic!("one site is held: {:?}", seen.held) };
    assert_eq!((held.why, held.is_provider, held.source), (PauseCause::Blocked, false, 0));
    assert!(held.site.ends_with("one.example.com"), "{}", held.site);
    assert_eq!(held.until.since(lab.engine.now()), policy.breaker_ms_min);
    lab.engine.wait_until(held.until).await;
    let seen = lab.snapshot();
    assert_eq!((seen.breakers.open, seen.breakers.half_open, seen.held.len()), (0, 1, 0));
    lab.engine.wait_until(held.until + policy.breaker_ms_max * 5).await;
    let seen = lab.snapshot();
    assert_eq!((seen.breakers.half_open, seen.breakers.closed), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn budgets_are_named_when_little_is_left_of_them() {
    let zone = |_| Zone::served_by(&["mx.example.net"]).with_mailboxes(Mailboxes::only(&["ann"]));
    let world = (0..30).fold(World::builder().host("mx.example.net", Personality::default()), |builder, n| {
        builder.zone(&format!("s{n}.example.com"), zone(n))
    });
    let lab = Lab::polite(&world.build().expect("a world"));
    let policy = Policies::embedded().for_exchanger("mx.example.net", PaceProfile::Polite);
    let missing_max = policy.missing_per_hour;
    assert!((1..30).contains(&missing_max), "the story needs a small budget: {missing_max}");
    for n in 0..30 {
        lab.live(&format!("nobody@s{n}.example.com")).await;
    }
    let seen = lab.snapshot();
    let missing = seen.budgets.iter().find(|one| one.budget == SiteLimit::Missing).expect("the budget is tight");
    assert_eq!((&*missing.site, missing.used, missing.limit), ("mx.example.net", missing_max, missing_max));
    assert_eq!(seen.tight, seen.budgets.len());
    lab.engine.wait_until(lab.engine.now() + 3_600_000).await;
    assert_eq!((lab.snapshot().tight, lab.snapshot().budgets.len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn replies_without_a_rule_are_quoted_without_addresses() {
    let text = "550 zorblax <ann@one.example.com> from 198.51.100.7 said 4711";
    let lab = Lab::polite(&site("one.example.com", Personality::default().refusing(At::Rcpt, text)));
    lab.live("ann@one.example.com").await;
    let seen = lab.snapshot().unmatched;
    assert_eq!(seen.sample, ["zorblax <address> from <our address> said ####"]);
    assert_eq!((seen.distinct, seen.replies > 0), (1, true));
    assert!(seen.sample.len() <= TEXTS_MAX);
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_caches_and_probes_behind_answers_are_counted() {
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
    lab.live("ann@warm.example.com").await;
    lab.live("ann@grey.example.com").await;
    let seen = lab.snapshot();
    assert_eq!((seen.sessions.idle.used, seen.background.used), (2, 1));
    assert_eq!((seen.caches.verdicts, seen.caches.facts), (1, Some(1)));
    assert_eq!(u64::try_from(seen.caches.dns).expect("few"), seen.counters.queries);
    lab.engine.wait_until(lab.engine.now() + 11_000).await;
    let seen = lab.snapshot();
    assert_eq!((seen.sessions.idle.used, seen.background.used), (0, 1), "nobody came for the sessions");
    lab.engine.wait_until(lab.engine.now() + 900_000).await;
    let seen = lab.snapshot();
    assert_eq!((seen.background.used, seen.caches.verdicts), (0, 2));
}
