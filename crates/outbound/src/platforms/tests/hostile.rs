//! Platforms that hang, flood, redirect, break off, or move to another address.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use probity_engine::net::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::server::{Scripted, ServerMove};
use super::*;
use crate::{DialFailure, HttpTarget, Unresolved};

/// Time limit for calls that are expected to exceed it, in milliseconds.
const SHORT_MS: i64 = 1_500;

async fn hasty(trial: &Trial, method: Method, url: &str) -> Result<Response, CallFault> {
    let request = Request { timeout_ms: SHORT_MS, ..request(method, url) };
    trial.platforms.send(&trial.account(), &request).await
}

#[tokio::test]
async fn what_hangs_drips_or_never_ends_its_head_is_given_up() {
    let json = "content-type: application/json\r\n";
    let slow_head = ServerMove::Drip("HTTP/1.1 200 OK\r\nx-slow: ".into());
    let slow_body = ServerMove::Drip(format!("HTTP/1.1 200 OK\r\n{json}content-length: 60000\r\n\r\n"));
    for doing in [ServerMove::Hang, slow_head, slow_body] {
        let server = Scripted::start(vec![doing]).await;
        let trial = Trial::new("", &[server.address]);
        assert_eq!(hasty(&trial, Method::Delete, &server.url("/")).await, Err(fault(CallCause::Timeout, true)));
        assert_eq!(trial.platforms.0.client.kept(), 0);
    }
}

#[tokio::test]
async fn a_body_of_ten_gigabytes_costs_its_maximum() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10000000000\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("8000\r\n{}\r\n", "x".repeat(0x8000));
    for doing in [ServerMove::Pour(head.into(), "x".repeat(1 << 16)), ServerMove::Pour(chunked.into(), chunk)] {
        let server = Scripted::start(vec![doing]).await;
        let trial = Trial::new("", &[server.address]);
        let url = server.url("/");
        let answers = futures_util::future::join_all((0..8).map(|_| trial.get(&url))).await;
        for answer in answers {
            let answer = answer.unwrap();
            assert_eq!((answer.body.len(), answer.is_cut), (64 << 10, true));
            assert!(answer.body.capacity() <= 128 << 10);
        }
        assert_eq!((server.connections(), trial.platforms.0.client.kept()), (8, 0));
        // The kernel's buffers on both sides of 8 connections, not gigabytes.
        assert!(server.sent() < 256 << 20, "{}", server.sent());
    }
}

#[tokio::test]
async fn heads_without_end_are_no_answers() {
    for piece in ["x-flood: 1\r\n".to_owned(), "x".repeat(1 << 16)] {
        let server = Scripted::start(vec![ServerMove::Pour("HTTP/1.1 200 OK\r\nx-long: ".into(), piece)]).await;
        let trial = Trial::new("", &[server.address]);
        assert_eq!(trial.get(&server.url("/")).await, Err(fault(CallCause::Broken, true)));
    }
}

#[tokio::test]
async fn what_breaks_off_is_no_answer() {
    for bytes in [
        "",
        "HTTP/1.1 200 OK\r\nconte",
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"a\"",
        "SMTP ready\r\n",
    ] {
        let server = Scripted::start(vec![ServerMove::Close(bytes.into())]).await;
        let trial = Trial::new("", &[server.address]);
        let answer = trial.platforms.send(&trial.account(), &request(Method::Delete, &server.url("/"))).await;
        assert_eq!(answer, Err(fault(CallCause::Broken, true)), "{bytes:?}");
        assert_eq!(server.connections(), 1, "{bytes:?}: a fresh connection is not repeated");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Scripted::start(vec![ServerMove::json(200, "{}")]).await;
    let redirect = ServerMove::with_headers(302, &format!("location: {}\r\n", elsewhere.url("/")), "");
    let server = Scripted::start(vec![redirect]).await;
    let trial = Trial::new("", &[server.address, elsewhere.address]);
    assert_eq!(trial.get(&server.url("/")).await.unwrap().status, 302);
    assert!(matches!(trial.test(&server.url("")).await, TestOutcome::Wrong { fields, .. } if fields == ["url"]));
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn only_hosts_of_the_operator_are_private_or_without_tls() {
    let server = Scripted::start(vec![ServerMove::json(200, "{}")]).await;
    let port = server.address.port();
    let blocked = Err(fault(CallCause::Blocked, false));
    let stranger = Trial::new("", &[]);
    for url in [server.url("/"), format!("https://127.0.0.1:{port}/"), format!("https://localhost:{port}/")] {
        assert_eq!(stranger.get(&url).await, blocked, "{url}");
    }
    // Networks that are open to webhooks are not open to platforms.
    let open = Trial::with(
        "",
        HostAllowance::default(),
        guard_of(&["127.0.0.0/8"], names_of_loopback()),
        &Authorities::default(),
    );
    for url in [server.url("/"), format!("https://127.0.0.1:{port}/"), format!("https://esp.example.org:{port}/")] {
        assert_eq!(open.get(&url).await, blocked, "{url}");
    }
    assert_eq!(Trial::new("", &["127.0.0.1:1".parse().unwrap()]).get(&server.url("/")).await, blocked, "another port");
    for url in ["http://169.254.169.254:80/latest", "http://[fd00:ec2::254]:80/", "http://0.0.0.0:80/"] {
        let hosts = HostAllowance(["169.254.169.254:80", "[fd00:ec2::254]:80", "0.0.0.0:80"].map(str::to_owned).into());
        let trial = Trial::with("", hosts, guard_of(&[], Arc::new(NoNames)), &Authorities::default());
        assert_eq!(trial.get(url).await, blocked, "{url}");
    }
    assert_eq!(stranger.get("https://example.org:25/").await, blocked, "a port of another protocol");
    assert_eq!(server.connections(), 0);
}

/// Resolves to another address at each lookup.
struct Rebound(AtomicUsize, &'static [&'static str]);

impl Names for Rebound {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        let turn = self.0.fetch_add(1, Ordering::SeqCst).min(self.1.len() - 1);
        Box::pin(async move { Ok(vec![self.1[turn].parse().unwrap()]) })
    }
}

fn names_of_loopback() -> Arc<dyn Names> {
    Arc::new(Rebound(AtomicUsize::new(0), &["127.0.0.1"]))
}

#[tokio::test]
async fn a_name_that_moves_into_the_own_network_is_not_followed() {
    let bytes = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let server = Scripted::start(vec![ServerMove::Close(bytes.into())]).await;
    let port = server.address.port();
    // The operator's own name resolves first to this server, then to a metadata service.
    let names = Arc::new(Rebound(AtomicUsize::new(0), &["127.0.0.1", "169.254.169.254"]));
    let hosts = HostAllowance(vec![format!("listmonk.lan:{port}")]);
    let trial = Trial::with("", hosts, guard_of(&[], names), &Authorities::default());
    let url = format!("http://listmonk.lan:{port}/");
    assert_eq!(trial.get(&url).await.unwrap().status, 200);
    assert_eq!(trial.get(&url).await, Err(fault(CallCause::Blocked, false)));
    // A foreign name resolves first to a public address, then to a private one in a network that is open to webhooks.
    let guard = guard_of(&["10.0.0.0/8"], Arc::new(Rebound(AtomicUsize::new(0), &["9.9.9.9", "10.0.0.7"])));
    let guard = guard.of_platforms(HostAllowance::default());
    let target = HttpTarget::parse("https://esp.example.org/").unwrap();
    assert_eq!(guard.addresses(&target).await, Ok(vec!["9.9.9.9:443".parse().unwrap()]));
    assert_eq!(guard.addresses(&target).await, Err(DialFailure::Blocked));
}

#[tokio::test]
async fn a_certificate_must_be_that_of_the_host() {
    let certified = rcgen::generate_simple_self_signed(vec!["esp.example.org".into()]).unwrap();
    let certificate = certified.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 4_096]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
            let _ = stream.shutdown().await;
        }
    });
    let authorities = Authorities::from_pem(certified.cert.pem().as_bytes()).unwrap();
    let trial = |authorities: &Authorities| {
        let names = Arc::new(Rebound(AtomicUsize::new(0), &["127.0.0.1"]));
        let hosts = ["esp.example.org", "other.example.org"].map(|host| format!("{host}:{port}"));
        Trial::with("", HostAllowance(hosts.into()), guard_of(&[], names), authorities)
    };
    let believing = trial(&authorities);
    let url = |host: &str| format!("https://{host}:{port}/");
    assert_eq!(believing.get(&url("esp.example.org")).await.unwrap().status, 200);
    let refused = Err(fault(CallCause::Tls, false));
    assert_eq!(believing.get(&url("other.example.org")).await, refused);
    assert_eq!(trial(&Authorities::default()).get(&url("esp.example.org")).await, refused);
}
