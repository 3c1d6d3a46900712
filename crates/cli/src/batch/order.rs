//! In which order a batch asks: each different address once, domain by domain, the domains in the order in which they appear.
//!
//! Rows of one mailbox fall together under [`key`]; the first of them is asked for and answers for all. Addresses of one domain
//! stand together, because the engine asks many of them over one session. Domains come in the order of their first row, so that
//! the output, which keeps the input's order, grows from the start.
//!
//! While the order is made, a row costs 24 bytes; afterwards 16. Two addresses are taken for one if 128 bits of keyed hashes agree
//! (`SipHash` under a random key), which cannot be arranged from outside and does not happen by chance.

use std::hash::BuildHasher;
use std::ops::Range;

use probity_mail::address::Address;

/// Addresses that are handed to the engine at once, at most; the engine groups within one call.
pub(crate) const CALL_MAX: u32 = 2_000;
/// Rows of one batch, at most: the numbers that rows get.
pub(crate) const ROWS_MAX: u32 = u32::MAX - 1;

/// Collects rows while they are imported or read back.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    hasher: std::hash::RandomState,
    entries: Vec<Entry>,
    places: Vec<u64>,
}

/// One row: what it is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    domain: u64,
    address: u64,
    row: u32,
}

impl Rows {
    /// Adds the next row, whose frame lies at `place` in the work file.
    pub(crate) fn add(&mut self, email: &str, place: u64) {
        let row = u32::try_from(self.entries.len()).expect("the import ends before ROWS_MAX");
        let key = key(email);
        let domain = key.rsplit_once('@').map_or("", |(_, domain)| domain);
        let (domain, address) = (self.hasher.hash_one(domain), self.hasher.hash_one(&key));
        self.entries.push(Entry { domain, address, row });
        self.places.push(place);
    }

    /// How many rows there are.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.entries.len()).expect("the import ends before ROWS_MAX")
    }

    /// The order of asking.
    pub(crate) fn order(mut self) -> Order {
        self.entries.sort_unstable();
        let mut leaders = vec![0; self.entries.len()];
        let mut domains: Vec<(u32, Range<usize>)> = Vec::new();
        let mut at = 0;
        for group in self.entries.chunk_by(|a, b| a.domain == b.domain) {
            let first = group.iter().map(|entry| entry.row).min().expect("a group has a row");
            domains.push((first, at..at + group.len()));
            at += group.len();
            for same in group.chunk_by(|a, b| a.address == b.address) {
                for entry in same {
                    leaders[entry.row as usize] = same[0].row;
                }
            }
        }
        domains.sort_unstable_by_key(|(first, _)| *first);
        let mut ask = Vec::with_capacity(self.entries.len());
        let mut borders = Vec::with_capacity(domains.len() + 1);
        for (_, range) in domains {
            borders.push(position(ask.len()));
            let from = ask.len();
            let group = &self.entries[range];
            ask.extend(group.iter().map(|entry| entry.row).filter(|row| leaders[*row as usize] == *row));
            ask[from..].sort_unstable();
        }
        borders.push(position(ask.len()));
        Order { leaders, places: self.places, ask, borders }
    }
}

fn position(at: usize) -> u32 {
    u32::try_from(at).expect("there are no more positions than rows")
}

/// The order of asking.
#[derive(Debug)]
pub(crate) struct Order {
    /// For each row the one that is asked for it.
    pub leaders: Vec<u32>,
    /// Where each row's frame lies in the work file.
    pub places: Vec<u64>,
    /// The rows to ask for, domain by domain.
    pub ask: Vec<u32>,
    borders: Vec<u32>,
}

impl Order {
    /// The calls: ranges of `ask`, cut on domain borders. Pieces of one large domain follow each other.
    pub(crate) fn calls(&self) -> Vec<Range<u32>> {
        let mut calls = Vec::new();
        let mut from = 0;
        for pair in self.borders.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            if end - from > CALL_MAX && start > from {
                calls.push(from..start);
                from = start;
            }
            while end - from > CALL_MAX {
                calls.push(from..from + CALL_MAX);
                from += CALL_MAX;
            }
        }
        let end = position(self.ask.len());
        if end > from {
            calls.push(from..end);
        }
        calls
    }

    /// Whether the address at this place of `ask` has one of its own domain before it.
    pub(crate) fn is_within_domain(&self, at: u32) -> bool {
        self.borders.binary_search(&at).is_err()
    }

    /// Rows that ask for nothing, because an earlier one is the same mailbox.
    pub(crate) fn duplicates(&self) -> usize {
        self.leaders.len() - self.ask.len()
    }
}

/// What spellings of one mailbox have in common.
pub(crate) fn key(email: &str) -> String {
    let trimmed = email.trim_matches(|c: char| c.is_ascii_whitespace());
    if is_simple(trimmed) {
        return trimmed.to_ascii_lowercase();
    }
    Address::parse(trimmed).map_or_else(|_| trimmed.to_owned(), |address| address.normalized())
}

/// Whether small letters are all there is to normalize: letters, digits and a few marks with one at sign.
fn is_simple(text: &str) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'+' | b'@');
    text.bytes().all(|b| plain(&b)) && text.bytes().filter(|b| *b == b'@').count() == 1 && !text.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(emails: &[&str]) -> Order {
        let mut rows = Rows::default();
        for (n, email) in emails.iter().enumerate() {
            rows.add(email, n as u64);
        }
        rows.order()
    }

    #[test]
    fn each_mailbox_is_asked_for_once_domain_by_domain() {
        let order = order(&["a@x.org", "b@y.org", "A@X.org ", "c@x.org", "d@z.org", "b@y.org", "nonsense"]);
        assert_eq!(order.leaders, [0, 1, 0, 3, 4, 1, 6]);
        assert_eq!(order.ask, [0, 3, 1, 4, 6]);
        assert_eq!(order.duplicates(), 2);
    }

    #[test]
    fn unusual_spellings_fall_together_where_they_are_one_mailbox() {
        assert_eq!(key("\"a\"@x.org"), key("a@X.ORG"));
        assert_eq!(key("a@bücher.de"), key("a@xn--bcher-kva.de"));
        assert_ne!(key("\"a b\"@x.org"), key("ab@x.org"));
    }

    #[test]
    fn calls_are_cut_on_domain_borders_and_cover_everything_once() {
        let mut emails = Vec::new();
        for (domain, count) in [("a", 10), ("b", 1_995), ("c", 4_500), ("d", 1), ("e", 2_000), ("f", 3)] {
            emails.extend((0..count).map(|n| format!("u{n}@{domain}.org")));
        }
        let refs: Vec<&str> = emails.iter().map(String::as_str).collect();
        let calls = order(&refs).calls();
        let mut next = 0;
        for call in &calls {
            assert_eq!(call.start, next);
            assert!(call.end > call.start && call.end - call.start <= CALL_MAX);
            next = call.end;
        }
        assert_eq!(next as usize, emails.len());
        assert_eq!(calls[0], 0..10);
        assert_eq!(calls[1], 10..2_005);
        assert!(calls.iter().any(|call| call.start == 2_005 && call.end == 4_005));
    }

    #[test]
    fn nothing_to_ask_is_no_call() {
        assert!(order(&[]).calls().is_empty());
    }
}
