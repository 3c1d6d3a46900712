//! The same world on sockets: DNS through a real resolver, SMTP through real connections.

use std::net::{IpAddr, SocketAddr};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{RData, RecordType};
use probity_mailworld::{Bind, DnsFault, LoopbackWorld, Mailboxes, Mx, Personality, World, Zone, load};
use tokio::net::{TcpStream, UdpSocket};

use crate::dialogue::Client;
use crate::personalities::world;

fn resolver(dns: SocketAddr) -> TokioResolver {
    let mut server = NameServerConfig::udp_and_tcp(dns.ip());
    for connection in &mut server.connections {
        connection.port = dns.port();
    }
    let config = ResolverConfig::from_parts(None, vec![], vec![server]);
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).build().unwrap()
}

async fn ask(resolver: &TokioResolver, name: &str, kind: RecordType) -> Vec<String> {
    match resolver.lookup(format!("{name}."), kind).await {
        Ok(lookup) => lookup.answers().iter().filter(|r| r.record_type() == kind).map(|r| r.data.to_string()).collect(),
        Err(error) => vec![format!("{error}")],
    }
}

#[expect(clippy::disallowed_methods, reason = "a test client on loopback")]
async fn connect(world: &LoopbackWorld, address: IpAddr) -> Client {
    Client::new(Box::new(TcpStream::connect((address, world.smtp_port())).await.unwrap()))
}

async fn address_of(resolver: &TokioResolver, host: &str) -> IpAddr {
    let lookup = resolver.lookup(format!("{host}."), RecordType::A).await.unwrap();
    match lookup.answers()[0].data {
        RData::A(a) => IpAddr::V4(a.0),
        ref other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_resolver_understands_every_answer() {
    let many = (0..200).map(|i| Mx { preference: i, host: format!("mx{i}.many.test") }).collect();
    let world = World::builder()
        .site("a.test", Mailboxes::only(&["anna"]), Personality::default())
        .zone("null.test", Zone::null_mx())
        .zone("alias.test", Zone::alias("a.test"))
        .zone("many.test", Zone { mx: many, ..Zone::default() })
        .zone("txt.test", Zone { txt: vec!["x".repeat(300)], ..Zone::default() })
        .zone("inside.test", Zone { addresses: vec!["10.0.0.1".parse().unwrap()], ..Zone::default() })
        .zone("broken.test", Zone::failing(DnsFault::Servfail))
        .build()
        .unwrap();
    let world = LoopbackWorld::start(world, Bind::default()).await.unwrap();
    let resolver = resolver(world.dns());
    assert_eq!(ask(&resolver, "a.test", RecordType::MX).await, ["10 mx.a.test."]);
    assert_eq!(ask(&resolver, "A.Test", RecordType::MX).await, ["10 mx.a.test."]);
    assert_eq!(ask(&resolver, "alias.test", RecordType::MX).await, ["10 mx.a.test."]);
    assert_eq!(ask(&resolver, "null.test", RecordType::MX).await, ["0 ."]);
    assert_eq!(ask(&resolver, "mx.a.test", RecordType::A).await, ["127.1.0.1"]);
    assert_eq!(ask(&resolver, "1.0.1.11.in-addr.arpa", RecordType::PTR).await, ["mx.a.test."]);
    assert_eq!(
        ask(&resolver, "inside.test", RecordType::A).await,
        ["10.0.0.1"],
        "an address of no host is announced as it is"
    );
    assert_eq!(ask(&resolver, "many.test", RecordType::MX).await.len(), 200, "comes over TCP");
    assert_eq!(ask(&resolver, "txt.test", RecordType::TXT).await, ["x".repeat(300)]);
    for (name, kind, code) in [
        ("nobody.test", RecordType::MX, "NXDomain"),
        ("mx.a.test", RecordType::AAAA, "NoError"),
        ("broken.test", RecordType::MX, "Server Failure"),
    ] {
        let error = resolver.lookup(format!("{name}."), kind).await.unwrap_err();
        assert!(format!("{error:?} {error}").contains(code), "{name}: {error:?}");
    }
    assert!(world.query_total() >= 12);
}

#[tokio::test]
async fn a_large_answer_is_cut_over_udp() {
    let many = (0..200).map(|i| Mx { preference: i, host: format!("mx{i}.many.test") }).collect();
    let world = World::builder().zone("many.test", Zone { mx: many, ..Zone::default() }).build().unwrap();
    let world = LoopbackWorld::start(world, Bind::default()).await.unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x04MaNy\x04test\0\0\x0f\0\x01";
    socket.send_to(query, world.dns()).await.unwrap();
    let mut answer = [0; 1_500];
    let length = socket.recv(&mut answer).await.unwrap();
    assert_eq!(&answer[..4], b"\x12\x34\x83\x80", "the id; QR, TC, RD; RA, no error");
    assert_eq!(&answer[12..length], &query[12..], "the question as it was spelled, and nothing else");
}

#[tokio::test]
async fn loopback_addresses_have_names() {
    // In raw bytes: resolvers answer reverse names of 127.0.0.0/8 themselves.
    let world = LoopbackWorld::start(world(Personality::default()), Bind::default()).await.unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let query = b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x011\x010\x011\x03127\x07in-addr\x04arpa\0\0\x0c\0\x01";
    socket.send_to(query, world.dns()).await.unwrap();
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer).await.unwrap();
    assert!(answer[..length].ends_with(b"\x02mx\x01a\x04test\0"), "{:?}", &answer[..length]);
}

#[tokio::test]
async fn hosts_share_a_port_and_are_told_apart_by_address() {
    let world = World::builder()
        .site("a.test", Mailboxes::only(&["anna"]), Personality::default())
        .site("b.test", Mailboxes::only(&["bert"]), Personality::speaking("exim"))
        .build()
        .unwrap();
    let world = LoopbackWorld::start(world, Bind::default()).await.unwrap();
    let resolver = resolver(world.dns());
    for (domain, user, banner) in
        [("a.test", "anna", "220 mx.a.test ESMTP Postfix"), ("b.test", "bert", "220 mx.b.test ESMTP Exim")]
    {
        let address = address_of(&resolver, &format!("mx.{domain}")).await;
        let mut client = connect(&world, address).await;
        assert!(client.reply().await.starts_with(banner));
        client.say("EHLO probe.test").await;
        client.say("MAIL FROM:<>").await;
        assert!(client.rcpt(&format!("{user}@{domain}")).await.starts_with("250"));
        assert!(client.rcpt(&format!("nobody@{domain}")).await.starts_with("550"));
    }
    assert_eq!(world.host("mx.a.test").rcpt, 2);
    assert_eq!(world.hosts().connections, 2);
}

#[tokio::test]
async fn resets_are_resets() {
    let personality = Personality::preset("resets").unwrap();
    let world = LoopbackWorld::start(world(personality), Bind::default()).await.unwrap();
    let address = address_of(&resolver(world.dns()), "mx.a.test").await;
    let mut client = connect(&world, address).await;
    client.reply().await;
    client.say("EHLO probe.test").await;
    assert_eq!(client.say("MAIL FROM:<>").await, "<reset>");
}

#[tokio::test]
async fn a_load_world_serves_any_of_its_domains() {
    let world = LoopbackWorld::start(load::world(10_000, 70), Bind::default()).await.unwrap();
    let resolver = resolver(world.dns());
    for i in [0, 4_321, 9_999, 123_456] {
        let address = load::address(i, 10_000);
        let domain = address.rsplit_once('@').unwrap().1;
        assert_eq!(ask(&resolver, domain, RecordType::MX).await, [format!("10 mx.{domain}.")]);
        let host = address_of(&resolver, &format!("mx.{domain}")).await;
        let mut client = connect(&world, host).await;
        client.greet().await;
        let expected = if load::exists(&address, 70) { "250" } else { "550" };
        assert!(client.rcpt(&address).await.starts_with(expected), "{address}");
        assert!(client.rcpt("user1@d0001.load.test").await.starts_with("554"), "another domain is not served here");
    }
}
