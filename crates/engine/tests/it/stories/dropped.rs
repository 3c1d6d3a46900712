//! Servers that drop a session without a word once they have refused somebody in it.

use probity_engine::verifier::Verifier as _;
use probity_engine::{JobAddress, PriorAttempts};
use probity_mail::policy::PaceProfile;
use probity_mailworld::{AfterRefusal, Mailboxes, Personality, Pipelining, Tls, World, Zone};

use crate::world::{Lab, brief};

const WAYS: [AfterRefusal; 4] =
    [AfterRefusal::Closes, AfterRefusal::ClosesAtNext, AfterRefusal::ClosesBehindFlight, AfterRefusal::FallsSilent];

fn people() -> Mailboxes {
    (0..12)
        .filter(|n| n % 2 == 0)
        .fold(Mailboxes::default(), |all, n| all.with(&format!("user{n}"), probity_mailworld::MailboxState::Exists))
}

fn emails(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("user{n}@one.example.com")).collect()
}

fn lab(after_refusal: AfterRefusal, pipelining: Pipelining, profile: PaceProfile) -> Lab {
    let personality = Personality { after_refusal, pipelining, tls: Tls::None, ..Personality::default() };
    let beside = || Zone::served_by(&["mx.one.example.com"]).with_mailboxes(people());
    let world = World::builder()
        .site("one.example.com", people(), personality)
        .zone("two.example.com", beside())
        .zone("three.example.com", beside())
        .build()
        .expect("a world");
    Lab::new(&world, 1, |config| config.profile = profile)
}

fn right(n: usize) -> &'static str {
    if n.is_multiple_of(2) { "passed/valid/" } else { "undeliverable/nonexistent/smtp_550_5.1.1" }
}

fn each_way() -> impl Iterator<Item = (AfterRefusal, Pipelining, PaceProfile)> {
    WAYS.into_iter().flat_map(|way| {
        [Pipelining::Offered, Pipelining::None].into_iter().flat_map(move |pipelining| {
            [PaceProfile::Open, PaceProfile::Polite].map(|profile| (way, pipelining, profile))
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_list_is_decided_at_once_where_sessions_are_dropped_after_a_refusal() {
    for (way, pipelining, profile) in each_way() {
        let lab = lab(way, pipelining, profile);
        let items = emails(12).into_iter().enumerate();
        let item = |(key, email): (usize, String)| JobAddress {
            key: key as u64,
            email: email.into(),
            customer: 0,
            tries: PriorAttempts::default(),
        };
        for (key, outcome) in lab.once(items.map(item).collect()).await {
            let probity_engine::AddressOutcome::Settled(said) = outcome else {
                panic!("{way:?} {pipelining:?}: {outcome:?}")
            };
            assert_eq!(brief(&said), right(usize::try_from(key).expect("small")), "{way:?} {pipelining:?} {profile:?}");
        }
        // Six are refused, and so is a made-up one; the first session was in vain.
        let seen = lab.net.hosts();
        assert!(seen.connections <= 9, "{way:?} {pipelining:?} {profile:?}: {seen:?}");
        assert!(seen.most_from_one_source <= 2, "{seen:?}");
    }
}

/// A second domain of the same exchanger, of which nothing is known, shows what is remembered of the site.
#[tokio::test(start_paused = true)]
async fn so_are_live_calls_and_the_site_is_remembered() {
    for (way, pipelining, profile) in each_way() {
        let lab = lab(way, pipelining, profile);
        for (n, email) in emails(12).iter().enumerate() {
            assert_eq!(brief(&lab.live(email).await), right(n), "{way:?} {pipelining:?} {profile:?}");
        }
        // Each question is put once: about one that does not exist, and about one that does with a made-up one behind it.
        for (local, wanted, rcpt) in [("user1", 1, 1), ("user0", 0, 2)] {
            let before = lab.net.hosts();
            lab.engine.wait_until(lab.engine.now() + 60_000).await;
            let said = lab.live(&format!("{local}@two.example.com")).await;
            assert_eq!(brief(&said), right(wanted), "{way:?} {pipelining:?} {profile:?}");
            let after = lab.net.hosts();
            let cost = (after.connections - before.connections, after.rcpt - before.rcpt);
            assert_eq!(cost, (1, rcpt), "{way:?} {pipelining:?} {profile:?}");
        }
        // Long afterwards the server gets another chance.
        lab.engine.wait_until(lab.engine.now() + 7 * 3_600_000).await;
        let before = lab.net.hosts().connections;
        assert_eq!(brief(&lab.live("user3@three.example.com").await), right(1));
        let cost = lab.net.hosts().connections - before;
        let in_vain = u64::from(way != AfterRefusal::ClosesBehindFlight || pipelining == Pipelining::None);
        assert_eq!(cost, 1 + in_vain, "{way:?} {pipelining:?} {profile:?}");
    }
}

/// Politeness holds for reconnects: each session is for a recipient, and recipients and refused ones have their budgets.
#[tokio::test(start_paused = true)]
async fn one_recipient_a_session_is_no_hail_of_sessions() {
    for way in WAYS {
        let lab = lab(way, Pipelining::Offered, PaceProfile::Polite);
        let item = |key: u64| JobAddress {
            key,
            email: format!("nobody{key}@one.example.com").into(),
            customer: 0,
            tries: PriorAttempts::default(),
        };
        let started = lab.engine.now();
        lab.once((0..500).map(item).collect()).await;
        let minutes = lab.engine.now().since(started) / 60_000 + 1;
        let seen = lab.net.hosts();
        // Fifteen of the hour's budget are a batch's at once, and one more every three minutes.
        let budget = 17 + u64::try_from(minutes).expect("positive") / 3;
        assert!(seen.connections <= budget, "{way:?}: {seen:?} in {minutes} minutes");
        assert!(seen.most_from_one_source <= 2, "{way:?}: {seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_mended_its_ways_is_asked_for_many_again() {
    let lab = lab(AfterRefusal::ClosesAtNext, Pipelining::Offered, PaceProfile::Open);
    lab.batch(&emails(12)).await;
    lab.net.retune("mx.one.example.com", Personality { tls: Tls::None, ..Personality::default() });
    for _ in 0..2 {
        // The first list sees that sessions outlive a refusal.
        let before = lab.net.hosts().connections;
        lab.batch(&emails(12)).await;
        lab.engine.wait_until(lab.engine.now() + 60_000).await;
        if lab.net.hosts().connections - before == 1 {
            return;
        }
    }
    panic!("{:?}", lab.net.hosts());
}
