//! How many texts a part claims to have that cells share.
//!
//! A parser makes room for that many before it has read one, and a process cannot go on without room. So the claim is looked
//! for here, in whatever tag and behind whatever prefix it stands, and compared with what the part really has. A text that
//! happens to read like a claim counts as one.

/// The attribute. An encoding in which it would not be these bytes is refused before.
const NAME: &[u8] = b"uniqueCount";

/// Looks through a part, piece by piece, for the largest claim.
#[derive(Debug, Default)]
pub(super) struct Claim {
    /// Bytes of the name that were just seen.
    matched: usize,
    /// The number behind a name: none yet, or its digits so far.
    value: Option<u64>,
    largest: u64,
}

impl Claim {
    pub(super) fn pass(&mut self, piece: &[u8]) {
        for &byte in piece {
            if self.matched == NAME.len() && self.number(byte) {
                continue;
            }
            self.matched = self.matching(byte);
        }
    }

    /// The largest number that stood behind the name.
    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    /// Behind a name: whether this byte still belongs to it or its number.
    fn number(&mut self, byte: u8) -> bool {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
        match (self.value, digit) {
            (value, Some(digit)) => {
                let value = value.unwrap_or(0).saturating_mul(10).saturating_add(digit);
                self.value = Some(value);
                self.largest = self.largest.max(value);
                true
            }
            (None, None) => byte.is_ascii_whitespace() || b"=\"'+".contains(&byte),
            (Some(_), None) => false,
        }
    }

    /// How many bytes of the name stand at the end, this one included.
    fn matching(&mut self, byte: u8) -> usize {
        self.value = None;
        let seen = if self.matched == NAME.len() { 0 } else { self.matched };
        if NAME[seen] == byte {
            return seen + 1;
        }
        let ends = |length: &usize| NAME[*length - 1] == byte && NAME[..seen].ends_with(&NAME[..*length - 1]);
        (1..=seen).rev().find(ends).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(part: &str) -> u64 {
        let sizes = [1, 2, 3, 7, part.len()].map(|size| {
            let mut claim = Claim::default();
            part.as_bytes().chunks(size).for_each(|piece| claim.pass(piece));
            claim.largest()
        });
        assert!(sizes.iter().all(|size| *size == sizes[0]), "{part}");
        sizes[0]
    }

    #[test]
    fn the_largest_claim_is_found_wherever_it_stands() {
        let table = [
            ("<sst count=\"900\" uniqueCount=\"7\">", 7),
            ("<x:sst\nuniqueCount\t= '0042' a='1'>", 42),
            ("<sst a='>' uniqueCount=\"18446744073709551616000\"/>", u64::MAX),
            ("<sst uniqueCount=\"3\"/><sst uniqueCount=\"5\"/><sst uniqueCount='4'/>", 5),
            ("<sst uniquniqueCount=\"8\">", 8),
            ("<sst uniqueCouniqueCount=\"9\">", 9),
            ("<sst uniqueCountuniqueCount=\"6\">", 6),
            ("<sst uniqueCount=\"x\"/>12", 0),
            ("<sst count=\"12\"><si><t>unique Count 3</t></si></sst>", 0),
        ];
        for (part, expected) in table {
            assert_eq!(largest(part), expected, "{part}");
        }
    }
}
