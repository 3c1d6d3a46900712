//! Connections of the real network: guarded, from a chosen source, through a proxy.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::FutureExt;
use probity_engine::net::egress::{EgressGuard, GuardConfig};
use probity_engine::net::real::{RealNet, RealNetConfig};
use probity_engine::net::{ConnectFailure, DialRequest, Net, ProbeSource, Proxy, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn net(port: u16, allow: &[&str]) -> RealNet {
    let guard = EgressGuard::new(GuardConfig {
        allow_networks: allow.iter().map(|network| network.parse().unwrap()).collect(),
        own_addresses: Vec::new(),
        port,
    });
    let name_servers = vec!["127.0.0.1:53".parse().unwrap()];
    RealNet::new(RealNetConfig { name_servers, ..RealNetConfig::new(Arc::new(guard)) }).unwrap()
}

fn source(bind: Option<&str>, proxy: Option<Proxy>) -> ProbeSource {
    ProbeSource { bind: bind.map(ip), public: None, helo: "client.example".into(), proxy }
}

fn dial(target: SocketAddr, source: ProbeSource) -> DialRequest {
    DialRequest { address: target.ip(), port: target.port(), source: Arc::new(source), timeout_ms: 60_000 }
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A port that refuses connections, and stays taken as long as the socket is kept.
fn closed() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

fn failure(result: Result<Box<dyn Stream>, ConnectFailure>) -> ConnectFailure {
    result.err().expect("a connection where none should be")
}

#[tokio::test]
async fn dials_from_the_source() {
    let (listener, address) = listen().await;
    let net = net(address.port(), &["127.0.0.0/8"]);
    let mut ours = net.connect(dial(address, source(Some("127.0.0.3"), None))).await.unwrap();
    let (mut theirs, peer) = listener.accept().await.unwrap();
    assert_eq!(peer.ip(), ip("127.0.0.3"));
    ours.write_all(b"EHLO x\r\n").await.unwrap();
    let mut bytes = [0; 8];
    theirs.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"EHLO x\r\n");
}

#[tokio::test]
async fn guarded_addresses_are_never_reached() {
    let (listener, address) = listen().await;
    let at = |text: &str, port| SocketAddr::new(ip(text), port);
    let other_port = address.port().wrapping_add(1);
    for (net, target, from) in [
        (net(address.port(), &[]), address, None),
        (net(address.port(), &[]), at("::ffff:127.0.0.1", address.port()), None),
        (net(address.port(), &["10.0.0.0/8"]), address, None),
        (net(address.port(), &["127.0.0.2/32"]), address, Some("127.0.0.1")),
        (net(other_port, &["127.0.0.0/8"]), address, None),
    ] {
        let failed = failure(net.connect(dial(target, source(from, None))).await);
        assert_eq!(failed, ConnectFailure::Guarded, "{target}");
    }
    assert!(listener.accept().now_or_never().is_none());
}

#[tokio::test]
async fn failures_are_told_apart() {
    let (_closed, address) = closed();
    let net = net(address.port(), &["127.0.0.0/8", "::1/128"]);
    let refused = net.connect(dial(address, source(None, None))).await;
    assert_eq!(failure(refused), ConnectFailure::Refused);
    let other_family = net.connect(dial(address, source(Some("::1"), None))).await;
    assert_eq!(failure(other_family), ConnectFailure::Unreachable);
    // Nobody has an address of a documentation network.
    let no_such_address = net.connect(dial(address, source(Some("192.0.2.1"), None))).await;
    assert_eq!(failure(no_such_address), ConnectFailure::Local);
}

#[tokio::test]
async fn silence_times_out() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    // Nobody accepts, so the kernel leaves further connections unanswered once its short queue is full.
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let net = net(address.port(), &["127.0.0.0/8"]);
    let mut waiting = Vec::new();
    let failed = loop {
        match net.connect(DialRequest { timeout_ms: 100, ..dial(address, source(None, None)) }).await {
            Ok(stream) => waiting.push(stream),
            Err(failed) => break failed,
        }
        assert!(waiting.len() < 16, "the queue takes everything");
    };
    assert_eq!(failed, ConnectFailure::TimedOut);
}

#[tokio::test]
async fn an_abandoned_connection_is_reset_and_a_finished_one_closed() {
    let (listener, address) = listen().await;
    let net = net(address.port(), &["127.0.0.0/8"]);
    let abandoned = net.connect(dial(address, source(None, None))).await.unwrap();
    let (mut theirs, _) = listener.accept().await.unwrap();
    drop(abandoned);
    let read = theirs.read(&mut [0; 1]).await;
    assert_eq!(read.map_err(|error| error.kind()), Err(io::ErrorKind::ConnectionReset));

    let mut finished = net.connect(dial(address, source(None, None))).await.unwrap();
    let (mut theirs, _) = listener.accept().await.unwrap();
    finished.write_all(b"QUIT\r\n").await.unwrap();
    finished.shutdown().await.unwrap();
    drop(finished);
    let mut bytes = Vec::new();
    theirs.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(bytes, b"QUIT\r\n");
}

/// A SOCKS5 server for one connection. Checks what it is told and answers with `reply`; after a 0 it echoes.
async fn proxy(listener: TcpListener, target: SocketAddr, login: Option<(&str, &str)>, reply: u8) {
    let (mut client, _) = listener.accept().await.unwrap();
    // RFC 1928 section 3.
    let mut greeting = [0; 2];
    client.read_exact(&mut greeting).await.unwrap();
    let mut methods = vec![0; greeting[1].into()];
    client.read_exact(&mut methods).await.unwrap();
    let method = if login.is_some() { 2 } else { 0 };
    assert!(greeting[0] == 5 && methods.contains(&method), "{methods:?}");
    client.write_all(&[5, method]).await.unwrap();
    if let Some((user, password)) = login {
        // RFC 1929.
        assert_eq!(client.read_u8().await.unwrap(), 1);
        let given = (string(&mut client).await, string(&mut client).await);
        let right = given == (user.into(), password.into());
        client.write_all(&[1, u8::from(!right)]).await.unwrap();
        if !right {
            return;
        }
    }
    // RFC 1928 section 4: CONNECT to an IPv4 address, not to a name.
    let mut request = [0; 10];
    client.read_exact(&mut request).await.unwrap();
    let IpAddr::V4(v4) = target.ip() else { panic!("{target} is no IPv4 address") };
    let mut expected = vec![5, 1, 0, 1];
    expected.extend(v4.octets());
    expected.extend(target.port().to_be_bytes());
    assert_eq!(&request[..], expected);
    client.write_all(&[5, reply, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    if reply == 0 {
        let (mut read, mut write) = client.split();
        tokio::io::copy(&mut read, &mut write).await.unwrap();
    }
}

async fn string(client: &mut TcpStream) -> String {
    let length = client.read_u8().await.unwrap();
    let mut bytes = vec![0; length.into()];
    client.read_exact(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Dials 9.9.9.9 through a proxy that behaves like this.
async fn through(
    server: Option<(&'static str, &'static str)>,
    client: Option<(&str, &str)>,
    reply: u8,
) -> Result<Box<dyn Stream>, ConnectFailure> {
    let (listener, address) = listen().await;
    let target = SocketAddr::new(ip("9.9.9.9"), 25);
    tokio::spawn(proxy(listener, target, server, reply));
    let login = client.map(|(user, password)| (user.to_owned(), password.to_owned()));
    net(25, &[]).connect(dial(target, source(None, Some(Proxy { address, login })))).await
}

#[tokio::test]
async fn dials_through_a_proxy() {
    for login in [None, Some(("user", "pass"))] {
        let mut stream = through(login, login, 0).await.unwrap();
        stream.write_all(b"echo").await.unwrap();
        let mut bytes = [0; 4];
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"echo");
    }
}

#[tokio::test]
async fn a_proxys_refusals_are_told_apart() {
    for (reply, expected) in [
        (1, ConnectFailure::Proxy),
        (2, ConnectFailure::Proxy),
        (3, ConnectFailure::Unreachable),
        (4, ConnectFailure::Unreachable),
        (5, ConnectFailure::Refused),
        (6, ConnectFailure::TimedOut),
        (7, ConnectFailure::Proxy),
    ] {
        assert_eq!(failure(through(None, None, reply).await), expected, "reply {reply}");
    }
    let wrong_password = through(Some(("user", "pass")), Some(("user", "word")), 0).await;
    assert_eq!(failure(wrong_password), ConnectFailure::Proxy);
}

#[tokio::test]
async fn a_proxy_does_not_get_around_the_guard() {
    let (listener, address) = listen().await;
    let proxy = Proxy { address, login: None };
    let target = SocketAddr::new(ip("10.0.0.1"), 25);
    let failed = net(25, &[]).connect(dial(target, source(None, Some(proxy)))).await;
    assert_eq!(failure(failed), ConnectFailure::Guarded);
    assert!(listener.accept().now_or_never().is_none());
    let (_closed, address) = closed();
    let proxy = Proxy { address, login: None };
    let absent = net(25, &[]).connect(dial(SocketAddr::new(ip("9.9.9.9"), 25), source(None, Some(proxy)))).await;
    assert_eq!(failure(absent), ConnectFailure::Proxy);
}
