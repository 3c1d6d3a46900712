//! The resolver of the real network against a name server with every habit that matters.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::join_all;
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, PTR, TXT};
use hickory_proto::rr::{Name, RData, Record};
use probity_engine::net::Net;
use probity_engine::net::egress::{EgressGuard, GuardConfig};
use probity_engine::net::real::{RealNet, RealNetConfig, reverse_name};
use probity_mail::dns::{DnsAnswer, DnsFailure, DnsLookup, DnsRecord, QueryKind};

use crate::name_server::{NameServer, Via, asked, bytes, cname, mx, name, response, with_soa};

/// One zone with a name for each habit.
fn zone(question: &Message, via: Via) -> Option<Vec<u8>> {
    let asked = asked(question);
    let owner = asked.as_str();
    let answer = |records| bytes(&response(question, ResponseCode::NoError, records));
    let code = |code| response(question, code, Vec::new());
    match owner {
        "ok.example" => {
            answer(vec![mx(owner, 300, 10, name("MX1.Example.COM")), mx(owner, 200, 20, name("mx2.example.com"))])
        }
        "v4.example" => answer(vec![record(owner, 60, RData::A(A::new(192, 0, 2, 1)))]),
        "v6.example" => answer(vec![record(owner, 60, RData::AAAA(AAAA::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)))]),
        "text.example" => {
            let strings = vec!["v=spf1 ".to_owned(), "-all".to_owned()];
            answer(vec![record(owner, 60, RData::TXT(TXT::new(strings)))])
        }
        "7.2.0.192.in-addr.arpa" => answer(vec![record(owner, 60, RData::PTR(PTR(name("Host.Example"))))]),
        "absent.example" => with_soa(code(ResponseCode::NXDomain), 300, 60),
        "empty.example" => with_soa(code(ResponseCode::NoError), 30, 900),
        "bare.example" => bytes(&code(ResponseCode::NoError)),
        "referral.example" => {
            let mut referral = code(ResponseCode::NoError);
            let server = hickory_proto::rr::rdata::NS(name("ns.example"));
            referral.authorities.push(record(owner, 60, RData::NS(server)));
            bytes(&referral)
        }
        "servfail.example" => bytes(&code(ResponseCode::ServFail)),
        "refused.example" => bytes(&code(ResponseCode::Refused)),
        "formerr.example" => bytes(&code(ResponseCode::FormErr)),
        "silent.example" => None,
        "unreadable.example" => answer(vec![mx(owner, 60, 1, name("mx.example"))]).map(|mut bytes| {
            bytes.truncate(bytes.len() - 3);
            bytes
        }),
        "foreign.example" => answer(vec![mx("other.example", 60, 1, name("mx.example"))]),
        "null.example" => answer(vec![mx(owner, 60, 0, Name::root())]),
        "weird.example" => answer(weird_hosts().into_iter().map(|host| mx(owner, 60, 1, host)).collect()),
        "ageless.example" => answer(vec![mx(owner, 0x8000_0001, 1, name("mx.example"))]),
        // Echoes the question in lower case, as an answer would look that was forged blindly.
        "lower-case-question.example" => {
            let mut lowered = question.clone();
            lowered.queries[0].set_name(name(owner));
            let address = |octet| vec![record(owner, 60, RData::A(A::new(192, 0, 2, octet)))];
            let from = if via == Via::Udp { 66 } else { 1 };
            bytes(&response(&lowered, ResponseCode::NoError, address(from)))
        }
        _ if owner.ends_with("many.example") => many(question, owner, via),
        _ if owner.ends_with("load.example") => answer(vec![record(owner, 60, RData::A(A::new(192, 0, 2, 1)))]),
        _ if owner.ends_with("slow.example") && via == Via::Udp => {
            let mut truncated = code(ResponseCode::NoError);
            truncated.metadata.truncation = true;
            bytes(&truncated)
        }
        _ if owner.ends_with("slow.example") => answer(vec![record(owner, 60, RData::A(A::new(192, 0, 2, 1)))]),
        _ => aliases(question, owner),
    }
}

fn record(owner: &str, ttl: u32, data: RData) -> Record {
    Record::from_rdata(name(owner), ttl, data)
}

fn weird_hosts() -> Vec<Name> {
    let labels: [&[&[u8]]; 4] = [&[b"a.b", b"example"], &[b"\0\xff", b"example"], &[b" "], &[b"*", b"example"]];
    labels.iter().map(|labels| Name::from_labels(labels.iter().copied()).unwrap()).collect()
}

/// 1,000 exchangers, which do not fit into a datagram.
fn many(question: &Message, owner: &str, via: Via) -> Option<Vec<u8>> {
    let mut records = Vec::new();
    if via == Via::Tcp {
        records = (0..1_000).map(|n| mx(owner, 60, n, name(&format!("mx{n}.example")))).collect();
    }
    let mut response = response(question, ResponseCode::NoError, records);
    response.metadata.truncation = via == Via::Udp;
    bytes(&response)
}

/// Aliases: whole chains in one response, and servers that give one link at a time.
fn aliases(question: &Message, owner: &str) -> Option<Vec<u8>> {
    let answer = |records| bytes(&response(question, ResponseCode::NoError, records));
    match owner {
        "alias.example" => answer(vec![
            cname(owner, 500, "second.example"),
            cname("second.example", 40, "third.example"),
            mx("third.example", 300, 5, name("mx.example")),
        ]),
        "toabsent.example" => {
            let chain = vec![cname(owner, 20, "absent.example")];
            with_soa(response(question, ResponseCode::NXDomain, chain), 300, 60)
        }
        "toempty.example" => {
            let chain = vec![cname(owner, 600, "empty.example")];
            with_soa(response(question, ResponseCode::NoError, chain), 300, 60)
        }
        "toservfail.example" => answer(vec![cname(owner, 600, "servfail.example")]),
        "stepwise.example" => answer(vec![cname(owner, 100, "ok.example")]),
        "loop.example" => answer(vec![cname(owner, 60, "pool.example"), cname("pool.example", 60, owner)]),
        "steploop.example" => answer(vec![cname(owner, 60, "looped.example")]),
        "looped.example" => answer(vec![cname(owner, 60, "steploop.example")]),
        "self.example" => answer(vec![cname(owner, 60, owner)]),
        "longchain.example" => {
            let mut chain = vec![cname(owner, 60, "l0.example")];
            chain.extend((0..40).map(|n| cname(&format!("l{n}.example"), 60, &format!("l{}.example", n + 1))));
            chain.push(mx("l40.example", 60, 1, name("mx.example")));
            answer(chain)
        }
        // "step7.example" is an alias of "step6.example" and so on, to "step0.example", which has the records.
        "step0.example" => answer(vec![mx(owner, 60, 1, name("mx.example"))]),
        _ => {
            let steps: u32 = owner.strip_prefix("step")?.strip_suffix(".example")?.parse().ok()?;
            answer(vec![cname(owner, 60, &format!("step{}.example", steps - 1))])
        }
    }
}

/// A net that asks each server so often, and waits so long for each answer.
fn net_with(servers: &[SocketAddr], attempts: usize, timeout_ms: u64) -> RealNet {
    let guard = Arc::new(EgressGuard::new(GuardConfig::default()));
    RealNet::new(RealNetConfig { name_servers: servers.to_vec(), timeout_ms, attempts, ..RealNetConfig::new(guard) })
        .unwrap()
}

/// A net whose questions are not cut short on a busy machine.
fn patient_net(servers: &[SocketAddr]) -> RealNet {
    net_with(servers, 2, 120_000)
}

fn found(records: Vec<DnsRecord>, ttl_ms: i64) -> DnsLookup {
    DnsLookup { answer: DnsAnswer::Records(records), ttl_ms }
}

fn failed(failure: DnsFailure) -> DnsLookup {
    DnsLookup { answer: DnsAnswer::Failed(failure), ttl_ms: 0 }
}

fn exchanger(preference: u16, host: &str) -> DnsRecord {
    DnsRecord::Mx { preference, host: host.into() }
}

#[tokio::test]
async fn reads_every_kind_of_record() {
    let server = NameServer::start(zone).await;
    let net = patient_net(&[server.address]);
    let exchangers = vec![exchanger(10, "mx1.example.com"), exchanger(20, "mx2.example.com")];
    assert_eq!(net.lookup("ok.example", QueryKind::Mx).await, found(exchangers, 200_000));
    let address = |text: &str| vec![DnsRecord::Address(text.parse().unwrap())];
    assert_eq!(net.lookup("v4.example", QueryKind::A).await, found(address("192.0.2.1"), 60_000));
    assert_eq!(net.lookup("v6.example", QueryKind::Aaaa).await, found(address("2001:db8::1"), 60_000));
    let text = vec![DnsRecord::Txt("v=spf1 -all".into())];
    assert_eq!(net.lookup("text.example", QueryKind::Txt).await, found(text, 60_000));
    let reverse = reverse_name("192.0.2.7".parse().unwrap());
    assert_eq!(net.lookup(&reverse, QueryKind::Ptr).await, found(vec![DnsRecord::Ptr("host.example".into())], 60_000));
    assert_eq!(net.lookup("null.example", QueryKind::Mx).await, found(vec![exchanger(0, "")], 60_000));
}

#[tokio::test]
async fn tells_no_from_no_answer() {
    let server = NameServer::start(zone).await;
    let (net, hasty) = (patient_net(&[server.address]), net_with(&[server.address], 2, 200));
    assert_eq!(hasty.lookup("silent.example", QueryKind::Mx).await, failed(DnsFailure::TimedOut));
    let none = |answer, ttl_ms| DnsLookup { answer, ttl_ms };
    for (name, expected) in [
        // RFC 2308 section 5: the lesser of the SOA's minimum and its own lifetime.
        ("absent.example", none(DnsAnswer::NoName, 60_000)),
        ("empty.example", none(DnsAnswer::Empty, 30_000)),
        ("bare.example", none(DnsAnswer::Empty, 0)),
        ("referral.example", failed(DnsFailure::Refused)),
        ("servfail.example", failed(DnsFailure::ServFail)),
        ("refused.example", failed(DnsFailure::Refused)),
        ("formerr.example", failed(DnsFailure::Refused)),
        ("unreadable.example", failed(DnsFailure::Malformed)),
        ("foreign.example", failed(DnsFailure::Malformed)),
        // RFC 2181 section 8.
        ("ageless.example", found(vec![exchanger(1, "mx.example")], 0)),
    ] {
        assert_eq!(net.lookup(name, QueryKind::Mx).await, expected, "{name}");
    }
}

#[tokio::test]
async fn a_failure_is_not_hammered_at() {
    let server = NameServer::start(zone).await;
    patient_net(&[server.address]).lookup("servfail.example", QueryKind::Mx).await;
    assert_eq!(server.questions(), 1);
}

#[tokio::test]
async fn follows_aliases_as_far_as_is_sane() {
    let server = NameServer::start(zone).await;
    let net = patient_net(&[server.address]);
    let mx = |ttl_ms| found(vec![exchanger(1, "mx.example")], ttl_ms);
    for (name, expected) in [
        ("alias.example", found(vec![exchanger(5, "mx.example")], 40_000)),
        ("toabsent.example", DnsLookup { answer: DnsAnswer::NoTarget, ttl_ms: 20_000 }),
        ("toempty.example", DnsLookup { answer: DnsAnswer::Empty, ttl_ms: 60_000 }),
        ("toservfail.example", failed(DnsFailure::ServFail)),
        ("step8.example", mx(60_000)),
        ("step9.example", failed(DnsFailure::Malformed)),
        ("loop.example", failed(DnsFailure::Malformed)),
        ("self.example", failed(DnsFailure::Malformed)),
        ("steploop.example", failed(DnsFailure::Malformed)),
        ("longchain.example", failed(DnsFailure::Malformed)),
    ] {
        let before = server.questions();
        assert_eq!(net.lookup(name, QueryKind::Mx).await, expected, "{name}");
        assert!(server.questions() - before <= 12, "{name} took {} questions", server.questions() - before);
    }
    let stepwise = net.lookup("stepwise.example", QueryKind::Mx).await;
    assert_eq!(stepwise.ttl_ms, 100_000, "the link's lifetime is the shortest");
}

#[tokio::test]
async fn truncated_answers_come_by_tcp() {
    let server = NameServer::start(zone).await;
    let net = patient_net(&[server.address]);
    let expected: Vec<_> = (0..1_000).map(|n| exchanger(n, &format!("mx{n}.example"))).collect();
    assert_eq!(net.lookup("many.example", QueryKind::Mx).await, found(expected, 60_000));
    // Many at once share one connection and none is turned away as busy.
    let names: Vec<_> = (0..100).map(|n| format!("n{n}.many.example")).collect();
    let answers = join_all(names.iter().map(|name| net.lookup(name, QueryKind::Mx))).await;
    for lookup in answers {
        assert!(matches!(&lookup.answer, DnsAnswer::Records(records) if records.len() == 1_000), "{:?}", lookup.answer);
    }
}

#[tokio::test]
async fn a_datagram_that_does_not_keep_the_case_is_not_believed() {
    let server = NameServer::start(zone).await;
    let net = patient_net(&[server.address]);
    let answer = net.lookup("lower-case-question.example", QueryKind::A).await;
    let genuine = DnsRecord::Address("192.0.2.1".parse().unwrap());
    // One question in 2^24 happens to be all lower case.
    assert_eq!(answer, found(vec![genuine], 60_000));
}

#[tokio::test]
async fn weird_hosts_come_out_escaped_and_are_never_asked_for() {
    let server = NameServer::start(zone).await;
    let net = patient_net(&[server.address]);
    let DnsAnswer::Records(records) = net.lookup("weird.example", QueryKind::Mx).await.answer else {
        panic!("no records");
    };
    assert_eq!(records.len(), weird_hosts().len());
    let before = server.questions();
    for record in records {
        let DnsRecord::Mx { host, .. } = record else { panic!("{record:?} is no exchanger") };
        assert!(host.is_ascii() && !host.contains(char::is_control), "{host:?}");
        assert_eq!(net.lookup(&host, QueryKind::A).await, failed(DnsFailure::Malformed), "{host:?}");
    }
    for name in ["", ".", "a..example", "bücher.example", "a b.example", "a\0.example"] {
        assert_eq!(net.lookup(name, QueryKind::Mx).await, failed(DnsFailure::Malformed), "{name:?}");
    }
    assert_eq!(server.questions(), before);
}

#[tokio::test]
async fn another_server_answers_where_one_fails() {
    fn broken(question: &Message, _via: Via) -> Option<Vec<u8>> {
        bytes(&response(question, ResponseCode::ServFail, Vec::new()))
    }
    fn dead(_question: &Message, _via: Via) -> Option<Vec<u8>> {
        None
    }
    let good = NameServer::start(zone).await;
    for bad in [NameServer::start(broken).await, NameServer::start(dead).await] {
        // The silent server is waited for once.
        let net = net_with(&[bad.address, good.address], 2, 2_000);
        for _ in 0..2 {
            assert!(matches!(net.lookup("ok.example", QueryKind::Mx).await.answer, DnsAnswer::Records(_)));
        }
        let asked_in_vain = bad.questions();
        net.lookup("v4.example", QueryKind::A).await;
        assert_eq!(bad.questions(), asked_in_vain, "the server that answers is asked first from then on");
    }
}

/// 5,000 questions at once, none of which may come back as anything but answered.
async fn all_at_once(zone_name: &'static str) {
    let server = NameServer::start(zone).await;
    // All datagrams of a question can be lost in the burst, so it is soon asked again.
    let net = Arc::new(net_with(&[server.address], 24, 10_000));
    let lookups = (0..5_000).map(|n| {
        let net = net.clone();
        tokio::spawn(async move { net.lookup(&format!("d{n}.{zone_name}"), QueryKind::A).await.answer })
    });
    for answer in join_all(lookups).await {
        assert!(matches!(answer, Ok(DnsAnswer::Records(_))), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thousands_at_once_wait_in_line() {
    all_at_once("load.example").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thousands_at_once_by_tcp_wait_in_line() {
    all_at_once("slow.example").await;
}

#[tokio::test]
async fn beyond_the_line_it_is_our_overload() {
    fn dead(_question: &Message, _via: Via) -> Option<Vec<u8>> {
        None
    }
    let server = NameServer::start(dead).await;
    let guard = Arc::new(EgressGuard::new(GuardConfig::default()));
    let net = RealNet::new(RealNetConfig {
        name_servers: vec![server.address],
        timeout_ms: 200,
        attempts: 1,
        in_flight_max: 2,
        queued_max: 3,
        guard,
    })
    .unwrap();
    let names = ["a.example", "b.example", "c.example", "d.example"];
    let answers = join_all(names.map(|name| net.lookup(name, QueryKind::A))).await;
    let overloaded = answers.iter().filter(|lookup| **lookup == failed(DnsFailure::Overload)).count();
    let timed_out = answers.iter().filter(|lookup| **lookup == failed(DnsFailure::TimedOut)).count();
    assert_eq!((overloaded, timed_out), (1, 3));
}
