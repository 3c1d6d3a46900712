//! What a mail server adds to a reply that it quotes, which is no evidence about anybody.

use std::borrow::Cow;
use std::net::IpAddr;

/// How a trailer begins that mail servers add in brackets to a reply that they quote (Postfix, Cisco).
const TRAILERS: [&str; 2] = ["(in reply to rcpt", "(delivery attempts:"];

/// A text without what a mail server adds about the session: the brackets at its end that say to which command a quoted reply came
/// or how often it tried, and brackets with a report number and the client's address (QQ).
pub(super) fn without_session(text: &str) -> Cow<'_, str> {
    without_reports(without_trailer(text))
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

/// Whether brackets hold nothing but a report number and an address: `MKOaVcXy1 IP: 192.0.2.1`. A number has a digit and a capital
/// letter, which no word about us has.
fn is_report(inner: &str) -> bool {
    let Some((number, address)) = inner.split_once("IP:") else { return false };
    let number = number.trim();
    number.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && number.contains(|c: char| c.is_ascii_digit())
        && number.contains(|c: char| c.is_ascii_uppercase())
        && address.trim().parse::<IpAddr>().is_ok()
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
        assert_eq!(without_session("unknown [MKO1Vc IP: 192.0.2.1]. more (x7Q IP: 2001:db8::1)"), "unknown ;. more ;");
        for text in [
            "unknown (é)",
            "unknown (in reply to MAIL FROM command)",
            "unknown (in reply to RCPT TO command) or blocked",
            "unknown; from=<a@b> to=<c@d> helo=<mx.b>",
            "unknown [blacklisted IP: 192.0.2.1]",
            "unknown [Blacklisted IP: 192.0.2.1]",
            "unknown [rbl1 IP: 192.0.2.1]",
            "unknown (IP=192.0.2.1)",
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
