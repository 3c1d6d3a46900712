//! ID tokens, signed here: each claim and each part that does not fit is refused.
#![expect(clippy::unwrap_used, reason = "what tests call may panic as they do")]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use probity_mail::time::Millis;
use probity_sso::{IdClaims, SigningKeys, SsoFault, TokenCheck};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

const NOW: Millis = Millis(1_700_000_000_000);
const NOW_S: i64 = 1_700_000_000;

/// Provider with a key of its own.
struct Provider {
    pair: EcdsaKeyPair,
    kid: &'static str,
}

impl Provider {
    fn new(kid: &'static str) -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        Self { pair, kid }
    }

    fn key(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let text = |bytes| URL_SAFE_NO_PAD.encode(bytes);
        json!({ "kty": "EC", "crv": "P-256", "kid": self.kid, "use": "sig", "x": text(x), "y": text(y) })
    }

    fn keys(&self) -> SigningKeys {
        set(&[self.key()])
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = parts(header, claims);
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn token(&self, claims: &Value) -> String {
        self.sign(&json!({ "alg": "ES256", "kid": self.kid }), claims)
    }
}

fn parts(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

fn set(keys: &[Value]) -> SigningKeys {
    SigningKeys::read(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
}

fn claims() -> Value {
    json!({
        "iss": "https://id.example.com", "sub": "7", "aud": "client", "exp": NOW_S + 300, "iat": NOW_S, "nonce": "n",
        "email": "ann@example.com", "email_verified": true, "name": "Ann",
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[field] = value;
    claims
}

fn check(token: &str, keys: &SigningKeys) -> Result<IdClaims, SsoFault> {
    TokenCheck { issuer: "https://id.example.com", client_id: "client", nonce: "n", now: NOW }.check(token, keys)
}

#[test]
fn a_token_of_the_provider_is_believed() {
    let provider = Provider::new("a");
    let read = check(&provider.token(&claims()), &provider.keys()).unwrap();
    assert_eq!(
        (read.subject.as_str(), read.name.as_deref(), read.email(false)),
        ("7", Some("Ann"), Ok("ann@example.com"))
    );
    let unnamed = provider.sign(&json!({ "alg": "ES256" }), &claims());
    assert!(check(&unnamed, &provider.keys()).is_ok());
    for good in [
        with("aud", json!(["client"])),
        with("azp", json!("client")),
        with("iss", json!("https://id.example.com/")),
        with("exp", json!(NOW_S - 30)),
        with("iat", json!(NOW_S + 30)),
        with("exp", json!(1e300)),
    ] {
        assert!(check(&provider.token(&good), &provider.keys()).is_ok(), "{good}");
    }
    let mut shared = with("aud", json!(["client", "other"]));
    shared["azp"] = json!("client");
    assert!(check(&provider.token(&shared), &provider.keys()).is_ok());
}

#[test]
fn each_claim_that_does_not_fit_is_refused() {
    let provider = Provider::new("a");
    for (field, value, fault) in [
        ("iss", json!("https://id.example.com/other"), SsoFault::TokenIssuer),
        ("iss", json!("https://evil.example"), SsoFault::TokenIssuer),
        ("aud", json!("other"), SsoFault::Audience),
        ("aud", json!([]), SsoFault::Audience),
        ("aud", json!(["client", "other"]), SsoFault::Audience),
        ("azp", json!("other"), SsoFault::Audience),
        ("exp", json!(NOW_S - 60), SsoFault::Expired),
        ("exp", json!(-1e300), SsoFault::Expired),
        ("iat", json!(NOW_S + 61), SsoFault::Expired),
        ("nbf", json!(NOW_S + 61), SsoFault::Expired),
        ("nonce", json!("m"), SsoFault::Nonce),
        ("nonce", json!(null), SsoFault::Nonce),
        ("sub", json!(""), SsoFault::Malformed),
        ("sub", json!("s".repeat(256)), SsoFault::Malformed),
        ("sub", json!(null), SsoFault::Malformed),
        ("exp", json!("2100"), SsoFault::Malformed),
        ("exp", json!(null), SsoFault::Malformed),
        ("iat", json!(null), SsoFault::Malformed),
    ] {
        let token = provider.token(&with(field, value.clone()));
        assert_eq!(check(&token, &provider.keys()), Err(fault), "{field}: {value}");
    }
    let mut shared = with("aud", json!(["client", "other"]));
    shared["azp"] = json!("other");
    assert_eq!(check(&provider.token(&shared), &provider.keys()), Err(SsoFault::Audience));
}

#[test]
fn addresses_need_the_providers_word_unless_the_organization_says_otherwise() {
    let provider = Provider::new("a");
    let read = |claims: &Value| check(&provider.token(claims), &provider.keys()).unwrap();
    for (verified, word) in [
        (json!(true), Ok("ann@example.com")),
        (json!("true"), Ok("ann@example.com")),
        (json!(false), Err(SsoFault::Unverified)),
        (json!("yes"), Err(SsoFault::Unverified)),
        (json!(1), Err(SsoFault::Unverified)),
        (json!(null), Err(SsoFault::Unverified)),
    ] {
        let read = read(&with("email_verified", verified.clone()));
        assert_eq!(read.email(false), word, "{verified}");
        assert_eq!(read.email(true), Ok("ann@example.com"));
    }
    for none in [json!(null), json!(""), json!(" ")] {
        assert_eq!(read(&with("email", none)).email(true), Err(SsoFault::NoEmail));
    }
}

#[test]
fn accounts_of_google_are_managed_by_a_domain() {
    let provider = Provider::new("a");
    let managed_by = |issuer: &str, hd: Value| {
        let mut claims = with("hd", hd);
        claims["iss"] = json!(issuer);
        let check = TokenCheck { issuer, client_id: "client", nonce: "n", now: NOW };
        let read = check.check(&provider.token(&claims), &provider.keys()).unwrap();
        read.managed_by().map(|domain| domain.map(str::to_owned))
    };
    let google = "https://accounts.google.com";
    assert_eq!(managed_by(google, json!("example.com")), Ok(Some("example.com".to_owned())));
    for none in [json!(null), json!("")] {
        assert_eq!(managed_by(google, none), Err(SsoFault::Personal));
    }
    for hd in [json!(null), json!("example.com")] {
        assert_eq!(managed_by("https://id.example.com", hd), Ok(None));
    }
}

#[test]
fn nothing_is_believed_without_the_right_signature() {
    let (provider, other) = (Provider::new("a"), Provider::new("a"));
    let keys = provider.keys();
    let signed = |header: &Value| check(&provider.sign(header, &claims()), &keys);
    for (header, fault) in [
        (json!({ "alg": "none" }), SsoFault::Algorithm),
        (json!({ "alg": "HS256", "kid": "a" }), SsoFault::Algorithm),
        (json!({ "alg": "ES512", "kid": "a" }), SsoFault::Algorithm),
        (json!({ "alg": "RS256", "kid": "a" }), SsoFault::KeyUnknown),
        (json!({ "alg": "EdDSA", "kid": "a" }), SsoFault::KeyUnknown),
        (json!({ "alg": "ES256", "kid": "b" }), SsoFault::KeyUnknown),
        (json!({ "alg": "ES256", "kid": "a", "crit": ["exp"] }), SsoFault::Algorithm),
        (json!({ "kid": "a" }), SsoFault::Malformed),
    ] {
        assert_eq!(signed(&header), Err(fault), "{header}");
    }
    assert_eq!(check(&other.token(&claims()), &keys), Err(SsoFault::Signature));
    let unsigned = parts(&json!({ "alg": "none" }), &claims());
    assert_eq!(check(&format!("{unsigned}."), &keys), Err(SsoFault::Algorithm));
    let token = provider.token(&claims());
    let (head, rest) = token.split_once('.').unwrap();
    let (_, signature) = rest.split_once('.').unwrap();
    let forged = URL_SAFE_NO_PAD.encode(with("sub", json!("8")).to_string());
    assert_eq!(check(&format!("{head}.{forged}.{signature}"), &keys), Err(SsoFault::Signature));
    for wrong in ["", ".", "..", "a.b.c", &token[..token.len() - 90], &format!("{token}.x"), &format!("{token}=")] {
        assert!(check(wrong, &keys).is_err(), "{wrong}");
    }
    assert_eq!(check(&"a".repeat(40_000), &keys), Err(SsoFault::TooLarge));
}

#[test]
fn other_curves_are_checked_by_their_own_keys() {
    let random = SystemRandom::new();
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &random).unwrap();
    let large = EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let (x, y) = large.public_key().as_ref()[1..].split_at(48);
    let large_key = json!({ "kty": "EC", "crv": "P-384", "x": text(x), "y": text(y) });
    let small = Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap();
    let small_key = json!({ "kty": "OKP", "crv": "Ed25519", "x": text(small.public_key().as_ref()) });
    let keys = set(&[Provider::new("x").key(), large_key, small_key]);
    let signed = parts(&json!({ "alg": "ES384" }), &claims());
    let signature = large.sign(&random, signed.as_bytes()).unwrap();
    assert!(check(&format!("{signed}.{}", text(signature.as_ref())), &keys).is_ok());
    let signed = parts(&json!({ "alg": "EdDSA" }), &claims());
    assert!(check(&format!("{signed}.{}", text(small.sign(signed.as_bytes()).as_ref())), &keys).is_ok());
    let signed = parts(&json!({ "alg": "ES384" }), &claims());
    let wrong = small.sign(signed.as_bytes());
    assert_eq!(check(&format!("{signed}.{}", text(wrong.as_ref())), &keys), Err(SsoFault::Signature));
}
