//! Every contact is read exactly once, by every kind of page, however small the platform's pages are, across crashes and refusals.

use std::collections::BTreeMap;

use probity_connectors::{
    Catalog, ConnectorFile, ContactsGoal, Credentials, HostAllowance, Origin, ReadGoal, ReadPosition, ReadStep,
    Reading, Request, Response,
};
use probity_mail::time::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Kinds of page with the parameters that they send.
const KINDS: &[(&str, &str)] = &[
    ("{ kind = 'offset', size = 5, end = { total = '/total' } }", "offset = '{page.offset}'"),
    ("{ kind = 'offset', size = 5, end = 'empty' }", "offset = '{page.offset}'"),
    ("{ kind = 'offset', size = 5, end = 'empty', again = true }", "offset = '{page.offset}'"),
    ("{ kind = 'page', size = 5, end = { more = '/token' } }", "number = '{page.number}'"),
    ("{ kind = 'page', size = 5, end = { pages = '/pages' } }", "number = '{page.number}'"),
    ("{ kind = 'token', size = 5, at = '/token' }", "token = '{page.token}'"),
    ("{ kind = 'next_url', size = 5, at = '/next' }", "offset = 0"),
    ("{ kind = 'keyset', size = 5, from = '/id', first = '0', end = 'empty' }", "key = '{page.key}'"),
];

fn file(page: &str, parameter: &str) -> ConnectorFile {
    let text = format!(
        "{}[contacts]\nscope = 'account'\nrequest = {{ get = '/contacts', query = {{ {parameter} }} }}\nrecords = '/data'\npage = {page}\n\
         fields = {{ id = '/id', email = '/email', state_default = 'subscribed' }}\n",
        include_str!("small.toml")
    );
    ConnectorFile::parse("small.toml", &text, Origin::Operator).expect("a connector")
}

fn credentials(file: &ConnectorFile) -> Credentials {
    let entered = [("url", "https://api.example.org"), ("key", "k")];
    let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Credentials::new(file, &entered, &HostAllowance::default()).expect("credentials")
}

/// Answers with at most `cap` contacts, whatever was asked for.
fn platform(request: &Request, total: usize, cap: usize) -> Value {
    let url = url::Url::parse(&request.url).expect("an address");
    let query: BTreeMap<_, _> = url.query_pairs().collect();
    let number = |name: &str| query.get(name).and_then(|text| text.parse::<usize>().ok());
    let key = number("key").map(|key| key.min(total));
    let page = number("number").map(|number| (number - 1) * cap);
    let from = number("offset").or(number("token")).or(page).or(key).unwrap_or(0);
    let to = (from + cap).min(total).max(from);
    let data: Vec<_> = (from..to).map(|n| json!({"id": n + 1, "email": format!("c{n}@example.org")})).collect();
    let more = to < total;
    json!({
        "data": data, "total": total, "pages": total.div_ceil(cap),
        "token": more.then(|| to.to_string()), "next": more.then(|| format!("/contacts?offset={to}")),
    })
}

#[test]
fn nothing_is_read_instead_of_the_chosen_lists() {
    let file = file(KINDS[0].0, KINDS[0].1);
    let credentials = credentials(&file);
    let chosen = ContactsGoal { lists: vec!["news".to_owned()], ..ContactsGoal::default() };
    let refused = Reading::new(&file, &credentials, ReadGoal::Contacts(chosen)).err().unwrap();
    assert_eq!(refused.message, "lists are chosen, but all contacts of Small are read together");
    let by_list = |slug| Catalog::embedded().get(slug).unwrap().can_choose_lists();
    assert_eq!(["ghost", "mailman", "mailchimp", "brevo"].map(by_list), [false, true, true, false]);
}

#[test]
fn a_contact_that_is_read_again_counts_once() {
    let file = file(KINDS[0].0, KINDS[0].1);
    let credentials = credentials(&file);
    let mut reading = Reading::new(&file, &credentials, ReadGoal::Contacts(ContactsGoal::default())).unwrap();
    let (mut total, mut read) = (12, Vec::new());
    while let ReadStep::Send(request) = reading.next(Millis(0)).unwrap() {
        let body = platform(&request, total, 5).to_string().into_bytes();
        let response = Response { status: 200, headers: Vec::new(), body, is_cut: false, at: Millis(0) };
        reading.answer(&response).unwrap();
        read.push(reading.position().counts().0);
        // Two leave after the first page, so reading steps back.
        total = 10;
    }
    assert_eq!(read, [5, 3, 8, 10]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_contact_is_read_exactly_once(kind in 0..KINDS.len(), total in 0..40_usize, cap in 1..7_usize, troubles in prop::collection::vec(0..4_u8, 60)) {
        let (page, parameter) = KINDS[kind];
        // A page of one record has no new one if it begins with the last one.
        let cap = if page.contains("again") { cap.max(2) } else { cap };
        let file = file(page, parameter);
        let credentials = credentials(&file);
        let mut reading = Reading::new(&file, &credentials, ReadGoal::Contacts(ContactsGoal::default())).unwrap();
        let (mut ids, mut troubles) = (Vec::new(), troubles.into_iter());
        while let ReadStep::Send(request) = reading.next(Millis(0)).unwrap() {
            let trouble = troubles.next().unwrap_or(3);
            let (status, body) = if trouble == 0 { (503, json!({})) } else { (200, platform(&request, total, cap)) };
            let body = body.to_string().into_bytes();
            let response = Response { status, headers: Vec::new(), body, is_cut: false, at: Millis(0) };
            let stored = serde_json::to_vec(reading.position()).unwrap();
            match reading.answer(&response) {
                // A crash before the page was stored: the position is the old one, and the page is read again.
                Ok(_) if trouble == 1 => {
                    let position: ReadPosition = serde_json::from_slice(&stored).unwrap();
                    reading = Reading::resume(&file, &credentials, position);
                }
                Ok(page) => ids.extend(page.contacts.into_iter().map(|contact| contact.id.parse::<usize>().unwrap())),
                Err(_) => prop_assert_eq!(status, 503),
            }
        }
        prop_assert!(reading.position().is_done());
        prop_assert_eq!(reading.position().counts(), (total as u64, 0));
        prop_assert_eq!(ids, (1..=total).collect::<Vec<_>>(), "{}", page);
    }
}
