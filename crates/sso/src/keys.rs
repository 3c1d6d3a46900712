//! Keys with which a provider signs (RFC 7517), and the signatures that are accepted.
//!
//! Only asymmetric algorithms are known: `none` and the HMACs, whose key would be public, are not in the list.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

use crate::fault::SsoFault;

/// Maximum size of a provider's keys, in bytes. With certificate chains, those of large providers have 20 KiB.
pub const KEYS_MAX: u64 = 256 * 1_024;
/// Maximum number of keys that are kept.
const COUNT_MAX: usize = 100;
/// Maximum number of keys that are tried for a token that names none.
const TRIED_MAX: usize = 10;

/// How a token is signed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TokenAlgorithm {
    Rsa(&'static RsaParameters),
    P256,
    P384,
    Ed25519,
}

/// Every accepted algorithm.
pub(crate) const ALGORITHMS: [(&str, TokenAlgorithm); 9] = [
    ("RS256", TokenAlgorithm::Rsa(&RSA_PKCS1_2048_8192_SHA256)),
    ("RS384", TokenAlgorithm::Rsa(&RSA_PKCS1_2048_8192_SHA384)),
    ("RS512", TokenAlgorithm::Rsa(&RSA_PKCS1_2048_8192_SHA512)),
    ("PS256", TokenAlgorithm::Rsa(&RSA_PSS_2048_8192_SHA256)),
    ("PS384", TokenAlgorithm::Rsa(&RSA_PSS_2048_8192_SHA384)),
    ("PS512", TokenAlgorithm::Rsa(&RSA_PSS_2048_8192_SHA512)),
    ("ES256", TokenAlgorithm::P256),
    ("ES384", TokenAlgorithm::P384),
    ("EdDSA", TokenAlgorithm::Ed25519),
];

#[derive(Clone, Debug)]
enum KeyMaterial {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// Uncompressed points.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Clone, Debug)]
struct SigningKey {
    id: Option<String>,
    algorithm: Option<String>,
    material: KeyMaterial,
}

/// Keys with which a provider signs.
#[derive(Clone, Debug)]
pub struct SigningKeys(Vec<SigningKey>);

#[derive(Deserialize)]
struct RawKey {
    kty: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    kid: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl SigningKeys {
    /// Reads a key set. Keys of other kinds and for other uses are left out.
    pub fn read(body: &[u8]) -> Result<Self, SsoFault> {
        #[derive(Deserialize)]
        struct KeySet {
            keys: Vec<serde_json::Value>,
        }
        let set: KeySet = serde_json::from_slice(body).map_err(|_| SsoFault::Keys)?;
        let read = |value| serde_json::from_value::<RawKey>(value).ok().and_then(signing_key);
        let keys: Vec<_> = set.keys.into_iter().filter_map(read).take(COUNT_MAX).collect();
        if keys.is_empty() { Err(SsoFault::Keys) } else { Ok(Self(keys)) }
    }

    /// Checks a signature. A token that names no key may be signed with any.
    pub(crate) fn check(
        &self,
        (name, id): (&str, Option<&str>),
        signed: &[u8],
        signature: &[u8],
    ) -> Result<(), SsoFault> {
        let known = ALGORITHMS.iter().find(|(known, _)| *known == name);
        let (_, algorithm) = known.ok_or(SsoFault::Algorithm)?;
        let is_named = |key: &&SigningKey| id.is_none_or(|id| key.id.as_deref() == Some(id));
        let is_for = |key: &&SigningKey| key.algorithm.as_deref().is_none_or(|own| own == name);
        let fitting = self.0.iter().filter(is_named).filter(is_for).filter(|key| key.material.fits(*algorithm));
        let mut tried = fitting.take(TRIED_MAX).peekable();
        if tried.peek().is_none() {
            return Err(SsoFault::KeyUnknown);
        }
        let is_right = |key: &SigningKey| key.material.has_signed(*algorithm, signed, signature);
        if tried.any(is_right) { Ok(()) } else { Err(SsoFault::Signature) }
    }
}

impl KeyMaterial {
    fn fits(&self, algorithm: TokenAlgorithm) -> bool {
        matches!(
            (self, algorithm),
            (Self::Rsa { .. }, TokenAlgorithm::Rsa(_))
                | (Self::P256(_), TokenAlgorithm::P256)
                | (Self::P384(_), TokenAlgorithm::P384)
                | (Self::Ed25519(_), TokenAlgorithm::Ed25519)
        )
    }

    fn has_signed(&self, algorithm: TokenAlgorithm, signed: &[u8], signature: &[u8]) -> bool {
        let checked = match (self, algorithm) {
            (Self::Rsa { modulus: n, exponent: e }, TokenAlgorithm::Rsa(parameters)) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature)
            }
            (Self::P256(point), TokenAlgorithm::P256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            (Self::P384(point), TokenAlgorithm::P384) => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(signed, signature)
            }
            (Self::Ed25519(key), TokenAlgorithm::Ed25519) => {
                UnparsedPublicKey::new(&ED25519, key).verify(signed, signature)
            }
            _ => return false,
        };
        checked.is_ok()
    }
}

fn signing_key(raw: RawKey) -> Option<SigningKey> {
    if raw.purpose.is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
    // A point's coordinates have a fixed length (RFC 7518 §6.2.1.2).
    let point = |length: usize| {
        let (x, y) = (bytes(&raw.x)?, bytes(&raw.y)?);
        (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
    };
    let material = match (raw.kty.as_str(), raw.crv.as_deref()) {
        ("RSA", _) => {
            // Some providers write a leading zero, which the library refuses.
            let number = |text| bytes(text).map(|bytes| bytes.into_iter().skip_while(|byte| *byte == 0).collect());
            KeyMaterial::Rsa { modulus: number(&raw.n)?, exponent: number(&raw.e)? }
        }
        ("EC", Some("P-256")) => KeyMaterial::P256(point(32)?),
        ("EC", Some("P-384")) => KeyMaterial::P384(point(48)?),
        ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519(bytes(&raw.x)?),
        _ => return None,
    };
    Some(SigningKey { id: raw.kid, algorithm: raw.alg, material })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// RFC 7515, appendix A.2.
    const N: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    const SIGNED: &[u8] = b"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const SIGNATURE: &str = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

    fn keys(more: &serde_json::Value) -> Result<SigningKeys, SsoFault> {
        let mut key = json!({ "kty": "RSA", "n": N, "e": "AQAB" });
        for (name, value) in more.as_object().unwrap() {
            key[name] = value.clone();
        }
        let others = [json!({ "kty": "oct", "k": "c2VjcmV0" }), json!({ "kty": "EC", "crv": "P-521" }), json!(7)];
        let all = [others.as_slice(), &[key]].concat();
        SigningKeys::read(json!({ "keys": all }).to_string().as_bytes())
    }

    #[test]
    fn the_example_of_the_standard_is_right_and_any_change_is_not() {
        let signature = URL_SAFE_NO_PAD.decode(SIGNATURE).unwrap();
        let keys = keys(&json!({ "kid": "a", "alg": "RS256", "use": "sig" })).unwrap();
        assert_eq!(keys.check(("RS256", Some("a")), SIGNED, &signature), Ok(()));
        assert_eq!(keys.check(("RS256", None), SIGNED, &signature), Ok(()));
        assert_eq!(keys.check(("RS256", Some("b")), SIGNED, &signature), Err(SsoFault::KeyUnknown));
        assert_eq!(keys.check(("RS256", None), &SIGNED[1..], &signature), Err(SsoFault::Signature));
        assert_eq!(keys.check(("RS256", None), SIGNED, &[]), Err(SsoFault::Signature));
        for (name, fault) in [
            ("RS384", SsoFault::KeyUnknown),
            ("ES256", SsoFault::KeyUnknown),
            ("none", SsoFault::Algorithm),
            ("None", SsoFault::Algorithm),
            ("HS256", SsoFault::Algorithm),
            ("", SsoFault::Algorithm),
        ] {
            assert_eq!(keys.check((name, None), SIGNED, &signature), Err(fault), "{name}");
        }
    }

    #[test]
    fn keys_for_other_uses_are_left_out() {
        let signature = URL_SAFE_NO_PAD.decode(SIGNATURE).unwrap();
        assert_eq!(keys(&json!({ "use": "enc" })).err(), Some(SsoFault::Keys));
        assert_eq!(keys(&json!({ "n": "=" })).err(), Some(SsoFault::Keys));
        let zero = URL_SAFE_NO_PAD.encode([&[0][..], &URL_SAFE_NO_PAD.decode(N).unwrap()].concat());
        let padded = keys(&json!({ "n": zero })).unwrap();
        assert_eq!(padded.check(("RS256", None), SIGNED, &signature), Ok(()));
        // 1,024 bits are too few.
        let short = keys(&json!({ "n": &N[..172] })).unwrap();
        assert_eq!(short.check(("RS256", None), SIGNED, &signature), Err(SsoFault::Signature));
        assert_eq!(SigningKeys::read(b"{}").err(), Some(SsoFault::Keys));
    }
}
