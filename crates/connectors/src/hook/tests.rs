use ring::hmac;
use serde_json::{Value, json};

use super::*;
use crate::file::HookProof;
use crate::{Catalog, HostAllowance, ProofFault};

const NOW: Millis = Millis(1_795_341_600_000);

fn hex(secret: &str, signed: &str) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), signed.as_bytes());
    tag.as_ref().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

fn proof(slug: &str) -> &'static HookProof {
    &Catalog::embedded().get(slug).unwrap().hook.as_ref().unwrap().proof
}

fn check(slug: &str, name: &str, value: &str, body: &str) -> Result<(), ProofFault> {
    prove(proof(slug), "secret", (&[(name.to_owned(), value.to_owned())], body.as_bytes()), NOW)
}

#[test]
fn a_signature_of_parts_covers_body_and_time() {
    let body = r#"{"member": {}}"#;
    let signed = |at: i64| format!("sha256={}, t={at}", hex("secret", &format!("{body}{at}")));
    let check = |value: &str, body: &str| check("ghost", "x-ghost-signature", value, body);
    assert_eq!(check(&signed(NOW.0), body), Ok(()));
    assert_eq!(check(&signed(NOW.0 - 299_000), body), Ok(()));
    assert_eq!(check(&signed(NOW.0 - 301_000), body), Err(ProofFault::Stale));
    assert_eq!(check(&signed(NOW.0 + 301_000), body), Err(ProofFault::Stale));
    // One changed byte, and another time.
    assert_eq!(check(&signed(NOW.0), r#"{"member":{}}"#), Err(ProofFault::Wrong));
    assert_eq!(
        check(&signed(NOW.0).replace(&NOW.0.to_string(), &(NOW.0 + 1).to_string()), body),
        Err(ProofFault::Wrong)
    );
    for malformed in ["", "sha256=", "sha256=zz, t=1", "t=1", "sha256=00"] {
        assert!(check(malformed, body).is_err(), "{malformed}");
    }
}

#[test]
fn a_plain_signature_and_a_bearer_token_are_compared() {
    let body = r#"{"id": "9"}"#;
    assert_eq!(check("mailerlite", "Signature", &hex("secret", body), body), Ok(()));
    assert_eq!(check("mailerlite", "Signature", &hex("other", body), body), Err(ProofFault::Wrong));
    assert_eq!(check("mailerlite", "Other", &hex("secret", body), body), Err(ProofFault::Missing));
    assert_eq!(check("brevo", "authorization", "Bearer secret", body), Ok(()));
    assert_eq!(check("brevo", "authorization", "Bearer secres", body), Err(ProofFault::Wrong));
    assert_eq!(check("brevo", "authorization", "secret", body), Err(ProofFault::Missing));
    assert_eq!(check("mailchimp", "x", "y", body), Ok(()));
}

#[test]
fn a_notification_in_another_form_is_refused() {
    let rule = Catalog::embedded().get("ghost").unwrap().hook.as_ref().unwrap();
    assert!(hints(rule, b"member=1").is_err());
    assert_eq!(hints(rule, b"{}").unwrap(), []);
    let rule = Catalog::embedded().get("klaviyo").unwrap().hook.as_ref().unwrap();
    assert!(hints(rule, b"{\"data\": {}}").is_err());
}

#[test]
fn a_fault_tells_nothing_that_proves_notifications_although_the_platform_quotes_it() {
    let file = Catalog::embedded().get("mailerlite").unwrap();
    let entered = BTreeMap::from([("api_key".to_owned(), "key-of-a-customer".to_owned())]);
    let credentials = Credentials::new(file, &entered, &HostAllowance::default()).unwrap();
    let (path, ours, theirs) = ("0123456789abcdef", "proposed-by-us", "chosen-by-them");
    let url = format!("https://verify.example.com/hooks/conn_1/{path}");
    let endpoint = HookEndpoint { url: url.clone(), secret: ours.to_owned(), list: None };
    let mut registering = Registering::new(file, &credentials, endpoint).unwrap();
    let response = |status, body: Value| {
        let body = body.to_string().into_bytes();
        Response { status, headers: Vec::new(), body, is_cut: false, at: NOW }
    };
    let quoted = format!("not <{url}>, <{}>, <{ours}>, <{theirs}>", url.replace('/', "%2F"));
    let refusal = response(422, json!({ "message": quoted }));
    let first = registering.answer(&refusal).unwrap_err().message;
    assert!(!first.contains(path) && !first.contains(ours), "{first}");
    assert!(first.contains("<https://verify.example.com/hooks/conn_1/(redacted)>, <https"), "{first}");
    registering.answer(&response(201, json!({ "data": { "id": "3", "secret": theirs } }))).unwrap();
    let later = registering.answer(&refusal).unwrap_err().message;
    assert!(![path, ours, theirs].iter().any(|secret| later.contains(secret)), "{later}");
}
