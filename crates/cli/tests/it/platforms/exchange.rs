//! One request of a connector over one connection.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use probity_connectors::{Request, Response};
use probity_mail::time::Millis;

/// Read timeout: longer than any response takes.
const READ_MAX: Duration = Duration::from_mins(1);

/// Returns the time.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Millis(i64::try_from(since.as_millis()).unwrap())
}

/// Sends a request to a platform on this machine.
pub(crate) fn send(request: &Request) -> Response {
    let rest = request.url.strip_prefix("http://").expect("a platform of a test has no TLS");
    let (host, target) = rest.split_once('/').expect("a path");
    let body = request.body.as_deref().unwrap_or_default();
    let mut sent = Vec::new();
    write!(sent, "{} /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n", request.method.name()).unwrap();
    for (name, value) in &request.headers {
        write!(sent, "{name}: {value}\r\n").unwrap();
    }
    write!(sent, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
    sent.extend_from_slice(body);
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(READ_MAX)).unwrap();
    stream.write_all(&sent).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    response(&answer)
}

fn response(answer: &[u8]) -> Response {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = std::str::from_utf8(&answer[..end]).unwrap();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
    let headers: Vec<(String, String)> =
        lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.into(), value.into())).collect();
    let is_chunked = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("transfer-encoding"));
    let body = &answer[end + 4..];
    let body = if is_chunked { unchunked(body) } else { body.to_vec() };
    Response { status, headers, body, is_cut: false, at: now() }
}

/// Joins the chunks of a body (RFC 9112 §7.1).
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n").expect("a size");
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 2 + size + 2..];
    }
}
