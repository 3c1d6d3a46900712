//! Runs the state machines of a connector to their end.

use std::collections::BTreeMap;

use probity_connectors::{
    ActStep, Acting, ActionKind, ActionOrder, ActionOutcome, ActionTarget, ContactRecord, ContactsGoal, Credentials,
    ListRecord, ReadGoal, ReadPage, ReadSince, ReadStep, Reading, SinceKind, TestOutcome, Testing, VerdictFacts,
};
use probity_mail::time::Millis;

use super::exchange::{now, send};
use super::running::Platform;

/// Steps after which a machine is considered endless.
const STEPS_MAX: usize = 1000;

/// Tests credentials.
pub(crate) fn test(platform: &Platform, credentials: &Credentials) -> TestOutcome {
    let testing = Testing::new(&platform.file, credentials);
    testing.answer(&send(&testing.request(now()).unwrap()))
}

/// Reads until the end; `between` is called after each page that is not the last.
fn read(platform: &Platform, goal: ReadGoal, mut between: impl FnMut(usize)) -> Vec<ReadPage> {
    let credentials = platform.credentials();
    let mut reading = Reading::new(&platform.file, &credentials, goal).unwrap();
    let mut pages = Vec::new();
    for _ in 0..STEPS_MAX {
        match reading.next(now()).unwrap() {
            ReadStep::Send(request) => {
                // As after a crash: another state machine requests the next page.
                let text = serde_json::to_string(reading.position()).unwrap();
                reading = Reading::resume(&platform.file, &credentials, serde_json::from_str(&text).unwrap());
                pages.push(reading.answer(&send(&request)).unwrap());
                if !reading.position().is_done() {
                    between(pages.len());
                }
            }
            ReadStep::Done => return pages,
        }
    }
    panic!("{STEPS_MAX} pages, and no end")
}

pub(crate) fn lists(platform: &Platform) -> Vec<ListRecord> {
    read(platform, ReadGoal::Lists, |_| ()).into_iter().flat_map(|page| page.lists).collect()
}

/// Reads all contacts.
pub(crate) fn contacts(platform: &Platform) -> Vec<ContactRecord> {
    contacts_while(platform, |_| ())
}

/// Returns a contact by its address.
pub(crate) fn contact_at(platform: &Platform, email: &str) -> ContactRecord {
    contacts(platform).into_iter().find(|contact| contact.email == email).unwrap()
}

/// Returns the addresses of contacts, sorted.
pub(crate) fn emails(contacts: &[ContactRecord]) -> Vec<String> {
    let mut emails: Vec<String> = contacts.iter().map(|contact| contact.email.clone()).collect();
    emails.sort();
    emails
}

/// Returns unexpected and missing addresses, with their surplus or deficit.
pub(crate) fn differences(contacts: &[ContactRecord], expected: &[String]) -> BTreeMap<String, i32> {
    let mut differences = BTreeMap::new();
    for email in contacts.iter().map(|contact| &contact.email) {
        *differences.entry(email.clone()).or_default() += 1;
    }
    for email in expected {
        *differences.entry(email.clone()).or_default() -= 1;
    }
    differences.retain(|_, count| *count != 0);
    differences
}

/// Reads all contacts, and calls `between` with the number of each page in between.
pub(crate) fn contacts_while(platform: &Platform, between: impl FnMut(usize)) -> Vec<ContactRecord> {
    let pages = read(platform, ReadGoal::Contacts(ContactsGoal::default()), between);
    assert!(pages.iter().all(|page| page.skipped == 0));
    pages.into_iter().flat_map(|page| page.contacts).collect()
}

/// Reads the contacts since a time, with the watermark after them.
pub(crate) fn contacts_since(platform: &Platform, kind: SinceKind, at: Millis) -> (Vec<ContactRecord>, Option<Millis>) {
    let goal = ContactsGoal { since: Some(ReadSince { kind, at: at.0 }), ..ContactsGoal::default() };
    let pages = read(platform, ReadGoal::Contacts(goal), |_| ());
    let watermark = pages.last().and_then(|page| page.watermark);
    (pages.into_iter().flat_map(|page| page.contacts).collect(), watermark)
}

/// Returns an action on contacts. For the action `fix`, `suggestion` is the new address.
pub(crate) fn order(kind: ActionKind, contacts: &[ContactRecord], suggestion: Option<&str>) -> ActionOrder {
    let verdict = VerdictFacts {
        status: "undeliverable".to_owned(),
        reason: "nonexistent".to_owned(),
        suggestion: suggestion.map(str::to_owned),
        at: now(),
    };
    let target = |contact: &ContactRecord| ActionTarget {
        id: contact.id.clone(),
        email: contact.email.clone(),
        lists: contact.list.clone().into_iter().collect(),
        verdict: verdict.clone(),
        value: None,
    };
    let list = contacts.iter().find_map(|contact| contact.list.clone());
    let tag = (kind == ActionKind::Tag).then(|| "probity: undeliverable".to_owned());
    ActionOrder { kind, list, tag, field: None, targets: contacts.iter().map(target).collect() }
}

/// Performs an action, and returns the outcome for each contact.
pub(crate) fn act(platform: &Platform, order: ActionOrder) -> Vec<ActionOutcome> {
    act_until(platform, order, usize::MAX).expect("the action has an end")
}

/// Performs an action, but loses the response to a call, counted from 1; returns `None` if that call was made.
pub(crate) fn act_until(platform: &Platform, order: ActionOrder, lost: usize) -> Option<Vec<ActionOutcome>> {
    let credentials = platform.credentials();
    let mut acting = Acting::new(&platform.file, &credentials, order, BTreeMap::new()).unwrap();
    for call in 1..STEPS_MAX {
        let ActStep::Send(request) = acting.next(now()).unwrap() else {
            return Some(acting.outcomes().iter().flatten().cloned().collect());
        };
        let response = send(&request);
        if call == lost {
            return None;
        }
        acting.answer(&response).unwrap();
    }
    panic!("{STEPS_MAX} calls, and no end")
}
