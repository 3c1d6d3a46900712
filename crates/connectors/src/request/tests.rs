use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::render::*;
use crate::file::{ConnectorFile, Origin};
use crate::request::{CredentialFault, Credentials, HostAllowance, Values};
use crate::template::PlaceholderFamily;
use probity_mail::time::Millis;
use url::Url;

/// File with an untrusted value at every kind of place.
const PLACES: &str = r#"
[provider]
slug = "places"
name = "Places"
checked = "2026-11-22, nowhere"
docs = "https://example.org"
confidence = "low"
[[credential]]
name = "key"
label = "Key"
kind = "secret"
[[credential]]
name = "account"
label = "Account"
kind = "text"
[http]
base = "https://{credential.account}.example.org/v1"
headers = { Key = "{credential.key}" }
[test]
request = { get = "/me" }
[actions.tag]
scope = "account"
[actions.tag.request]
post = "/contacts/{contact.id}/tags"
query = { name = "{tag.name}" }
headers = { X-Tag = "{tag.name}" }
json = { tag = "{tag.name}", text = "tag {tag.name}", "{tag.name}" = 1 }
[actions.delete]
scope = "account"
request = { post = "/delete", form = { id = "{contact.id}", fixed = "1" } }
"#;

fn file() -> ConnectorFile {
    ConnectorFile::parse("places.toml", PLACES, Origin::Operator).unwrap()
}

fn credentials(file: &ConnectorFile, account: &str) -> Result<Credentials, CredentialFault> {
    let entered = BTreeMap::from([("key".to_owned(), "k".to_owned()), ("account".to_owned(), account.to_owned())]);
    Credentials::new(file, &entered, &HostAllowance::default())
}

/// Generates any text, often with characters that are special in a URL, a header or JSON.
fn hostile() -> impl Strategy<Value = String> {
    let signs = prop::collection::vec(
        prop::sample::select(vec![
            "/", "..", "?", "#", "&", "=", "%2e", "\r\n", "\"", "'", "{", "}", "@", ":", "\\", "\0", "ü", "a",
        ]),
        0..12,
    );
    prop_oneof![any::<String>(), signs.prop_map(|signs| signs.concat())]
}

proptest! {
    #[test]
    fn no_value_changes_the_structure_of_a_request(id in hostile(), tag in hostile()) {
        let file = file();
        let credentials = credentials(&file, "acme").unwrap();
        let mut values = Values::new(&credentials);
        values.set(PlaceholderFamily::Contact, "id", id.as_str());
        values.set(PlaceholderFamily::Tag, "name", tag.as_str());
        let rendering = Rendering { file: &file, now: Millis(0) };
        let rule = &file.actions.tag.as_ref().unwrap().request;
        if let Ok(request) = rendering.request(rule, &BTreeMap::new(), &values) {
            let url = Url::parse(&request.url).unwrap();
            prop_assert_eq!(url.host_str(), Some("acme.example.org"));
            let path: Vec<_> = url.path_segments().unwrap().collect();
            prop_assert_eq!(path.len(), 4);
            prop_assert_eq!((path[0], path[1], path[3]), ("v1", "contacts", "tags"));
            let back = percent_encoding::percent_decode_str(path[2]).decode_utf8().unwrap();
            prop_assert_eq!(back.as_ref(), id.as_str());
            let query: Vec<_> = url.query_pairs().collect();
            prop_assert_eq!(query.len(), 1);
            prop_assert_eq!(query[0].1.as_ref(), tag.as_str());
            prop_assert!(url.fragment().is_none());
            for (_, value) in &request.headers {
                prop_assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            }
            let body: Value = serde_json::from_slice(request.body.as_ref().unwrap()).unwrap();
            prop_assert_eq!(body["tag"].as_str(), Some(tag.as_str()));
            let text = format!("tag {tag}");
            prop_assert_eq!(body["text"].as_str(), Some(text.as_str()));
            prop_assert!(body.as_object().unwrap().len() <= 3);
        }
    }

    #[test]
    fn no_value_changes_the_structure_of_a_form(id in hostile()) {
        let file = file();
        let credentials = credentials(&file, "acme").unwrap();
        let mut values = Values::new(&credentials);
        values.set(PlaceholderFamily::Contact, "id", id.as_str());
        let rendering = Rendering { file: &file, now: Millis(0) };
        let request = rendering.request(&file.actions.delete.as_ref().unwrap().request, &BTreeMap::new(), &values).unwrap();
        let pairs: Vec<_> = url::form_urlencoded::parse(request.body.as_ref().unwrap()).into_owned().collect();
        prop_assert_eq!(pairs, vec![("fixed".to_owned(), "1".to_owned()), ("id".to_owned(), id)]);
    }

    #[test]
    fn no_credential_changes_the_host(account in hostile()) {
        let file = file();
        if let Ok(credentials) = credentials(&file, &account) {
            let rendering = Rendering { file: &file, now: Millis(0) };
            let base = rendering.base(&Values::new(&credentials)).unwrap();
            prop_assert!(Url::parse(&base).unwrap().host_str().unwrap().ends_with(".example.org"));
        }
    }
}

#[test]
fn a_malformed_credential_is_named_when_it_is_entered() {
    let file = file();
    for account in ["evil.org/", "a.b", "a@b", "x#", ""] {
        let fault = credentials(&file, account).unwrap_err();
        assert_eq!(fault.field, "account", "{account}");
    }
    let fault = credentials(&file, "evil.org/").unwrap_err();
    assert!(!fault.to_string().contains("evil"), "{fault}");
    assert_eq!(fault.what, "is not a label of a host name", "customers do not know placeholders");
    let ghost = crate::Catalog::embedded().get("ghost").unwrap();
    let entered = [("url", "https://blog.example.org"), ("admin_api_key", "content-key")];
    let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let fault = Credentials::new(ghost, &entered, &HostAllowance::default()).unwrap_err();
    let said = "admin_api_key: must be an Admin API key: an ID, a colon and a hexadecimal secret";
    assert_eq!(fault.to_string(), said);
}

fn entered(slug: &str, values: &[(&str, &str)]) -> (&'static ConnectorFile, Credentials) {
    let file = crate::Catalog::embedded().get(slug).unwrap();
    let entered = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    (file, Credentials::new(file, &entered, &HostAllowance::default()).unwrap())
}

#[test]
fn credentials_are_removed_in_every_form_in_which_they_are_quoted() {
    let password = "p\u{e4}-s\u{1f511} w/\"";
    let values = [("url", "https://lists.example.org"), ("rest_user", "restadmin"), ("rest_password", password)];
    let (mailman, credentials) = entered("mailman", &values);
    let basic = "cmVzdGFkbWluOnDDpC1z8J+UkSB3LyI=";
    for form in [
        password,
        "p%C3%A4-s%F0%9F%94%91%20w%2F%22",
        "p%c3%a4%2ds%f0%9f%94%91+w/%22",
        "p\u{e4}-s\u{1f511} w\\/\\\"",
        "p\\u00e4\\u002Ds\\ud83d\\udd11 w/\\u0022",
        basic,
        basic.trim_end_matches('='),
        "cmVzdGFkbWluOnDDpC1z8J%2BUkSB3LyI%3D",
        "cmVzdGFkbWluOnDDpC1z8J\\u002bUkSB3LyI\\u003d",
    ] {
        assert_eq!(credentials.redact(mailman, &[], &format!("sent <{form}>")), "sent <(redacted)>", "{form}");
    }
    for harmless in ["cmVzdGFkbWlu", "restadmin", "%", "\\", "\\u", "\\ud83d", "100%25", "\u{e4}"] {
        assert_eq!(credentials.redact(mailman, &[], harmless), harmless, "it is no secret");
    }
}

#[test]
fn a_signed_token_is_removed_whenever_it_was_made() {
    let secret = "00112233445566778899aabbccddeeff".repeat(2);
    let values = [("url", "https://blog.example.org"), ("admin_api_key", &*format!("5f0c1e:{secret}"))];
    let (ghost, credentials) = entered("ghost", &values);
    for now in [0, 1_795_341_600_000] {
        let request = Rendering { file: ghost, now: Millis(now) };
        let request = request.request(&ghost.test.request, &BTreeMap::new(), &Values::new(&credentials)).unwrap();
        let sent = crate::source::header(&request.headers, "Authorization").unwrap();
        let token = sent.strip_prefix("Ghost ").unwrap();
        for form in [token.to_owned(), token.replace('.', "%2E").replace('_', "%5f"), token.replace('-', "\\u002d")] {
            let clean = credentials.redact(ghost, &[], &format!("no \"Ghost {form}\" here"));
            assert_eq!(clean, "no \"Ghost (redacted)\" here", "{form}");
        }
    }
    assert_eq!(credentials.redact(ghost, &[], &secret), "(redacted)", "half of the key");
}

#[test]
fn secrets_that_overlap_leave_nothing_between_them() {
    let file = PLACES.replace("Key = \"{credential.key}\"", "Key = \"v1 {credential.key|base64}\"");
    let file = ConnectorFile::parse("places.toml", &file, Origin::Operator).unwrap();
    let entered =
        BTreeMap::from([("key".to_owned(), "one:12345678".to_owned()), ("account".to_owned(), "a".to_owned())]);
    let credentials = Credentials::new(&file, &entered, &HostAllowance::default()).unwrap();
    for (text, clean) in [
        ("v1 b25lOjEyMzQ1Njc4", "v1 (redacted)"),
        ("one:12345678one:12345678.", "(redacted)(redacted)."),
        ("one:12345678912345678", "(redacted)9(redacted)"),
    ] {
        assert_eq!(credentials.redact(&file, &[], text), clean);
    }
    let long = format!("{}one:12345678", "x".repeat(20_000));
    assert!(!credentials.redact(&file, &[], &long).contains("one"));
}

#[test]
fn an_account_is_told_by_what_its_file_marks() {
    let account = |slug: &str, values: &[(&str, &str)]| {
        let (file, credentials) = entered(slug, values);
        credentials.account(file, |parts| parts.join(" "))
    };
    let ghost = |url, key| account("ghost", &[("url", url), ("admin_api_key", key)]);
    let keys = ["1:00112233445566778899aabbccddeeff", "2:00112233445566778899aabbccddeeff"];
    for url in [
        "https://Blog.example.org",
        "https://blog.example.org/",
        "https://blog.example.org.:443/",
        "https://blog.example.org/b",
    ] {
        for key in keys {
            assert_eq!(ghost(url, key), "ghost url blog.example.org:443", "{url}");
        }
    }
    assert_ne!(ghost("https://blog.example.org:8443", keys[0]), ghost("https://blog.example.org", keys[0]));
    let drip = |token, account_id| account("drip", &[("api_token", token), ("account_id", account_id)]);
    assert_eq!(drip("a", " 9 "), "drip account_id 9");
    // The host of Iterable is everybody's, and nothing else than the key tells accounts apart.
    let iterable = |url, key| account("iterable", &[("url", url), ("api_key", key)]);
    assert_eq!(iterable("https://api.iterable.com", "a"), iterable("https://api.iterable.com/", "a"));
    assert_ne!(iterable("https://api.iterable.com", "a"), iterable("https://api.iterable.com", "b"));
    assert_ne!(account("brevo", &[("api_key", "a")]), account("klaviyo", &[("api_key", "a")]));
}

#[test]
fn an_address_of_an_installation_is_checked() {
    let mailman = crate::Catalog::embedded().get("mailman").unwrap();
    let active = crate::Catalog::embedded().get("activecampaign").unwrap();
    let enter = |file: &ConnectorFile, url: &str, allowed: &[&str]| {
        let name = if file.provider.slug == "mailman" { "url" } else { "api_url" };
        let mut entered = BTreeMap::from([(name.to_owned(), url.to_owned())]);
        for field in file.credentials.iter().filter(|field| field.name != name) {
            entered.insert(field.name.clone(), "x".to_owned());
        }
        Credentials::new(file, &entered, &HostAllowance(allowed.iter().map(|host| (*host).to_owned()).collect()))
    };
    assert!(enter(mailman, "https://lists.example.org:8001/", &[]).is_ok());
    assert!(enter(mailman, "http://lists.lan:8001", &["lists.lan:8001"]).is_ok());
    assert!(enter(active, "https://acme.api-us1.com", &[]).is_ok());
    for (file, url) in [
        (mailman, "http://lists.example.org:8001"),
        (mailman, "https://user@lists.example.org"),
        (mailman, "https://lists.example.org/?a=1"),
        (mailman, "ftp://lists.example.org"),
        (mailman, "lists.example.org"),
        (active, "https://acme.api-us1.com.evil.org"),
        (active, "https://evil.org"),
    ] {
        assert!(enter(file, url, &[]).is_err(), "{url}");
    }
    let plain = enter(mailman, "http://lists.lan:8001", &[]).unwrap_err();
    assert!(plain.what.contains("unless the operator allows this host"), "{plain}");
}
