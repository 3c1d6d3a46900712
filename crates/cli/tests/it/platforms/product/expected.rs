//! What the sandbox reports about addresses outside `sandbox.test`, as docs/sandbox.md defines it.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};

/// Returns the reason of an address.
pub(super) fn reason(email: &str) -> &'static str {
    let hash = digest(&SHA256, email.to_lowercase().as_bytes());
    let first: [u8; 4] = hash.as_ref()[..4].try_into().unwrap();
    match u32::from_be_bytes(first) % 100 {
        0..70 => "valid",
        70..80 => "nonexistent",
        80..84 => "inbox_full",
        84..87 => "deactivated",
        87..93 => "accept_all",
        93..96 => "failed_exchange",
        _ => "unverified",
    }
}

/// Returns the addresses with one of these reasons.
pub(super) fn with_reasons(emails: &[String], reasons: &[&str]) -> Vec<String> {
    emails.iter().filter(|email| reasons.contains(&reason(email))).cloned().collect()
}

/// Counts addresses by reason.
pub(super) fn by_reason(emails: &[String]) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for email in emails {
        *counts.entry(reason(email).to_owned()).or_default() += 1;
    }
    counts
}

/// Returns the price of verdicts about these addresses: inconclusive ones are free.
pub(super) fn price(emails: &[String]) -> u64 {
    let is_free = |email: &&String| ["failed_exchange", "unverified"].contains(&reason(email));
    u64::try_from(emails.len() - emails.iter().filter(is_free).count()).unwrap()
}

/// Returns an address without a mailbox that is not among the initial contacts.
pub(super) fn newcomer(name: &str) -> String {
    let mut emails = (0..).map(|number| format!("{name}-{number}@acme-widgets.com"));
    emails.find(|email| reason(email) == "nonexistent").expect("one in ten does not exist")
}
