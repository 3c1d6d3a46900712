//! Lines of Postfix logs: final attempts of its SMTP client.
//!
//! ```text
//! Nov 23 10:00:01 mx postfix/smtp[4711]: 4F1A2B3C: to=<ann@example.org>, relay=mx.example.org[192.0.2.7]:25, delay=1.2,
//!     dsn=5.1.1, status=bounced (host mx.example.org[192.0.2.7] said: 550 5.1.1 ... (in reply to RCPT TO command))
//! ```
//!
//! Other daemons deliver to local mailboxes, which is not mail that was sent. `deferred` is not final. A delivery to a content
//! filter on the same machine is followed by another one.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use probity_account::outcome::OutcomeClass;
use probity_mail::time::Millis;

use super::{FoundOutcome, address, class_of_bounce};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// How far a line may be ahead of `now`; a date without a year that is further ahead is of the year before.
const AHEAD_MAX_MS: i64 = 24 * 3_600_000;

/// Reads a line; `None` if it has no outcome. Times without an offset are read as UTC, dates without a year as the latest before
/// `now`.
pub fn read_line(line: &str, now: Millis) -> Option<FoundOutcome> {
    let (head, message) = line.split_once("]: ")?;
    if !is_smtp_client(head) {
        return None;
    }
    let (fields, said) = message.split_once(", status=")?;
    let (status, text) = said.split_once(" (")?;
    let text = text.trim_end().strip_suffix(')').unwrap_or(text);
    let field = |name: &str| fields.split(", ").find_map(|field| field.rsplit(' ').next()?.strip_prefix(name));
    // The address to which it was sent, before it was rewritten.
    let original = field("orig_to=").and_then(address);
    let email = original.or_else(|| field("to=").and_then(address))?;
    let class = match status {
        "sent" if !field("relay=").is_some_and(is_this_machine) => OutcomeClass::Delivered,
        "bounced" => class_of_bounce(email, field("to=").and_then(address), text, field("dsn=")),
        _ => return None,
    };
    Some(FoundOutcome { email: email.to_owned(), class, at: time(head, now) })
}

/// Whether a line's head ends in the name of an SMTP client: `postfix/smtp[4711`, `postfix-out/smtp[4711`.
fn is_smtp_client(head: &str) -> bool {
    let daemon = head.rsplit(' ').next().unwrap_or_default();
    let Some((name, _)) = daemon.split_once('[') else { return false };
    name.starts_with("postfix") && name.ends_with("/smtp")
}

fn is_this_machine(relay: &str) -> bool {
    ["127.", "localhost", "[127.", "[::1]"].iter().any(|own| relay.starts_with(own))
        || relay.contains("[127.")
        || relay.contains("[::1]")
}

/// Time at the beginning of a line: RFC 3339, or month, day and time of syslog.
fn time(head: &str, now: Millis) -> Option<Millis> {
    let mut words = head.split_whitespace();
    let first = words.next()?;
    if first.contains('T') {
        let zoned = first.parse::<Timestamp>().ok().map(whole_seconds);
        return zoned.or_else(|| in_utc(first.parse().ok()?));
    }
    let month = i8::try_from(MONTHS.iter().position(|month| *month == first)?).ok()? + 1;
    let day: i8 = words.next()?.parse().ok()?;
    let clock: Time = words.next()?.parse().ok()?;
    let this_year = Timestamp::from_millisecond(now.0).ok()?.to_zoned(TimeZone::UTC).year();
    let in_year = |year| in_utc(Date::new(year, month, day).ok()?.to_datetime(clock));
    // A machine east of UTC is in the next year first; 29 February may be some years ago.
    (-1..5).find_map(|ago| in_year(this_year - ago).filter(|at| at.since(now) <= AHEAD_MAX_MS))
}

fn in_utc(at: DateTime) -> Option<Millis> {
    Some(whole_seconds(at.to_zoned(TimeZone::UTC).ok()?.timestamp()))
}

fn whole_seconds(at: Timestamp) -> Millis {
    Millis(at.as_second() * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-10T12:00:00Z.
    const NOW: Millis = Millis(1_773_144_000_000);

    fn read(line: &str) -> Option<(String, OutcomeClass, String)> {
        let found = read_line(line, NOW)?;
        Some((found.email, found.class, found.at.map(Millis::to_rfc3339).unwrap_or_default()))
    }

    #[test]
    fn final_attempts_are_outcomes() {
        let sent = "Mar  9 10:00:01 mx postfix/smtp[4711]: 4F1A: to=<Ann@example.org>, relay=mx.example.org[192.0.2.7]:25, \
                    delay=1.2, delays=0.1/0/0.5/0.6, dsn=2.0.0, status=sent (250 2.0.0 Ok: queued as 9B)";
        let expected = ("Ann@example.org".to_owned(), OutcomeClass::Delivered, "2026-03-09T10:00:01.000Z".to_owned());
        assert_eq!(read(sent), Some(expected));
        let bounced = |original: &str, reply: &str, dsn: &str| {
            let line = format!(
                "2026-02-28T23:30:00.123456+01:00 mx postfix-out/smtp[1]: 3xY: to=<bob@example.org>, {original}\
                 relay=mx[192.0.2.7]:25, dsn={dsn}, status=bounced ({reply})"
            );
            read(&line).unwrap()
        };
        let gone = "host mx[192.0.2.7] said: 550 5.1.1 <bob@example.org>: Recipient address rejected: User unknown (in reply to \
                    RCPT TO command)";
        let at = "2026-02-28T22:30:00.000Z";
        assert_eq!(bounced("", gone, "5.1.1"), ("bob@example.org".into(), OutcomeClass::HardBounce, at.into()));
        // The list goes to others, too.
        let original = "orig_to=<list@example.com>, ";
        let expected = ("list@example.com".into(), OutcomeClass::SoftBounce, at.into());
        assert_eq!(bounced(original, gone, "5.1.1"), expected);
        let refused = "host mx[192.0.2.7] said: 554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org \
                       (in reply to RCPT TO command)";
        assert_eq!(bounced("", refused, "5.7.1").1, OutcomeClass::SoftBounce);
        let nowhere = "Host or domain name not found. Name service error for name=example.org type=A: Host not found";
        assert_eq!(bounced("", nowhere, "5.4.4").1, OutcomeClass::SoftBounce);
    }

    #[test]
    fn what_is_not_final_or_not_sent_is_none() {
        let with = |daemon: &str, relay: &str, status: &str| {
            read(&format!(
                "Mar  9 10:00:01 mx {daemon}[1]: 4F: to=<a@example.org>, relay={relay}, dsn=4.4.1, status={status} (x)"
            ))
        };
        let away = "mx.example.org[192.0.2.7]:25";
        assert!(with("postfix/smtp", away, "sent").is_some());
        assert_eq!(with("postfix/smtp", away, "deferred"), None);
        assert_eq!(with("postfix/smtp", away, "undeliverable"), None, "an address probe");
        assert_eq!(with("postfix/smtp", "127.0.0.1[127.0.0.1]:10024", "sent"), None, "a content filter");
        assert_eq!(with("postfix/local", "local", "sent"), None);
        assert_eq!(with("postfix/lmtp", "mx[private/dovecot]", "sent"), None);
        assert_eq!(with("exim/smtp", away, "sent"), None);
        for line in ["", "]: ", "postfix/smtp[1]: status=sent", "Mar 9 postfix/smtp[1]: a, status=sent ("] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn times_are_read_or_missing() {
        let at = |text: &str| time(&format!("{text} mx postfix/smtp[1"), NOW).map(Millis::to_rfc3339);
        let table = [
            ("Mar 10 11:59:59", Some("2026-03-10T11:59:59.000Z")),
            ("Mar 11 11:59:59", Some("2026-03-11T11:59:59.000Z")),
            ("Dec 31 23:59:59", Some("2025-12-31T23:59:59.000Z")),
            ("Feb 29 00:00:00", Some("2024-02-29T00:00:00.000Z")),
            ("2026-03-10T00:30:00-0230", Some("2026-03-10T03:00:00.000Z")),
            ("2026-03-10T00:30:00Z", Some("2026-03-10T00:30:00.000Z")),
            ("2026-03-10T00:30:00", Some("2026-03-10T00:30:00.000Z")),
            ("2026-02-30T00:30:00Z", None),
            ("Feb 30 00:00:00", None),
            ("Mar 10 24:00:00", None),
            ("Foo 10 11:59:59", None),
        ];
        for (text, expected) in table {
            assert_eq!(at(text).as_deref(), expected, "{text}");
        }
        // 2025-12-31T23:30:00Z, where a machine in Berlin is in the next year already.
        let new_year = time("Jan  1 00:10:00 mx postfix/smtp[1", Millis(1_767_223_800_000)).map(Millis::to_rfc3339);
        assert_eq!(new_year.as_deref(), Some("2026-01-01T00:10:00.000Z"));
    }
}
