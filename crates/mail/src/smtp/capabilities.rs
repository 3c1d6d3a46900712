//! What a server offers in its answer to EHLO.
//!
//! Only what a session can use is kept. A keyword that is unknown or has a parameter that cannot be read is passed over: a
//! server that writes `SIZE=x` has not promised anything, and has not refused us either.

/// The extensions of one EHLO answer. Empty after HELO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each keyword is offered or not, independently of the others")]
pub struct Capabilities {
    /// Commands may be sent in groups (RFC 2920).
    pub pipelining: bool,
    /// TLS can be started (RFC 3207).
    pub starttls: bool,
    /// Addresses may be UTF-8 (RFC 6531).
    pub smtputf8: bool,
    /// Bodies may be 8-bit (RFC 6152). Kept for the record: no body is ever sent.
    pub eight_bit_mime: bool,
    /// Replies carry enhanced codes (RFC 2034).
    pub enhanced_status_codes: bool,
    /// The largest message in bytes (RFC 1870); `Some(0)` is "no limit", `None` is "not offered or no number given".
    pub size: Option<u64>,
    /// The most recipients of one transaction (RFC 9422), at least 1.
    pub rcpt_max: Option<u32>,
    /// The most transactions of one session (RFC 9422), at least 1.
    pub mail_max: Option<u32>,
    /// The most recipient domains of one transaction (RFC 9422), at least 1.
    pub rcpt_domain_max: Option<u32>,
}

impl Capabilities {
    /// Takes one line of an EHLO answer: its number within the reply and the bytes after the code.
    ///
    /// The first line is the server's greeting, not a keyword (RFC 5321 §4.1.1.1).
    pub(super) fn take_line(&mut self, number: u32, line: &[u8]) {
        if number == 0 {
            *self = Self::default();
            return;
        }
        let Ok(line) = std::str::from_utf8(line) else {
            return;
        };
        let mut words = line.split_ascii_whitespace();
        // RFC 5321 §4.1.1.1: keywords are read without regard to case.
        match words.next().map(str::to_ascii_uppercase).as_deref() {
            Some("PIPELINING") => self.pipelining = true,
            Some("STARTTLS") => self.starttls = true,
            Some("SMTPUTF8") => self.smtputf8 = true,
            Some("8BITMIME") => self.eight_bit_mime = true,
            Some("ENHANCEDSTATUSCODES") => self.enhanced_status_codes = true,
            Some("SIZE") => self.size = words.next().and_then(|size| size.parse().ok()),
            Some("LIMITS") => words.for_each(|limit| self.take_limit(limit)),
            _ => {}
        }
    }

    /// RFC 9422 §3: `name=value`, the value a number from 1 of at most six digits.
    fn take_limit(&mut self, limit: &str) {
        let Some((name, value)) = limit.split_once('=') else {
            return;
        };
        let value = value.parse().ok().filter(|value| (1..=999_999).contains(value));
        match name.to_ascii_uppercase().as_str() {
            "RCPTMAX" => self.rcpt_max = value,
            "MAILMAX" => self.mail_max = value,
            "RCPTDOMAINMAX" => self.rcpt_domain_max = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Capabilities;

    fn read(lines: &[&str]) -> Capabilities {
        let mut capabilities = Capabilities::default();
        for (number, line) in (0..).zip(lines) {
            capabilities.take_line(number, line.as_bytes());
        }
        capabilities
    }

    #[test]
    fn every_keyword_is_read_in_any_case() {
        let lines = [
            "mx.example greets you",
            "pipelining",
            "StartTLS",
            "SMTPUTF8",
            "8bitmime",
            "ENHANCEDSTATUSCODES",
            "SIZE 1000",
            "LIMITS RCPTMAX=20 mailmax=5 RCPTDOMAINMAX=1 OTHER=7",
        ];
        let expected = Capabilities {
            pipelining: true,
            starttls: true,
            smtputf8: true,
            eight_bit_mime: true,
            enhanced_status_codes: true,
            size: Some(1000),
            rcpt_max: Some(20),
            mail_max: Some(5),
            rcpt_domain_max: Some(1),
        };
        assert_eq!(read(&lines), expected);
    }

    #[test]
    fn the_greeting_is_no_keyword_and_bad_parameters_promise_nothing() {
        let lines = [
            "PIPELINING",
            "SIZE",
            "SIZE x",
            "LIMITS RCPTMAX=0 MAILMAX=-1 RCPTDOMAINMAX",
            "XSTARTTLS",
            "",
            "STARTTLS-NOT",
        ];
        assert_eq!(read(&lines), Capabilities::default());
    }

    #[test]
    fn a_new_answer_replaces_the_old_one() {
        let mut capabilities = read(&["first", "PIPELINING", "SIZE 5"]);
        capabilities.take_line(0, b"second");
        assert_eq!(capabilities, Capabilities::default());
    }
}
