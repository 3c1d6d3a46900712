//! A hostile and a broken DNS against the whole engine: one test for each way in which it can do harm. The rows are those of
//! `docs/threats.md`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use probity_engine::net::ProbeSource;
use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, JobAddress, PriorAttempts};
use probity_mail::dns::QueryKind;
use probity_mail::policy::PaceProfile;
use probity_mail::verdict::Verification;
use probity_mailworld::{HostPlan, HostReach, Mailboxes, Mx, Personality, World, Zone};

use crate::evil::{Wrong, lab};
use crate::world::{Lab, brief};

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn pointing_to(addresses: &[&str]) -> Zone {
    Zone { addresses: addresses.iter().map(|text| address(text)).collect(), ..Zone::default() }
}

fn people() -> Mailboxes {
    Mailboxes::only(&["ann"])
}

fn count_of(said: &[Verification], status: &str) -> usize {
    said.iter().filter(|said| said.verdict.status().as_str() == status).count()
}

/// N5
#[tokio::test(start_paused = true)]
async fn of_exchangers_at_special_addresses_and_a_good_one_only_the_good_one_is_dialled() {
    let special = [
        "127.0.0.1",
        "10.0.0.1",
        "::1",
        "169.254.169.254",
        "::ffff:127.0.0.1",
        "fd00:ec2::254",
        "64:ff9b::7f00:1",
        "192.0.2.1",
        "9.9.9.9",
    ];
    // Five exchangers are tried: two of three addresses each, a third of four, the good one last.
    let world = World::builder()
        .zone(
            "d.example.com",
            Zone::served_by(&["a.d.example.com", "b.d.example.com", "c.d.example.com", "mx.d.example.com"])
                .with_mailboxes(people()),
        )
        .zone("a.d.example.com", pointing_to(&special[..3]))
        .zone("b.d.example.com", pointing_to(&special[3..6]))
        .zone("c.d.example.com", pointing_to(&special[6..]))
        .host_with(
            "mx.d.example.com",
            Personality::default(),
            HostPlan { addresses: vec![address("11.1.0.1")], ..HostPlan::default() },
        )
        .build()
        .expect("a world");
    let (lab, seen) = lab(&world, Wrong::default(), |config| {
        config.networks_allowed.clear();
        // The last of the special ones is ours as the world sees us.
        let ours = ProbeSource { public: Some(address("9.9.9.9")), ..(*config.sources[0]).clone() };
        config.sources = vec![Arc::new(ours)];
        config.special_use_allowed.clear();
    });
    assert_eq!(brief(&lab.live("ann@d.example.com").await), "passed/valid/");
    let dialled: Vec<IpAddr> = seen.dialled.lock().unwrap().iter().copied().collect();
    assert_eq!(dialled, [address("11.1.0.1")]);
}

/// N5, N2: the address that was looked at is the address that is dialled.
#[tokio::test(start_paused = true)]
async fn a_name_that_points_elsewhere_each_time_never_leads_to_a_special_address() {
    let rebinding = Zone { ttl_s: 0, rotate: true, ..pointing_to(&["127.0.0.1", "11.9.9.9", "10.0.0.7"]) };
    let world = World::builder()
        .zone("d.example.com", Zone { ttl_s: 0, ..Zone::served_by(&["mx.d.example.com"]) })
        .zone("mx.d.example.com", rebinding)
        .build()
        .expect("a world");
    let (lab, seen) = lab(&world, Wrong::default(), |config| {
        config.networks_allowed.clear();
        config.profile = PaceProfile::Open;
        config.verdicts_max = 0;
    });
    for n in 0..60 {
        lab.live(&format!("u{n}@d.example.com")).await;
        lab.engine.wait_until(lab.engine.now() + 6_000).await;
    }
    let dialled: Vec<IpAddr> = seen.dialled.lock().unwrap().iter().copied().collect();
    assert_eq!(dialled, [address("11.9.9.9")]);
}

/// D1
#[tokio::test(start_paused = true)]
async fn loops_and_long_chains_of_aliases_say_nothing_and_cost_little() {
    let mut builder = World::builder()
        .zone("one.example.com", Zone::alias("two.example.com"))
        .zone("two.example.com", Zone::alias("one.example.com"))
        .zone("self.example.com", Zone::alias("self.example.com"))
        .zone("chain.example.com", Zone::alias("c0.example.com"))
        .zone("target.example.com", Zone::served_by(&["one.example.com"]));
    for n in 0..40 {
        builder = builder.zone(&format!("c{n}.example.com"), Zone::alias(&format!("c{}.example.com", n + 1)));
    }
    let world = builder.build().expect("a world");
    for domain in ["one", "self", "chain", "target"] {
        let (lab, seen) = lab(&world, Wrong::default(), |_| {});
        assert_eq!(brief(&lab.live(&format!("a@{domain}.example.com")).await), "unknown/unverified/dns_temporary");
        assert!(seen.lookups() <= 12 && seen.dials() == 0, "{domain}: {seen:?}");
    }
}

/// D2
#[tokio::test(start_paused = true)]
async fn a_thousand_exchangers_with_twenty_addresses_each_cost_ten_dials() {
    for preference in [|_| 10, |n: u16| n] {
        let mut builder = World::builder();
        let mut mx = Vec::new();
        for n in 0..1_000_u16 {
            let host = format!("mx{n}.d.example.com");
            let first = 0x0b20_0000 + u32::from(n) * 20;
            let addresses = (first..first + 20).map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))).collect();
            let plan = HostPlan { addresses, reach: HostReach::Refused, ..HostPlan::default() };
            builder = builder.host_with(&host, Personality::default(), plan);
            mx.push(Mx { preference: preference(n), host });
        }
        let world = builder.zone("d.example.com", Zone { mx, ..Zone::default() }).build().expect("a world");
        let (lab, seen) = lab(&world, Wrong::default(), |_| {});
        let said = lab.live("ann@d.example.com").await;
        assert_eq!(brief(&said), "unknown/unverified/connect_refused");
        assert!(seen.dials() <= 10 && seen.lookups() <= 20, "{} dials, {} lookups", seen.dials(), seen.lookups());
        let shown = said.evidence.domain.expect("evidence").mx.len();
        assert!(shown <= 20, "{shown} exchangers in the evidence of each address");
    }
}

/// D3
#[tokio::test(start_paused = true)]
async fn random_subdomains_of_one_zone_cost_no_more_questions_than_its_budget() {
    // 200 at once and 200 a minute.
    const CAP: u64 = 400;
    let world = World::builder().zone("victim.com", Zone::default()).dns_latency_ms(50).build().expect("a world");
    let (lab, seen) = lab(&world, Wrong::default(), |_| {});
    let items = (0..2_000).map(|key| JobAddress {
        key,
        email: format!("ann@{:x}.victim.com", key.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into(),
        customer: 0,
        tries: PriorAttempts::default(),
    });
    let started = lab.engine.now();
    let outcomes = lab.once(items.collect()).await;
    assert!(lab.engine.now().since(started) <= 60_000);
    assert_eq!(outcomes.len(), 2_000);
    assert!(seen.lookups() <= CAP, "{} questions", seen.lookups());
    let at_once = seen.most_looking.load(Ordering::SeqCst);
    assert!(at_once <= 20, "{at_once} questions at once");
    let answered = outcomes.iter().filter(|(_, outcome)| is_nxdomain(outcome)).count();
    // With each goes one that is not the zone's: whether the resolver knows `com` at all.
    assert_eq!(answered as u64 * 2, seen.lookups(), "only what was asked about is said not to exist");
}

fn is_nxdomain(outcome: &AddressOutcome) -> bool {
    let AddressOutcome::Settled(said) = outcome else { return false };
    assert!(said.verdict.meta == "nxdomain" || said.verdict.status().as_str() == "unknown", "{:?}", said.verdict);
    said.verdict.meta == "nxdomain"
}

/// D3
#[tokio::test(start_paused = true)]
async fn under_a_domain_that_does_not_exist_nothing_is_looked_up() {
    let (lab, seen) = lab(&World::builder().build().expect("a world"), Wrong::default(), |_| {});
    assert_eq!(brief(&lab.live("ann@missing.com").await), "undeliverable/illegitimate/nxdomain");
    let asked = seen.lookups();
    let emails: Vec<String> = (0..500).map(|n| format!("ann@x{n}.missing.com")).collect();
    assert_eq!(count_of(&lab.batch(&emails).await, "undeliverable"), 500);
    assert_eq!(seen.lookups(), asked);
}

/// D4
#[tokio::test(start_paused = true)]
async fn when_the_dns_dies_within_a_job_the_job_ends_and_nobody_is_called_undeliverable() {
    const DOMAINS: usize = 120;
    let mut builder = World::builder();
    for n in 0..DOMAINS {
        builder = builder.site(&format!("d{n}.example.com"), Mailboxes::percent(100), Personality::default());
    }
    let world = builder.build().expect("a world");
    for (dies_after, dns_denies) in [0, 1, 7, 60, 200].into_iter().flat_map(|after| [(after, false), (after, true)]) {
        let wrong = Wrong { dns_dies_after: Some(dies_after), dns_denies, ..Wrong::default() };
        let (lab, seen) = lab(&world, wrong, |config| config.profile = PaceProfile::Open);
        let emails: Vec<String> =
            (0..DOMAINS * 4).map(|n| format!("u{}@d{}.example.com", n / DOMAINS, n % DOMAINS)).collect();
        let said = lab.batch(&emails).await;
        assert_eq!(count_of(&said, "undeliverable"), 0, "dies after {dies_after}, denies: {dns_denies}");
        assert!(count_of(&said, "unknown") > 0);
        // Three rounds of three questions for each domain at most, not for each address; and each denial is checked.
        let most = 9 * DOMAINS as u64 * (1 + u64::from(dns_denies));
        assert!(seen.lookups() <= most, "{} questions", seen.lookups());
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_begins_to_deny_everything_is_not_believed_for_what_it_knew_before() {
    let world = World::builder().site("example.com", people(), Personality::default()).build().expect("a world");
    // What exists, what does not, and that there is `com`; afterwards everything is denied.
    let wrong = Wrong { dns_dies_after: Some(3), dns_denies: true, ..Wrong::default() };
    let (lab, _) = lab(&world, wrong, |_| {});
    assert_eq!(brief(&lab.live("ann@missing.com").await), "undeliverable/illegitimate/nxdomain");
    let temporary = "unknown/unverified/dns_temporary";
    assert_eq!(brief(&lab.live("ann@example.com").await), temporary, "the name of its exchanger is denied");
    assert_eq!(brief(&lab.live("ann@other.com").await), temporary);
    assert_eq!(brief(&lab.live("ann@x.other.com").await), temporary);
}

#[tokio::test(start_paused = true)]
async fn what_is_under_an_alias_to_nowhere_may_exist() {
    let alias = Zone::alias("gone.example.net");
    let world = World::builder()
        .zone("shop.com", alias)
        .site("mail.shop.com", people(), Personality::default())
        .build()
        .expect("a world");
    let (lab, _) = lab(&world, Wrong::default(), |_| {});
    assert!(brief(&lab.live("ann@shop.com").await).starts_with("undeliverable/illegitimate/"));
    assert_eq!(brief(&lab.live("ann@mail.shop.com").await), "passed/valid/");
}

/// D4
#[tokio::test(start_paused = true)]
async fn a_failure_is_remembered_for_seconds_and_asked_about_again_afterwards() {
    let wrong = Wrong { dns_dies_after: Some(0), ..Wrong::default() };
    let (lab, seen) = lab(&World::builder().build().expect("a world"), wrong, |_| {});
    for n in 0..50 {
        lab.live(&format!("u{n}@d.example.com")).await;
    }
    assert_eq!(seen.lookups(), 1);
    lab.engine.wait_until(lab.engine.now() + 6_000).await;
    lab.live("ann@d.example.com").await;
    assert_eq!(seen.lookups(), 2);
}

/// D7
#[tokio::test(start_paused = true)]
async fn five_thousand_lookups_at_once_all_become_verdicts() {
    let mut builder = World::builder().host("mx.example.org", Personality::default()).dns_latency_ms(50);
    for n in 0..5_000 {
        builder = builder.zone(&format!("d{n}.com"), Zone::null_mx());
    }
    let world = builder.build().expect("a world");
    let lab = Lab::new(&world, 1, |config| config.domains_max = 5_000);
    let emails: Vec<String> = (0..5_000).map(|n| format!("ann@d{n}.com")).collect();
    let said = lab.batch(&emails).await;
    let metas: BTreeMap<&str, usize> = said.iter().fold(BTreeMap::new(), |mut metas, said| {
        *metas.entry(said.verdict.meta.as_ref()).or_default() += 1;
        metas
    });
    assert_eq!(metas, BTreeMap::from([("null_mx", 5_000)]));
}

/// D8
#[tokio::test(start_paused = true)]
async fn names_of_no_public_use_are_never_looked_up() {
    let (lab, seen) = lab(&World::builder().build().expect("a world"), Wrong::default(), |_| {});
    let names = [
        "localhost",
        "localhost.",
        "intranet",
        "metadata.google.internal",
        "printer.local",
        "abcdefgh.onion",
        "1.0.0.127.in-addr.arpa",
        "host.test",
        "host.invalid",
        "host.example",
        "[127.0.0.1]",
        "[IPv6:::1]",
        "127.0.0.1",
    ];
    for name in names {
        let said = lab.live(&format!("user@{name}")).await;
        assert_eq!(said.verdict.reason.as_str(), "invalid", "{name}: {:?}", said.verdict);
    }
    assert_eq!(seen.lookups(), 0);
    assert_eq!(lab.net.queries("localhost", QueryKind::Mx), 0);
}
