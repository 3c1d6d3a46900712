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

#[test]
fn credentials_are_removed_in_every_form_in_which_they_are_sent() {
    let mailman = crate::Catalog::embedded().get("mailman").unwrap();
    let password = "p\u{e4}-ss wd";
    let entered = [("url", "https://lists.example.org"), ("rest_user", "restadmin"), ("rest_password", password)];
    let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let credentials = Credentials::new(mailman, &entered, &HostAllowance::default()).unwrap();
    let basic = "cmVzdGFkbWluOnDDpC1zcyB3ZA==";
    for form in [password, "p%C3%A4-ss%20wd", "p%C3%A4%2Dss%20wd", basic, basic.trim_end_matches('=')] {
        assert_eq!(credentials.redact(&format!("sent <{form}>")), "sent <(redacted)>", "{form}");
    }
    let name = "cmVzdGFkbWlu";
    assert_eq!(credentials.redact(name), name, "a user name is no secret");
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
