//! Proof that a sending service has posted a body: its signature over the raw bytes.
//!
//! The secret in the URL comes first and is checked by the caller. Postmark and `SparkPost` sign nothing, so the secret is their
//! only proof. Amazon's signature is that of [`sns`](probity_outbound::sns). Signatures have no maximum age: services sign a retry
//! hours later as the first attempt, and a repeated event counts once.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use probity_account::outcome::OutcomeSource;
use ring::{hmac, signature};
use serde_json::Value;

use probity_outbound::sns::SnsTopic;

/// Signature and timestamp of `SendGrid` (Signed Event Webhook).
pub const SENDGRID_SIGNATURE: &str = "x-twilio-email-event-webhook-signature";
pub const SENDGRID_TIMESTAMP: &str = "x-twilio-email-event-webhook-timestamp";
/// Length of an uncompressed P-256 point, which is the end of a public key.
const POINT_BYTES: usize = 65;
/// Start of a P-256 public key (RFC 5480).
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Reason why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningKeyRefusal {
    #[error("is required: copy it from the service's webhook settings")]
    Missing,
    #[error("must be omitted: the service signs nothing")]
    Unused,
    #[error("must be the verification key, base64 of a P-256 public key")]
    NotPublicKey,
    #[error("must be the ARN of the SNS topic, such as `arn:aws:sns:eu-central-1:123456789012:mail`")]
    NotTopic,
}

/// Validates a service's signing key, as entered by the customer.
pub fn check_key(source: OutcomeSource, key: Option<&str>) -> Result<(), SigningKeyRefusal> {
    match (source, key) {
        (OutcomeSource::SendGrid, Some(key)) => point(key).map(drop).ok_or(SigningKeyRefusal::NotPublicKey),
        (OutcomeSource::Mailgun, Some(_)) => Ok(()),
        (OutcomeSource::Ses, Some(arn)) => SnsTopic::parse(arn).map(drop).ok_or(SigningKeyRefusal::NotTopic),
        (OutcomeSource::SendGrid | OutcomeSource::Mailgun | OutcomeSource::Ses, None) => {
            Err(SigningKeyRefusal::Missing)
        }
        (_, Some(_)) => Err(SigningKeyRefusal::Unused),
        (_, None) => Ok(()),
    }
}

/// Signed request of a service.
pub struct SignedBody<'a> {
    pub raw: &'a [u8],
    pub json: &'a Value,
    pub signature: Option<&'a str>,
    pub timestamp: Option<&'a str>,
}

/// Returns whether the service with this key sent the body.
pub fn is_proven(source: OutcomeSource, key: Option<&str>, body: &SignedBody<'_>) -> bool {
    match (source, key) {
        (OutcomeSource::SendGrid, Some(key)) => is_of_sendgrid(key, body).unwrap_or(false),
        (OutcomeSource::Mailgun, Some(key)) => is_of_mailgun(key, body.json).unwrap_or(false),
        (OutcomeSource::Postmark | OutcomeSource::SparkPost, None) => true,
        _ => false,
    }
}

fn point(key: &str) -> Option<[u8; POINT_BYTES]> {
    let der = STANDARD.decode(key.trim()).ok()?;
    der.strip_prefix(&P256[..])?.try_into().ok()
}

/// Verifies ECDSA over the timestamp and the raw body.
fn is_of_sendgrid(key: &str, body: &SignedBody<'_>) -> Option<bool> {
    let point = point(key)?;
    let signed = STANDARD.decode(body.signature?).ok()?;
    let message = [body.timestamp?.as_bytes(), body.raw].concat();
    let key = signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_ASN1, point);
    Some(key.verify(&message, &signed).is_ok())
}

/// Verifies HMAC over timestamp and token, which are in the body.
fn is_of_mailgun(key: &str, body: &Value) -> Option<bool> {
    let said = &body["signature"];
    let (timestamp, token, tag) = (said["timestamp"].as_str()?, said["token"].as_str()?, said["signature"].as_str()?);
    let tag: Vec<u8> =
        (0..tag.len()).step_by(2).map(|at| u8::from_str_radix(tag.get(at..at + 2)?, 16).ok()).collect::<Option<_>>()?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    Some(hmac::verify(&key, format!("{timestamp}{token}").as_bytes(), &tag).is_ok())
}

#[cfg(test)]
mod tests {
    use probity_access::secrets::hex;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;

    #[test]
    fn sendgrids_signature_covers_timestamp_and_body() {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let key = STANDARD.encode([&P256[..], pair.public_key().as_ref()].concat());
        assert_eq!(check_key(OutcomeSource::SendGrid, Some(&key)), Ok(()));
        let raw = br#"[{"email":"a@x.org"}]"#;
        let signed = STANDARD.encode(pair.sign(&random, &[&b"1795161600"[..], raw].concat()).unwrap());
        let json = json!([]);
        let proven = |raw: &[u8], signature: Option<&str>, timestamp: Option<&str>| {
            is_proven(OutcomeSource::SendGrid, Some(&key), &SignedBody { raw, json: &json, signature, timestamp })
        };
        assert!(proven(raw, Some(&signed), Some("1795161600")));
        assert!(!proven(raw, Some(&signed), Some("1795161601")));
        assert!(!proven(b"[]", Some(&signed), Some("1795161600")));
        assert!(!proven(raw, Some("AAAA"), Some("1795161600")));
        assert!(!proven(raw, None, Some("1795161600")) && !proven(raw, Some(&signed), None));
    }

    #[test]
    fn mailguns_signature_is_in_the_body() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"key");
        let tag = hex(hmac::sign(&key, b"1795161600token").as_ref());
        let body = |tag: &str| json!({"signature": {"timestamp": "1795161600", "token": "token", "signature": tag}});
        let proven = |key: &str, json: &Value| {
            let body = SignedBody { raw: b"", json, signature: None, timestamp: None };
            is_proven(OutcomeSource::Mailgun, Some(key), &body)
        };
        assert!(proven("key", &body(&tag)));
        assert!(!proven("other", &body(&tag)));
        for wrong in ["", "00", "zz", "\u{fc}x", &tag[1..]] {
            assert!(!proven("key", &body(wrong)), "{wrong}");
        }
        assert!(!proven("key", &json!({})) && !proven("key", &json!([])));
    }

    #[test]
    fn keys_are_asked_for_where_a_service_signs() {
        use SigningKeyRefusal::{Missing, NotPublicKey, NotTopic, Unused};
        let cases = [
            (OutcomeSource::SendGrid, None, Err(Missing)),
            (OutcomeSource::SendGrid, Some("key"), Err(NotPublicKey)),
            (OutcomeSource::Mailgun, None, Err(Missing)),
            (OutcomeSource::Mailgun, Some("key"), Ok(())),
            (OutcomeSource::Ses, None, Err(Missing)),
            (OutcomeSource::Ses, Some("key"), Err(NotTopic)),
            (OutcomeSource::Ses, Some("arn:aws:sns:eu-central-1:123456789012:mail"), Ok(())),
            (OutcomeSource::Postmark, Some("key"), Err(Unused)),
            (OutcomeSource::SparkPost, None, Ok(())),
        ];
        for (source, key, expected) in cases {
            assert_eq!(check_key(source, key), expected, "{source:?} {key:?}");
        }
        let body = SignedBody { raw: b"", json: &json!({}), signature: None, timestamp: None };
        for source in [OutcomeSource::SendGrid, OutcomeSource::Mailgun, OutcomeSource::Api, OutcomeSource::Ses] {
            assert!(!is_proven(source, None, &body), "{source:?}");
        }
    }
}
