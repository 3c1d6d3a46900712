//! A set of keys over sorted text, the form in which every list is shipped and replaced.
//!
//! A line is `key` or `key<TAB>value`; `#` starts a comment line. The text stays as it is (a borrowed constant for an
//! embedded list); beside it stands one table of line offsets, built in one pass. That keeps the start under a few
//! milliseconds for a hundred thousand lines and costs eight bytes a slot, where a tree of strings would cost ten times
//! that. Rejected: binary search in the text (seventeen cache misses a look-up), a perfect hash made at build time (the
//! lists can be replaced while the program runs, so the table must be made at run time anyway).

use std::borrow::Cow;

/// Longest line that a list may have, in bytes; a domain has at most 253.
const LINE_BYTES_MAX: usize = 1024;
/// A slot that holds nothing.
const EMPTY: Slot = Slot { tag: 0, line: u32::MAX };

/// One entry of the table: part of the key's hash, and where its line starts in the text.
#[derive(Clone, Copy, Debug)]
struct Slot {
    tag: u32,
    line: u32,
}

/// A hash of a key that several sets can share, so that one domain is hashed once for all lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyHash(u64);

impl KeyHash {
    /// Hashes a key, eight bytes at a step (multiply and fold).
    pub(crate) fn of(key: &str) -> Self {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ key.len() as u64;
        for chunk in key.as_bytes().chunks(8) {
            let mut word = [0_u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let product = u128::from(state ^ u64::from_le_bytes(word)) * 0xa076_1d64_78bd_642f;
            let (high, low) = halves(product);
            state = high ^ low;
        }
        Self(state ^ (state >> 29))
    }

    fn tag(self) -> u32 {
        u32::try_from(self.0 >> 32).unwrap_or(0)
    }

    fn start(self, mask: usize) -> usize {
        usize::try_from(self.0 & u64::from(u32::MAX)).unwrap_or(0) & mask
    }
}

fn halves(product: u128) -> (u64, u64) {
    let low = u64::try_from(product & u128::from(u64::MAX)).unwrap_or(0);
    let high = u64::try_from((product >> 64) & u128::from(u64::MAX)).unwrap_or(0);
    (high, low)
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    /// Counted from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) what: &'static str,
}

/// Keys (and values) of one list.
#[derive(Clone, Debug)]
pub(crate) struct TextSet {
    text: Cow<'static, str>,
    slots: Box<[Slot]>,
    count: usize,
}

impl TextSet {
    /// Indexes a text. Keys must be lower-case, without white space around them, and below 4 GiB in all.
    pub(crate) fn new(text: Cow<'static, str>) -> Result<Self, BadLine> {
        if u32::try_from(text.len()).is_err() {
            return Err(BadLine { line: 1, what: "the file is over 4 GiB" });
        }
        let lines = text.bytes().filter(|&b| b == b'\n').count() + 1;
        let size = (lines * 3 / 2 + 1).next_power_of_two();
        let mut slots = vec![EMPTY; size].into_boxed_slice();
        let mut count = 0;
        let mut offset = 0;
        for (number, line) in text.split('\n').enumerate() {
            let bare = line.trim_end_matches('\r');
            if !bare.is_empty() && !bare.starts_with('#') {
                let key = checked_key(bare).map_err(|what| BadLine { line: number + 1, what })?;
                insert(&mut slots, &text, key, offset);
                count += 1;
            }
            offset += line.len() + 1;
        }
        Ok(Self { text, slots, count })
    }

    /// How many lines hold a key.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Is the key in the list?
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.get(KeyHash::of(key), key).is_some()
    }

    /// Is the key, hashed before, in the list?
    pub(crate) fn has(&self, hash: KeyHash, key: &str) -> bool {
        self.get(hash, key).is_some()
    }

    /// The value beside a key (`""` where the line has none).
    pub(crate) fn get(&self, hash: KeyHash, key: &str) -> Option<&str> {
        let mask = self.slots.len() - 1;
        let mut at = hash.start(mask);
        // The table is at most two thirds full, so an empty slot ends every search.
        loop {
            let slot = self.slots[at];
            if slot.line == u32::MAX {
                return None;
            }
            if slot.tag == hash.tag()
                && let Some(value) = value_at(&self.text, slot.line, key)
            {
                return Some(value);
            }
            at = (at + 1) & mask;
        }
    }

    /// The value of the longest suffix of `host`, cut at dots, that is in the list.
    pub(crate) fn suffix_value(&self, host: &str) -> Option<&str> {
        suffixes(host).find_map(|suffix| self.get(KeyHash::of(suffix), suffix))
    }

    /// Keys and values in the order of the text.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| line.split_once('\t').unwrap_or((line, "")))
    }
}

/// `a.b.c`, `b.c`, `c`.
pub(crate) fn suffixes(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host), |rest| rest.split_once('.').map(|(_, parent)| parent))
}

/// The key of a line.
fn checked_key(line: &str) -> Result<&str, &'static str> {
    if line.len() > LINE_BYTES_MAX {
        return Err("the line is over 1,024 bytes");
    }
    // Nearly all lines are bare domains, and every start reads a hundred thousand of them.
    if line.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-')) {
        return Ok(line);
    }
    let key = line.split_once('\t').map_or(line, |(key, _)| key);
    if key.is_empty() {
        Err("the key before the tab is empty")
    } else if key.chars().any(char::is_whitespace) {
        Err("white space in the key; a value is divided from it by one tab")
    } else if key.bytes().any(|b| b.is_ascii_uppercase()) {
        Err("keys are lower-case")
    } else {
        Ok(key)
    }
}

fn insert(slots: &mut [Slot], text: &str, key: &str, offset: usize) {
    let hash = KeyHash::of(key);
    let mask = slots.len() - 1;
    let mut at = hash.start(mask);
    while slots[at].line != u32::MAX {
        if slots[at].tag == hash.tag() && value_at(text, slots[at].line, key).is_some() {
            return;
        }
        at = (at + 1) & mask;
    }
    let line = u32::try_from(offset).expect("texts over 4 GiB were refused");
    slots[at] = Slot { tag: hash.tag(), line };
}

/// The value of the line at `offset` if its key is `key`.
fn value_at<'t>(text: &'t str, offset: u32, key: &str) -> Option<&'t str> {
    let start = usize::try_from(offset).ok()?;
    let rest = text.get(start..)?.strip_prefix(key)?;
    match rest.as_bytes().first() {
        None | Some(b'\n' | b'\r') => Some(""),
        Some(b'\t') => {
            let end = rest.find('\n').unwrap_or(rest.len());
            Some(rest[1..end].trim_end_matches('\r'))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &'static str) -> TextSet {
        TextSet::new(Cow::Borrowed(text)).unwrap()
    }

    #[test]
    fn keys_values_comments_and_line_ends() {
        let list = set("# note\na.example\nb.example\tvalue one\r\n\nc.example");
        assert_eq!(list.len(), 3);
        for key in ["a.example", "b.example", "c.example"] {
            assert!(list.contains(key), "{key}");
        }
        for key in ["", "a", "example", "a.example.", "b", "# note", "value one"] {
            assert!(!list.contains(key), "{key:?}");
        }
        assert_eq!(list.get(KeyHash::of("b.example"), "b.example"), Some("value one"));
        assert_eq!(list.iter().collect::<Vec<_>>(), [("a.example", ""), ("b.example", "value one"), ("c.example", "")]);
    }

    #[test]
    fn the_longest_suffix_wins() {
        let list = set("mail.example\tlong\nexample\tshort");
        assert_eq!(list.suffix_value("mx1.mail.example"), Some("long"));
        assert_eq!(list.suffix_value("mail.example"), Some("long"));
        assert_eq!(list.suffix_value("www.example"), Some("short"));
        assert_eq!(list.suffix_value("notexample"), None);
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, line) in [("ok\nUpper", 2), ("two words", 1), ("ok\nok2\n\tvalue", 3)] {
            assert_eq!(TextSet::new(Cow::Borrowed(text)).unwrap_err().line, line, "{text:?}");
        }
    }

    #[test]
    fn every_key_of_a_large_text_is_found_and_no_other() {
        let text = (0..20_000).map(|n| format!("d{n}.example")).collect::<Vec<_>>().join("\n");
        let list = TextSet::new(Cow::Owned(text)).unwrap();
        assert_eq!(list.len(), 20_000);
        assert!((0..20_000).all(|n| list.contains(&format!("d{n}.example"))));
        assert!((20_000..40_000).all(|n| !list.contains(&format!("d{n}.example"))));
    }
}
