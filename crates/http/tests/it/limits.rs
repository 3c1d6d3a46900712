//! Tests with clients that are slow, numerous, huge or devious.

use std::io::ErrorKind;
use std::time::Duration;

use probity_http::edge::listen::ListenConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio::time::sleep;

use crate::served::{BIG, Client, Limits, PATIENCE, Served};

const SHORT: Duration = Duration::from_millis(200);
const GET: &[u8] = b"GET /v1/things/a HTTP/1.1\r\nhost: x\r\n\r\n";

async fn with(listen: ListenConfig) -> Served {
    Served::with(Limits { listen, ..Limits::default() }).await
}

/// Sends a byte now and then until the server closes the connection.
async fn drip(mut client: Client, bytes: &[u8]) -> String {
    for byte in bytes {
        client.send(&[*byte]).await;
        sleep(SHORT / 20).await;
    }
    client.until_closed().await
}

#[tokio::test]
#[ignore = "thorough"]
async fn slow_header_sections_are_cut_however_they_drip() {
    let served = with(ListenConfig { header_timeout: SHORT, ..ListenConfig::default() }).await;
    let endless = format!("GET / HTTP/1.1\r\nhost: x\r\n{}", "a: b\r\n".repeat(10));
    assert_eq!(drip(served.connect().await, endless.as_bytes()).await, "");
    assert_eq!(served.connect().await.until_closed().await, "", "not a single byte");
    // The second request of a connection has no more time than the first.
    let mut client = served.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200);
    assert_eq!(drip(client, endless.as_bytes()).await, "");
}

#[tokio::test]
#[ignore = "thorough"]
async fn idling_between_requests_is_cut_as_late_headers_are() {
    let served = with(ListenConfig { header_timeout: SHORT, ..ListenConfig::default() }).await;
    let mut client = served.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200);
    assert_eq!(client.until_closed().await, "");
}

#[tokio::test]
#[ignore = "thorough"]
async fn who_does_not_take_the_answer_is_cut() {
    let limits = ListenConfig { write_timeout: SHORT, connections_max: 1, ..ListenConfig::default() };
    let served = with(limits).await;
    let mut client = served.connect().await;
    client.send(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n").await;
    client.stream.readable().await.unwrap();
    // The limit is one connection: the next client gets a response when this one is cut.
    assert_eq!(served.ask(std::str::from_utf8(GET).unwrap()).await.status, 200);
    let all = client.until_closed().await;
    assert!(all.starts_with("HTTP/1.1 200 ") && all.len() < BIG, "{} bytes", all.len());
    // A client that reads the response gets all of it.
    assert_eq!(Served::start().await.get("/big").await.body.len(), BIG);
}

#[tokio::test]
#[ignore = "thorough"]
async fn connections_over_the_limit_wait_for_a_place() {
    let served = with(ListenConfig { connections_max: 100, ..ListenConfig::default() }).await;
    let mut clients = Vec::new();
    for _ in 0..100 {
        let mut client = served.connect().await;
        client.send(GET).await;
        assert_eq!(client.answer(false).await.status, 200);
        clients.push(client);
    }
    let mut waiting = served.connect().await;
    waiting.send(GET).await;
    for client in &mut clients {
        client.send(GET).await;
        assert_eq!(client.answer(false).await.status, 200);
    }
    let early = waiting.stream.try_read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(
        early,
        Err(ErrorKind::WouldBlock),
        "the hundred and first waits, while a hundred others are answered again"
    );
    drop(clients.pop());
    assert_eq!(waiting.answer(false).await.status, 200);
}

#[tokio::test]
#[ignore = "thorough"]
async fn huge_header_sections_are_a_431() {
    let served = Served::start().await;
    let value = |length: usize| format!("GET /id HTTP/1.1\r\nhost: x\r\na: {}\r\n\r\n", "b".repeat(length));
    let fields = |count: usize| format!("GET /id HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(count - 1));
    let target = |length: usize| format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "b".repeat(length));
    assert_eq!(served.ask(&value(64_000)).await.status, 200);
    assert_eq!(served.ask(&fields(100)).await.status, 200);
    assert_eq!(served.ask(&target(64_000)).await.status, 404);
    for huge in [value(66_000), value(95_000), fields(101), fields(200), target(65_529)] {
        let answer = served.ask(&huge).await;
        let message = answer.assert_error(431, "request_head_too_large", "invalid_request_error");
        assert!(message.contains("64 KiB and 100"), "{message}");
    }
    // Far beyond the limits, hyper answers.
    for (huge, status) in [(fields(201), 431), (target(66_000), 414)] {
        let answer = served.ask(&huge).await;
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")));
    }
    // Data that hyper does not read resets the connection, which can overtake the response.
    let mut client = served.connect().await;
    client.send(value(500_000).as_bytes()).await;
    let all = client.until_closed().await;
    assert!(all.is_empty() || all.starts_with("HTTP/1.1 431 "), "{all}");
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_cannot_be_read_ends_the_connection_behind_what_could_be() {
    let served = Served::start().await;
    for unreadable in [
        "garbage\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}",
        "GET /id\r\nhost: x\r\n\r\n",
        "GET /id HTTP/3.0\r\nhost: x\r\n\r\n",
        "GET /id HTTP/1.1\r\nhost: x\r\nno field\r\n\r\n",
        "GET /id HTTP/1.1\r\nhost: x\r\na\u{0}: b\r\n\r\n",
        "POST /id HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    ] {
        for good in [0, 3] {
            let mut client = served.connect().await;
            let before = std::str::from_utf8(GET).unwrap().repeat(good);
            client.send(format!("{before}{unreadable}").as_bytes()).await;
            for _ in 0..good {
                assert_eq!(client.answer(false).await.body, r#"{"name":"a"}"#);
            }
            let answer = client.answer(false).await;
            assert_eq!((answer.status, answer.header("connection")), (400, Some("close")), "{unreadable:?}");
            assert_eq!(client.until_closed().await, "");
        }
    }
}

/// TLS and HTTP/2 are left to the proxy.
#[tokio::test]
async fn http2_is_not_spoken() {
    let served = Served::start().await;
    let mut client = served.connect().await;
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await;
    let all = client.until_closed().await;
    assert!(all.is_empty() || all.starts_with("HTTP/1.1 400 "), "{all}");
    // An offered upgrade is ignored (RFC 9110 §7.8).
    let upgrade = "GET /id HTTP/1.1\r\nhost: x\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: \r\n\r\n";
    assert_eq!(served.ask(upgrade).await.status, 200);
}

/// Sends the same bytes until the server cuts the connection, and reads nothing.
async fn flood(served: &Served, again: &[u8]) {
    let mut client = served.connect().await;
    let piece = again.repeat(1_000);
    let flood = async { while client.stream.write_all(&piece).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, flood).await.expect("the server cuts the connection");
}

#[tokio::test]
#[ignore = "thorough"]
async fn who_asks_on_and_takes_no_answer_is_cut() {
    let served = with(ListenConfig { write_timeout: SHORT, ..ListenConfig::default() }).await;
    let big = b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n";
    flood(&served, big).await;
    assert_eq!(served.ask(std::str::from_utf8(GET).unwrap()).await.status, 200);
}

/// Number of bytes that a slow client reads per second.
const SLOW: usize = 20_000;

#[tokio::test(start_paused = true)]
#[ignore = "thorough"]
async fn who_takes_an_answer_slowly_gets_it() {
    // While a blocking task waits, the runtime does not advance the paused clock by itself. Only the test advances it.
    let (_end, wait) = std::sync::mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || wait.recv());
    let served = with(ListenConfig { write_timeout: Duration::from_secs(30), ..ListenConfig::default() }).await;
    let socket = TcpSocket::new_v4().unwrap();
    // Prevents the system from enlarging the buffer on a fast machine.
    socket.set_recv_buffer_size(64 << 10).unwrap();
    let mut stream = socket.connect(served.address).await.unwrap();
    stream.write_all(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut piece = vec![0; SLOW];
    for second in 0..300 {
        stream.read_exact(&mut piece).await.unwrap_or_else(|error| panic!("cut after {second} s: {error}"));
        tokio::time::advance(Duration::from_secs(1)).await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn nothing_is_smuggled_behind_an_ambiguous_length() {
    let served = Served::start().await;
    let smuggled = "GET /v1/things/smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
    let ambiguous = [
        format!("content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("content-length: 0\r\ncontent-length: 4\r\n\r\n{smuggled}"),
        format!("content-length: 0, 4\r\n\r\n{smuggled}"),
        format!("content-length: +0\r\n\r\n{smuggled}"),
        format!("content-length: 0x0\r\n\r\n{smuggled}"),
        format!("transfer-encoding: identity\r\n\r\n{smuggled}"),
        format!("transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("transfer-encoding: xchunked\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("content-length : 0\r\n\r\n{smuggled}"),
        format!("a: b\r\n content-length: 4\r\n\r\n{smuggled}"),
        format!("\u{b}transfer-encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"),
    ];
    for rest in ambiguous {
        let mut client = served.connect().await;
        client.send(format!("POST /raw HTTP/1.1\r\nhost: x\r\n{rest}").as_bytes()).await;
        let all = client.until_closed().await;
        assert!(!all.contains("smuggled") && all.matches("HTTP/1.1 ").count() <= 1, "{rest:?}: {all}");
    }
    // With one unambiguous length, the second request is separate.
    let mut client = served.connect().await;
    client.send(format!("POST /raw HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nab{smuggled}").as_bytes()).await;
    assert_eq!(client.answer(false).await.body, "2");
    assert_eq!(client.answer(false).await.body, r#"{"name":"smuggled"}"#);
}

#[tokio::test]
#[ignore = "thorough"]
async fn an_unread_body_never_becomes_the_next_request() {
    let served = Served::start().await;
    let body = "GET /v1/things/smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut client = served.connect().await;
    let length = body.len();
    let head = format!("POST /ignore HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    client.send(format!("{head}{body}").as_bytes()).await;
    let all = client.until_closed().await;
    assert!(all.ends_with("ignored") && !all.contains("smuggled"), "{all}");
}
