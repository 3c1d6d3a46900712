//! Signatures by Standard Webhooks 1.0 (standardwebhooks.com): HMAC-SHA256 over ID, time and body.
//!
//! The receiver computes the same signature and compares; the time lets it refuse replays. While a secret is rotated, a
//! delivery has a signature by each secret, so that a receiver with either one accepts it. Secrets are shown as `whsec_` and
//! base64, and have 24 to 64 bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// Prefix of a secret's text.
pub const PREFIX: &str = "whsec_";
/// Length of new secrets, in bytes: that of the hash.
const FRESH_BYTES: usize = 32;
/// Allowed lengths of a secret, in bytes.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Secret that we share with a receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// Text or bytes that are not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret must be `{PREFIX}` followed by the base64 of 24 to 64 bytes")]
pub struct NoSecret;

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// Creates a secret from the operating system's random bytes.
    pub fn fresh() -> Self {
        Self(probity_access::secrets::random::bytes::<FRESH_BYTES>().to_vec())
    }

    /// Creates a secret from its bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, NoSecret> {
        if BYTES.contains(&bytes.len()) { Ok(Self(bytes)) } else { Err(NoSecret) }
    }

    /// Parses the text of a secret. The prefix may be missing, as in the libraries of receivers.
    pub fn parse(text: &str) -> Result<Self, NoSecret> {
        let base64 = text.strip_prefix(PREFIX).unwrap_or(text);
        Self::from_bytes(STANDARD.decode(base64).map_err(|_| NoSecret)?)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text, as receivers configure it.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }
}

/// Returns the value of `webhook-signature`: one signature by each secret, separated by spaces. `timestamp_s` is the value of
/// `webhook-timestamp`, in seconds since 1970.
pub fn signatures(secrets: &[Secret], id: &str, timestamp_s: i64, body: &[u8]) -> String {
    let one = |secret: &Secret| {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &secret.0));
        context.update(format!("{id}.{timestamp_s}.").as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    };
    secrets.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vector of the reference libraries of Standard Webhooks.
    #[test]
    fn the_published_vector_comes_out() {
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signatures(std::slice::from_ref(&secret), id, 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let other = Secret::fresh();
        let both = signatures(&[other.clone(), secret], id, 1_614_265_330, br#"{"test": 2432232314}"#);
        let (first, second) = both.split_once(' ').unwrap();
        assert_eq!(second, signed);
        assert_eq!(first, signatures(&[other], id, 1_614_265_330, br#"{"test": 2432232314}"#));
    }

    #[test]
    fn whatever_is_changed_changes_the_signature() {
        let secrets = [Secret::from_bytes(vec![7; 24]).unwrap()];
        let body = b"{\"id\":\"job_1\"}";
        let signed = signatures(&secrets, "evt_1", 1_700_000_000, body);
        for at in 0..body.len() {
            let mut changed = body.to_vec();
            changed[at] ^= 1;
            assert_ne!(signatures(&secrets, "evt_1", 1_700_000_000, &changed), signed, "byte {at}");
        }
        assert_ne!(signatures(&secrets, "evt_2", 1_700_000_000, body), signed);
        assert_ne!(signatures(&secrets, "evt_1", 1_700_000_001, body), signed);
        assert_ne!(signatures(&[Secret::from_bytes(vec![8; 24]).unwrap()], "evt_1", 1_700_000_000, body), signed);
    }

    #[test]
    fn secrets_have_one_text_and_a_bounded_length() {
        let secret = Secret::fresh();
        assert_eq!(Secret::parse(&secret.text()), Ok(secret.clone()));
        assert_eq!(Secret::parse(secret.text().strip_prefix(PREFIX).unwrap()), Ok(secret.clone()));
        assert_ne!(secret, Secret::fresh());
        for length in [0, 23, 65] {
            assert_eq!(Secret::from_bytes(vec![0; length]), Err(NoSecret), "{length}");
        }
        for length in [24, 64] {
            assert!(Secret::from_bytes(vec![0; length]).is_ok(), "{length}");
        }
        assert_eq!(Secret::parse("whsec_not base64"), Err(NoSecret));
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }
}
