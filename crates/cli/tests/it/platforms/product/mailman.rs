//! Mailman: subscribers leave a list or the server, and unsupported actions are refused.

use std::collections::BTreeSet;

use probity_connectors::Method;
use serde_json::{Value, json};

use super::customer::{Customer, counts};
use super::expected::{by_reason, newcomer, reason, with_reasons};
use crate::platforms::running::Platform;

/// Occurring reasons on which the preset `normal` acts.
const NORMAL: [&str; 2] = ["nonexistent", "deactivated"];

/// Fields that subscribe immediately.
const APPROVED: &str = "pre_verified=true&pre_confirmed=true&pre_approved=true";

impl Platform {
    /// Returns the addresses of a list's members.
    fn roster(&self) -> BTreeSet<String> {
        self.roster_of(self.fact("list"))
    }

    fn roster_of(&self, list: &str) -> BTreeSet<String> {
        let (status, answer) = self.call(Method::Get, &format!("/lists/{list}/roster/member"), None);
        assert_eq!(status, 200, "{answer}");
        let entries = answer["entries"].as_array().into_iter().flatten();
        entries.map(|entry| entry["email"].as_str().unwrap().to_owned()).collect()
    }

    /// Reports whether Mailman knows an address, subscribed or not.
    fn knows(&self, email: &str) -> bool {
        self.call(Method::Get, &format!("/addresses/{email}"), None).0 == 200
    }
}

#[test]
#[ignore = "thorough"]
fn what_mailman_lacks_is_refused_with_what_it_has() {
    let Some(mailman) = Platform::take("mailman") else { return };
    let mut customer = Customer::connected(&mailman, &json!({}));
    for action in ["update_tags", "update_custom_fields"] {
        let refused = customer.try_change(&json!({ "action": action }));
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(refused.status, 400, "{message}");
        assert!(message.starts_with("action: must be one of unsubscribe, delete, do_nothing"), "{message}");
    }
    let lists = customer.look("/lists")["data"].clone();
    assert_eq!(lists, json!([{ "id": "news.lists.test", "name": "news@lists.test", "count": 200 }]));
    let wrong = json!({ "url": mailman.entered["url"], "rest_user": "nobody", "rest_password": "wrong" });
    let refused = customer.connect(&wrong);
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(refused.status, 400, "{message}");
    assert!(message.starts_with("credentials: check rest_user, rest_password"), "{message}");
    let tested = customer.post("test", &json!({})).json();
    assert_eq!(tested["credential_valid"], true, "{tested}");
    customer.leave(&mailman);
}

#[test]
#[ignore = "thorough"]
fn subscribers_leave_the_list_or_the_server() {
    let Some(mailman) = Platform::take("mailman") else { return };
    for (action, flag, name) in [("unsubscribe", "unsubscribed", "first"), ("delete", "deleted", "second")] {
        let before: Vec<String> = mailman.roster().into_iter().collect();
        let fresh = newcomer(name);
        mailman.subscribe(&fresh);
        let bad = with_reasons(&[before.clone(), vec![fresh.clone()]].concat(), &NORMAL);
        let mut customer = Customer::connected(&mailman, &json!({ "action": action, "lists": [mailman.fact("list")] }));
        let run = customer.dry_run_then_confirm();
        assert_eq!(counts(&run, "done"), by_reason(&bad));
        let expected: BTreeSet<String> = before.into_iter().filter(|email| !bad.contains(email)).collect();
        assert_eq!(mailman.roster(), expected, "{action}");
        assert!(bad.iter().all(|email| mailman.knows(email) == (action == "unsubscribe")), "{action}");
        let rows = customer.download(run["id"].as_str().unwrap());
        let flagged = rows.iter().filter(|(_, row)| row[flag] == true);
        assert_eq!(flagged.map(|(email, _)| email.clone()).collect::<BTreeSet<_>>(), bad.into_iter().collect());
        customer.leave(&mailman);
    }
}

#[test]
#[ignore = "thorough"]
fn a_person_decides_about_each_action() {
    let Some(mailman) = Platform::take("mailman") else { return };
    let bad = with_reasons(&mailman.contacts(), &NORMAL);
    let mut customer = Customer::connected(&mailman, &json!({ "action": "delete", "manual_mode": true }));
    let id = customer.start(false);
    assert_eq!(customer.until(&id, "needs_confirmation")["held_by"], "manual_mode");
    let review = customer.look("/review?per_page=100")["data"].clone();
    let review = review.as_array().unwrap();
    assert_eq!(review.len(), bad.len());
    let (act, rest) = review.split_at(2);
    let (wrong, rest) = rest.split_at(1);
    let decide = |one: &Value, word: &str| json!({ "run_id": id, "index": one["index"], "decision": word });
    let decisions: Vec<Value> = (act.iter().map(|one| decide(one, "act")))
        .chain(wrong.iter().map(|one| decide(one, "whitelist")))
        .chain(rest.iter().map(|one| decide(one, "ignore")))
        .collect();
    let decided = customer.post("review/decisions", &json!({ "decisions": decisions }));
    assert_eq!((decided.status, &decided.json()["decided"]), (200, &json!(bad.len())), "{decided:?}");
    let run = customer.until(&id, "finished");
    assert_eq!((&run["actions"]["done"], &run["actions"]["ignored"]), (&json!(2), &json!(bad.len() - 2)));
    let gone: BTreeSet<String> = act.iter().map(|one| one["email"].as_str().unwrap().to_owned()).collect();
    let expected: BTreeSet<String> = mailman.contacts().into_iter().filter(|email| !gone.contains(email)).collect();
    assert_eq!(mailman.roster(), expected);
    // The whitelisted contact is not planned again.
    let second = customer.start(true);
    let run = customer.until(&second, "needs_confirmation");
    assert_eq!(run["actions"]["planned"], bad.len() - 3);
    assert_eq!(customer.look("")["settings"]["whitelist_count"], 1);
    customer.leave(&mailman);
}

#[test]
#[ignore = "thorough"]
fn only_the_chosen_lists_are_left_and_misspelt_addresses_corrected() {
    let Some(mailman) = Platform::take("mailman") else { return };
    let (status, answer) = mailman.call_with_form(Method::Post, "/lists", "fqdn_listname=offers@lists.test");
    assert_eq!(status, 201, "{answer}");
    let contacts = mailman.contacts();
    let bad = with_reasons(&contacts, &NORMAL);
    let both: Vec<String> = bad.iter().filter(|email| email.ends_with("@acme-widgets.com")).take(2).cloned().collect();
    for email in &both {
        let form = format!("list_id=offers.lists.test&subscriber={email}&{APPROVED}");
        assert_eq!(mailman.call_with_form(Method::Post, "/members", &form).0, 201);
    }
    let settings = json!({ "action": "unsubscribe", "fix_typos": true, "lists": [mailman.fact("list")] });
    let mut customer = Customer::connected(&mailman, &settings);
    assert_eq!(customer.look("/lists")["data"].as_array().unwrap().len(), 2);
    let run = customer.dry_run_then_confirm();
    let right = |email: &String| email.replace("@gmal.com", "@gmail.com");
    let is_fixed = |email: &String| {
        let is_bad = ["nonexistent", "deactivated", "inbox_full"].contains(&reason(email));
        is_bad && right(email) != *email && reason(&right(email)) == "valid"
    };
    let stays = contacts.iter().filter(|email| is_fixed(email) || !bad.contains(email));
    let expected = stays.map(|email| if is_fixed(email) { right(email) } else { email.clone() });
    assert_eq!(mailman.roster(), expected.collect());
    assert_eq!(mailman.roster_of("offers.lists.test"), both.into_iter().collect());
    let rows = customer.download(run["id"].as_str().unwrap());
    let fixed = rows.iter().filter(|(_, row)| row["fixed"] == true).map(|(email, _)| email.clone());
    assert_eq!(fixed.collect::<BTreeSet<_>>(), contacts.into_iter().filter(is_fixed).collect());
    customer.leave(&mailman);
}
