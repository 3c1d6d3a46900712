//! Events of sending services, as they post them: address, outcome and time of each.
//!
//! Events that are not final (deferrals, retries), made by machines, or about mail that was not sent have no outcome. A bounce is
//! hard if the server's reply, read by the rules, says so; where no rule knows it, if the service calls the address invalid.

use jiff::Timestamp;
use probity_account::outcome::{OutcomeClass, OutcomeSource};
use probity_mail::address::bare_address;
use probity_mail::bounce::{self, BounceText};
use probity_mail::classify::{Meaning, Rules};
use probity_mail::time::Millis;
use serde_json::Value;

use super::FoundOutcome;
use super::ses_events::ses;

/// Reads the events of a body; unknown events are skipped.
pub fn read(source: OutcomeSource, body: &Value) -> Vec<FoundOutcome> {
    match source {
        OutcomeSource::Postmark => postmark(body).into_iter().collect(),
        OutcomeSource::SendGrid => list(body).iter().filter_map(sendgrid).collect(),
        OutcomeSource::Mailgun => mailgun(&body["event-data"]).into_iter().collect(),
        OutcomeSource::SparkPost => list(body).iter().filter_map(sparkpost).collect(),
        OutcomeSource::Ses => ses(body),
        OutcomeSource::Api | OutcomeSource::Import | OutcomeSource::Connection => Vec::new(),
    }
}

pub(super) fn list(body: &Value) -> &[Value] {
    body.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

pub(super) fn event(email: &str, class: OutcomeClass, at: Option<Millis>) -> Option<FoundOutcome> {
    (!email.is_empty()).then(|| FoundOutcome { email: email.to_owned(), class, at })
}

/// What a service says of a bounce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BounceWord {
    /// The address is invalid.
    Invalid,
    /// The mail has come back for good, for whatever reason.
    Final,
    /// The address may take mail.
    Soft,
}

pub(super) fn bounced(email: &str, said: &str, status: Option<&str>, word: BounceWord) -> OutcomeClass {
    let bounce = BounceText { text: said, status, recipient: bare_address(email) };
    let reading = bounce::read(Rules::embedded(), &bounce);
    let is_unread = said.trim().is_empty() || reading.meaning == Meaning::Unmatched;
    match word {
        BounceWord::Invalid if reading.is_hard || is_unread => OutcomeClass::HardBounce,
        BounceWord::Final if reading.is_hard => OutcomeClass::HardBounce,
        _ => OutcomeClass::SoftBounce,
    }
}

/// ISO 8601 in a member.
pub(super) fn date(value: &Value, name: &str) -> Option<Millis> {
    text(value, name).parse::<Timestamp>().ok().map(|at| Millis(at.as_millisecond()))
}

/// Seconds since 1970, as a number or a text.
fn seconds(value: &Value, name: &str) -> Option<Millis> {
    let value = &value[name];
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    #[expect(clippy::cast_possible_truncation, reason = "in the range of dates")]
    (0.0..1e11).contains(&number).then_some(Millis((number * 1_000.0) as i64))
}

/// Postmark: one event per body.
fn postmark(body: &Value) -> Option<FoundOutcome> {
    let recipient = text(body, "Recipient");
    match text(body, "RecordType") {
        "Bounce" => {
            let email = text(body, "Email");
            let class = match text(body, "Type") {
                "HardBounce" | "BadEmailAddress" => bounced(email, text(body, "Details"), None, BounceWord::Invalid),
                "SoftBounce"
                | "Transient"
                | "DnsError"
                | "SpamNotification"
                | "Blocked"
                | "DMARCPolicy"
                | "TemplateRenderingFailed"
                | "Undeliverable"
                | "Unknown"
                | "SMTPApiError" => OutcomeClass::SoftBounce,
                "SpamComplaint" => OutcomeClass::Complaint,
                "Unsubscribe" => OutcomeClass::Unsubscribed,
                _ => return None,
            };
            event(email, class, date(body, "BouncedAt"))
        }
        "SpamComplaint" => event(text(body, "Email"), OutcomeClass::Complaint, date(body, "BouncedAt")),
        "Delivery" => event(recipient, OutcomeClass::Delivered, date(body, "DeliveredAt")),
        "Open" | "Click" => event(recipient, OutcomeClass::Opened, date(body, "ReceivedAt")),
        "SubscriptionChange" if body["SuppressSending"] == true => {
            let is_own = text(body, "SuppressionReason") == "ManualSuppression";
            is_own.then(|| event(recipient, OutcomeClass::Unsubscribed, date(body, "ChangedAt"))).flatten()
        }
        _ => None,
    }
}

/// `SendGrid`: a list of events.
fn sendgrid(one: &Value) -> Option<FoundOutcome> {
    let email = text(one, "email");
    let class = match text(one, "event") {
        "delivered" => OutcomeClass::Delivered,
        "bounce" => {
            let status = Some(text(one, "status")).filter(|status| !status.is_empty());
            let word = if text(one, "type") == "blocked" { BounceWord::Soft } else { BounceWord::Final };
            bounced(email, text(one, "reason"), status, word)
        }
        "spamreport" => OutcomeClass::Complaint,
        // Mail programs that load images by themselves.
        "open" if one["sg_machine_open"] == true => return None,
        "open" | "click" => OutcomeClass::Opened,
        "unsubscribe" | "group_unsubscribe" => OutcomeClass::Unsubscribed,
        // Deferred is not final, dropped was not sent.
        _ => return None,
    };
    event(email, class, seconds(one, "timestamp"))
}

/// Mailgun: one event per body.
fn mailgun(one: &Value) -> Option<FoundOutcome> {
    let email = text(one, "recipient");
    let class = match text(one, "event") {
        "delivered" => OutcomeClass::Delivered,
        // A suppressed address was not written to.
        "failed" if text(one, "severity") == "permanent" && !text(one, "reason").starts_with("suppress-") => {
            let status = &one["delivery-status"];
            let said = [text(status, "message"), text(status, "description")].into_iter().find(|said| !said.is_empty());
            let code = status["code"].as_i64().filter(|code| (400..600).contains(code));
            let said = said.unwrap_or_default();
            let begins = said.starts_with(|c: char| c.is_ascii_digit());
            let said = code.filter(|_| !begins).map_or(said.to_owned(), |code| format!("{code} {said}"));
            let enhanced = Some(text(status, "enhanced-code")).filter(|code| !code.is_empty());
            bounced(email, &said, enhanced, BounceWord::Final)
        }
        "complained" => OutcomeClass::Complaint,
        "opened" | "clicked" => OutcomeClass::Opened,
        "unsubscribed" => OutcomeClass::Unsubscribed,
        _ => return None,
    };
    event(email, class, seconds(one, "timestamp"))
}

/// `SparkPost`: a list of events, each below the name of its kind.
fn sparkpost(one: &Value) -> Option<FoundOutcome> {
    let one = one["msys"].as_object()?.values().next()?;
    let email = text(one, "rcpt_to");
    let class = match text(one, "type") {
        "delivery" => OutcomeClass::Delivered,
        "bounce" | "out_of_band" => {
            let said = [text(one, "raw_reason"), text(one, "reason")].into_iter().find(|said| !said.is_empty());
            // Classes of SparkPost: 10 is an invalid recipient, 30 a bounce without a recipient's reason.
            let is_invalid = one["bounce_class"] == "10" || one["bounce_class"] == 10;
            let word = if is_invalid { BounceWord::Invalid } else { BounceWord::Soft };
            bounced(email, said.unwrap_or_default(), None, word)
        }
        "spam_complaint" => OutcomeClass::Complaint,
        "open" | "initial_open" | "click" | "amp_open" | "amp_initial_open" | "amp_click" => OutcomeClass::Opened,
        "list_unsubscribe" | "link_unsubscribe" => OutcomeClass::Unsubscribed,
        _ => return None,
    };
    event(email, class, seconds(one, "timestamp"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(source: OutcomeSource, body: &Value) -> Vec<(String, &'static str, String)> {
        let shown = |one: FoundOutcome| {
            let at = one.at.map(Millis::to_rfc3339).unwrap_or_default();
            (one.email, one.class.as_str(), at)
        };
        read(source, body).into_iter().map(shown).collect()
    }

    fn is(email: &str, class: &'static str, at: &str) -> (String, &'static str, String) {
        (email.into(), class, at.into())
    }

    const AT: &str = "2026-11-20T08:00:00.000Z";
    const AT_S: i64 = 1_795_161_600;

    #[test]
    fn postmark_posts_one_event() {
        let bounce = |kind: &str, details: &str| json!({"RecordType": "Bounce", "Type": kind, "Email": "a@x.org", "BouncedAt": "2026-11-20T08:00:00Z", "Details": details});
        let table = [
            (bounce("HardBounce", "smtp;550 5.1.1 user unknown"), "hard_bounce"),
            (bounce("HardBounce", ""), "hard_bounce"),
            (bounce("HardBounce", "smtp;550 5.7.1 blocked using spamhaus"), "soft_bounce"),
            (bounce("SoftBounce", "smtp;550 5.1.1 user unknown"), "soft_bounce"),
            (bounce("SpamComplaint", ""), "complaint"),
            (
                json!({"RecordType": "SpamComplaint", "Email": "a@x.org", "BouncedAt": "2026-11-20T08:00:00Z"}),
                "complaint",
            ),
            (
                json!({"RecordType": "Delivery", "Recipient": "a@x.org", "DeliveredAt": "2026-11-20T09:00:00+01:00"}),
                "delivered",
            ),
            (json!({"RecordType": "Open", "Recipient": "a@x.org", "ReceivedAt": "2026-11-20T08:00:00Z"}), "opened"),
            (
                json!({"RecordType": "SubscriptionChange", "Recipient": "a@x.org", "SuppressSending": true,
                    "SuppressionReason": "ManualSuppression", "ChangedAt": "2026-11-20T08:00:00Z"}),
                "unsubscribed",
            ),
        ];
        for (body, class) in table {
            assert_eq!(found(OutcomeSource::Postmark, &body), [is("a@x.org", class, AT)], "{body}");
        }
        for body in [bounce("AutoResponder", ""), json!({"RecordType": "Other"}), json!([]), json!(null)] {
            assert_eq!(found(OutcomeSource::Postmark, &body), [], "{body}");
        }
    }

    #[test]
    fn sendgrid_posts_a_list() {
        let body = json!([
            {"email": "a@x.org", "event": "delivered", "timestamp": AT_S},
            {"email": "b@x.org", "event": "bounce", "type": "bounce", "status": "5.1.1", "reason": "550 5.1.1 no such user", "timestamp": AT_S},
            {"email": "c@x.org", "event": "bounce", "type": "blocked", "status": "5.1.1", "reason": "550 5.1.1 no such user", "timestamp": AT_S},
            {"email": "d@x.org", "event": "bounce", "type": "bounce", "status": "5.2.2", "reason": "552 5.2.2 mailbox full", "timestamp": AT_S},
            {"email": "e@x.org", "event": "open", "sg_machine_open": true, "timestamp": AT_S},
            {"email": "f@x.org", "event": "click", "timestamp": AT_S},
            {"email": "g@x.org", "event": "dropped", "reason": "Bounced Address", "timestamp": AT_S},
            {"email": "h@x.org", "event": "spamreport"},
            {"event": "delivered"}, 1, null,
        ]);
        let expected = [
            is("a@x.org", "delivered", AT),
            is("b@x.org", "hard_bounce", AT),
            is("c@x.org", "soft_bounce", AT),
            is("d@x.org", "soft_bounce", AT),
            is("f@x.org", "opened", AT),
            is("h@x.org", "complaint", ""),
        ];
        assert_eq!(found(OutcomeSource::SendGrid, &body), expected);
        let named = json!([{"email": "Ann <ann@x.org>", "event": "bounce", "type": "bounce",
            "reason": "550 5.1.1 <ann@x.org>: User unknown", "timestamp": AT_S}]);
        assert_eq!(found(OutcomeSource::SendGrid, &named), [is("Ann <ann@x.org>", "hard_bounce", AT)]);
    }

    #[test]
    fn mailgun_posts_one_event_beside_its_signature() {
        let failed = |severity: &str, reason: &str, code: i64, message: &str| {
            json!({"signature": {}, "event-data": {"event": "failed", "severity": severity, "reason": reason,
                "recipient": "a@x.org", "timestamp": 1_795_161_600.25, "delivery-status": {"code": code, "message": message}}})
        };
        let at = "2026-11-20T08:00:00.250Z";
        let gone =
            failed("permanent", "bounce", 550, "5.1.1 The email account that you tried to reach does not exist.");
        assert_eq!(found(OutcomeSource::Mailgun, &gone), [is("a@x.org", "hard_bounce", at)]);
        let spam = failed("permanent", "generic", 550, "5.7.1 message rejected as spam");
        assert_eq!(found(OutcomeSource::Mailgun, &spam), [is("a@x.org", "soft_bounce", at)]);
        // It gave up after retries, or the reply is one that no rule knows.
        for said in ["Too old", "554 Contact 7 for 12"] {
            let unread = failed("permanent", "old", 602, said);
            assert_eq!(found(OutcomeSource::Mailgun, &unread), [is("a@x.org", "soft_bounce", at)], "{said}");
        }
        for body in
            [failed("temporary", "generic", 450, "x"), failed("permanent", "suppress-bounce", 605, "Not delivering")]
        {
            assert_eq!(found(OutcomeSource::Mailgun, &body), [], "{body}");
        }
        let body = json!({"event-data": {"event": "complained", "recipient": "a@x.org", "timestamp": AT_S}});
        assert_eq!(found(OutcomeSource::Mailgun, &body), [is("a@x.org", "complaint", AT)]);
    }

    #[test]
    fn sparkpost_posts_a_list_of_kinds() {
        let body = json!([
            {"msys": {"message_event": {"type": "delivery", "rcpt_to": "a@x.org", "timestamp": "1795161600"}}},
            {"msys": {"message_event": {"type": "bounce", "bounce_class": "10", "rcpt_to": "b@x.org", "timestamp": "1795161600",
                "raw_reason": "550 5.1.1 user unknown"}}},
            {"msys": {"message_event": {"type": "bounce", "bounce_class": "51", "rcpt_to": "c@x.org", "timestamp": "1795161600",
                "raw_reason": "550 5.1.1 user unknown"}}},
            {"msys": {"message_event": {"type": "delay", "rcpt_to": "d@x.org", "timestamp": "1795161600"}}},
            {"msys": {"unsubscribe_event": {"type": "list_unsubscribe", "rcpt_to": "e@x.org", "timestamp": "1795161600"}}},
            {"msys": {}},
        ]);
        let expected = [
            is("a@x.org", "delivered", AT),
            is("b@x.org", "hard_bounce", AT),
            is("c@x.org", "soft_bounce", AT),
            is("e@x.org", "unsubscribed", AT),
        ];
        assert_eq!(found(OutcomeSource::SparkPost, &body), expected);
    }
}
