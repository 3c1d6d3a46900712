//! Runs in memory: the same seed gives the same trace, counters count, world files say what they should.

use std::sync::Arc;

use probity_engine::net::Net;
use probity_mail::dns::{DnsAnswer, DnsFailure, DnsRecord, QueryKind};
use probity_mailworld::{
    DnsFault, Happening, MailboxState, Mailboxes, MemoryNet, Personality, TraceHash, World, WorldError, Zone,
};

use crate::dialogue::{Client, dial, now, source};
use crate::personalities::world;

/// Ten clients at once ask a flip-flopping server.
async fn busy_run(seed: u64) -> (TraceHash, u64) {
    let net = world(Personality::preset("flip_flop").unwrap()).net(seed);
    let clients: Vec<_> = (0..10)
        .map(|i| {
            let net = Arc::clone(&net);
            tokio::spawn(async move {
                let mut client = dial(&net, "mx.a.test", source(&format!("203.0.113.{i}"))).await.unwrap();
                client.greet().await;
                for _ in 0..10 {
                    client.rcpt("anna@a.test").await;
                }
                client.say("QUIT").await;
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let trace = net.trace();
    (trace.hash(), trace.total())
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_one_trace() {
    let first = busy_run(3).await;
    assert!(first.1 > 10 * 25, "{first:?}");
    assert_eq!(first, busy_run(3).await);
    assert_ne!(first.0, busy_run(4).await.0);
}

#[tokio::test(start_paused = true)]
async fn questions_are_counted_by_name_and_kind() {
    let net = world(Personality::default()).net(1);
    for _ in 0..3 {
        net.lookup("a.test", QueryKind::Mx).await;
    }
    net.lookup("mx.a.test", QueryKind::A).await;
    assert_eq!(net.queries("a.test", QueryKind::Mx), 3);
    assert_eq!(net.queries("a.test", QueryKind::A), 0);
    assert_eq!(net.query_total(), 4);
}

#[tokio::test(start_paused = true)]
async fn answers_have_lifetimes_and_failures_take_their_time() {
    let world = World::builder()
        .zone("a.test", Zone { ttl_s: 60, ..Zone::served_by(&["mx.a.test"]) })
        .zone("late.test", Zone::failing(DnsFault::Timeout))
        .dns_latency_ms(7)
        .build()
        .unwrap();
    let net = world.net(1);
    let start = now();
    assert_eq!(net.lookup("a.test", QueryKind::Mx).await.ttl_ms, 60_000);
    assert_eq!(start.elapsed().as_millis(), 7);
    let late = net.lookup("late.test", QueryKind::Mx).await;
    assert_eq!((late.answer, late.ttl_ms), (DnsAnswer::Failed(DnsFailure::TimedOut), 0));
    assert_eq!(start.elapsed().as_millis(), 5_007);
}

#[tokio::test(start_paused = true)]
async fn rotating_addresses_rebind() {
    let addresses = vec!["203.0.113.1".parse().unwrap(), "127.0.0.1".parse().unwrap()];
    let zone = Zone { addresses: addresses.clone(), rotate: true, ttl_s: 0, ..Zone::default() };
    let net = World::builder().zone("evil.test", zone).build().unwrap().net(1);
    let mut seen = Vec::new();
    for _ in 0..4 {
        match net.lookup("evil.test", QueryKind::A).await.answer {
            DnsAnswer::Records(records) => seen.extend(records),
            other => panic!("{other:?}"),
        }
    }
    let expected: Vec<_> = addresses.iter().cycle().take(4).map(|a| DnsRecord::Address(*a)).collect();
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn a_host_can_change_its_mind() {
    let net: Arc<MemoryNet> = world(Personality::default()).net(1);
    let ask = async |net: &MemoryNet| {
        let mut client = Client::open(net, "mx.a.test").await;
        client.greet().await;
        client.rcpt("anna@a.test").await
    };
    assert!(ask(&net).await.starts_with("250"));
    net.retune("mx.a.test", Personality::preset("blocks_rcpt").unwrap());
    assert!(ask(&net).await.starts_with("554"));
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_trace_keeps_none() {
    let net = world(Personality::default()).net_without_trace(1);
    let mut client = Client::open(&net, "mx.a.test").await;
    client.greet().await;
    assert_eq!(net.trace().total(), 0);
    assert_eq!(net.host("mx.a.test").mail, 1);
}

#[tokio::test(start_paused = true)]
async fn the_documented_world_file_is_one() {
    let page = include_str!("../../../../docs/sandbox.md");
    let file = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let world = World::builder().file(file).unwrap().build().unwrap();
    let host = world.host("mx.example.test").unwrap();
    assert_eq!((host.latency_ms, host.personality.dialect.as_str()), (20, "exim"));
    assert_eq!(host.personality.greylist, Personality::preset("greylister").unwrap().greylist, "kept from the base");
    assert_eq!(host.personality.limits.drop_after_errors, 20);
    let (_, zone) = world.zones().next().unwrap();
    assert_eq!(zone.mailboxes.state("old", "example.test"), MailboxState::Disabled);
    let net = world.net(1);
    assert!(matches!(net.lookup("d9999.load.test", QueryKind::Mx).await.answer, DnsAnswer::Records(_)));
}

#[test]
fn wrong_worlds_are_refused_with_a_reason() {
    let fail = |text: &str| World::builder().file(text).and_then(probity_mailworld::Builder::build).unwrap_err();
    let error = fail("[zones.\"a.test\"]\nmx = [\"mx.a.test\"]");
    assert!(error.to_string().contains("an MX record reads"), "{error}");
    assert!(fail("[zones.\"a.test\"]\nmxx = []").to_string().contains("unknown field"));
    assert!(matches!(fail("[hosts.\"a.test\"]\npersonality = \"odd\""), WorldError::UnknownPersonality(_)));
    assert!(matches!(fail("[personalities.x]\nbase = \"odd\""), WorldError::UnknownPersonality(_)));
    assert!(matches!(
        fail("[personalities.x]\ndialect = \"odd\"\n[hosts.\"a.test\"]\npersonality = \"x\""),
        WorldError::UnknownDialect(_)
    ));
    assert!(matches!(
        fail("[hosts.a]\naddresses = [\"203.0.113.1\"]\n[hosts.b]\naddresses = [\"203.0.113.1\"]"),
        WorldError::SharedAddress(_)
    ));
    let refusing = Personality::default().refusing(probity_mailworld::At::Mail, "go away");
    let world = World::builder().site("a.test", Mailboxes::default(), refusing);
    assert!(matches!(world.build(), Err(WorldError::RefusalText(_))));
}

#[tokio::test(start_paused = true)]
async fn the_trace_tells_what_happened() {
    let net = world(Personality::default()).net(1);
    let mut client = Client::open(&net, "mx.a.test").await;
    client.greet().await;
    client.say("QUIT").await;
    let trace = net.trace();
    let commands: Vec<_> = trace
        .events()
        .iter()
        .filter_map(|event| match &event.what {
            Happening::Command(line) => Some(line.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(commands, ["EHLO probe.test", "MAIL FROM:<me@probe.test>", "QUIT"]);
    assert_eq!(trace.events()[0].what, Happening::Query(QueryKind::A));
    assert_eq!(trace.events()[1].what, Happening::Connect("203.0.113.7".parse().unwrap()));
}
