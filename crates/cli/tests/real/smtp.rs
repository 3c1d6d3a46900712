//! A minimal SMTP client that works in lockstep and returns replies verbatim.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Time limit of a reply: real servers delay some on purpose.
const REPLY_LIMIT: Duration = Duration::from_secs(20);

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    /// Replies so far, starting with the banner.
    pub(crate) replies: Vec<String>,
}

impl Client {
    pub(crate) fn open(address: SocketAddr) -> Self {
        #[expect(clippy::disallowed_methods, reason = "this client is the yardstick beside the engine, loopback only")]
        let stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
        stream.set_read_timeout(Some(REPLY_LIMIT)).expect("a timeout");
        let mut client = Self { stream: BufReader::new(stream), replies: Vec::new() };
        let banner = client.reply();
        client.replies.push(banner);
        client
    }

    /// Sends one command and returns its reply, lines joined by `\n`; empty if the server hung up.
    pub(crate) fn say(&mut self, command: &str) -> String {
        self.send(&format!("{command}\r\n"));
        let reply = self.reply();
        self.replies.push(reply.clone());
        reply
    }

    /// Sends bytes without waiting for a reply.
    pub(crate) fn send(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).expect("a server that reads");
    }

    pub(crate) fn reply(&mut self) -> String {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.stream.read_line(&mut line).expect("a reply in time");
            let line = line.trim_end();
            lines.push(line.to_owned());
            // RFC 5321 section 4.2.1: a hyphen after the code means that more lines follow.
            if read == 0 || line.as_bytes().get(3) != Some(&b'-') {
                return lines.join("\n");
            }
        }
    }
}

/// Returns the reply to RCPT for one address in a new session.
pub(crate) fn ask(address: SocketAddr, recipient: &str) -> String {
    let mut client = Client::open(address);
    client.say("EHLO probe.sender.test");
    let utf8 = if recipient.is_ascii() { "" } else { " SMTPUTF8" };
    let mail = client.say(&format!("MAIL FROM:<probe@sender.test>{utf8}"));
    if !mail.starts_with("250") {
        return mail;
    }
    let reply = client.say(&format!("RCPT TO:<{recipient}>"));
    client.say("QUIT");
    reply
}
