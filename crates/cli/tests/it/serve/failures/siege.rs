//! Clients that try to exhaust memory: what they get is bounded, and all other clients get responses.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::serve::bench::node::{Installation, Node};

const SLOW_HEADERS: usize = 200;
const ENDLESS_BODIES: usize = 50;
const HUGE_HEADERS: usize = 50;
/// Default maximum body, in bytes.
const BODY_MAX: usize = 1 << 20;
/// Maximum growth over all bodies, in KiB: twice the limit per body, since it is copied while it grows, and some memory per
/// connection.
const GROWTH_MAX: u64 = (2 * ENDLESS_BODIES * BODY_MAX) as u64 / 1024 + 32 * 1024;

fn resident(pid: Pid) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Opens a connection and sends these parts, as far as the server accepts them.
fn holding(address: SocketAddr, parts: &[&[u8]]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    // The server may close the connection at any time.
    let _ = parts.iter().try_for_each(|part| stream.write_all(part));
    stream
}

fn answers_everybody_else(node: &Node, key: &str) {
    let mut client = node.client(key);
    for _ in 0..20 {
        let begun = Instant::now();
        assert_eq!(client.verify("valid@sandbox.test").unwrap().status, 200);
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
}

/// Returns the server's response before it closed; empty if there was none.
fn said(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut text = [0; 64];
    let length = stream.read(&mut text).unwrap_or(0);
    String::from_utf8_lossy(&text[..length]).into_owned()
}

#[test]
#[ignore = "thorough"]
fn a_siege_costs_bounded_memory_and_nobody_an_answer() {
    let installation = Installation::on_sqlite();
    let node = installation.start();
    let (key, pid) = (node.key("Live key"), node.launched.pid());
    answers_everybody_else(&node, &key);
    let before = resident(pid);

    let slow: Vec<_> = (0..SLOW_HEADERS)
        .map(|_| holding(node.address, &[b"GET /v1/verify HTTP/1.1\r\nHost: x\r\nX-Slow: a"]))
        .collect();
    answers_everybody_else(&node, &key);

    // Just below the limit, and never complete.
    let head = format!(
        "POST /v1/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    let piece = ["8000\r\n", &" ".repeat(0x8000), "\r\n"].concat();
    let mut endless = vec![head.as_bytes()];
    endless.extend(std::iter::repeat_n(piece.as_bytes(), BODY_MAX / 0x8000 - 1));
    let bodies: Vec<_> = (0..ENDLESS_BODIES).map(|_| holding(node.address, &endless)).collect();
    answers_everybody_else(&node, &key);

    let field = format!("X-Long: {}\r\n", "a".repeat(8_000));
    let mut huge = vec![b"GET /healthz HTTP/1.1\r\nHost: x\r\n".as_slice()];
    huge.extend(std::iter::repeat_n(field.as_bytes(), 200));
    let headers: Vec<_> = (0..HUGE_HEADERS).map(|_| holding(node.address, &huge)).collect();
    answers_everybody_else(&node, &key);

    let after = resident(pid);
    println!("{before} KiB before, {after} KiB under siege");
    assert!(after.saturating_sub(before) < GROWTH_MAX, "{before} KiB grew to {after} KiB");
    for stream in headers {
        let said = said(stream);
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 431"), "{said}");
    }
    // Beyond the limit, the body is rejected.
    let mut stream = bodies.into_iter().next().unwrap();
    let _ = stream.write_all(piece.repeat(2).as_bytes());
    assert!(said(stream).starts_with("HTTP/1.1 413"));
    drop(slow);
    answers_everybody_else(&node, &key);
    node.stop();
}
