//! An HTTP/1.1 client on one connection that records the outcome of each request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Read timeout of a client: longer than any request may take.
const READ_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Status line and header fields.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Reports whether this is a 503 as the contract defines it.
    pub(crate) fn is_unavailable(&self) -> bool {
        self.status == 503 && self.json()["error"]["code"] == "service_unavailable"
    }
}

/// Why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// No connection: nothing was sent.
    Refused,
    /// The connection broke: the request may have been read, and may have had its effect.
    Lost,
}

/// A client that keeps its connection as long as the server does.
pub(crate) struct Client {
    address: SocketAddr,
    key: String,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, key: &str) -> Self {
        Self { address, key: key.to_owned(), connection: None }
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Answer, Failed> {
        self.send("GET", path)
    }

    pub(crate) fn send(&mut self, method: &str, path: &str) -> Result<Answer, Failed> {
        self.exchange(method, path, "", "")
    }

    /// Sends JSON with an `Idempotency-Key`.
    pub(crate) fn post(&mut self, path: &str, idempotency_key: &str, json: &str) -> Result<Answer, Failed> {
        let fields = format!(
            "Idempotency-Key: {idempotency_key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            json.len()
        );
        self.exchange("POST", path, &fields, json)
    }

    /// Uses a one-time link as its page does.
    pub(crate) fn use_link(&mut self, token: &str, json: &str) -> Result<Answer, Failed> {
        let (address, length) = (self.address, json.len());
        let fields = format!(
            "Origin: http://{address}\r\nX-Link-Token: {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n"
        );
        self.exchange("POST", "/app/link", &fields, json)
    }

    /// Sends a request with these header fields.
    pub(crate) fn exchange(&mut self, method: &str, path: &str, fields: &str, body: &str) -> Result<Answer, Failed> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(self.address)?,
        };
        let authorization =
            if self.key.is_empty() { String::new() } else { format!("Authorization: Bearer {}\r\n", self.key) };
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{authorization}{fields}\r\n{body}", self.address);
        connection.get_mut().write_all(request.as_bytes()).map_err(|_| Failed::Lost)?;
        let answer = read(&mut connection).ok_or(Failed::Lost)?;
        if !answer.head.to_ascii_lowercase().contains("connection: close") {
            self.connection = Some(connection);
        }
        Ok(answer)
    }

    pub(crate) fn verify(&mut self, email: &str) -> Result<Answer, Failed> {
        self.get(&format!("/v1/verify?email={}", email.replace('+', "%2B")))
    }
}

fn connect(address: SocketAddr) -> Result<BufReader<TcpStream>, Failed> {
    let stream = TcpStream::connect(address).map_err(|_| Failed::Refused)?;
    stream.set_nodelay(true).map_err(|_| Failed::Refused)?;
    stream.set_read_timeout(Some(READ_MAX)).map_err(|_| Failed::Refused)?;
    Ok(BufReader::new(stream))
}

/// Reads a whole response; `None` if the connection ends first.
pub(crate) fn read(connection: &mut BufReader<TcpStream>) -> Option<Answer> {
    let (head, body) = message(connection)?;
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    Some(Answer { status, head, body })
}

/// Reads a whole request or response: its head and its body.
pub(crate) fn message(connection: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if connection.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = field(&head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    connection.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8_lossy(&body).into_owned()))
}

/// Returns the value of a header field.
pub(crate) fn field<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.into_iter().find_map(|(name, value)| name.eq_ignore_ascii_case(wanted).then(|| value.trim()))
}
