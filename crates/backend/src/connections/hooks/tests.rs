use probity_access::secrets::{Secrets, hex};
use probity_account::id::ConnId;
use probity_connectors::{Catalog, HookProof, HookRule};
use probity_mail::time::{DAY_MS, Millis};
use probity_store::OrgNo;
use ring::hmac;

use super::keys::KeptRegistration;
use super::{HookBook, HookCall, HookCallMeaning, HookKeys, KnownHook};

const NOW: Millis = Millis(1_795_341_600_000);
const BASE: &str = "https://verify.example.com/";
const NEWS: &str = r#"{"member": {"current": {"id": "1", "email": "ann@example.com"}}}"#;

fn rule(slug: &str) -> &'static HookRule {
    Catalog::embedded().get(slug).unwrap().hook.as_ref().unwrap()
}

fn registered(secret: &str) -> HookKeys {
    let mut keys = HookKeys::default();
    keys.add(BASE, &[1; 16], NOW);
    let newest = keys.generations.last_mut().unwrap();
    newest.registrations.push(KeptRegistration { list: None, id: "9".into(), secret: secret.into() });
    newest.is_complete = true;
    keys
}

fn signed(secret: &str, body: &str) -> Vec<(String, String)> {
    let text = format!("{body}{}", NOW.0);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), text.as_bytes());
    vec![("X-Ghost-Signature".into(), format!("sha256={}, t={}", hex(tag.as_ref()), NOW.0))]
}

fn judge(keys: &HookKeys, slug: &str, path: &str, headers: &[(String, String)], body: &str) -> Option<HookCallMeaning> {
    keys.judge(rule(slug), &HookCall { secret: path, headers, raw: body.as_bytes() }, NOW)
}

#[test]
fn a_call_needs_the_path_and_the_proof() {
    let keys = registered("theirs");
    let path = keys.generations[0].path.clone();
    let told = |path: &str, secret: &str, body: &str| judge(&keys, "ghost", path, &signed(secret, NEWS), body);
    assert_eq!(told(&path, "theirs", NEWS), Some(HookCallMeaning::News));
    assert_eq!(told(&path, &keys.generations[0].secret, NEWS), Some(HookCallMeaning::News), "before the ID is known");
    assert_eq!(told(&path, "another", NEWS), None);
    assert_eq!(told(&path, "theirs", &NEWS.replace("ann", "bob")), None);
    assert_eq!(told(&path[1..], "theirs", NEWS), None);
    assert_eq!(told("", "theirs", NEWS), None);
    assert_eq!(judge(&keys, "ghost", &path, &[], NEWS), None);
    assert!(keys.has_path(&path) && !keys.has_path(&path.to_uppercase()));
}

#[test]
fn events_about_something_else_cause_no_look_and_unknown_ones_do() {
    let keys = registered("theirs");
    let path = keys.generations[0].path.clone();
    let told = |slug, body: &str| judge(&keys, slug, &path, &[], body);
    assert_eq!(told("mailchimp", "type=subscribe&data[email]=a%40b.c"), Some(HookCallMeaning::News));
    assert_eq!(told("mailchimp", "type=unsubscribe&data[email]=a%40b.c"), Some(HookCallMeaning::Other));
    assert_eq!(told("convertkit", "{"), Some(HookCallMeaning::News));
    assert_eq!(judge(&keys, "ghost", &path, &signed("theirs", "{"), "{"), Some(HookCallMeaning::News));
}

#[test]
fn a_handshake_is_answered_while_a_registration_is_pending() {
    let mut keys = registered("theirs");
    let echo = HookRule { proof: HookProof::Echo { header: "X-Hook-Secret".into() }, ..rule("convertkit").clone() };
    let headers = [("x-hook-secret".to_owned(), "4711".to_owned())];
    let told = |keys: &HookKeys| {
        let secret = &keys.generations[0].path;
        keys.judge(&echo, &HookCall { secret, headers: &headers, raw: b"" }, NOW)
    };
    assert_eq!(told(&keys), Some(HookCallMeaning::News));
    keys.generations[0].is_complete = false;
    assert_eq!(told(&keys), Some(HookCallMeaning::Handshake("X-Hook-Secret".into(), "4711".into())));
}

#[test]
fn a_registration_is_renewed_after_a_day_without_events() {
    let keys = registered("theirs");
    let day = NOW + DAY_MS;
    let cases = [
        (BASE, None, NOW, false),
        (BASE, None, day, true),
        (BASE, Some(NOW + 1), day, false),
        (BASE, Some(NOW + 1), day + 1, true),
        ("https://other.example.com", Some(NOW), NOW, true),
    ];
    for (base, event, now, expected) in cases {
        assert_eq!(keys.needs_new(base, event, now), expected, "{base} {event:?} {now:?}");
    }
    let hour = 3_600_000;
    assert!(keys.look_at(None, NOW).is_some_and(|at| at < NOW + hour), "somebody may remove it");
    assert_eq!(keys.look_at(None, day + -5), Some(day));
    assert_eq!(keys.look_at(Some(NOW + 5), day + -5), Some(day + 5));
    assert!(HookKeys::default().needs_new(BASE, None, NOW));
    let mut spoiled = keys.clone();
    spoiled.generations[0].is_spoiled = true;
    assert!(spoiled.needs_new(BASE, Some(NOW), NOW));
}

#[test]
fn keys_are_encrypted_for_their_connection_and_forget_other_accounts() {
    let (secrets, id) = (Secrets::of(&[1; 32]), ConnId::from_bits(1));
    let mut keys = registered("theirs");
    let url = keys.generations[0].url(id);
    assert!(url.starts_with(&format!("https://verify.example.com/hooks/{id}/")), "{url}");
    let sealed = keys.seal(&secrets, id);
    assert_eq!(HookKeys::open(&secrets, id, Some(&sealed)).registered_at(), Some(NOW));
    assert!(HookKeys::open(&secrets, ConnId::from_bits(2), Some(&sealed)).generations.is_empty());
    keys.add(BASE, &[1; 16], NOW + 1);
    assert_eq!((keys.generations.len(), keys.registered_at()), (2, Some(NOW)));
    keys.keep_account(&[2; 16]);
    assert!(keys.is_unregistered() && keys.registered_at().is_none());
}

#[test]
fn an_event_covers_others_until_the_next_poll() {
    let (book, id) = (HookBook::default(), ConnId::from_bits(1));
    let hook = KnownHook { org: OrgNo(1), provider: "ghost".into(), keys: registered("theirs") };
    book.remember(id, hook.into(), NOW);
    assert!(book.reserve(id, NOW));
    assert!(!book.reserve(id, NOW), "one at a time");
    book.cover(OrgNo(1), id, (NOW, Some(NOW + 100)));
    assert!(!book.reserve(id, NOW + 99));
    assert!(book.reserve(id, NOW + 100), "that poll may have read");
    // Overdue: it waits for a run in progress.
    book.cover(OrgNo(1), id, (NOW + 100, Some(NOW)));
    assert!(!book.reserve(id, NOW + 999));
    book.uncover(id);
    assert!(book.reserve(id, NOW + 999));
}
