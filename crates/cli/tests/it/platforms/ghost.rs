//! Ghost: members, labels, newsletters.

use std::collections::{BTreeMap, BTreeSet};

use probity_connectors::{ActionKind, ActionOutcome, ContactRecord, ContactState, Method, SinceKind, TestOutcome};
use probity_mail::time::Millis;
use serde_json::{Value, json};

use super::drive::{
    act, contact_at, contacts, contacts_since, contacts_while, differences, emails, lists, order, test,
};
use super::exchange::now;
use super::running::Platform;

const DONE: ActionOutcome = ActionOutcome::Done { id: None };

impl Platform {
    /// Adds a member; returns its ID.
    pub(crate) fn add_member(&self, email: &str) -> String {
        let (status, answer) = self.call(Method::Post, "/members/", Some(&json!({"members": [{"email": email}]})));
        assert_eq!(status, 201, "{answer}");
        answer["members"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Returns a member as shown by Ghost.
    fn member(&self, contact: &ContactRecord) -> Option<Value> {
        let path = format!("/members/{}/?include=labels,newsletters", contact.id);
        let (status, mut answer) = self.call(Method::Get, &path, None);
        (status == 200).then(|| answer["members"][0].take())
    }
}

pub(crate) fn labels(member: &Value) -> BTreeSet<String> {
    let labels = member["labels"].as_array().unwrap();
    labels.iter().map(|label| label["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "thorough"]
fn credentials_are_told_apart() {
    let Some(ghost) = Platform::take("ghost") else { return };
    assert_eq!(test(&ghost, &ghost.credentials()), TestOutcome::Valid { account: None });
    let (id, secret) = ghost.entered["admin_api_key"].split_once(':').unwrap();
    let keys = [format!("{id}:{}", "0".repeat(64)), format!("{}:{secret}", "0".repeat(24))];
    for key in keys {
        let outcome = test(&ghost, &ghost.credentials_with("admin_api_key", &key));
        let TestOutcome::Wrong { fields, message } = outcome else { panic!("{outcome:?}") };
        assert_eq!(fields, ["admin_api_key"], "{message}");
        assert!(!message.contains(&key[..24]), "{message}");
    }
    let elsewhere = format!("{}/blog", ghost.entered["url"]);
    let outcome = test(&ghost, &ghost.credentials_with("url", &elsewhere));
    assert!(matches!(&outcome, TestOutcome::Wrong { fields, .. } if fields == &["url"]), "{outcome:?}");
}

#[test]
#[ignore = "thorough"]
fn newsletters_are_its_lists() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let names: Vec<_> = lists(&ghost).into_iter().map(|list| list.name).collect();
    assert_eq!(names, ["News"]);
}

#[test]
#[ignore = "thorough"]
fn every_member_is_read_once() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let read = contacts(&ghost);
    assert_eq!(differences(&read, &ghost.contacts()), BTreeMap::new());
    assert_eq!(read.iter().map(|contact| &contact.id).collect::<BTreeSet<_>>().len(), 1000);
    assert!(read.iter().all(|contact| contact.state == ContactState::Subscribed && contact.created.is_some()));
}

#[test]
#[ignore = "thorough"]
fn nobody_is_lost_while_members_come_and_go() {
    let Some(ghost) = Platform::take("ghost").map(|it| it.with_pages_of(30)) else { return };
    let first = contacts(&ghost);
    let read = contacts_while(&ghost, |page| {
        ghost.add_member(&format!("new-{page}@acme-widgets.com"));
        // A member that has already been read.
        let (status, _) = ghost.call(Method::Delete, &format!("/members/{}/", first[page].id), None);
        assert_eq!(status, 204);
    });
    let (old, new): (Vec<_>, Vec<_>) = read.into_iter().partition(|contact| !contact.email.starts_with("new-"));
    assert_eq!(differences(&old, &ghost.contacts()), BTreeMap::new());
    // Members added before the last page.
    assert!(new.len() >= 30, "{}", new.len());
}

#[test]
#[ignore = "thorough"]
fn what_is_new_is_read_by_date() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let known = contact_at(&ghost, "member-0500@acme-widgets.com");
    let begun = Millis(now().0 - 1000);
    for kind in [SinceKind::Created, SinceKind::Updated] {
        let (read, watermark) = contacts_since(&ghost, kind, begun);
        assert_eq!((read.len(), watermark), (0, None), "{kind:?}");
    }
    ghost.add_member("new@acme-widgets.com");
    let change = json!({"members": [{"note": "changed"}]});
    let (status, _) = ghost.call(Method::Put, &format!("/members/{}/", known.id), Some(&change));
    assert_eq!(status, 200);
    let (created, watermark) = contacts_since(&ghost, SinceKind::Created, begun);
    assert_eq!(emails(&created), ["new@acme-widgets.com"]);
    assert!(watermark.is_some_and(|at| at >= begun && at <= now()), "{watermark:?}");
    let (updated, _) = contacts_since(&ghost, SinceKind::Updated, begun);
    assert_eq!(emails(&updated), ["member-0500@acme-widgets.com", "new@acme-widgets.com"]);
    // From the middle of the initial contacts: whole pages of members with equal dates.
    let middle = known.created.unwrap();
    let (since, _) = contacts_since(&ghost.with_pages_of(7), SinceKind::Created, Millis(middle.0 + 10 * 60_000));
    assert_eq!(since.len(), 1000 - 490 + 1);
}

#[test]
#[ignore = "thorough"]
fn a_member_is_unsubscribed_and_stays() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let contact = contact_at(&ghost, "member-0001@acme-widgets.com");
    for _ in 0..2 {
        assert_eq!(act(&ghost, order(ActionKind::Unsubscribe, std::slice::from_ref(&contact), None)), [DONE]);
    }
    let member = ghost.member(&contact).unwrap();
    assert_eq!((&member["subscribed"], &member["newsletters"]), (&json!(false), &json!([])));
    assert!(labels(&member).contains("reader"));
    assert_eq!(contact_at(&ghost, &contact.email).state, ContactState::Unsubscribed);
}

#[test]
#[ignore = "thorough"]
fn a_deleted_member_is_gone() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let contact = contact_at(&ghost, "member-0002@acme-widgets.com");
    let delete = order(ActionKind::Delete, std::slice::from_ref(&contact), None);
    assert_eq!(act(&ghost, delete.clone()), [DONE]);
    assert_eq!(ghost.member(&contact), None);
    assert_eq!(act(&ghost, delete), [ActionOutcome::Gone]);
    for kind in [ActionKind::Unsubscribe, ActionKind::Tag, ActionKind::Fix] {
        let late = order(kind, std::slice::from_ref(&contact), Some("new@acme-widgets.com"));
        assert_eq!(act(&ghost, late), [ActionOutcome::Gone], "{kind:?}");
    }
    assert_eq!(contacts(&ghost).len(), 999);
}

#[test]
#[ignore = "thorough"]
fn a_label_is_added_to_those_that_a_member_has() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let contact = contact_at(&ghost, "member-0003@acme-widgets.com");
    let before = labels(&ghost.member(&contact).unwrap());
    assert_eq!(before.len(), 2, "the import has made one too: {before:?}");
    let tag = order(ActionKind::Tag, std::slice::from_ref(&contact), None);
    let in_capitals = tag.tag.as_ref().unwrap().to_uppercase();
    for name in [tag.tag.clone().unwrap(), tag.tag.clone().unwrap(), in_capitals] {
        let mut tag = tag.clone();
        tag.tag = Some(name);
        assert_eq!(act(&ghost, tag), [DONE]);
    }
    let mut expected = before;
    expected.insert("probity: undeliverable".to_owned());
    let member = ghost.member(&contact).unwrap();
    assert_eq!(labels(&member), expected);
    assert_eq!(member["subscribed"], true);
}

#[test]
#[ignore = "thorough"]
fn an_address_is_changed_unless_it_is_taken() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let contact = contact_at(&ghost, "member-0991@gmal.com");
    let fix = order(ActionKind::Fix, std::slice::from_ref(&contact), Some("member-0991@gmail.com"));
    for _ in 0..2 {
        assert_eq!(act(&ghost, fix.clone()), [DONE]);
    }
    let member = ghost.member(&contact).unwrap();
    assert_eq!(member["email"], "member-0991@gmail.com");
    assert!(member["subscribed"] == true && labels(&member).contains("reader"), "{member}");
    let other = contact_at(&ghost, "member-0992@gmal.com");
    let taken = order(ActionKind::Fix, std::slice::from_ref(&other), Some("member-0991@gmail.com"));
    assert_eq!(act(&ghost, taken), [ActionOutcome::Taken]);
    assert_eq!(ghost.member(&other).unwrap()["email"], other.email.as_str());
}
