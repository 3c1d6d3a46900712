//! Sorts a job's addresses into chunks: each mailbox once, domain by domain.
//!
//! Up to a million rows are in memory, so they are compact. Texts are concatenated; a row has 28 bytes, including the number of
//! its domain. Rows are sorted by these numbers. Comparing names would access memory at random, and the cost per row would grow
//! with the list. Duplicates are found by sorting digests as well: a hash table takes twice the memory, and three times while
//! it grows. The rows of a chunk are assembled when it is written.

use std::collections::HashMap;

use probity_account::block::{AddressBlock, ERASED};
use probity_contract::error::Detail;
use probity_engine::PriorAttempts;

use crate::jobs::chunk::{ChunkRow, ROWS_MAX};
use crate::jobs::import::mailbox_key;

/// Minimum number of addresses with which a domain gets its own chunks. Fewer would make many small chunks, each with its own
/// transactions.
const OWN_CHUNKS_ROWS: usize = ROWS_MAX / 2;
/// Stands for the digest of every erased row.
const ERASED_DIGEST: [u8; 16] = [0; 16];

/// Addresses read so far.
#[derive(Default)]
pub(super) struct Sorter {
    pub(crate) rows: i64,
    addresses: Vec<SortedAddress>,
    /// Addresses as submitted, one text per call of `take`.
    texts: Vec<String>,
    /// Domain numbers by name. The name is empty for texts that are not addresses.
    domains: HashMap<Box<str>, u32>,
    /// Rows with digests of their normalized addresses. Digests are shorter than most addresses, and collisions cannot be
    /// constructed. What an erased row repeats is unknown, so all of them count as one address: an erasure never adds one.
    digests: Vec<([u8; 16], u32)>,
}

/// Address of a row. After sorting, only the first row of each address is left.
struct SortedAddress {
    idx: u32,
    /// Number of rows with this address; 0 if an earlier row has it.
    copies: u32,
    /// Number of the domain; after sorting, its rank by name.
    domain: u32,
    /// `None` if it was erased.
    email: Option<TextPosition>,
}
const _: () = assert!(size_of::<SortedAddress>() == 28);

/// Position of an address in the texts.
#[derive(Clone, Copy)]
struct TextPosition {
    number: u32,
    from: u32,
    bytes: u32,
}

pub(super) struct Sorted {
    pub(crate) chunks: Vec<Chunk>,
    /// Duplicate rows, each with the first row of its address.
    pub(crate) duplicates: Vec<(i64, i64)>,
    unique: Vec<SortedAddress>,
    texts: Vec<String>,
}

/// Rows that one worker leases together.
pub(crate) struct Chunk {
    /// Positions among the sorted rows.
    places: Vec<u32>,
    /// `@` and the domain if all rows are of one large domain; empty otherwise.
    pub(super) destination: String,
}

impl Sorter {
    /// Creates a sorter with capacity for `rows` rows.
    pub(crate) fn of_rows(rows: i64) -> Result<Self, Detail> {
        let rows = usize::try_from(rows)?;
        Ok(Self { addresses: Vec::with_capacity(rows), digests: Vec::with_capacity(rows), ..Self::default() })
    }

    /// Adds blocks, which must follow the previous ones.
    pub(crate) fn take(mut self, blocks: &[(i64, Vec<u8>)]) -> Result<Self, Detail> {
        self.texts.push(String::new());
        for (first_idx, body) in blocks {
            if *first_idx != self.rows {
                return Err(format!("a block of addresses is missing before row {first_idx}").into());
            }
            for email in AddressBlock::decode(body)?.iter() {
                match email {
                    ERASED => self.add_erased()?,
                    email => self.add(&String::from_utf8_lossy(email))?,
                }
            }
        }
        if let Some(text) = self.texts.last_mut() {
            text.shrink_to_fit();
        }
        Ok(self)
    }

    fn add(&mut self, email: &str) -> Result<(), Detail> {
        let (digest, domain) = mailbox_key(email);
        let (domain, text) = (self.domain(domain)?, self.text(email)?);
        let idx = self.push(domain, Some(text))?;
        self.digests.push((digest, idx));
        Ok(())
    }

    /// Adds a row whose address was erased before sorting.
    fn add_erased(&mut self) -> Result<(), Detail> {
        let domain = self.domain(Box::default())?;
        let idx = self.push(domain, None)?;
        self.digests.push((ERASED_DIGEST, idx));
        Ok(())
    }

    fn push(&mut self, domain: u32, email: Option<TextPosition>) -> Result<u32, Detail> {
        let idx = u32::try_from(self.rows)?;
        self.addresses.push(SortedAddress { idx, copies: 1, domain, email });
        self.rows += 1;
        Ok(idx)
    }

    fn domain(&mut self, name: Box<str>) -> Result<u32, Detail> {
        let next = u32::try_from(self.domains.len())?;
        Ok(*self.domains.entry(name).or_insert(next))
    }

    fn text(&mut self, email: &str) -> Result<TextPosition, Detail> {
        if self.texts.is_empty() {
            self.texts.push(String::new());
        }
        let number = self.texts.len() - 1;
        let text = &mut self.texts[number];
        let from = text.len();
        text.push_str(email);
        Ok(TextPosition {
            number: u32::try_from(number)?,
            from: u32::try_from(from)?,
            bytes: u32::try_from(email.len())?,
        })
    }

    /// Sorts by domain, so that one session serves many rows; small domains share chunks. Fails unless all `rows` rows of the
    /// accepted job are here, because the job would complete without the missing ones.
    pub(super) fn sorted(self, rows: i64) -> Result<Sorted, Detail> {
        let Self { addresses: mut unique, digests, rows: read, domains, texts } = self;
        if read != rows {
            return Err(format!("a job of {rows} addresses has {read}").into());
        }
        let duplicates = take_repeated(&mut unique, digests);
        let names = by_name(&mut unique, domains)?;
        unique.sort_unstable_by_key(|row| (row.domain, row.idx));
        Ok(Sorted { chunks: cut(&unique, &names)?, duplicates, unique, texts })
    }
}

/// Removes rows that repeat an earlier one, which counts them. Returns the removed rows in order, each with its first row.
fn take_repeated(addresses: &mut Vec<SortedAddress>, mut digests: Vec<([u8; 16], u32)>) -> Vec<(i64, i64)> {
    digests.sort_unstable();
    let mut repeated = Vec::new();
    for alike in digests.chunk_by(|(a, _), (b, _)| a == b) {
        let (_, first) = alike[0];
        for (_, later) in &alike[1..] {
            addresses[in_memory(first)].copies += 1;
            addresses[in_memory(*later)].copies = 0;
            repeated.push((i64::from(*later), i64::from(first)));
        }
    }
    addresses.retain(|address| address.copies > 0);
    repeated.sort_unstable();
    repeated
}

/// Replaces each row's domain number with the rank of the domain by name; returns the names in that order.
fn by_name(unique: &mut [SortedAddress], domains: HashMap<Box<str>, u32>) -> Result<Vec<Box<str>>, Detail> {
    let mut names: Vec<(Box<str>, u32)> = domains.into_iter().collect();
    names.sort_unstable();
    let mut places = vec![0; names.len()];
    for (place, (_, number)) in names.iter().enumerate() {
        places[usize::try_from(*number)?] = u32::try_from(place)?;
    }
    for row in unique {
        row.domain = places[usize::try_from(row.domain)?];
    }
    Ok(names.into_iter().map(|(name, _)| name).collect())
}

fn cut(unique: &[SortedAddress], names: &[Box<str>]) -> Result<Vec<Chunk>, Detail> {
    let mut chunks = Vec::with_capacity(unique.len() / ROWS_MAX + 1);
    let (mut shared, mut next): (Vec<u32>, u32) = (Vec::new(), 0);
    for own in unique.chunk_by(|a, b| a.domain == b.domain) {
        let first = next;
        next += u32::try_from(own.len())?;
        let domain = &names[usize::try_from(own[0].domain)?];
        if own.len() < OWN_CHUNKS_ROWS || domain.is_empty() {
            shared.extend(first..next);
            let full = full(&mut shared).into_iter();
            chunks.extend(full.map(|places| Chunk { places, destination: String::new() }));
        } else {
            let destination = format!("@{domain}");
            chunks.extend(evenly(first..next).map(|places| Chunk { places, destination: destination.clone() }));
        }
    }
    if !shared.is_empty() {
        chunks.push(Chunk { places: shared, destination: String::new() });
    }
    Ok(chunks)
}

/// Removes all full chunks from the front. Each has capacity for its own rows only, because all are in memory together.
fn full(rows: &mut Vec<u32>) -> Vec<Vec<u32>> {
    let mut chunks = Vec::new();
    while rows.len() >= ROWS_MAX {
        chunks.push(rows.drain(..ROWS_MAX).collect());
    }
    chunks
}

/// Splits rows into as few chunks as possible, of about the same size.
fn evenly(mut rows: std::ops::Range<u32>) -> impl Iterator<Item = Vec<u32>> {
    let mut left = rows.len().div_ceil(ROWS_MAX);
    std::iter::from_fn(move || {
        let size = rows.len().div_ceil(left.max(1));
        left = left.saturating_sub(1);
        let chunk: Vec<u32> = rows.by_ref().take(size).collect();
        (!chunk.is_empty()).then_some(chunk)
    })
}

impl Sorted {
    pub(crate) fn rows(&self, chunk: &Chunk) -> Vec<ChunkRow> {
        let row = |place: &u32| {
            let SortedAddress { idx, copies, email, .. } = &self.unique[in_memory(*place)];
            let email = email.map(|text| self.email(text).into());
            ChunkRow { idx: i64::from(*idx), copies: i64::from(*copies), tries: PriorAttempts::default(), email }
        };
        chunk.places.iter().map(row).collect()
    }

    fn email(&self, TextPosition { number, from, bytes }: TextPosition) -> &str {
        let from = in_memory(from);
        &self.texts[in_memory(number)][from..from + in_memory(bytes)]
    }
}

fn in_memory(place: u32) -> usize {
    usize::try_from(place).expect("a place in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(emails: &[&str]) -> Sorted {
        let block = AddressBlock::encode(emails).unwrap();
        Sorter::default().take(&[(0, block)]).unwrap().sorted(i64::try_from(emails.len()).unwrap()).unwrap()
    }

    fn rows_of(sorted: &Sorted) -> Vec<ChunkRow> {
        sorted.chunks.iter().flat_map(|chunk| sorted.rows(chunk)).collect()
    }

    fn sizes(sorted: &Sorted) -> Vec<(&str, usize)> {
        sorted.chunks.iter().map(|chunk| (&*chunk.destination, chunk.places.len())).collect()
    }

    #[test]
    fn repeated_addresses_are_asked_about_once() {
        let sorted =
            sorted(&["jo@B.example.org", "x", "JO@b.EXAMPLE.org", " x ", "a@a.example.org", "jo@b.example.org"]);
        let rows = rows_of(&sorted);
        let rows: Vec<_> = rows.iter().map(|row| (row.idx, row.copies, row.email.as_deref().unwrap())).collect();
        let expected = [(1, 2, "x"), (4, 1, "a@a.example.org"), (0, 3, "jo@B.example.org")];
        assert_eq!(rows, expected, "sorted by domain, texts without one first");
        assert_eq!(sorted.duplicates, [(2, 0), (3, 1), (5, 0)]);
    }

    #[test]
    fn texts_of_several_readings_and_erased_rows_keep_their_places() {
        let block = |emails: &[&[u8]]| AddressBlock::encode(emails).unwrap();
        let sorter = Sorter::default().take(&[(0, block(&[b"b@b.example.org", ERASED]))]).unwrap();
        let sorter = sorter.take(&[(2, block(&[b"a@a.example.org"])), (3, block(&[b"", ERASED]))]).unwrap();
        let order = sorter.sorted(5).unwrap();
        let rows = rows_of(&order);
        let rows: Vec<_> = rows.iter().map(|row| (row.idx, row.email.as_deref())).collect();
        let expected = [(1, None), (3, Some("")), (2, Some("a@a.example.org")), (0, Some("b@b.example.org"))];
        assert_eq!(rows, expected);
        assert_eq!(order.duplicates, [(4, 1)], "erased rows count as one address");
    }

    #[test]
    fn names_for_special_use_are_names() {
        let sorted =
            sorted(&["jo@Sandbox.TEST", "x@a.example.com", "jo@sandbox.test", "jo@x.localhost", "jo@X.localhost"]);
        let rows: Vec<_> = rows_of(&sorted).iter().map(|row| (row.idx, row.copies)).collect();
        assert_eq!(rows, [(1, 1), (0, 2), (3, 2)]);
    }

    #[test]
    fn a_missing_block_is_noticed() {
        let block = AddressBlock::encode(&["a@example.org"]).unwrap();
        assert!(Sorter::default().take(&[(1_000, block)]).is_err());
        let block = AddressBlock::encode(&["a@example.org"]).unwrap();
        assert!(Sorter::default().take(&[(0, block)]).unwrap().sorted(2).is_err());
        assert_eq!(Sorter::default().sorted(0).unwrap().chunks.len(), 0);
    }

    #[test]
    fn chunks_are_full_until_the_last() {
        let mut sorter = Sorter::default();
        for n in 0..2_500 {
            sorter.add(&format!("user{n}@d{}.example.org", n % 7)).unwrap();
        }
        assert_eq!(sizes(&sorter.sorted(2_500).unwrap()), [("", 1_000), ("", 1_000), ("", 500)]);
    }

    #[test]
    fn chunks_take_memory_for_their_own_rows_only() {
        let mut list = Sorter::default();
        for n in 0..20_000 {
            list.add(&format!("user{n}@big.example.org")).unwrap();
            list.add(&format!("user{n}@d{n}.example.org")).unwrap();
        }
        let places = |count: fn(&Vec<u32>) -> usize, of: &Sorted| {
            of.chunks.iter().map(|chunk| count(&chunk.places)).sum::<usize>()
        };
        let sorted = list.sorted(40_000).unwrap();
        assert_eq!(places(Vec::len, &sorted), 40_000);
        assert!(places(Vec::capacity, &sorted) < 50_000, "{}", places(Vec::capacity, &sorted));
    }

    #[test]
    fn a_domain_with_many_addresses_has_chunks_of_its_own() {
        let mut list = Sorter::default();
        for n in 0..1_300 {
            list.add(&format!("user{n}@big.example.org")).unwrap();
        }
        for n in 0..OWN_CHUNKS_ROWS - 1 {
            list.add(&format!("user{n}@a.example.org")).unwrap();
            list.add(&format!("user{n}@z.example.org")).unwrap();
            list.add(&format!("no address {n}")).unwrap();
        }
        let rows = list.rows;
        let sorted = list.sorted(rows).unwrap();
        let big = "@big.example.org";
        assert_eq!(sizes(&sorted), [(big, 650), (big, 650), ("", 1_000), ("", 497)]);
        let all = sorted.chunks.iter().map(|chunk| chunk.places.len()).sum::<usize>();
        assert_eq!(rows_of(&sorted).iter().map(|row| row.idx).collect::<std::collections::BTreeSet<_>>().len(), all);
    }
}
