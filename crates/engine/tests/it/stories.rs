//! What the engine says of addresses in small worlds: one story a test, under a paused clock.

mod budgets;
mod dropped;
mod greylisted;
mod sessions;
mod strangers;

use probity_engine::net::ProbeSource;
use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, JobAddress, LiveCall, PriorAttempts};
use probity_mail::dns::QueryKind;
use probity_mail::policy::PaceProfile;
use probity_mailworld::{
    AfterMisses, At, DnsFault, FaultKind, Greylist, MailboxState, Mailboxes, Misbehaviour, Mx, Personality, Pipelining,
    Recipients, Tls, World, Zone,
};

use crate::world::{Lab, brief};

fn people() -> Mailboxes {
    Mailboxes::only(&["ann", "bob", "info"])
        .with("closed", MailboxState::Disabled)
        .with("full", MailboxState::Full)
        .with("stuffed", MailboxState::FullForNow)
        .with("club", MailboxState::Restricted)
        .with("busy", MailboxState::OverRate)
}

fn site(personality: Personality) -> std::sync::Arc<World> {
    World::builder().site("one.example.com", people(), personality).build().expect("a world")
}

async fn expect(lab: &Lab, cases: &[(&str, &str)]) {
    for (email, wanted) in cases {
        assert_eq!(brief(&lab.live(email).await), *wanted, "{email}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_honest_server_is_believed() {
    let lab = Lab::open(&site(Personality { tls: Tls::None, ..Personality::default() }));
    expect(
        &lab,
        &[
            ("ann@one.example.com", "passed/valid/"),
            ("nobody@one.example.com", "undeliverable/nonexistent/smtp_550_5.1.1"),
            ("info@one.example.com", "risky/role_based/role"),
            ("stuffed@one.example.com", "unknown/unverified/quota_temporary"),
            ("busy@one.example.com", "passed/valid/"),
        ],
    )
    .await;
    for (email, reason) in [("closed", "deactivated"), ("full", "inbox_full"), ("club", "failed_exchange")] {
        let said = lab.live(&format!("{email}@one.example.com")).await;
        assert_eq!(said.verdict.reason.as_str(), reason, "{email}: {:?}", said.evidence.probe);
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_address_takes_three_round_trips_and_a_further_one_takes_one() {
    let lab = Lab::open(&site(Personality { tls: Tls::None, ..Personality::default() }));
    lab.live("ann@one.example.com").await;
    let first = lab.engine.counters();
    assert_eq!((first.connections, first.waits, first.rcpts, first.random_rcpts), (1, 3, 2, 1));
    assert_eq!(first.queries, 3, "one MX, one A and one AAAA question");
    lab.live("bob@one.example.com").await;
    let second = lab.engine.counters();
    assert_eq!((second.connections, second.waits, second.rcpts), (1, 4, 3));
    assert_eq!(second.queries, 3);
}

#[tokio::test(start_paused = true)]
async fn two_slips_lead_only_away_from_domains_that_take_no_mail() {
    let world = World::builder()
        .site("rp-online.de", people(), Personality::default())
        .site("gmial.com", people(), Personality::default())
        .zone("inetia.pl", Zone::null_mx())
        .zone("bigpoint.com", Zone { addresses: vec!["192.0.2.80".parse().expect("an address")], ..Zone::default() })
        .zone("ingos.ru", Zone::failing(DnsFault::Servfail))
        .build()
        .expect("a world");
    let lab = Lab::open(&world);
    for (domain, meant) in [
        ("rp-online.de", None),
        ("ingos.ru", None),
        ("inetia.pl", Some("interia.pl")),
        ("gnaol.com", Some("gmail.com")),
        // The address of a web site, where nobody takes mail.
        ("bigpoint.com", Some("bigpond.com")),
        // One slip is a slip, even where somebody waits for it.
        ("gmial.com", Some("gmail.com")),
    ] {
        let said = lab.live(&format!("ann@{domain}")).await;
        let meant = meant.map(|meant| format!("ann@{meant}"));
        assert_eq!(said.suggestion, meant, "{domain}: {}", brief(&said));
    }
    // A suggestion has the form of the address that was given.
    for (typed, meant) in [
        ("ann@b\u{fc}cher,com", "ann@b\u{fc}cher.com"),
        ("ann@b\u{fc}cher.con", "ann@b\u{fc}cher.com"),
        ("ann@xn--bcher-kva.con", "ann@xn--bcher-kva.com"),
    ] {
        assert_eq!(lab.live(typed).await.suggestion.as_deref(), Some(meant), "{typed}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_takes_no_mail_is_illegitimate_and_what_cannot_be_looked_up_is_not() {
    let world = World::builder()
        .zone("null.example.com", Zone::null_mx())
        .zone("broken.example.com", Zone::failing(DnsFault::Servfail))
        .zone("slow.example.com", Zone::failing(DnsFault::Timeout))
        .zone("bare.example.com", Zone::default())
        .zone("lost.example.com", Zone::served_by(&["nowhere.example.com"]))
        .zone("inside.example.com", Zone::served_by(&["mail.internal"]))
        .build()
        .expect("a world");
    let lab = Lab::polite(&world);
    expect(
        &lab,
        &[
            ("a@null.example.com", "undeliverable/illegitimate/null_mx"),
            ("a@missing.example.com", "undeliverable/illegitimate/nxdomain"),
            ("a@broken.example.com", "unknown/unverified/dns_temporary"),
            ("a@slow.example.com", "unknown/unverified/dns_temporary"),
            ("a@bare.example.com", "undeliverable/illegitimate/no_mx"),
            ("a@lost.example.com", "undeliverable/illegitimate/mx_unroutable"),
            ("a@inside.example.com", "undeliverable/illegitimate/mx_unroutable"),
            ("a@localhost", "undeliverable/invalid/syntax"),
            ("not an address", "undeliverable/invalid/syntax"),
        ],
    )
    .await;
    assert_eq!(lab.net.hosts().connections, 0);
}

#[tokio::test(start_paused = true)]
async fn in_a_batch_names_that_cannot_be_looked_up_are_asked_again() {
    let broken = Zone::failing(DnsFault::Servfail);
    let lab = Lab::polite(&World::builder().zone("broken.example.com", broken).build().expect("a world"));
    let email = "a@broken.example.com".to_owned();
    let item = JobAddress { key: 0, email: email.as_str().into(), customer: 0, tries: PriorAttempts::default() };
    let first = lab.once(vec![item]).await;
    assert!(matches!(first[0].1, AddressOutcome::PutOff { why: "dns_temporary", .. }), "{first:?}");
    assert_eq!(brief(&lab.batch(&[email]).await[0]), "unknown/unverified/dns_temporary");
}

#[tokio::test(start_paused = true)]
async fn exchangers_at_special_addresses_are_never_dialled() {
    let mut builder = World::builder();
    let private = ["127.0.0.1", "10.1.2.3", "::1", "169.254.169.254", "::ffff:127.0.0.1"];
    let names: Vec<String> = (0..private.len()).map(|n| format!("mx{n}.example.com")).collect();
    for (name, address) in names.iter().zip(private) {
        let addresses = vec![address.parse().expect("an address")];
        builder = builder.zone(name, Zone { addresses, ..Zone::default() });
    }
    let hosts: Vec<&str> = names.iter().map(String::as_str).collect();
    let world = builder.zone("trap.example.com", Zone::served_by(&hosts)).build().expect("a world");
    let lab = Lab::new(&world, 1, |config| config.networks_allowed.clear());
    expect(&lab, &[("a@trap.example.com", "undeliverable/illegitimate/mx_unroutable")]).await;
    assert_eq!(lab.net.hosts().connections, 0);
}

#[tokio::test(start_paused = true)]
async fn catch_all_is_found_out_once_and_remembered() {
    let lab = Lab::open(&site(Personality { recipients: Recipients::AcceptAll, ..Personality::default() }));
    expect(&lab, &[("ann@one.example.com", "unknown/accept_all/catch_all")]).await;
    assert_eq!(lab.engine.counters().random_rcpts, 2);
    expect(&lab, &[("zoe@one.example.com", "unknown/accept_all/catch_all")]).await;
    assert_eq!(lab.engine.counters().random_rcpts, 2);
}

#[tokio::test(start_paused = true)]
async fn refusals_of_us_are_never_about_the_mailbox() {
    for at in [At::Banner, At::Ehlo, At::Mail, At::Rcpt] {
        for text in [
            "554 5.7.1 Service unavailable; Client host [198.51.100.7] blocked using zen.spamhaus.org",
            "550 5.7.25 The IP address sending this message does not have a PTR record",
            "550 5.1.8 Sender address rejected: Domain not found",
            "blocked",
        ] {
            let lab = Lab::polite(&site(Personality::default().refusing(at, text)));
            for local in ["ann", "nobody"] {
                let said = lab.live(&format!("{local}@one.example.com")).await;
                assert_eq!(said.verdict.reason.as_str(), "failed_exchange", "{at:?} {text} {:?}", said.verdict);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_us_opens_the_circuit_and_nothing_is_asked_until_it_closes() {
    let lab = Lab::polite(&site(Personality::default().refusing(At::Rcpt, "blocked")));
    lab.live("ann@one.example.com").await;
    let asked = lab.net.hosts();
    for n in 0..20 {
        lab.live(&format!("x{n}@one.example.com")).await;
    }
    assert_eq!(lab.net.hosts().rcpt, asked.rcpt);
    assert_eq!(lab.net.hosts().connections, asked.connections);
}

#[tokio::test(start_paused = true)]
async fn greylisting_answers_live_and_finishes_behind() {
    let grey = Greylist { delay_s: 300, hint: true };
    let lab = Lab::open(&site(Personality { greylist: Some(grey), ..Personality::default() }));
    let started = lab.engine.now();
    expect(&lab, &[("ann@one.example.com", "unknown/unverified/greylisted")]).await;
    assert!(lab.engine.now().since(started) < 5_000);
    lab.engine.wait_until(started + 900_000).await;
    let said = lab.live("ann@one.example.com").await;
    assert_eq!(said.evidence.source.name(), Some("cache"), "{said:?}");
    assert_eq!(brief(&said), "passed/valid/");
}

#[tokio::test(start_paused = true)]
async fn greylisting_in_a_batch_comes_back_from_the_same_source() {
    let grey = Greylist { delay_s: 300, hint: true };
    let lab = Lab::open(&site(Personality { greylist: Some(grey), ..Personality::default() }));
    let emails: Vec<String> = ["ann", "bob", "nobody"].iter().map(|local| format!("{local}@one.example.com")).collect();
    let said: Vec<String> = lab.batch(&emails).await.iter().map(|said| said.verdict.reason.to_string()).collect();
    assert_eq!(said, ["valid", "valid", "nonexistent"]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_first_exchanger_is_passed_over() {
    let world = World::builder()
        .zone("two.example.com", Zone::served_by(&["dead.example.com", "mx.example.com"]).with_mailboxes(people()))
        .zone("dead.example.com", Zone { addresses: vec!["203.0.114.9".parse().expect("ip")], ..Zone::default() })
        .host("mx.example.com", Personality::default())
        .build()
        .expect("a world");
    expect(&Lab::open(&world), &[("ann@two.example.com", "passed/valid/")]).await;
}

#[tokio::test(start_paused = true)]
async fn that_one_exchanger_checks_its_recipients_says_nothing_about_another() {
    let mx = |host: &str| Mx { preference: 10, host: host.to_owned() };
    let world = World::builder()
        .zone("two.example.com", Zone { mx: vec![mx("strict.example.com"), mx("all.example.com")], ..Zone::default() })
        .host("strict.example.com", Personality::default())
        .host("all.example.com", Personality { recipients: Recipients::AcceptAll, ..Personality::default() })
        .build()
        .expect("a world");
    let lab = Lab::open(&world);
    let mut by_host = std::collections::BTreeMap::<String, u32>::new();
    for n in 0..12 {
        let said = lab.live(&format!("nobody{n}@two.example.com")).await;
        let host = said.evidence.probe.as_ref().expect("a probe").host.to_string();
        let wanted = if host == "all.example.com" { "accept_all" } else { "nonexistent" };
        assert_eq!(said.verdict.reason.as_str(), wanted, "at {host}");
        *by_host.entry(host).or_default() += 1;
    }
    assert_eq!(by_host.len(), 2, "equal exchangers take turns: {by_host:?}");
    assert_eq!(lab.engine.counters().random_rcpts, 3, "each is found out once");
}

#[tokio::test(start_paused = true)]
async fn broken_tls_is_asked_once_more_in_the_clear() {
    for tls in [Tls::ClosesHandshake, Tls::Garbage, Tls::Stalls, Tls::Injection, Tls::Refused] {
        let lab = Lab::open(&site(Personality { tls, ..Personality::default() }));
        let said = lab.live("ann@one.example.com").await;
        assert_eq!(brief(&said), "passed/valid/", "{tls:?}");
        assert!(!said.evidence.probe.expect("a probe").tls);
        assert!(lab.engine.counters().connections <= 2, "{tls:?}");
    }
    for tls in [Tls::Offered, Tls::Required] {
        let lab = Lab::open(&site(Personality { tls, ..Personality::default() }));
        let said = lab.live("ann@one.example.com").await;
        assert_eq!(brief(&said), "passed/valid/", "{tls:?}");
        assert!(said.evidence.probe.expect("a probe").tls);
    }
}

#[tokio::test(start_paused = true)]
async fn servers_with_quirks_still_get_a_true_verdict() {
    let quirks = [
        Personality { pipelining: Pipelining::None, ..Personality::default() },
        Personality { pipelining: Pipelining::DropsEarly, ..Personality::default() },
        Personality { ehlo: false, ..Personality::default() },
        Personality::default().with_fault(At::Rcpt, FaultKind::BareLf),
        Personality::default().with_fault(At::Rcpt, FaultKind::EightBit),
        Personality::default().with_fault(At::Banner, FaultKind::Nul),
    ];
    for personality in quirks {
        let lab = Lab::open(&site(personality.clone()));
        for (local, reason) in [("ann", "valid"), ("nobody", "nonexistent")] {
            let said = lab.live(&format!("{local}@one.example.com")).await;
            assert_eq!(said.verdict.reason.as_str(), reason, "{personality:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn servers_that_break_the_protocol_give_no_verdict() {
    for kind in [
        FaultKind::Endless,
        FaultKind::Huge,
        FaultKind::NoLineEnd,
        FaultKind::CodeMismatch,
        FaultKind::BadCode,
        FaultKind::Twice,
        FaultKind::Premature,
        FaultKind::Silence,
        FaultKind::Close,
        FaultKind::Reset,
    ] {
        let lab = Lab::open(&site(Personality::default().with_fault(At::Rcpt, kind)));
        for local in ["ann", "nobody"] {
            let started = lab.engine.now();
            let said = lab.live(&format!("{local}@one.example.com")).await;
            assert_eq!(said.verdict.reason.as_str(), "unverified", "{kind:?} {:?}", said.verdict);
            assert!(lab.engine.now().since(started) <= 20_000, "{kind:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_caller_holds_against_a_tarpit() {
    let mut slow = Personality::default();
    slow.pace.byte_ms = 1_000;
    let lab = Lab::open(&site(slow));
    let started = lab.engine.now();
    let said = lab.engine.verify("ann@one.example.com", LiveCall { timeout_ms: 3_000, scope: 0 }).await;
    assert_eq!(brief(&said), "unknown/unverified/timeout");
    assert_eq!(lab.engine.now().since(started), 3_000);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lies_after_many_misses_is_not_believed() {
    let lies = AfterMisses { count: 12, then: Misbehaviour::Lie };
    let world = site(Personality { after_misses: Some(lies), ..Personality::default() });
    let lab = Lab::open(&world);
    let emails: Vec<String> = (0..400).map(|n| format!("nobody{n}@one.example.com")).collect();
    for said in lab.batch(&emails).await {
        assert_ne!(said.verdict.status().as_str(), "passed", "{:?}", said.verdict);
    }
}

#[tokio::test(start_paused = true)]
async fn providers_that_never_tell_are_not_asked() {
    let world = World::builder()
        .zone("shop.example.com", Zone::served_by(&["mx-biz.mail.am0.yahoodns.net"]))
        .host("mx-biz.mail.am0.yahoodns.net", Personality::default())
        .build()
        .expect("a world");
    let lab = Lab::polite(&world);
    expect(&lab, &[("ann@shop.example.com", "unknown/unverified/provider_opaque")]).await;
    assert_eq!(lab.net.hosts().connections, 0);
    assert_eq!(lab.net.queries("shop.example.com", QueryKind::Mx), 1);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_questions_about_one_domain_are_one_query() {
    let lab = Lab::new(&site(Personality::default()), 1, |config| config.profile = PaceProfile::Open);
    let emails: Vec<String> = (0..1_000).map(|n| format!("u{n}@one.example.com")).collect();
    lab.batch(&emails).await;
    assert_eq!(lab.net.query_total(), 3);
    assert!(lab.net.hosts().connections <= 20, "{:?}", lab.net.hosts());
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_knows_no_public_names_makes_nobody_undeliverable() {
    // A machine without a network, or behind a gate: the resolver answers, and denies whatever it is asked for.
    let world = World::builder()
        .zone("com", Zone::failing(DnsFault::Nxdomain))
        .zone("alias.com", Zone::alias("gone.example.net"))
        .build()
        .expect("a world");
    let lab = Lab::polite(&world);
    expect(&lab, &[("ann@alias.com", "unknown/unverified/dns_temporary")]).await;
    expect(&lab, &[("ann@example.com", "unknown/unverified/dns_temporary")]).await;
    expect(&lab, &[("ann@sub.example.com", "unknown/unverified/dns_temporary")]).await;
    // The rest of the names are denied by one that knows their top-level domain.
    expect(&lab, &[("ann@example.org", "undeliverable/illegitimate/nxdomain")]).await;
    assert_eq!(lab.engine.counters().queries, 8, "four names and their top-level domains");
}

#[tokio::test(start_paused = true)]
async fn mail_that_comes_to_this_machine_is_not_undeliverable() {
    let own: std::net::IpAddr = "11.9.9.9".parse().expect("an address");
    let world = World::builder()
        .zone("mx.example.com", Zone { addresses: vec![own], ..Zone::default() })
        .zone("home.example.com", Zone::served_by(&["mx.example.com"]))
        .build()
        .expect("a world");
    let lab = Lab::new(&world, 1, |config| {
        let source = ProbeSource { public: Some(own), ..(*config.sources[0]).clone() };
        (config.sources, config.networks_allowed) = (vec![source.into()], Vec::new());
    });
    expect(&lab, &[("ann@home.example.com", "unknown/unverified/dns_temporary")]).await;
    assert_eq!(lab.net.hosts().connections, 0);
}
