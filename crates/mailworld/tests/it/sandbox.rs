//! The sandbox's exchangers, as a client meets them.

use probity_engine::net::{ConnectFailure, Net};
use probity_mail::dns::{DnsAnswer, DnsRecord, QueryKind};
use probity_mailworld::sandbox;

use crate::dialogue::{Client, dial, now, source};

#[tokio::test(start_paused = true)]
async fn local_parts_are_outcomes() {
    let net = sandbox::world().net(1);
    let mut client = Client::open(&net, "mx.sandbox.test").await;
    client.greet().await;
    for (local, start) in [
        ("valid", "250"),
        ("nonexistent", "550 5.1.1"),
        ("deactivated", "550 5.2.1"),
        ("inbox_full", "552 5.2.2"),
        ("failed_exchange", "550 5.7.1"),
        ("unverified", "451 4.3.0"),
        ("info", "250"),
        ("somebody.else", "550 5.1.1"),
    ] {
        let reply = client.rcpt(&format!("{local}@sandbox.test")).await;
        assert!(reply.starts_with(start), "{local}: {reply}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_suffix_delays_the_reply() {
    let net = sandbox::world().net(1);
    let mut client = Client::open(&net, "mx.sandbox.test").await;
    client.greet().await;
    for (local, start, seconds) in [("valid+delay-2s", "250", 2), ("deactivated+delay-60s", "550 5.2.1", 60)] {
        let began = now();
        assert!(client.rcpt(&format!("{local}@sandbox.test")).await.starts_with(start));
        assert_eq!(began.elapsed().as_secs(), seconds, "{local}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_sub_domain_has_its_exchanger() {
    let net = sandbox::world().net(1);
    for (domain, _) in net.world().zones() {
        let DnsAnswer::Records(records) = net.lookup(domain, QueryKind::Mx).await.answer else { continue };
        for record in records {
            let DnsRecord::Mx { host, .. } = record else { panic!("{record:?}") };
            let found = host.is_empty() || net.lookup(&host, QueryKind::A).await.answer != DnsAnswer::NoName;
            assert!(found, "{domain} names {host}");
        }
    }
    for (host, failure) in
        [("mx.dead.sandbox.test", ConnectFailure::Refused), ("mx.silent.sandbox.test", ConnectFailure::TimedOut)]
    {
        assert_eq!(dial(&net, host, source("203.0.113.7")).await.err(), Some(failure), "{host}");
    }
    let nothing = net.lookup("nxdomain.sandbox.test", QueryKind::Mx).await.answer;
    assert_eq!(nothing, DnsAnswer::NoName);
}

#[tokio::test(start_paused = true)]
async fn sub_domains_behave_as_they_are_called() {
    let net = sandbox::world().net(1);
    for (host, rcpt, start) in [
        ("mx.catchall.sandbox.test", "x@catchall.sandbox.test", "250"),
        ("mx.greylist.sandbox.test", "valid@greylist.sandbox.test", "450 4.2.0"),
        ("mx.tarpit.sandbox.test", "valid@tarpit.sandbox.test", "250"),
        ("mx.blocked.sandbox.test", "valid@blocked.sandbox.test", "554 5.7.1"),
        ("mx.relay-denied.sandbox.test", "x@relay-denied.sandbox.test", "554 5.7.1"),
        ("mx.mailinator.com", "x@disposable.sandbox.test", "250"),
        ("mx.h-email.net", "x@available.sandbox.test", "250"),
        ("mx.fallback.sandbox.test", "valid@fallback.sandbox.test", "250"),
        ("mx.callout.sandbox.test", "valid@callout.sandbox.test", "450 4.1.1"),
    ] {
        let mut client = Client::open(&net, host).await;
        client.greet().await;
        let reply = client.rcpt(rcpt).await;
        assert!(reply.starts_with(start), "{rcpt}: {reply}");
    }
}
