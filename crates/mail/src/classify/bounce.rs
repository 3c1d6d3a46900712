//! What a bounce says of the mailbox: the text with which mail came back, read by the rules for SMTP replies.
//!
//! A bounce is hard only if a rule reads that the mailbox does not exist or is disabled, and the text names no other address: the
//! sender of the message is not known here, and a forwarding address is another mailbox. Everything else is soft: refusals of the
//! sender, of the content or by policy (5.7.x), full mailboxes, domains without mail servers, and texts that no rule knows. A wrong
//! hard bounce costs a customer a reader, a wrong soft one costs nothing.

use crate::classify::{DialogParties, DialogStage, Meaning, Rules, Undeliverable};
use crate::smtp::reply::{Reply, ReplyParser};

/// Longest text that is read, in bytes. What decides is said at the beginning.
const TEXT_MAX_BYTES: usize = 1_500;
/// Code of a bounce that names none: mail that has come back is refused for good.
const FINAL_CODE: &str = "550";
/// Code of a bounce whose enhanced code is temporary.
const TEMPORARY_CODE: &str = "450";

/// A bounce, as logs and bounce messages have it.
#[derive(Clone, Copy, Debug, Default)]
pub struct BounceText<'a> {
    /// The server's reply or the reason in words, with or without codes. `smtp;` and `host mx.example.org said:` may precede it.
    pub text: &'a str,
    /// Enhanced code beside the text, such as `Status` of RFC 3464; it counts if the text has none.
    pub status: Option<&'a str>,
    /// The address; empty if unknown.
    pub recipient: &'a str,
}

/// What a bounce says of the mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BounceReading {
    /// Whether the mailbox does not exist or is disabled.
    pub is_hard: bool,
    /// Meaning of the text.
    pub meaning: Meaning,
}

/// Reads a bounce.
pub fn read(rules: &Rules, bounce: &BounceText<'_>) -> BounceReading {
    let (text, stage) = without_frame(bounce.text);
    let Some(reply) = reply(&text, bounce.status) else {
        return BounceReading { is_hard: false, meaning: Meaning::Unmatched };
    };
    let parties = DialogParties { recipient: bounce.recipient, ..DialogParties::default() };
    let meaning = rules.read_between(&reply, stage, None, &parties).meaning;
    let is_gone =
        matches!(meaning.makes_undeliverable(), Some(Undeliverable::NonExistent | Undeliverable::Deactivated));
    BounceReading { is_hard: is_gone && !names_another(&text, bounce.recipient), meaning }
}

/// Whether a text names an address other than the recipient.
fn names_another(text: &str, recipient: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || "<>()[]\"',;:".contains(c);
    text.split(ends).filter(|word| word.contains('@')).any(|word| {
        let word = word.trim_end_matches(['.', '!', '?']);
        !word.starts_with('@') && !word.eq_ignore_ascii_case(recipient)
    })
}

/// Removes what senders write around the server's words, and returns the stage that they name.
fn without_frame(text: &str) -> (String, DialogStage) {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let stage = match text.rsplit_once("(in reply to ") {
        Some((_, command)) if ["RCPT", "DATA", "end of DATA"].iter().any(|name| command.starts_with(name)) => {
            DialogStage::Rcpt
        }
        Some((_, command)) if command.starts_with("MAIL") => DialogStage::Mail,
        Some((_, command)) if command.starts_with("EHLO") || command.starts_with("HELO") => DialogStage::Ehlo,
        Some(_) => DialogStage::Connect,
        None => DialogStage::Rcpt,
    };
    let inner = text.rsplit_once(" (in reply to ").map_or(&*text, |(before, _)| before);
    let said = inner.split_once(" said: ").filter(|(before, _)| before.starts_with("host "));
    let inner = said.map_or(inner, |(_, said)| said);
    let inner = inner.split_once(';').filter(|(kind, _)| is_kind(kind)).map_or(inner, |(_, rest)| rest.trim_start());
    (inner.trim_start_matches(['<', '"', '\'']).to_owned(), stage)
}

/// Whether it is the type of a diagnostic code (RFC 3464 §2.3.6): `smtp`, `x-unix`.
fn is_kind(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The bounce as a reply of a server.
fn reply(text: &str, status: Option<&str>) -> Option<Reply> {
    let status = status.and_then(|status| status.split_whitespace().next()).filter(|status| is_enhanced(status));
    let (said, rest) = code(text).map_or((FINAL_CODE, text), |(code, rest)| (code, rest));
    let first = rest.split(' ').next().unwrap_or_default();
    let named = Some(first).filter(|first| is_enhanced(first)).or(status.filter(|_| said == FINAL_CODE));
    // Of two classes the milder one counts.
    let is_temporary = named.is_some_and(|enhanced| enhanced.trim_start_matches('#').starts_with('4'));
    let code = if is_temporary && said.starts_with('5') { TEMPORARY_CODE } else { said };
    let repeated = format!("{said}-");
    let words = rest.split(' ').map(|word| word.strip_prefix(&*repeated).unwrap_or(word));
    let mut line = words.collect::<Vec<_>>().join(" ");
    let has_own = line.split(' ').next().is_some_and(|first| is_enhanced(first.trim_end_matches(':')));
    // Senders write 5.0.0 where the server gave no code.
    if let Some(status) = status.filter(|status| !has_own && !status.ends_with(".0.0")) {
        line = format!("{status} {line}");
    }
    let mut end = line.len().min(TEXT_MAX_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let whole = format!("{code} {}\r\n", &line[..end]);
    ReplyParser::new().next(&mut whole.as_bytes())?.ok()
}

/// Code of three digits at the beginning, and the rest.
fn code(text: &str) -> Option<(&str, &str)> {
    let (code, rest) = text.split_at_checked(3)?;
    let is_code = code.starts_with(['2', '4', '5']) && code.bytes().all(|byte| byte.is_ascii_digit());
    let rest = match rest.chars().next() {
        None => rest,
        Some(' ' | '-' | ':' | ',') => &rest[1..],
        Some(_) => return None,
    };
    is_code.then_some((code, rest.trim_start()))
}

/// Whether it is an enhanced code of a refusal (RFC 3463).
fn is_enhanced(text: &str) -> bool {
    let mut parts = text.trim_start_matches('#').split('.');
    let class = parts.next().is_some_and(|class| class == "4" || class == "5");
    let digits = |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    class && parts.next().is_some_and(digits) && parts.next().is_some_and(digits) && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOE: &str = "joe@example.net";

    fn is_hard(text: &str, status: &str) -> bool {
        let status = Some(status).filter(|status| !status.is_empty());
        read(Rules::embedded(), &BounceText { text, status, recipient: JOE }).is_hard
    }

    #[test]
    fn what_says_that_the_mailbox_is_gone_is_hard() {
        let table = [
            ("550 5.1.1 <joe@example.net>: Recipient address rejected: User unknown in virtual mailbox table", ""),
            ("smtp; 550 5.1.1 The email account that you tried to reach does not exist.", "5.1.1"),
            (
                "smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try\n 550-5.1.1 \
                 double-checking the recipient's email address 550 5.1.1 https://support.google.com/mail/?p=NoSuchUser",
                "5.1.1",
            ),
            (
                "host mx.example.net[192.0.2.7] said: 550 5.1.1 <joe@example.net>: Recipient address rejected: User \
                 unknown in local recipient table (in reply to RCPT TO command)",
                "5.1.1",
            ),
            ("unknown user: \"joe\"", "5.1.1"),
            ("550 No such user here", ""),
            ("X-Postfix; unknown user: \"joe\"", "5.1.1"),
            ("smtp;550 5.2.1 The email account that you tried to reach is disabled.", "5.2.1"),
            ("5.1.1 user unknown", ""),
            ("smtp;554 delivery error: dd This user doesn't have a yahoo.com account (joe@example.net)", "5.0.0"),
        ];
        for (text, status) in table {
            assert!(is_hard(text, status), "{text}");
        }
    }

    #[test]
    fn a_refusal_of_the_sender_or_of_the_content_never_is() {
        let table = [
            ("550 5.7.1 Service unavailable, Client host [192.0.2.9] blocked using zen.spamhaus.org", ""),
            ("smtp; 554 5.7.1 Message rejected as spam by content scanner", "5.7.1"),
            ("550 5.7.26 This mail has been blocked because the sender is unauthenticated.", "5.7.26"),
            ("550-5.7.1 [192.0.2.9] Our system has detected that this message is likely unsolicited mail.", "5.7.1"),
            ("552 5.2.2 The email account that you tried to reach is over quota.", "5.2.2"),
            (
                "Host or domain name not found. Name service error for name=example.net type=AAAA: Host not found",
                "5.4.4",
            ),
            ("connect to mx.example.net[192.0.2.7]:25: Connection timed out", "4.4.1"),
            (
                "host mx.example.net[192.0.2.7] said: 550 5.1.8 Sender address rejected: User unknown (in reply to MAIL \
                 FROM command)",
                "5.1.8",
            ),
            ("host mx[192.0.2.7] said: 450 4.1.1 <joe@example.net>: user unknown (in reply to RCPT TO command)", ""),
            ("smtp; 450 4.2.0 Greylisted, try again later", "4.2.0"),
            ("550 5.4.1 Recipient address rejected: Access denied.", "5.4.1"),
            ("554 5.6.0 message content rejected", "5.6.0"),
            ("message too large", "5.3.4"),
            ("", "5.7.1"),
            ("", ""),
            ("anything at all", ""),
            ("550 <jane@example.com>: no such user", ""),
            ("450 user unknown", "5.1.1"),
            ("550 user unknown", "4.1.1"),
        ];
        for (text, status) in table {
            assert!(!is_hard(text, status), "{text}");
        }
    }

    #[test]
    fn no_reply_of_the_table_that_is_harmless_becomes_hard() {
        let table = include_str!("../../tests/data/replies.txt");
        let mut section = "";
        let mut seen = 0;
        for line in table.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name;
            }
            let mut parts = line.splitn(3, ' ');
            let (Some("rcpt"), Some(_), Some(reply)) = (parts.next(), parts.next(), parts.next()) else { continue };
            if matches!(section, "no_such_user" | "deactivated") {
                continue;
            }
            let reply = reply.split(" ## ").next().unwrap_or_default();
            let reply = reply.replace("{a}", JOE).replace("{us}", "ask@probe.example");
            let reply = reply.replace("{ip}", "192.0.2.1");
            // As a log has it, without the provider and the names of the dialog's parties.
            let reading = read(Rules::embedded(), &BounceText { text: &reply, status: None, recipient: JOE });
            seen += 1;
            assert!(!reading.is_hard, "{section}: {reply}");
        }
        assert!(seen > 1_000, "{seen}");
    }
}
