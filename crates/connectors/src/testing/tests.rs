use super::*;
use crate::file::Origin;
use crate::request::HostAllowance;

/// Platform on a host of the customer.
const HOSTED: &str = r#"
[provider]
slug = "hosted"
name = "Hosted"
checked = "2026-11-22, nowhere"
docs = "https://example.org"
confidence = "low"
[[credential]]
name = "url"
label = "URL"
kind = "url"
[[credential]]
name = "key"
label = "Key"
kind = "secret"
[http]
base = "{credential.url}"
headers = { Key = "{credential.key}" }
[test]
request = { get = "/me" }
[actions.unsubscribe]
scope = "account"
request = { delete = "/members/{contact.id}" }
"#;

#[test]
fn a_url_is_doubted_only_while_connecting() {
    let file = ConnectorFile::parse("hosted.toml", HOSTED, Origin::Operator).unwrap();
    let entered = [("url", "https://mail.example.org"), ("key", "hush-hush")];
    let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let credentials = Credentials::new(&file, &entered, &HostAllowance::default()).unwrap();
    let fault = |class| Fault { class, status: 0, wait_ms: None, message: "Hosted is gone".to_owned() };
    let wrong =
        |field: &str| TestOutcome::Wrong { fields: vec![field.to_owned()], message: "Hosted is gone".to_owned() };
    let (new, stored) = (Testing::new(&file, &credentials), Testing::of(&file, &credentials, CredentialAge::Stored));
    assert_eq!(new.unreached(fault(ErrorClass::Transient)), wrong("url"));
    assert_eq!(stored.unreached(fault(ErrorClass::Transient)), TestOutcome::Failed(fault(ErrorClass::Transient)));
    for class in [ErrorClass::Unreadable, ErrorClass::Invalid, ErrorClass::Gone] {
        assert_eq!(new.refused(fault(class)), wrong("url"));
        assert_eq!(stored.refused(fault(class)), TestOutcome::Failed(fault(class)));
    }
    for testing in [new, stored] {
        assert_eq!(testing.refused(fault(ErrorClass::Credential)), wrong("key"));
    }
}
