//! EHLO, HELO and STARTTLS: the server's capabilities.

use super::{CONTINUE, Flow, ServerSession, Then, plain};
use crate::personality::{At, Personality, Pipelining, Tls};

/// The LIMITS keyword (RFC 9422), if there is a limit to announce.
fn limits(personality: &Personality) -> Option<String> {
    let rcpt = Some(personality.limits.rcpt_per_transaction).filter(|limit| *limit > 0);
    let mails = personality.refusals.iter().find(|refusal| refusal.at == At::Mail && refusal.after > 0);
    let rcpt = rcpt.map(|limit| format!(" RCPTMAX={limit}"));
    let mails = mails.map(|refusal| format!(" MAILMAX={}", refusal.after));
    let limits: String = rcpt.into_iter().chain(mails).collect();
    (personality.limits.announced && !limits.is_empty()).then(|| format!("LIMITS{limits}"))
}

impl ServerSession {
    pub(super) fn ehlo(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Flow {
        if !self.parties.personality.ehlo {
            return self.wrong(out, "502 5.5.1 Command not implemented");
        }
        if let Some(flow) = self.greet(rest, out) {
            return flow;
        }
        let personality = &self.parties.personality;
        let mut lines = vec![self.parties.host.to_string()];
        if matches!(personality.pipelining, Pipelining::Offered | Pipelining::OfferedButDrops) {
            lines.push("PIPELINING".to_owned());
        }
        lines.push("SIZE 36700160".to_owned());
        if personality.tls != Tls::None && !self.tls {
            lines.push("STARTTLS".to_owned());
        }
        lines.push("ENHANCEDSTATUSCODES".to_owned());
        lines.push("8BITMIME".to_owned());
        if personality.smtputf8 {
            lines.push("SMTPUTF8".to_owned());
        }
        lines.extend(limits(personality));
        let last = lines.len() - 1;
        for (i, line) in lines.iter().enumerate() {
            out.extend_from_slice(if i == last { b"250 " } else { b"250-" });
            out.extend_from_slice(line.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        CONTINUE
    }

    pub(super) fn helo(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Flow {
        if let Some(flow) = self.greet(rest, out) {
            return flow;
        }
        out.extend_from_slice(b"250 ");
        out.extend_from_slice(self.parties.host.as_bytes());
        out.extend_from_slice(b"\r\n");
        CONTINUE
    }

    /// Common part of EHLO and HELO; returns a reply if they are refused.
    fn greet(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Option<Flow> {
        let name = String::from_utf8_lossy(rest).trim().to_owned();
        if name.is_empty() {
            return Some(self.wrong(out, "501 5.5.4 A domain is needed"));
        }
        self.helo = name;
        self.reset();
        self.refuse(At::Ehlo, out)
    }

    pub(super) fn starttls(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Flow {
        let tls = self.parties.personality.tls;
        if tls == Tls::None {
            return self.wrong(out, "502 5.5.1 Command not implemented");
        }
        if self.tls || self.helo.is_empty() {
            return self.wrong(out, "503 5.5.1 Bad sequence of commands");
        }
        if !rest.is_empty() {
            return self.wrong(out, "501 5.5.4 No parameters allowed");
        }
        if tls == Tls::Refused {
            return plain(out, "454 4.7.0 TLS not available due to temporary reason");
        }
        out.extend_from_slice(b"220 2.0.0 Ready to start TLS\r\n");
        Then::StartTls.into()
    }
}
