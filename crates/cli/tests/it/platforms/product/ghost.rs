//! Ghost: 1,000 members are verified, and those that a run selects are unsubscribed, deleted or labeled.

use std::collections::{BTreeMap, BTreeSet};

use probity_connectors::Method;
use serde_json::{Value, json};

use super::customer::{Customer, counts};
use super::expected::{by_reason, newcomer, price, reason, with_reasons};
use crate::platforms::ghost::labels;
use crate::platforms::running::Platform;
use crate::serve::bench::node::wait_for;
use crate::serve::jobs::receiver::Receiver;

/// Occurring reasons on which the preset `normal` acts.
const NORMAL: [&str; 2] = ["nonexistent", "deactivated"];

fn flagged(rows: &BTreeMap<String, Value>, flag: &str) -> BTreeSet<String> {
    rows.iter().filter(|(_, row)| row[flag] == true).map(|(email, _)| email.clone()).collect()
}

#[test]
#[ignore = "thorough"]
fn what_a_dry_run_shows_is_what_ghost_has_after_its_confirmation() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let contacts = ghost.contacts();
    let bad = with_reasons(&contacts, &NORMAL);
    let (kept, named) = (&bad[0], &with_reasons(&contacts, &["valid"])[0]);
    let mut customer = Customer::connected(&ghost, &json!({ "action": "unsubscribe" }));
    customer.add_rule("whitelist", kept);
    customer.add_rule("blacklist", named);
    let receiver = customer.receive("contact.unsubscribed");

    // Planned only: nothing has changed.
    let id = customer.start(true);
    let shown = customer.until(&id, "needs_confirmation");
    let mut expected = by_reason(&bad[1..]);
    expected.insert("blacklisted".to_owned(), 1);
    assert_eq!(counts(&shown, "planned"), expected);
    assert_eq!(
        (&shown["contacts"], &shown["rows"], &shown["held_by"]),
        (&json!(1000), &json!(1000), &json!("dry_run"))
    );
    let wanted: BTreeSet<String> = bad[1..].iter().chain([named]).cloned().collect();
    let examples = shown["examples"].as_array().unwrap();
    assert_eq!(examples.len(), 20);
    for example in examples {
        assert!(wanted.contains(example["email"].as_str().unwrap()), "{example}");
        assert_eq!((&example["action"], &example["state"]), (&json!("unsubscribe"), &json!("planned")));
    }
    assert!(ghost.members().values().all(|member| member["subscribed"] == true));
    assert_eq!(customer.spent(), price(&contacts));

    // Confirmed and done.
    let planned = i64::try_from(wanted.len()).unwrap();
    assert_eq!(customer.confirm(&id, planned + 1).status, 409);
    assert_eq!(customer.confirm(&id, planned).status, 200);
    let run = customer.until(&id, "finished");
    assert_eq!(run["actions"], json!({ "planned": 0, "due": 0, "done": planned, "failed": 0, "ignored": 0 }));
    let members = ghost.members();
    assert_eq!(members.len(), 1000);
    let left = members.iter().filter(|(_, member)| member["subscribed"] == false);
    let left: BTreeSet<String> = left.map(|(email, _)| email.clone()).collect();
    assert_eq!(left, wanted);
    rows_say_what_ghost_says(&customer, &run, &left, named);
    webhooks_are_told(&receiver, &id, left.len());
    only_what_is_new_is_acted_upon(&ghost, &mut customer, &left);
    customer.leave(&ghost);
}

fn rows_say_what_ghost_says(customer: &Customer, run: &Value, left: &BTreeSet<String>, named: &str) {
    let rows = customer.download(run["id"].as_str().unwrap());
    assert_eq!(rows.len(), 1000);
    assert_eq!(flagged(&rows, "unsubscribed"), *left);
    for flag in ["deleted", "tagged", "updated", "fixed"] {
        assert_eq!(flagged(&rows, flag), BTreeSet::new(), "{flag}");
    }
    for (email, row) in &rows {
        let expected = if email == named { "blacklisted" } else { reason(email) };
        assert_eq!(row["reason"], expected, "{email}");
        let acted = row["completed_at"].as_str() >= run["confirmed_at"].as_str();
        assert_eq!(acted, left.contains(email), "{row}");
    }
}

fn webhooks_are_told(receiver: &Receiver, id: &str, changed: usize) {
    let rows: Vec<u64> = wait_for("the events about all contacts", || {
        let told = receiver.told_of_rows();
        assert!(told.iter().all(|told| told.topic == "contact.unsubscribed" && told.job == id), "{told:?}");
        // A resent event has the same ID.
        let once: BTreeMap<_, _> = told.iter().map(|told| (&told.event, &told.rows)).collect();
        let rows: Vec<u64> = once.values().flat_map(|rows| rows.keys().copied()).collect();
        (rows.len() >= changed).then_some(rows)
    });
    assert_eq!((rows.len(), rows.iter().collect::<BTreeSet<_>>().len()), (changed, changed));
}

/// A second run skips contacts that have left, and acts at once.
fn only_what_is_new_is_acted_upon(ghost: &Platform, customer: &mut Customer, left: &BTreeSet<String>) {
    let fresh = newcomer("fresh");
    ghost.add_member(&fresh);
    let id = customer.start(false);
    let run = customer.until(&id, "finished");
    assert_eq!(counts(&run, "done"), BTreeMap::from([("nonexistent".to_owned(), 1)]));
    assert_eq!((&run["contacts"], &run["rows"]), (&json!(1001), &json!(1001 - left.len())));
    assert_eq!(ghost.members()[&fresh]["subscribed"], false);
    assert_eq!(flagged(&customer.download(&id), "unsubscribed"), BTreeSet::from([fresh]));
}

#[test]
#[ignore = "thorough"]
fn members_are_deleted_and_no_others() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let contacts = ghost.contacts();
    let mut customer = Customer::connected(&ghost, &json!({ "action": "delete", "aggressiveness": "aggressive" }));
    let run = customer.dry_run_then_confirm();
    let bad = with_reasons(&contacts, &["nonexistent", "deactivated", "inbox_full"]);
    assert_eq!(counts(&run, "done"), by_reason(&bad));
    let (bad, rest): (BTreeSet<_>, BTreeSet<_>) = contacts.into_iter().partition(|email| bad.contains(email));
    let members = ghost.members();
    assert_eq!(members.keys().cloned().collect::<BTreeSet<_>>(), rest);
    assert!(members.values().all(|member| member["subscribed"] == true && labels(member).contains("reader")));
    assert_eq!(flagged(&customer.download(run["id"].as_str().unwrap()), "deleted"), bad);
    customer.leave(&ghost);
}

#[test]
#[ignore = "thorough"]
fn members_are_labeled_and_misspelt_addresses_corrected() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let contacts = ghost.contacts();
    let settings = json!({ "action": "update_tags", "tag": "checked: {status}, {reason}", "fix_typos": true });
    let mut customer = Customer::connected(&ghost, &settings);
    let before = ghost.members();
    let run = customer.dry_run_then_confirm();
    let rows = customer.download(run["id"].as_str().unwrap());
    let after = ghost.members();
    let by_id = |id: &Value| after.values().find(|member| member["id"] == *id).unwrap();
    let (mut fixed, mut tagged) = (BTreeSet::new(), BTreeSet::new());
    for email in &contacts {
        let (old, new) = (&before[email], by_id(&before[email]["id"]));
        let right = email.replace("@gmal.com", "@gmail.com");
        let is_bad = ["nonexistent", "deactivated", "inbox_full"].contains(&reason(email));
        let mut wanted = labels(old);
        if is_bad && right != *email && reason(&right) == "valid" {
            fixed.insert(email.clone());
            assert_eq!(new["email"], right.as_str());
        } else {
            assert_eq!(new["email"], email.as_str());
            if NORMAL.contains(&reason(email)) {
                tagged.insert(email.clone());
                wanted.insert(format!("checked: undeliverable, {}", reason(email)));
            }
        }
        assert_eq!(labels(new), wanted, "{email}");
        assert_eq!(new["subscribed"], true);
    }
    assert_eq!((flagged(&rows, "fixed"), flagged(&rows, "tagged")), (fixed, tagged));
    customer.leave(&ghost);
}

#[test]
#[ignore = "thorough"]
fn a_killed_service_goes_on_where_it_was() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let bad = with_reasons(&ghost.contacts(), &NORMAL);
    let mut customer = Customer::connected(&ghost, &json!({ "action": "unsubscribe" }));
    let id = customer.start(true);
    customer.killed_and_started();
    let shown = customer.until(&id, "needs_confirmation");
    assert_eq!((&shown["contacts"], counts(&shown, "planned")), (&json!(1000), by_reason(&bad)));
    // Someone else deletes one meanwhile.
    let gone = &ghost.members()[&bad[7]];
    let path = format!("/members/{}/", gone["id"].as_str().unwrap());
    assert_eq!(ghost.call(Method::Delete, &path, None).0, 204);
    let receiver = customer.receive("contact.unsubscribed");
    let planned = i64::try_from(bad.len()).unwrap();
    assert_eq!(customer.confirm(&id, planned).status, 200);
    customer.until_done(&id, 20);
    customer.killed_and_started();
    let run = customer.until(&id, "finished");
    assert_eq!(run["actions"], json!({ "planned": 0, "due": 0, "done": planned, "failed": 0, "ignored": 0 }));
    let (mut left, members) = (0, ghost.members());
    for (email, member) in &members {
        assert_eq!(member["subscribed"] == true, !bad.contains(email), "{email}");
        left += usize::from(member["subscribed"] == false);
    }
    assert_eq!((members.len(), left), (999, bad.len() - 1));
    // A contact that no longer exists is in the requested state.
    webhooks_are_told(&receiver, &id, bad.len());
    customer.leave(&ghost);
}

#[test]
#[ignore = "thorough"]
fn refused_credentials_are_named() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let mut customer = Customer::of(&ghost);
    let other = |name: &str, value: &str| {
        let mut entered = ghost.entered.clone();
        entered.insert(name.to_owned(), value.to_owned());
        json!(entered)
    };
    let (id, _) = ghost.entered["admin_api_key"].split_once(':').unwrap();
    let [blog, admin] = ["blog", "ghost"].map(|path| format!("{}/{path}", ghost.entered["url"]));
    let cases = [
        ("admin_api_key", format!("{id}:{}", "0".repeat(64)), "credentials.admin_api_key: "),
        ("admin_api_key", "no key".to_owned(), "credentials.admin_api_key: must be an Admin API key"),
        ("url", admin, "credentials.url: Ghost answered 302: it redirects to another path"),
        ("url", "http://blog.lan:2368".to_owned(), "credentials.url: must begin with https://, unless the operator"),
        ("url", blog, "credentials.url: "),
        ("url", "http://127.0.0.1:9".to_owned(), "credentials.url: must begin with https://, unless the operator"),
    ];
    for (name, value, beginning) in cases {
        let answer = customer.connect(&other(name, &value));
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(answer.status, 400, "{name}: {message}");
        assert!(message.starts_with(beginning), "{message}");
        assert!(!message.contains(&value) && !customer.installation.log().contains(&value), "{message}");
    }
    assert_eq!(customer.get("/v1/integrations/ghost")["connection_count"], 0);
    customer.leave(&ghost);
}
