//! What our own limits hold back: it is asked later, and nothing is decided by it.

use std::sync::Arc;

use probity_engine::net::ProbeSource;
use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, JobAddress, LiveCall, PriorAttempts};
use probity_mail::policy::bound::{BoundLimit, SiteLoad};
use probity_mailworld::{DnsFault, Greylist, MailboxState, Mailboxes, Personality, Tls, World, Zone, verify_list};

use super::site;
use crate::evil::{self, Wrong};
use crate::world::{Lab, brief};

#[tokio::test(start_paused = true)]
async fn our_budget_for_a_zone_delays_answers_and_does_not_replace_them() {
    let lab = Lab::polite(&World::builder().build().expect("a world"));
    let emails: Vec<String> = (0..500).map(|n| format!("a@d{n}.example.com")).collect();
    for said in lab.batch(&emails).await {
        assert_eq!(brief(&said), "undeliverable/illegitimate/nxdomain", "{}", said.email);
    }
}

#[tokio::test(start_paused = true)]
async fn budgets_put_off_and_never_decide() {
    let lab = Lab::polite(&site(Personality::default()));
    let items = |n: u64| {
        (0..n)
            .map(|key| probity_engine::JobAddress {
                key,
                email: format!("nobody{key}@one.example.com").into(),
                customer: 0,
                tries: probity_engine::PriorAttempts::default(),
            })
            .collect()
    };
    let outcomes = lab.once(items(200)).await;
    assert_eq!(outcomes.len(), 200);
    let put_off =
        outcomes.iter().filter(|(_, outcome)| matches!(outcome, AddressOutcome::PutOff { why: "budget", .. })).count();
    assert!(put_off > 150, "{put_off}");
    assert!(lab.net.hosts().rcpt <= 25, "{:?}", lab.net.hosts());
    for (_, outcome) in outcomes {
        if let AddressOutcome::Settled(said) = outcome {
            assert_eq!(said.verdict.reason.as_str(), "nonexistent");
        }
    }
    let said = lab.engine.verify("ann@one.example.com", LiveCall { timeout_ms: 20_000, scope: 0 }).await;
    assert_ne!(said.verdict.status().as_str(), "undeliverable");
}

#[tokio::test(start_paused = true)]
async fn a_source_on_its_first_day_asks_a_tenth() {
    let asked = |since| async move {
        let lab = Lab::new(&site(Personality::default()), 1, |config| config.in_use_since = vec![since]);
        let item = |key: u64| probity_engine::JobAddress {
            key,
            email: format!("nobody{key}@one.example.com").into(),
            customer: 0,
            tries: probity_engine::PriorAttempts::default(),
        };
        lab.once((0..100).map(item).collect()).await;
        lab.net.hosts().rcpt
    };
    let today = probity_engine::clock::EngineClock::system().now();
    let (young, old) = (asked(Some(today)).await, asked(None).await);
    assert!(young * 4 < old, "{young} of {old}");
}

#[tokio::test(start_paused = true)]
async fn sources_behind_one_address_share_its_limits() {
    let asked = |addresses: &[&str]| {
        let sources: Vec<_> = addresses
            .iter()
            .map(|address| {
                let public = Some(address.parse().expect("an address"));
                std::sync::Arc::new(ProbeSource { bind: None, public, helo: "probe.example.org".into(), proxy: None })
            })
            .collect();
        let names: Vec<_> = sources.iter().map(|source| source.name()).collect();
        async move {
            let lab = Lab::new(&site(Personality::default()), 1, |config| config.sources = sources);
            let fixed = |key: u64| JobAddress {
                key,
                email: format!("nobody{key}@one.example.com").into(),
                customer: 0,
                tries: PriorAttempts {
                    source: Some(names[usize::from(key % 2 == 1)].clone()),
                    ..PriorAttempts::default()
                },
            };
            lab.once((0..200).map(fixed).collect()).await;
            lab.net.hosts().rcpt
        }
    };
    let (shared, separate) =
        (asked(&["198.51.100.7", "198.51.100.7"]).await, asked(&["198.51.100.7", "198.51.100.8"]).await);
    assert!(shared * 3 < separate * 2, "{shared} from one address, {separate} from two");
}

#[tokio::test(start_paused = true)]
async fn what_only_our_budget_holds_back_is_asked_within_the_day() {
    let lab = Lab::new(&site(Personality::default()), 1, |config| config.patience_ms = 600_000);
    let emails: Vec<String> = (0..60).map(|n| format!("nobody{n}@one.example.com")).collect();
    for said in lab.batch(&emails).await {
        assert_eq!(said.verdict.reason.as_str(), "nonexistent", "{:?}", said.verdict);
    }
}

/// Once many are missing, a made-up recipient checks the acceptances of each flight: one for a whole flight also where the budget of
/// missing recipients is spent, and not one for each address.
#[tokio::test(start_paused = true)]
async fn a_spent_budget_is_not_spent_on_checks_alone() {
    let people = Mailboxes::percent_of("user", 92);
    let quick = Personality { tls: Tls::None, ..Personality::default() };
    let world = World::builder().site("one.example.com", people.clone(), quick).build().expect("a world");
    let lab = Lab::polite(&world);
    let exists = |n: &u64| people.state(&format!("user{n}"), "one.example.com") == MailboxState::Exists;
    let missing = 400 - (0..400).filter(exists).count() as u64;
    let load = SiteLoad { addresses: 400, largest_domain: 400, domains: 1, missing, ..SiteLoad::default() };
    let bound = lab.engine.manners("mx.one.example.com").expect("limits").bound(&load);
    let started = lab.engine.now();
    let emails: Vec<String> = (0..400).map(|n| format!("user{n}@one.example.com")).collect();
    let said = verify_list(&lab.engine, &emails).await;
    for (n, said) in (0..400).zip(said) {
        let right = if exists(&n) { "passed/valid/" } else { "undeliverable/nonexistent/smtp_550_5.1.1" };
        assert_eq!(brief(&said), right, "{}", said.email);
    }
    let took_ms = lab.engine.now().since(started);
    assert_eq!(bound.limit, BoundLimit::Missing);
    // Flights get shorter where a session has met refusals.
    assert!(took_ms * 5 <= bound.ms * 6, "{took_ms} ms of {}", bound.ms);
}

/// Departments of one university: each has an exchanger with a name of its own.
fn university(departments: usize) -> Arc<World> {
    let people = Mailboxes::only(&["ann"]);
    let quick = Personality { tls: Tls::None, ..Personality::default() };
    (0..departments)
        .fold(World::builder().dns_latency_ms(20), |world, n| {
            world.site(&format!("dept{n}.example.edu"), people.clone(), quick.clone())
        })
        .site("elsewhere.example.org", people.clone(), quick.clone())
        .build()
        .expect("a world")
}

#[tokio::test(start_paused = true)]
async fn the_departments_of_one_university_all_get_their_verdicts() {
    let lab = Lab::polite(&university(2_000));
    let started = lab.engine.now();
    let emails: Vec<String> = (0..2_000).map(|n| format!("ann@dept{n}.example.edu")).collect();
    for said in lab.batch(&emails).await {
        assert_eq!(brief(&said), "passed/valid/", "{}", said.email);
        assert_eq!(
            said.evidence.probe.as_ref().map(|probe| probe.attempts),
            Some(1),
            "what was held back is no attempt"
        );
    }
    // Three questions for each, 200 a minute: half an hour, and a tenth more for coming back.
    let minutes = lab.engine.now().since(started) / 60_000;
    assert!((27..=33).contains(&minutes), "{minutes} minutes");
    assert!(lab.net.query_total() <= 3 * 2_000 + 10, "{} questions", lab.net.query_total());
}

#[tokio::test(start_paused = true)]
async fn a_live_call_finds_room_in_a_zone_that_a_batch_asks_about() {
    let lab = Lab::polite(&university(2_000));
    let items = (0..1_900).map(|key| JobAddress {
        key,
        email: format!("ann@dept{key}.example.edu").into(),
        customer: 0,
        tries: PriorAttempts::default(),
    });
    lab.once(items.collect()).await;
    // The part that is left to live calls, and then what comes within the time that they wait.
    for n in 1_900..1_930 {
        assert_eq!(brief(&lab.live(&format!("ann@dept{n}.example.edu")).await), "passed/valid/");
    }
    let crowd = (1_930..2_000).map(|n| {
        let engine = lab.engine.clone();
        tokio::spawn(
            async move { engine.verify(&format!("ann@dept{n}.example.edu"), crate::world::fresh_call()).await },
        )
    });
    let mut said = Vec::new();
    for call in crowd.collect::<Vec<_>>() {
        said.push(brief(&call.await.expect("a verdict")));
    }
    let held = said.iter().filter(|said| *said == "unknown/unverified/budget").count();
    assert!(
        held > 0 && said.iter().all(|said| said == "passed/valid/" || said == "unknown/unverified/budget"),
        "{said:?}"
    );
    assert_eq!(brief(&lab.live("ann@elsewhere.example.org").await), "passed/valid/", "no other zone waits");
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_answers_slowly_does_not_hold_up_others() {
    // Names whose look-up takes five seconds, more of them than there are places for domains.
    let people = Mailboxes::only(&["ann"]);
    let world = (0..600)
        .fold(World::builder(), |world, n| world.zone(&format!("s{n}.slow.com"), Zone::failing(DnsFault::Timeout)))
        .site("quick.example.org", people, Personality { tls: Tls::None, ..Personality::default() })
        .build()
        .expect("a world");
    let lab = Lab::new(&world, 1, |config| config.domains_max = 150);
    let item =
        |key: u64, email: String| JobAddress { key, email: email.into(), customer: 0, tries: PriorAttempts::default() };
    let mut waiting: Vec<JobAddress> = (0..600).map(|n| item(n, format!("a@s{n}.slow.com"))).collect();
    // However often they come back.
    for _ in 0..10 {
        let engine = lab.engine.clone();
        let items = waiting.clone();
        let batch = tokio::spawn(async move { engine.verify_many(items, Arc::new(|_| {})).await });
        lab.engine.wait_until(lab.engine.now() + 1_000).await;
        let started = lab.engine.now();
        let said = lab.once(vec![item(9_999, "ann@quick.example.org".to_owned())]).await;
        assert!(
            matches!(&said[..], [(_, AddressOutcome::Settled(said))] if brief(said) == "passed/valid/"),
            "{said:?}"
        );
        assert!(lab.engine.now().since(started) <= 1_000, "{} ms", lab.engine.now().since(started));
        lab.engine.wait_until(lab.engine.now() + 5_000).await;
        batch.abort();
        waiting.rotate_left(100);
    }
}

/// A deadline that comes while a question waits for its turn is told as our limit, and not as the silence of name servers.
#[tokio::test(start_paused = true)]
async fn a_live_call_whose_question_was_never_sent_says_that_we_held_it_back() {
    let world = (0..30)
        .fold(World::builder(), |world, n| world.zone(&format!("s{n}.slow.com"), Zone::failing(DnsFault::Timeout)))
        .build()
        .expect("a world");
    let lab = Lab::polite(&world);
    let calls = (0..30).map(|n| {
        let engine = lab.engine.clone();
        tokio::spawn(async move {
            engine.verify(&format!("a@s{n}.slow.com"), LiveCall { timeout_ms: 3_000, scope: 0 }).await
        })
    });
    let mut said = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        said.push(brief(&call.await.expect("a verdict")));
    }
    // The first ones' questions are under way at the deadline; those behind them have not had their turn.
    let (asked, held) = said.split_at(20);
    assert!(asked.iter().all(|said| said == "unknown/unverified/timeout"), "{asked:?}");
    assert!(held.iter().all(|said| said == "unknown/unverified/budget"), "{held:?}");
}

#[tokio::test(start_paused = true)]
async fn questions_that_nobody_waits_for_any_more_leave_no_turn_taken() {
    let lab = Lab::polite(&university(100));
    let items = |from: u64| {
        let email = |key: u64| format!("ann@dept{key}.example.edu").into();
        (from..from + 30).map(move |key| JobAddress {
            key,
            email: email(key),
            customer: 0,
            tries: PriorAttempts::default(),
        })
    };
    let engine = lab.engine.clone();
    let given_up = tokio::spawn(async move { engine.verify_many(items(0).collect(), Arc::new(|_| {})).await });
    lab.engine.wait_until(lab.engine.now() + 10).await;
    given_up.abort();
    let others = tokio::time::timeout(std::time::Duration::from_mins(1), lab.once(items(30).collect())).await;
    assert_eq!(others.expect("they get their turns").len(), 30);
}

/// What is held back for longer than patience lasts has not used it up: it is asked again when a server wants that.
#[tokio::test(start_paused = true)]
async fn patience_with_a_server_does_not_run_while_we_hold_back() {
    const PATIENCE_MS: i64 = 120_000;
    let lab = Lab::new(&site(Personality::default()), 1, |config| config.patience_ms = PATIENCE_MS);
    let nobody = |key: u64| JobAddress {
        key,
        email: format!("nobody{key}@one.example.com").into(),
        customer: 0,
        tries: PriorAttempts::default(),
    };
    lab.once((0..100).map(nobody).collect()).await;
    let grey = Greylist { delay_s: 30, hint: true };
    lab.net.retune("mx.one.example.com", Personality { greylist: Some(grey), ..Personality::default() });
    let started = lab.engine.now();
    let said = lab.batch(&["ann@one.example.com".to_owned()]).await;
    assert!(lab.engine.now().since(started) > PATIENCE_MS, "the budget for missing ones was used up");
    assert_eq!(brief(&said[0]), "passed/valid/");
}

/// A machine without descriptors or a proxy that is down says nothing about anybody, however often it is tried.
#[tokio::test(start_paused = true)]
async fn failures_of_this_machine_hold_back_and_are_no_attempts() {
    let wrong = Wrong { local_failures: 10, ..Wrong::default() };
    let (lab, seen) = evil::lab(&site(Personality::default()), wrong, |_| {});
    let said = lab.batch(&["ann@one.example.com".to_owned()]).await;
    assert_eq!(brief(&said[0]), "passed/valid/");
    assert_eq!(said[0].evidence.probe.as_ref().map(|probe| probe.attempts), Some(1));
    assert_eq!(seen.dials(), 11);
}
