//! Ghost tokens: HS256 with a hexadecimal secret, valid for 5 minutes
//! (<https://ghost.org/docs/admin-api/#token-authentication>).

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use probity_mail::time::Millis;
use ring::hmac;
use serde_json::json;

/// Validity of a token, in seconds; Ghost's maximum.
const VALID_S: i64 = 300;

/// Creates a token from a key `id:secret`. Errors never contain the key.
pub(super) fn ghost(key: &str, now: Millis) -> Result<String, String> {
    let malformed = || "must be an Admin API key: an ID, a colon and a hexadecimal secret".to_owned();
    let (id, secret) = key.split_once(':').ok_or_else(malformed)?;
    let secret = bytes(secret).filter(|secret| secret.len() >= 16 && !id.is_empty()).ok_or_else(malformed)?;
    let issued = now.0.div_euclid(1000);
    let header = json!({"alg": "HS256", "kid": id, "typ": "JWT"});
    let claims = json!({"aud": "/admin/", "exp": issued + VALID_S, "iat": issued});
    let encode = |text: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), signed.as_bytes());
    Ok(format!("{signed}.{}", encode(tag.as_ref())))
}

/// Decodes hexadecimal digits.
pub(crate) fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        hex.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_signed_and_ends_after_five_minutes() {
        let key = format!("5f0c1e:{}", "00112233445566778899aabbccddeeff".repeat(2));
        let token = ghost(&key, Millis(1_795_341_600_000)).unwrap();
        let parts: Vec<_> = token.split('.').collect();
        let claims: serde_json::Value =
            serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 300);
        let secret = bytes(key.split_once(':').unwrap().1).unwrap();
        let tag = BASE64_URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        let signed = format!("{}.{}", parts[0], parts[1]);
        hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, &secret), signed.as_bytes(), &tag).unwrap();
    }

    #[test]
    fn a_wrong_key_is_not_quoted() {
        for key in ["", "abc", "id:xyz", "id:abc", ":00112233445566778899aabbccddeeff"] {
            let message = ghost(key, Millis(0)).unwrap_err();
            assert!(key.is_empty() || !message.contains(key), "{message}");
        }
    }
}
