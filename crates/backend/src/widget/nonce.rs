//! Nonces: one-time permission for a visitor to check an address.
//!
//! A nonce is its creation time, 10 random bytes and a tag over these, the key, the origin and the visitor. The tag is
//! HMAC-SHA-256, cut to 16 bytes. Issuing one needs no database. Its use is stored there, for all nodes, as long as it would be
//! valid ([`probity_store::widget`]).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use probity_access::secrets::Secrets;
use probity_account::id::KeyId;
use probity_mail::time::Millis;
use subtle::ConstantTimeEq as _;

/// Validity of a nonce, in milliseconds.
pub const LIFE_MS: i64 = 600_000;
/// Maximum difference between the clocks of two nodes, in milliseconds.
const SKEW_MS: i64 = 60_000;
const BORN: usize = 8;
const RANDOM: usize = 10;
const TAG: usize = 16;

/// Key, origin and visitor to which a nonce is bound. The visitor is a hash of a network, never the network itself.
#[derive(Clone, Copy, Debug)]
pub struct NonceBinding<'a> {
    pub key: KeyId,
    pub origin: &'a str,
    pub visitor: [u8; 16],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Good {
    /// Name under which its use is stored.
    pub name: String,
    /// Time from which no node accepts it.
    pub expires_at: Millis,
}

pub fn issue(secrets: &Secrets, bound: NonceBinding<'_>, now: Millis) -> String {
    let mut head = [0; BORN + RANDOM];
    head[..BORN].copy_from_slice(&now.0.to_be_bytes());
    head[BORN..].copy_from_slice(&probity_access::secrets::random::bytes::<RANDOM>());
    let tag = tag(secrets, bound, &head);
    URL_SAFE_NO_PAD.encode([head.as_slice(), &tag].concat())
}

/// Checks a nonce; `None` if it is too old, bound to something else, or not one of ours.
pub fn check(secrets: &Secrets, bound: NonceBinding<'_>, text: &str, now: Millis) -> Option<Good> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (head, given) = bytes.split_first_chunk::<{ BORN + RANDOM }>()?;
    if !bool::from(tag(secrets, bound, head).as_slice().ct_eq(given)) {
        return None;
    }
    let born = Millis(i64::from_be_bytes(*head.first_chunk()?));
    let age = now.0.saturating_sub(born.0);
    (-SKEW_MS..LIFE_MS)
        .contains(&age)
        .then(|| Good { name: URL_SAFE_NO_PAD.encode(head), expires_at: born + LIFE_MS + SKEW_MS })
}

fn tag(secrets: &Secrets, bound: NonceBinding<'_>, head: &[u8]) -> [u8; TAG] {
    let whole = secrets.widget_nonce(&[head, &bound.key.bits().to_be_bytes(), bound.origin.as_bytes(), &bound.visitor]);
    *whole.first_chunk().expect("a tag has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_800_000_000_000);

    #[test]
    fn a_nonce_is_good_for_its_visitor_for_ten_minutes() {
        let secrets = Secrets::of(&[1; 32]);
        let key = KeyId::new(NOW, [1; 10]);
        let bound = NonceBinding { key, origin: "https://a.example", visitor: [7; 16] };
        let nonce = issue(&secrets, bound, NOW);
        let good = |bound, now| check(&secrets, bound, &nonce, now);
        let found = good(bound, NOW).unwrap();
        assert!(found.expires_at >= NOW + LIFE_MS);
        assert_eq!(good(bound, NOW + LIFE_MS - 1), Some(found), "the same name at every look");
        assert_eq!(good(bound, NOW + LIFE_MS), None);
        assert!(good(bound, NOW - SKEW_MS).is_some(), "another node's clock");
        assert_eq!(good(bound, NOW - SKEW_MS - 1), None);
        assert_eq!(good(NonceBinding { origin: "https://b.example", ..bound }, NOW), None);
        assert_eq!(good(NonceBinding { visitor: [8; 16], ..bound }, NOW), None);
        assert_eq!(good(NonceBinding { key: KeyId::new(NOW, [2; 10]), ..bound }, NOW), None);
        assert_eq!(check(&Secrets::of(&[2; 32]), bound, &nonce, NOW), None);
        assert_ne!(issue(&secrets, bound, NOW), nonce);
    }

    #[test]
    fn what_is_no_nonce_is_not_taken_for_one() {
        let secrets = Secrets::of(&[1; 32]);
        let bound = NonceBinding { key: KeyId::new(NOW, [1; 10]), origin: "https://a.example", visitor: [7; 16] };
        let nonce = issue(&secrets, bound, NOW);
        let bytes = URL_SAFE_NO_PAD.decode(&nonce).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(check(&secrets, bound, &URL_SAFE_NO_PAD.encode(flipped), NOW), None, "bit {bit}");
        }
        for text in ["", "x", "====", &nonce[1..], &format!("{nonce}AAAA"), &format!("{nonce}\0")] {
            assert_eq!(check(&secrets, bound, text, NOW), None, "{text:?}");
        }
    }
}
