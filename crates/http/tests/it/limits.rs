//! Tests with clients that are slow, numerous, huge or devious.

use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
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
    assert_eq!(drip(served.connect().await, b"PRI * HTTP/2.0\r\n").await, "", "half a preface of HTTP/2");
    assert_eq!(served.connect().await.until_closed().await, "", "not a single byte");
    // The second request of a connection has no more time than the first.
    let mut client = served.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200);
    assert_eq!(drip(client, endless.as_bytes()).await, "");
}

#[tokio::test]
#[ignore = "thorough"]
async fn idling_between_requests_has_a_limit_of_its_own() {
    let served = with(ListenConfig { header_timeout: SHORT, ..ListenConfig::default() }).await;
    let mut client = served.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200);
    sleep(2 * SHORT).await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200, "idling is no slow header section");

    let served = with(ListenConfig { idle_timeout: SHORT, ..ListenConfig::default() }).await;
    let mut client = served.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer(false).await.status, 200);
    assert_eq!(client.until_closed().await, "");
}

#[tokio::test]
#[ignore = "thorough"]
async fn who_does_not_take_the_answer_is_cut() {
    let limits = ListenConfig { stall_timeout: SHORT, connections_max: 1, ..ListenConfig::default() };
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
    for huge in [value(66_000), fields(101), target(65_600), target(66_000), value(500_000)] {
        let mut client = served.connect().await;
        client.send(huge.as_bytes()).await;
        let answer = client.answer(false).await;
        let message = answer.assert_error(431, "request_head_too_large", "invalid_request_error");
        assert!(message.contains("64 KiB and 100"), "{message}");
        assert_eq!(answer.header("connection"), Some("close"));
        assert_eq!(client.until_closed().await, "");
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_cannot_be_read_gets_the_envelope_behind_what_could_be() {
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
            let message = answer.assert_error(400, "invalid_request", "invalid_request_error");
            assert!(message.contains("is not valid HTTP/1.1"), "{unreadable:?}: {message}");
            assert_eq!((answer.header("connection"), answer.header("date").is_some()), (Some("close"), true));
            assert_eq!(client.until_closed().await, "");
        }
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_only_quotes_a_refusal_arrives_as_it_was_sent() {
    let served = Served::start().await;
    let refusal = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    for padding in [0, 100, 500_000] {
        for path in ["/echo", "/echo/pieces"] {
            let mut client = served.connect().await;
            let text = format!(",{}{refusal}", "x".repeat(padding));
            let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", text.len());
            for _ in 0..2 {
                client.send(format!("{head}{text}").as_bytes()).await;
                assert!(client.answer(false).await.body == text, "{path} with {padding} bytes before the quotation");
            }
            // A rejection after it still gets our envelope.
            client.send(b"garbage\r\n\r\n").await;
            client.answer(false).await.assert_error(400, "invalid_request", "invalid_request_error");
            assert_eq!(client.until_closed().await, "");
        }
    }
}

/// Start of an HTTP/2 connection, with empty SETTINGS.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0pingpong";
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

/// Sends the same bytes until the server cuts the connection, and reads nothing.
async fn flood(served: &Served, beginning: &[u8], again: &[u8]) -> usize {
    let mut client = served.connect().await;
    client.send(beginning).await;
    let piece = again.repeat(1_000);
    let mut sent = 0;
    let flood = async {
        while client.stream.write_all(&piece).await.is_ok() {
            sent += piece.len();
        }
    };
    tokio::time::timeout(PATIENCE, flood).await.expect("the server cuts the connection");
    sent
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_flood_of_http2_frames_is_cut_and_others_are_answered() {
    let served = Served::start().await;
    for frame in [PING, SETTINGS] {
        let sent = flood(&served, PREFACE, frame).await;
        // The buffers of both sockets hold more than the server ever reads.
        assert!(sent < 64 << 20, "{sent} bytes");
        assert_eq!(served.ask(std::str::from_utf8(GET).unwrap()).await.status, 200);
    }
    // A client that reads every response is cut as early.
    let mut client = served.connect().await;
    client.send(&[PREFACE, &PING.repeat(5_000)].concat()).await;
    let mut answers = Vec::new();
    let all = async { while client.stream.read_buf(&mut answers).await.unwrap_or(0) > 0 {} };
    tokio::time::timeout(PATIENCE, all).await.expect("the server cuts the connection");
    let pongs = answers.windows(8).filter(|window| window == b"pingpong").count();
    assert!(pongs < 5_000, "{pongs} PINGs were answered");
}

#[tokio::test]
#[ignore = "thorough"]
async fn who_asks_and_takes_it_back_again_and_again_is_cut() {
    let served = Served::start().await;
    let mut client = served.connect().await;
    client.send(PREFACE).await;
    let (mut stream, mut sent) = (1_u32, 0);
    let flood = async {
        loop {
            let mut piece = Vec::new();
            for _ in 0..100 {
                let id = stream.to_be_bytes();
                // `GET http://x/`, completely in its frame, and its reset.
                let get = [&b"\0\0\x06\x01\x05"[..], &id, b"\x82\x86\x84\x01\x01x"].concat();
                let reset = [&b"\0\0\x04\x03\0"[..], &id, b"\0\0\0\x08"].concat();
                piece.extend([get, reset].concat());
                stream += 2;
            }
            if client.stream.write_all(&piece).await.is_err() {
                return;
            }
            sent += piece.len();
        }
    };
    tokio::time::timeout(PATIENCE, flood).await.expect("the server cuts the connection");
    assert!(sent < 64 << 20, "{sent} bytes");
    assert_eq!(served.ask(std::str::from_utf8(GET).unwrap()).await.status, 200);
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_busy_connection_of_http2_is_no_flood() {
    let served = Served::start().await;
    let io = TokioIo::new(served.connect().await.stream);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let mut get = async |target: &str| {
        let request = hyper::Request::builder().uri(format!("http://x{target}"));
        let response = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
        response.into_body().collect().await.unwrap().to_bytes().len()
    };
    for _ in 0..3_000 {
        get("/id").await;
    }
    assert_eq!(get("/big").await, BIG, "with a window update now and then");
    get("/id").await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn who_asks_on_and_takes_no_answer_is_cut() {
    let served = with(ListenConfig { header_timeout: SHORT, ..ListenConfig::default() }).await;
    let big = b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n";
    flood(&served, b"", big).await;
    assert_eq!(served.ask(std::str::from_utf8(GET).unwrap()).await.status, 200);
    // A client that only reads late and sends nothing meanwhile gets everything.
    let mut client = served.connect().await;
    client.send(big).await;
    sleep(3 * SHORT).await;
    assert_eq!(client.answer(false).await.body.len(), BIG);
}

/// Number of bytes that a slow client reads per second.
const SLOW: usize = 20_000;

/// Reads a large response slowly and steadily for 300 s, and sends `meanwhile` every second.
async fn takes_slowly(beginning: &[u8], meanwhile: &[u8]) {
    // While a blocking task waits, the runtime does not advance the paused clock by itself. Only the test advances it.
    let (_end, wait) = std::sync::mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || wait.recv());
    let served = with(ListenConfig { stall_timeout: Duration::from_secs(30), ..ListenConfig::default() }).await;
    let socket = TcpSocket::new_v4().unwrap();
    // Prevents the system from enlarging the buffer on a fast machine.
    socket.set_recv_buffer_size(64 << 10).unwrap();
    let mut stream = socket.connect(served.address).await.unwrap();
    stream.write_all(beginning).await.unwrap();
    let mut piece = vec![0; SLOW];
    for second in 0..300 {
        stream.read_exact(&mut piece).await.unwrap_or_else(|error| panic!("cut after {second} s: {error}"));
        stream.write_all(meanwhile).await.unwrap_or_else(|error| panic!("cut after {second} s: {error}"));
        tokio::time::advance(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
#[ignore = "thorough"]
async fn who_takes_an_answer_slowly_gets_it() {
    takes_slowly(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n", b"").await;
}

#[tokio::test(start_paused = true)]
#[ignore = "thorough"]
async fn who_takes_an_answer_slowly_over_http2_gets_it() {
    // Windows of 2 GiB for the stream and the connection, and `GET http://x/big`.
    let beginning = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        b"\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff",
        b"\0\0\x04\x08\0\0\0\0\0\x7f\xff\0\0",
        b"\0\0\x0b\x01\x05\0\0\0\x01\x82\x86\x04\x04/big\x01\x01x",
    ];
    // Window update for 10,000 bytes that were read.
    let window_update = b"\0\0\x04\x08\0\0\0\0\0\0\0\x27\x10";
    takes_slowly(&beginning.concat(), window_update).await;
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
