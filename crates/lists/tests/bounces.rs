//! Bounce messages and complaints, as mail servers write them.
#![cfg(feature = "bounces")]

use probity_lists::bounces::message;
use probity_mail::time::Millis;
use proptest::prelude::*;

fn read(text: &str) -> Vec<(String, &'static str)> {
    // As they lie in a mailbox, and as they came over the wire.
    let found = |text: &str| {
        let found = message::read(text.as_bytes());
        let at = Some("2026-11-23T09:00:00.000Z".to_owned());
        assert!(found.iter().all(|one| one.at.map(Millis::to_rfc3339) == at));
        found.into_iter().map(|one| (one.email, one.class.as_str())).collect::<Vec<_>>()
    };
    let lines = found(text);
    assert_eq!(found(&text.replace('\n', "\r\n")), lines);
    lines
}

fn of(list: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    list.iter().map(|(email, class)| ((*email).to_owned(), *class)).collect()
}

const POSTFIX: &str = include_str!("bounces/postfix.eml");
const EXIM: &str = include_str!("bounces/exim.eml");
const QMAIL: &str = include_str!("bounces/qmail.eml");
const COMPLAINT: &str = include_str!("bounces/complaint.eml");

#[test]
fn a_delivery_report_names_each_recipient() {
    let expected = [
        ("joe@example.net", "hard_bounce"),
        ("full@example.net", "soft_bounce"),
        ("blocked@example.net", "soft_bounce"),
        ("fine@example.net", "delivered"),
    ];
    assert_eq!(read(POSTFIX), of(&expected));
}

#[test]
fn reports_are_read_whatever_their_encoding() {
    let encoded = POSTFIX.replace("Status: 5.1.1", "Status: 5.1.1 (bad address)").replace(
        "Content-Type: message/delivery-status",
        "Content-Type: message/delivery-status; charset=utf-8\nContent-Transfer-Encoding: 7bit",
    );
    assert_eq!(read(&encoded), read(POSTFIX));
    let global = POSTFIX.replace("message/delivery-status", "message/global-delivery-status");
    assert_eq!(read(&global), read(POSTFIX));
    let forwarded =
        POSTFIX.replace("Original-Recipient: rfc822;joe@example.net", "Original-Recipient: rfc822; a@example.org");
    assert_eq!(read(&forwarded)[0], ("a@example.org".into(), "soft_bounce"), "it is the other mailbox that is gone");
}

#[test]
fn bounces_in_words_are_read_by_address() {
    assert_eq!(read(EXIM), of(&[("joe@example.net", "hard_bounce"), ("full@example.net", "soft_bounce")]));
    assert_eq!(read(QMAIL), of(&[("joe@example.net", "hard_bounce"), ("jane@example.net", "soft_bounce")]));
    let one =
        EXIM.replace(",\n full@example.net", "").replace("  joe@example.net\n", "").replace("  full@example.net\n", "");
    let one = one.split("    SMTP error from remote mail server after end").next().unwrap();
    assert_eq!(read(one), of(&[("joe@example.net", "hard_bounce")]), "the header names the only one");
}

#[test]
fn a_complaint_names_who_complained() {
    assert_eq!(read(COMPLAINT), of(&[("joe@example.net", "complaint")]));
    assert_eq!(read(&COMPLAINT.replace(": abuse", ": opt-out")), of(&[("joe@example.net", "unsubscribed")]));
    assert_eq!(read(&COMPLAINT.replace(": abuse", ": not-spam")), []);
    assert_eq!(read(&COMPLAINT.replace("Original-Rcpt-To", "X-Other")), [], "a hidden recipient");
}

#[test]
fn other_mail_has_no_outcomes() {
    assert_eq!(read(&QMAIL.replace("MAILER-DAEMON@", "ann@")), [], "a person quotes a bounce");
    assert_eq!(read(&EXIM.replace("Mail delivery failed", "Warning: message delayed 24 hours")), []);
    assert_eq!(read("Subject: hello\n\njoe@example.net\n550 no such user\n"), []);
    assert_eq!(read(""), []);
}

#[test]
fn a_cut_report_has_what_was_there() {
    for end in 0..POSTFIX.len() {
        let found = message::read(&POSTFIX.as_bytes()[..end]);
        assert!(found.len() <= 4);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        message::read(&bytes);
        message::read(&[b"Content-Type: multipart/report; boundary=a\n\n--a\nContent-Type: message/delivery-status\n\n", &bytes[..]].concat());
        message::read(&[b"From: postmaster@x\n\n", &bytes[..]].concat());
    }
}
