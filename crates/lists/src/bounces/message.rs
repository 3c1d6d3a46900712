//! Outcomes in a message: delivery reports (RFC 3464), abuse reports (RFC 5965), and bounces in words.

use mail_parser::{Message, MessageParser, MessagePart, MimeHeaders as _, PartType};
use probity_account::outcome::OutcomeClass;
use probity_mail::time::Millis;

use super::{FoundOutcome, MESSAGE_MAX_BYTES, RECIPIENTS_MAX, address, class_of_bounce, words};

/// Reads a message; empty if it reports nothing. Only the beginning of a long message is read.
pub fn read(bytes: &[u8]) -> Vec<FoundOutcome> {
    let Some(message) = MessageParser::default().parse(&bytes[..bytes.len().min(MESSAGE_MAX_BYTES)]) else {
        return Vec::new();
    };
    let at = message.date().filter(|date| date.is_valid()).map(|date| Millis(date.to_timestamp() * 1_000));
    let reports = |subtype: &str| {
        message.parts.iter().filter(|part| part.is_content_type("message", subtype)).map(text_of).collect::<Vec<_>>()
    };
    let delivery = [reports("delivery-status"), reports("global-delivery-status")].concat();
    let abuse = reports("feedback-report");
    let mut found = if !delivery.is_empty() {
        delivery.iter().flat_map(|text| delivery_report(text)).collect()
    } else if !abuse.is_empty() {
        abuse.iter().flat_map(|text| abuse_report(text)).collect()
    } else {
        in_words(&message)
    };
    found.truncate(RECIPIENTS_MAX);
    for outcome in &mut found {
        outcome.at = at;
    }
    found
}

fn text_of(part: &MessagePart<'_>) -> String {
    match &part.body {
        PartType::Text(text) | PartType::Html(text) => text.to_string(),
        PartType::Binary(bytes) | PartType::InlineBinary(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        PartType::Message(_) | PartType::Multipart(_) => String::new(),
    }
}

/// Fields of a report: groups, divided by blank lines, of names in lower case and values on one line.
fn groups(text: &str) -> Vec<Vec<(String, String)>> {
    let mut groups: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for line in text.lines() {
        let group = groups.last_mut().expect("there is always a last group");
        if line.trim().is_empty() {
            groups.push(Vec::new());
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = group.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            group.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    groups
}

fn field<'a>(group: &'a [(String, String)], name: &str) -> Option<&'a str> {
    group.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The address in `rfc822; ann@example.org` (RFC 3464 §2.3.2).
fn recipient<'a>(group: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let value = field(group, name)?;
    address(value.split_once(';').map_or(value, |(_, rest)| rest))
}

/// RFC 3464: a group for the message, then one for each recipient.
fn delivery_report(text: &str) -> Vec<FoundOutcome> {
    let of_recipient = |group: Vec<(String, String)>| {
        let last = recipient(&group, "final-recipient");
        // The address to which it was sent, before it was rewritten or forwarded.
        let email = recipient(&group, "original-recipient").or(last)?;
        let class = match field(&group, "action")?.to_ascii_lowercase().as_str() {
            "failed" => {
                let said = field(&group, "diagnostic-code").unwrap_or_default();
                class_of_bounce(email, last, said, field(&group, "status"))
            }
            "delivered" => OutcomeClass::Delivered,
            // Delayed, relayed and expanded are not final.
            _ => return None,
        };
        Some(FoundOutcome { email: email.to_owned(), class, at: None })
    };
    groups(text).into_iter().filter_map(of_recipient).collect()
}

/// RFC 5965: who complained. Providers that hide the recipient report nothing that could be stored.
fn abuse_report(text: &str) -> Vec<FoundOutcome> {
    let all = groups(text).concat();
    let class = match field(&all, "feedback-type").unwrap_or_default().to_ascii_lowercase().as_str() {
        "abuse" | "fraud" => OutcomeClass::Complaint,
        "opt-out" | "opt-out-list" => OutcomeClass::Unsubscribed,
        _ => return Vec::new(),
    };
    let named = |(name, _): &&(String, String)| name == "original-rcpt-to" || name == "removal-recipient";
    let mut emails: Vec<&str> = all.iter().filter(named).filter_map(|(_, value)| address(value)).collect();
    emails.sort_unstable();
    emails.dedup();
    emails.into_iter().map(|email| FoundOutcome { email: email.to_owned(), class, at: None }).collect()
}

/// A bounce without a report, if a mail server wrote it.
fn in_words(message: &Message<'_>) -> Vec<FoundOutcome> {
    let from = message.from().and_then(|from| from.first()).and_then(|from| from.address()).unwrap_or_default();
    let local = from.rsplit_once('@').map_or(from, |(local, _)| local).to_ascii_lowercase();
    let failed = message.header_raw("X-Failed-Recipients");
    let by_server = ["mailer-daemon", "postmaster", "mail-daemon"].contains(&&*local) || failed.is_some();
    let subject = message.subject().unwrap_or_default().to_ascii_lowercase();
    if !by_server || ["warning", "delayed", "auto-reply"].iter().any(|word| subject.contains(word)) {
        return Vec::new();
    }
    let text = message.body_text(0).unwrap_or_default();
    words::read(&text, failed.unwrap_or_default())
}
