//! Mailman: a list and its members.

use std::collections::BTreeMap;

use probity_connectors::{ActionKind, ActionOutcome, ContactRecord, ContactState, Method, SinceKind, TestOutcome};
use serde_json::Value;

use super::drive::{
    act, act_until, contact_at, contacts, contacts_since, contacts_while, differences, lists, order, test,
};
use super::exchange::now;
use super::running::Platform;

const DONE: ActionOutcome = ActionOutcome::Done { id: None };

impl Platform {
    /// Subscribes an address.
    pub(crate) fn subscribe(&self, email: &str) {
        let approved = "pre_verified=true&pre_confirmed=true&pre_approved=true";
        let form = format!("list_id={}&subscriber={email}&{approved}", self.fact("list"));
        let (status, answer) = self.call_with_form(Method::Post, "/members", &form);
        assert_eq!(status, 201, "{answer}");
    }

    /// Returns the membership of an address.
    pub(crate) fn membership(&self, email: &str) -> Option<Value> {
        let path = format!("/lists/{}/member/{email}", self.fact("list"));
        let (status, answer) = self.call(Method::Get, &path, None);
        (status == 200).then_some(answer)
    }
}

#[test]
#[ignore = "thorough"]
fn credentials_are_told_apart() {
    let Some(mailman) = Platform::take("mailman") else { return };
    let outcome = test(&mailman, &mailman.credentials());
    let TestOutcome::Valid { account: Some(account) } = outcome else { panic!("{outcome:?}") };
    assert!(account.starts_with("GNU Mailman 3.3."), "{account}");
    for (field, value) in [("rest_password", "another"), ("rest_user", "nobody")] {
        let outcome = test(&mailman, &mailman.credentials_with(field, value));
        let TestOutcome::Wrong { fields, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(fields, ["rest_user", "rest_password"]);
    }
    let elsewhere = format!("{}/mailman", mailman.entered["url"]);
    let outcome = test(&mailman, &mailman.credentials_with("url", &elsewhere));
    assert!(matches!(&outcome, TestOutcome::Wrong { fields, .. } if fields == &["url"]), "{outcome:?}");
}

#[test]
#[ignore = "thorough"]
fn lists_are_counted() {
    let Some(mailman) = Platform::take("mailman") else { return };
    let lists = lists(&mailman);
    let shown: Vec<_> = lists.iter().map(|list| (list.id.as_str(), list.name.as_str(), list.count)).collect();
    assert_eq!(shown, [("news.lists.test", "news@lists.test", Some(200))]);
}

#[test]
#[ignore = "thorough"]
fn every_subscriber_is_read_once() {
    let Some(mailman) = Platform::take("mailman") else { return };
    assert_eq!(differences(&contacts(&mailman), &mailman.contacts()), BTreeMap::new());
    let mailman = mailman.with_pages_of(30);
    let read = contacts(&mailman);
    assert_eq!(differences(&read, &mailman.contacts()), BTreeMap::new());
    let is_right = |contact: &ContactRecord| {
        contact.state == ContactState::Subscribed && contact.list.as_deref() == Some("news.lists.test")
    };
    assert!(read.iter().all(is_right));
    // Mailman cannot filter by date.
    assert_eq!(contacts_since(&mailman, SinceKind::Created, now()).0.len(), 200);
}

#[test]
#[ignore = "thorough"]
fn nobody_is_lost_while_others_subscribe() {
    let Some(mailman) = Platform::take("mailman").map(|it| it.with_pages_of(30)) else { return };
    // One before those already read, and one after all: the roster is sorted by address.
    let read = contacts_while(&mailman, |page| {
        mailman.subscribe(&format!("aaa-{page}@acme-widgets.com"));
        mailman.subscribe(&format!("zzz-{page}@acme-widgets.com"));
    });
    // Contacts that move to the next page are read twice. Runs recognize contacts by ID.
    let mut seen: Vec<ContactRecord> =
        read.into_iter().filter(|contact| contact.email.starts_with("reader-")).collect();
    assert!(seen.len() > 200);
    seen.dedup_by(|one, other| one.id == other.id);
    assert_eq!(differences(&seen, &mailman.contacts()), BTreeMap::new());
}

#[test]
#[ignore = "thorough"]
fn a_subscriber_leaves_whoever_must_agree() {
    let Some(mailman) = Platform::take("mailman") else { return };
    let list = mailman.fact("list").to_owned();
    for (policy, email) in
        [("confirm", "reader-0001"), ("moderate", "reader-0002"), ("confirm_then_moderate", "reader-0003")]
    {
        let form = format!("unsubscription_policy={policy}");
        assert_eq!(mailman.call_with_form(Method::Patch, &format!("/lists/{list}/config"), &form).0, 204);
        let contact = contact_at(&mailman, &format!("{email}@acme-widgets.com"));
        let leave = order(ActionKind::Unsubscribe, std::slice::from_ref(&contact), None);
        assert_eq!(act(&mailman, leave.clone()), [DONE]);
        assert_eq!(mailman.membership(&contact.email), None, "{policy}");
        assert_eq!(act(&mailman, leave), [ActionOutcome::Gone]);
    }
    assert_eq!(contacts(&mailman).len(), 197);
}

#[test]
#[ignore = "thorough"]
fn a_deleted_address_leaves_every_list() {
    let Some(mailman) = Platform::take("mailman") else { return };
    let contact = contact_at(&mailman, "reader-0004@acme-widgets.com");
    let delete = order(ActionKind::Delete, std::slice::from_ref(&contact), None);
    assert_eq!(act(&mailman, delete.clone()), [DONE]);
    assert_eq!(mailman.membership(&contact.email), None);
    assert_eq!(act(&mailman, delete), [ActionOutcome::Gone]);
    for kind in [ActionKind::Unsubscribe, ActionKind::Fix] {
        let late = order(kind, std::slice::from_ref(&contact), Some("new@acme-widgets.com"));
        assert_eq!(act(&mailman, late), [ActionOutcome::Gone], "{kind:?}");
    }
}

#[test]
#[ignore = "thorough"]
fn an_address_is_changed_in_three_calls_of_which_each_answer_may_be_lost() {
    let Some(mailman) = Platform::take("mailman") else { return };
    for (lost, number) in [(1, 191), (2, 192), (3, 193), (4, 194), (5, 196)] {
        let reader = format!("reader-0{number}");
        let (old, new) = (format!("{reader}@gmal.com"), format!("{reader}@gmail.com"));
        let contact = contact_at(&mailman, &old);
        let fix = order(ActionKind::Fix, std::slice::from_ref(&contact), Some(&new));
        let outcomes = act_until(&mailman, fix.clone(), lost);
        assert_eq!(outcomes.is_some(), lost == 5, "a look and three calls");
        assert_eq!(act(&mailman, fix), [DONE], "after the answer to call {lost} was lost");
        let membership = mailman.membership(&new).unwrap();
        assert_eq!(membership["member_id"].as_str(), Some(contact.id.as_str()));
        assert_eq!(mailman.membership(&old), None);
    }
    assert_eq!(contacts(&mailman).len(), 200);
}

#[test]
#[ignore = "thorough"]
fn an_address_of_another_subscriber_is_taken() {
    let Some(mailman) = Platform::take("mailman") else { return };
    let contact = contact_at(&mailman, "reader-0195@gmal.com");
    let taken = order(ActionKind::Fix, std::slice::from_ref(&contact), Some("reader-0005@acme-widgets.com"));
    assert_eq!(act(&mailman, taken), [ActionOutcome::Taken]);
    assert_eq!(differences(&contacts(&mailman), &mailman.contacts()), BTreeMap::new());
}
