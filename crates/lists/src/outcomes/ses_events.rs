//! Events of Amazon SES, in a notification of SNS: "Amazon SNS notification contents for Amazon SES" and "Examples of event data
//! that Amazon SES publishes to Amazon SNS" of its Developer Guide. The first name their kind `notificationType`, the second
//! `eventType`.

use probity_account::outcome::OutcomeClass;
use probity_mail::time::Millis;
use serde_json::Value;

use super::FoundOutcome;
use super::events::{BounceWord, bounced, date, event, list, text};

/// Reads the events of a message; it may be about several recipients.
pub(super) fn ses(body: &Value) -> Vec<FoundOutcome> {
    let kind = ["eventType", "notificationType"].into_iter().map(|name| text(body, name)).find(|kind| !kind.is_empty());
    match kind {
        Some("Bounce") => ses_bounces(&body["bounce"]),
        Some("Complaint") => complaint(&body["complaint"]).into_iter().collect(),
        Some("Delivery") => {
            let delivery = &body["delivery"];
            let to = list(&delivery["recipients"]).iter().filter_map(Value::as_str);
            to.filter_map(|to| event(to, OutcomeClass::Delivered, date(delivery, "timestamp"))).collect()
        }
        Some("Open") => of_reader(body, OutcomeClass::Opened, date(&body["open"], "timestamp")),
        Some("Click") => of_reader(body, OutcomeClass::Opened, date(&body["click"], "timestamp")),
        Some("Subscription") if body["subscription"]["newTopicPreferences"]["unsubscribeAll"] == true => {
            of_reader(body, OutcomeClass::Unsubscribed, date(&body["subscription"], "timestamp"))
        }
        _ => Vec::new(),
    }
}

fn ses_bounces(bounce: &Value) -> Vec<FoundOutcome> {
    let subtype = text(bounce, "bounceSubType");
    // Addresses on a suppression list were not written to.
    if matches!(subtype, "Suppressed" | "OnAccountSuppressionList") {
        return Vec::new();
    }
    let word = match text(bounce, "bounceType") {
        "Permanent" if subtype == "NoEmail" => BounceWord::Invalid,
        "Permanent" => BounceWord::Final,
        _ => BounceWord::Soft,
    };
    let at = date(bounce, "timestamp");
    let one = |recipient: &Value| {
        let email = text(recipient, "emailAddress");
        // RFC 3464: the type, and then the reply.
        let said = text(recipient, "diagnosticCode");
        let said = said.split_once(';').map_or(said, |(_, reply)| reply.trim_start());
        let status = Some(text(recipient, "status")).filter(|status| !status.is_empty());
        event(email, bounced(email, said, status, word), at)
    };
    list(&bounce["bouncedRecipients"]).iter().filter_map(one).collect()
}

/// A complaint, if it is clear whose: where a provider hides the address, SES names all recipients at that provider.
fn complaint(complaint: &Value) -> Option<FoundOutcome> {
    let is_suppressed = text(complaint, "complaintSubType") == "OnAccountSuppressionList";
    let is_praise = text(complaint, "complaintFeedbackType") == "not-spam";
    let [one] = list(&complaint["complainedRecipients"]) else { return None };
    let at = date(complaint, "arrivalDate").or_else(|| date(complaint, "timestamp"));
    (!is_suppressed && !is_praise).then(|| event(text(one, "emailAddress"), OutcomeClass::Complaint, at)).flatten()
}

/// What a reader did, if the mail had one recipient: SES does not say which of several it was.
fn of_reader(body: &Value, class: OutcomeClass, at: Option<Millis>) -> Vec<FoundOutcome> {
    let [Value::String(email)] = list(&body["mail"]["destination"]) else { return Vec::new() };
    event(email, class, at).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Vec<(String, &'static str)> {
        ses(body).into_iter().map(|event| (event.email, event.class.as_str())).collect()
    }

    fn is(expected: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        expected.iter().map(|(email, class)| ((*email).to_owned(), *class)).collect()
    }

    #[test]
    fn bounces_are_hard_where_the_reply_says_so() {
        let bounce = |kind: &str, subtype: &str, status: &str, said: &str| {
            json!({"notificationType": "Bounce", "bounce": {"bounceType": kind, "bounceSubType": subtype,
                "timestamp": "2026-11-20T08:00:00.000Z",
                "bouncedRecipients": [{"emailAddress": "a@x.org", "action": "failed", "status": status, "diagnosticCode": said}]}})
        };
        let gone = "smtp; 550 5.1.1 <a@x.org>: Recipient address rejected: User unknown";
        let table = [
            (bounce("Permanent", "General", "5.1.1", gone), "hard_bounce"),
            (bounce("Permanent", "NoEmail", "", ""), "hard_bounce"),
            (bounce("Permanent", "General", "", ""), "soft_bounce"),
            (
                bounce("Permanent", "General", "5.7.1", "smtp; 554 5.7.1 Client host blocked using a list"),
                "soft_bounce",
            ),
            (
                bounce("Permanent", "NoEmail", "5.7.1", "smtp; 554 5.7.1 Client host blocked using a list"),
                "soft_bounce",
            ),
            (bounce("Transient", "MailboxFull", "5.2.2", "smtp; 552 5.2.2 mailbox full"), "soft_bounce"),
            (bounce("Transient", "General", "5.1.1", gone), "soft_bounce"),
            (bounce("Undetermined", "Undetermined", "", ""), "soft_bounce"),
        ];
        for (body, class) in table {
            assert_eq!(read(&body), is(&[("a@x.org", class)]), "{body}");
        }
        for subtype in ["Suppressed", "OnAccountSuppressionList"] {
            assert_eq!(read(&bounce("Permanent", subtype, "5.1.1", gone)), [], "nothing was sent");
        }
        assert_eq!(ses(&bounce("Permanent", "NoEmail", "", ""))[0].at, Some(Millis(1_795_161_600_000)));
    }

    #[test]
    fn complaints_and_readers_are_those_of_one_recipient() {
        let complaint = |to: &[&str], more: Value| {
            let to: Vec<Value> = to.iter().map(|to| json!({"emailAddress": to})).collect();
            let mut complaint = json!({"complainedRecipients": to, "timestamp": "2026-11-20T08:00:00.000Z"});
            complaint.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"eventType": "Complaint", "complaint": complaint})
        };
        assert_eq!(
            read(&complaint(&["a@x.org"], json!({"complaintFeedbackType": "abuse"}))),
            is(&[("a@x.org", "complaint")])
        );
        assert_eq!(read(&complaint(&["a@x.org", "b@x.org"], json!({}))), []);
        assert_eq!(read(&complaint(&["a@x.org"], json!({"complaintFeedbackType": "not-spam"}))), []);
        assert_eq!(read(&complaint(&["a@x.org"], json!({"complaintSubType": "OnAccountSuppressionList"}))), []);

        let open = |to: &[&str]| json!({"eventType": "Open", "mail": {"destination": to}, "open": {"timestamp": "x"}});
        assert_eq!(read(&open(&["a@x.org"])), is(&[("a@x.org", "opened")]));
        assert_eq!(read(&open(&["a@x.org", "b@x.org"])), []);
        let left = |all: bool| {
            json!({"eventType": "Subscription", "mail": {"destination": ["a@x.org"]},
                "subscription": {"newTopicPreferences": {"unsubscribeAll": all}}})
        };
        assert_eq!(read(&left(true)), is(&[("a@x.org", "unsubscribed")]));
        assert_eq!(read(&left(false)), []);
    }

    #[test]
    fn deliveries_are_of_all_recipients_and_the_rest_is_skipped() {
        let body = json!({"notificationType": "Delivery", "delivery": {"recipients": ["a@x.org", 1, "b@x.org"]}});
        assert_eq!(read(&body), is(&[("a@x.org", "delivered"), ("b@x.org", "delivered")]));
        for body in [json!({"eventType": "DeliveryDelay"}), json!({"eventType": "Send"}), json!([]), json!(null)] {
            assert_eq!(read(&body), [], "{body}");
        }
    }
}
