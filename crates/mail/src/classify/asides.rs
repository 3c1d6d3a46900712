//! What a reply says besides its verdict: a report number, a line of a log, advice, or what became of the message.
//!
//! Such words look like evidence about us: "User unknown. Please contact your system administrator", "Message rejected: user
//! unknown". They are left out before rules read a reply, but only where nothing in them can be about us.

use std::borrow::Cow;
use std::net::IpAddr;

use super::phrases::Beginnings;
use super::words::{self, ADDRESS, CLAUSE_END, unmarked};

/// How a trailer begins that mail servers add in brackets to a reply that they quote (Postfix, Cisco).
const TRAILERS: [&str; 2] = ["(in reply to rcpt", "(delivery attempts:"];

/// How the rest of a line of Postfix's log begins.
const LOG: &str = "; from=<";

/// A text without what a mail server adds about the session: the brackets at its end that say to which command a quoted reply came
/// or how often it tried, the end of a line of its log, and brackets with a report number and the client's address (QQ).
pub(super) fn without_session(text: &str) -> Cow<'_, str> {
    let text = without_trailer(text);
    let is_log = |rest: &str| rest.split_ascii_whitespace().skip(1).all(|part| part.contains('='));
    let log = text.find(LOG).filter(|at| is_log(&text[*at..]));
    without_reports(log.map_or(text, |at| &text[..at]))
}

fn without_trailer(text: &str) -> &str {
    let is_trailer = |brackets: &str| {
        let begins =
            |trailer: &&str| brackets.get(..trailer.len()).is_some_and(|start| start.eq_ignore_ascii_case(trailer));
        brackets.ends_with(')') && TRAILERS.iter().any(begins)
    };
    text.rfind('(').filter(|at| is_trailer(&text[*at..])).map_or(text, |at| &text[..at])
}

fn without_reports(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(open) = rest.find(['[', '(']) {
        let Some(close) = rest[open..].find([']', ')']).map(|at| open + at) else { break };
        if is_report(&rest[open + 1..close]) {
            kept.push_str(&rest[..open]);
            kept.push(';');
        } else {
            kept.push_str(&rest[..=close]);
        }
        rest = &rest[close + 1..];
    }
    if kept.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(kept + rest) }
}

/// Whether brackets hold nothing but `ID IP: ADDRESS` or `IP=ADDRESS`.
fn is_report(inner: &str) -> bool {
    let Some((head, address)) = inner.split_once("IP:").or_else(|| inner.split_once("IP=")) else { return false };
    head.trim().bytes().all(|byte| byte.is_ascii_alphanumeric()) && address.trim().parse::<IpAddr>().is_ok()
}

/// The words that asides are known by.
#[derive(Clone, Debug, Default)]
pub(super) struct Asides {
    /// Words with which advice begins.
    pub(super) requests: Beginnings,
    /// All words of a clause of advice.
    pub(super) advice: Beginnings,
    /// All words of a clause that only says what became of the message.
    pub(super) outcomes: Beginnings,
    /// Nouns for the recipient. Without one, the outcome is all that a text says.
    pub(super) receivers: Beginnings,
}

impl Asides {
    /// Marked words without clauses that are asides; `None` if there are none.
    pub(super) fn without(&self, marked: &[u8]) -> Option<Vec<u8>> {
        let clauses: Vec<&[u8]> = marked.split_inclusive(|byte| *byte == CLAUSE_END).collect();
        let plain: Vec<Vec<u8>> = clauses.iter().map(|clause| unmarked(clause)).collect();
        let names_receiver = plain.iter().any(|clause| words_of(clause).any(|word| self.receivers.of(word).is_some()));
        let mut left = vec![b' '];
        let mut is_first = true;
        for (clause, plain) in clauses.iter().zip(&plain) {
            let is_advice =
                !is_first && self.requests.of(plain.trim_ascii_start()).is_some() && consists(plain, &self.advice);
            let is_aside = is_advice || names_receiver && consists(plain, &self.outcomes);
            is_first &= !plain.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
            if !is_aside {
                left.extend_from_slice(clause.strip_prefix(b" ").filter(|_| left.len() == 1).unwrap_or(clause));
            }
        }
        (left.len() < marked.len()).then_some(left)
    }
}

/// Whether a clause has two of these words or more, and no others but addresses and numbers. A script without blanks needs one.
fn consists(clause: &[u8], of: &Beginnings) -> bool {
    let mut count = 0;
    let is_one = |rest: &[u8]| {
        let is_word = of.of(rest).is_some();
        count += usize::from(is_word);
        is_word || rest.starts_with(&[ADDRESS]) || words::is_number(words::first_word(rest))
    };
    words_of(clause).all(is_one) && (count > 1 || count == 1 && !clause.is_ascii())
}

/// The text of a clause from each of its words on.
fn words_of(clause: &[u8]) -> impl Iterator<Item = &[u8]> {
    let begins = |at: &usize| clause[*at] != b' ' && at.checked_sub(1).is_none_or(|before| clause[before] == b' ');
    (0..clause.len()).filter(begins).map(|at| &clause[at..])
}

#[cfg(test)]
mod tests {
    use super::without_session;

    #[test]
    fn what_servers_add_about_a_session_is_left_out() {
        for text in
            ["unknown (in reply to RCPT TO command)", "unknown (IN REPLY TO RCPT)", "unknown (delivery attempts: 0)"]
        {
            assert_eq!(without_session(text), "unknown ");
        }
        assert_eq!(without_session("unknown; from=<a@b> to=<c@d> proto=ESMTP helo=<mx.b>"), "unknown");
        assert_eq!(without_session("unknown [MKOaVc IP: 192.0.2.1]. more (IP=2001:db8::1)"), "unknown ;. more ;");
        for text in [
            "unknown (é)",
            "unknown (in reply to MAIL FROM command)",
            "unknown (in reply to RCPT TO command) or blocked",
            "unknown; from=<a@b> to=<c@d> blocked",
            "blocked [192.0.2.1]",
            "blocked [your IP: 192.0.2.1 is listed]",
            "blocked (bad host, IP: 192.0.2.1)",
            "(",
            "unknown",
        ] {
            assert_eq!(without_session(text), text);
        }
    }
}
