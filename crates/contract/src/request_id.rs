//! Request IDs: `req_` and 26 characters, on every response, in its error and in every log line about it.
//!
//! An ID never comes from the caller, so callers cannot confuse or poison our logs. It is unique across nodes and restarts: the
//! first half is 64 random bits of the process, the second half a counter. A keyed permutation scrambles the counter, because two
//! consecutive IDs would otherwise reveal the total traffic to a customer. The permutation is not claimed to be secret. An ID
//! costs an atomic addition and a few multiplications: no lock, no system call.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;
use serde::{Serialize, Serializer};

/// Crockford's base32, as in resource IDs: without letters that are easily misread.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX: &[u8; 4] = b"req_";
/// Number of characters for 64 bits, at 5 bits each.
const HALF: usize = 13;
const LENGTH: usize = PREFIX.len() + 2 * HALF;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId([u8; LENGTH]);

impl RequestId {
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).expect("names are made of ASCII")
    }

    /// Returns the ID as the value of `X-Request-Id`.
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_bytes(&self.0).expect("names are made of ASCII")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

crate::schema::describe!(RequestId = <String as utoipa::PartialSchema>::schema());

/// Source of request IDs, one per process.
pub struct RequestIds {
    start: [u8; LENGTH],
    keys: [u64; 2],
    counter: AtomicU64,
}

impl RequestIds {
    /// Creates a source with fresh random bits.
    ///
    /// # Panics
    /// Panics if the operating system provides no random bits.
    pub fn drawn() -> Self {
        let draw = || getrandom::u64().expect("the operating system gives random bits");
        Self::seeded(draw(), [draw(), draw()])
    }

    fn seeded(process: u64, keys: [u64; 2]) -> Self {
        let mut start = [0; LENGTH];
        start[..PREFIX.len()].copy_from_slice(PREFIX);
        write_base32(&mut start[PREFIX.len()..PREFIX.len() + HALF], process);
        Self { start, keys, counter: AtomicU64::new(0) }
    }

    pub fn next(&self) -> RequestId {
        let count = self.counter.fetch_add(1, Ordering::Relaxed);
        let mut name = self.start;
        write_base32(&mut name[PREFIX.len() + HALF..], permute(count ^ self.keys[0]) ^ self.keys[1]);
        RequestId(name)
    }
}

/// Finalizer of `SplitMix64`: a permutation of 64 bits, so that different counts give different IDs.
fn permute(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Writes `value` from its lowest bits on. The order of the digits does not matter for an ID.
fn write_base32(into: &mut [u8], mut value: u64) {
    for place in into {
        let digit = usize::try_from(value & 31).expect("five bits fit");
        *place = ALPHABET[digit];
        value >>= 5;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_have_one_form_and_never_meet() {
        let (one, other) = (RequestIds::drawn(), RequestIds::drawn());
        let names: BTreeSet<String> =
            (0..50_000).flat_map(|_| [one.next().to_string(), other.next().to_string()]).collect();
        assert_eq!(names.len(), 100_000);
        for name in names {
            let rest = name.strip_prefix("req_").unwrap();
            assert!(rest.len() == 26 && rest.bytes().all(|byte| ALPHABET.contains(&byte)), "{name}");
        }
    }

    #[test]
    fn the_whole_range_of_a_half_is_written() {
        let mut text = [0; HALF];
        write_base32(&mut text, u64::MAX);
        assert_eq!(&text, b"zzzzzzzzzzzzf");
        write_base32(&mut text, 32);
        assert_eq!(&text, b"0100000000000");
    }

    #[test]
    fn neighbours_do_not_look_alike() {
        let ids = RequestIds::seeded(7, [11, 13]);
        let [a, b] = [ids.next(), ids.next()];
        let same = a.0[LENGTH - HALF..].iter().zip(&b.0[LENGTH - HALF..]).filter(|(a, b)| a == b).count();
        assert!(same < 6, "{a} {b}");
    }
}
