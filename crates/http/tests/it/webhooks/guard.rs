//! Tests of allowed receivers: spellings of private addresses, changing names, and the edges of every network.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use probity_backend::outbound::{HttpTarget, Names, NoNames, TargetRefusal, Unresolved};
use probity_backend::webhooks::Callbacks;
use probity_contract::published::webhooks::DeliveryFailure;
use probity_engine::clock::EngineClock;
use probity_engine::net::BoxFuture;
use probity_engine::net::egress::DENIED;
use probity_mail::time::Millis;

use super::receivers::{Manner, Receiver, Scripted, guard_allowing, message, open, sender, strict};

/// Addresses of the operator's network in an attacker's spellings.
const SPELLINGS: [&str; 48] = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "127.0.0.1.",
    "2130706433",
    "0x7f000001",
    "0x7F.0.0.1",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "0177.0x0.0.1",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "127%2e0%2e0%2e1",
    "%31%32%37.0.0.1",
    "0",
    "0.0.0.0",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "ⓛocalhost",
    "10.0.0.1",
    "10.1",
    "167772161",
    "100.64.0.1",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "100.100.100.200",
    "168.63.129.16",
    "172.16.0.1",
    "192.168.1.1",
    "192.168.257",
    "198.18.0.1",
    "255.255.255.255",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[::ffff:0:7f00:1]",
    "[2606:4700::5efe:7f00:1]",
    "[fe80::1]",
    "[fd00:ec2::254]",
];

#[tokio::test]
#[ignore = "thorough"]
async fn private_addresses_are_refused_in_every_spelling() {
    let callbacks = Callbacks::new(strict(Arc::new(NoNames)));
    for spelling in SPELLINGS {
        for url in [format!("http://{spelling}/"), format!("https://{spelling}:8443/x")] {
            assert_eq!(callbacks.check(&url).await, Err(TargetRefusal::Special), "{url}");
        }
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn every_edge_of_every_denied_network_is_refused() {
    let callbacks = Callbacks::new(strict(Arc::new(NoNames)));
    let url = |address: IpAddr| match address {
        IpAddr::V4(four) => format!("http://{four}/"),
        IpAddr::V6(six) => format!("http://[{six}]/"),
    };
    for (network, _) in DENIED {
        for address in [network.network(), network.broadcast()] {
            assert_eq!(callbacks.check(&url(address)).await, Err(TargetRefusal::Special), "{network}: {address}");
        }
    }
    for public in ["http://1.1.1.1/", "http://9.255.255.255/", "http://11.0.0.0/", "http://[2606:4700::1111]/"] {
        assert_eq!(callbacks.check(public).await.as_deref(), Ok(public));
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn names_are_judged_by_all_of_their_addresses() {
    let check = async |answer: &[&str]| {
        let callbacks = Callbacks::new(strict(Scripted::new(&[answer])));
        callbacks.check("https://Hooks.Example.com/x#y").await
    };
    assert_eq!(check(&["93.184.215.14"]).await.as_deref(), Ok("https://hooks.example.com/x"));
    assert_eq!(check(&[]).await.as_deref(), Ok("https://hooks.example.com/x"), "what does not resolve now may later");
    for private in [&["10.0.0.7"][..], &["93.184.215.14", "127.0.0.1"], &["93.184.215.14", "::ffff:10.0.0.1"], &["::1"]]
    {
        assert_eq!(check(private).await, Err(TargetRefusal::Special), "{private:?}");
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_configuration_allows_is_allowed() {
    let callbacks = Callbacks::new(open());
    assert_eq!(callbacks.check("http://localhost:8080/").await, Err(TargetRefusal::Special), "::1 is not allowed");
    assert!(callbacks.check("http://127.1:8080/").await.is_ok());
    let both = Callbacks::new(guard_allowing(&["127.0.0.0/8", "::1/128"], Arc::new(NoNames)));
    assert!(both.check("http://localhost:8080/").await.is_ok());
    assert_eq!(both.check("http://10.0.0.1/").await, Err(TargetRefusal::Special));
}

/// This test allows the public address, but connects to nothing outside of loopback.
#[tokio::test]
#[ignore = "thorough"]
async fn a_name_that_changes_never_leads_to_loopback() {
    let receiver = Receiver::start(Manner::status(200)).await;
    let url = format!("http://rebind.example:{}/", receiver.address.port());
    let target = HttpTarget::parse(&url).unwrap();
    // Allowed at submission, loopback at the attempt; then both in one DNS answer.
    let names = Scripted::new(&[&["93.184.215.14"], &["127.0.0.1"], &["93.184.215.14", "127.0.0.1"], &["::1"]]);
    let guard = strict(names);
    let (callbacks, sender) = (Callbacks::new(guard.clone()), sender(guard));
    for attempt in 0..333 {
        assert!(callbacks.check(&url).await.is_ok(), "{attempt}");
        for _ in 0..3 {
            assert_eq!(sender.post(&target, message()).await, Err(DeliveryFailure::Blocked), "{attempt}");
        }
    }
    assert_eq!(receiver.hits(), 0);
    assert!(sender.post(&receiver.target(), message()).await.is_err(), "nor does a literal");
    assert_eq!(receiver.hits(), 0);
}

/// Name server that never responds.
struct Silent;

impl Names for Silent {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
#[ignore = "thorough"]
async fn a_name_that_does_not_resolve_delays_a_request_by_a_second_at_most() {
    let callbacks = Callbacks::new(strict(Arc::new(Silent)));
    let clock = EngineClock::starting_at(Millis(0));
    callbacks.check("https://hooks.example.org/").await.unwrap();
    assert!(clock.elapsed() <= Duration::from_secs(1), "{:?}", clock.elapsed());
}
