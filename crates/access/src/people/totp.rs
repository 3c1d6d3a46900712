//! Time-based codes (RFC 6238), as every authenticator generates them: HMAC-SHA-1, 6 digits, steps of 30 s.

use probity_mail::time::Millis;
use ring::hmac;
use subtle::ConstantTimeEq as _;

/// Length of a secret, in bytes: that of the hash (RFC 4226 §4, R6).
pub const SECRET_BYTES: usize = 20;
/// Duration of a step, in milliseconds.
const STEP_MS: i64 = 30_000;
const DIGITS: u32 = 6;
/// Steps before and after the current one whose codes are accepted as well: clocks differ, and people are slow (RFC 6238 §5.2).
const DRIFT: i64 = 1;

/// Returns the step that contains a time.
pub fn step(now: Millis) -> i64 {
    now.0.div_euclid(STEP_MS)
}

/// Returns the code of a step, with `digits` digits.
pub fn code(secret: &[u8], step: i64, digits: u32) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    // RFC 4226 §5.3: 4 bytes from the offset in the last byte, without the highest bit.
    let tag = tag.as_ref();
    let at = usize::from(tag[tag.len() - 1] & 0xf);
    let cut = u32::from_be_bytes([tag[at] & 0x7f, tag[at + 1], tag[at + 2], tag[at + 3]]);
    let width = usize::try_from(digits).unwrap_or(usize::MAX);
    format!("{:0width$}", cut % 10_u32.pow(digits.min(9)))
}

/// Returns the step of a code, if the code is valid now.
pub fn step_of(secret: &[u8], given: &str, now: Millis) -> Option<i64> {
    let present = step(now);
    let is = |step: &i64| bool::from(code(secret, *step, DIGITS).as_bytes().ct_eq(given.as_bytes()));
    (present - DRIFT..=present + DRIFT).rev().find(is)
}

/// Whether a text has the form of a code.
pub fn is_code(text: &str) -> bool {
    text.len() == usize::try_from(DIGITS).unwrap_or(0) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Encodes a secret for manual entry: base32 (RFC 4648 §6) without padding.
pub fn base32(secret: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut text = String::with_capacity(secret.len().div_ceil(5) * 8);
    for group in secret.chunks(5) {
        let mut bits = [0; 8];
        bits[3..3 + group.len()].copy_from_slice(group);
        let bits = u64::from_be_bytes(bits);
        for place in 0..(group.len() * 8).div_ceil(5) {
            let five = usize::try_from(bits >> (35 - 5 * place) & 31).expect("five bits");
            text.push(char::from(ALPHABET[five]));
        }
    }
    text
}

/// Returns the URI that authenticators read from a QR code (the "Key URI Format").
pub fn uri(secret: &[u8], issuer: &str, account: &str) -> String {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    let (issuer, account) =
        (utf8_percent_encode(issuer, NON_ALPHANUMERIC), utf8_percent_encode(account, NON_ALPHANUMERIC));
    let secret = base32(secret);
    format!("otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits=6&period=30")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6238, appendix B, the rows of SHA-1.
    const VECTORS: [(i64, &str); 6] = [
        (59, "94287082"),
        (1_111_111_109, "07081804"),
        (1_111_111_111, "14050471"),
        (1_234_567_890, "89005924"),
        (2_000_000_000, "69279037"),
        (20_000_000_000, "65353130"),
    ];
    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn the_codes_of_the_standard_come_out() {
        for (seconds, expected) in VECTORS {
            let now = Millis(seconds * 1_000);
            assert_eq!(code(SECRET, step(now), 8), expected);
            assert_eq!(code(SECRET, step(now), 6), expected[2..], "the last six digits are those of a shorter code");
            assert_eq!(step_of(SECRET, &expected[2..], now), Some(step(now)));
        }
        // RFC 4226, appendix D.
        let counted =
            ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"];
        for (count, expected) in (0..).zip(counted) {
            assert_eq!(code(SECRET, count, 6), expected);
        }
    }

    #[test]
    fn a_code_counts_a_step_before_and_after_its_own() {
        let now = Millis(1_234_567_890_000);
        for (late, taken) in [(-2, false), (-1, true), (0, true), (1, true), (2, false)] {
            let given = code(SECRET, step(now) + late, 6);
            assert_eq!(step_of(SECRET, &given, now), taken.then_some(step(now) + late), "{late}");
        }
        for wrong in ["", "05924", "89005924", "00592x", "٠٠٥٩٢٤"] {
            assert_eq!(step_of(SECRET, wrong, now), None, "{wrong}");
        }
    }

    #[test]
    fn secrets_are_written_as_the_standard_does() {
        // RFC 4648 §10, without the padding.
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
        let uri = uri(SECRET, "Probity", "a+b@example.com");
        assert!(
            uri.starts_with("otpauth://totp/Probity:a%2Bb%40example%2Ecom?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&"),
            "{uri}"
        );
    }
}
