//! The body of a stored result.
//!
//! ```text
//! body = kind copies at suggestion
//! kind = number                    ; of the job's dictionary, from 1 on
//!      / %x00 length bytes         ; one that has no number
//! ```
//!
//! Numbers are LEB128: seven bits a byte, the lowest first. `at` is in milliseconds since 1970; the suggestion is the rest, and
//! empty where there is none.

use std::fmt::Write as _;

/// A result as it lies in its row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Coded<'a> {
    pub(super) kind: KindRef<'a>,
    pub(super) copies: i64,
    pub(super) at: i64,
    pub(super) suggestion: &'a [u8],
}

/// Which kind of outcome it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KindRef<'a> {
    /// By its number.
    Numbered(i64),
    /// As it is.
    Whole(&'a [u8]),
}

impl KindRef<'_> {
    /// Its number, where it has one.
    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Self::Numbered(number) => Some(*number),
            Self::Whole(_) => None,
        }
    }
}

impl<'a> Coded<'a> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(16 + self.suggestion.len());
        match self.kind {
            KindRef::Numbered(number) => put(&mut body, number),
            KindRef::Whole(kind) => {
                body.push(0);
                put(&mut body, i64::try_from(kind.len()).expect("a kind is short"));
                body.extend_from_slice(kind);
            }
        }
        put(&mut body, self.copies);
        put(&mut body, self.at);
        body.extend_from_slice(self.suggestion);
        body
    }

    /// None where the bytes are no result.
    pub(super) fn decode(body: &'a [u8]) -> Option<Self> {
        let (number, mut rest) = number(body)?;
        let kind = if number == 0 {
            let (length, after) = self::number(rest)?;
            let (kind, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
            rest = after;
            KindRef::Whole(kind)
        } else {
            KindRef::Numbered(number)
        };
        let (copies, rest) = self::number(rest)?;
        let (at, suggestion) = self::number(rest)?;
        Some(Self { kind, copies, at, suggestion })
    }
}

/// Appends a number, which is not negative.
fn put(bytes: &mut Vec<u8>, number: i64) {
    let mut left = u64::try_from(number).unwrap_or(0);
    loop {
        let [low, ..] = left.to_le_bytes();
        left >>= 7;
        if left == 0 {
            bytes.push(low & 0x7f);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// The number that bytes begin with, and the rest.
fn number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0_i64;
    for (place, byte) in bytes.iter().enumerate().take(9) {
        value |= i64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

/// Lower-case hexadecimal: bytes travel through JSON in it.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn results_come_out_as_they_went_in(
            kind in 1..=i64::MAX, whole in prop::option::of(prop::collection::vec(any::<u8>(), 0..200)),
            copies in 0..=i64::MAX, at in 0..=i64::MAX, suggestion in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let kind = whole.as_deref().map_or(KindRef::Numbered(kind), KindRef::Whole);
            let coded = Coded { kind, copies, at, suggestion: &suggestion };
            let body = coded.encode();
            prop_assert_eq!(Coded::decode(&body), Some(coded));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Coded::decode(&bytes);
        }
    }

    #[test]
    fn a_common_result_is_short() {
        let at = 1_800_000_000_000;
        let coded = Coded { kind: KindRef::Numbered(70), copies: 1, at, suggestion: b"" };
        assert_eq!(coded.encode().len(), 8);
        assert_eq!(Coded::decode(&coded.encode()[..7]), None);
        assert_eq!(hex(&[0, 0xaf]), "00af");
    }
}
