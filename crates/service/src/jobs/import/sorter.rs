//! Addresses of a job on their way into chunks: each mailbox once, domain by domain.
//!
//! A million rows are in memory at a time, so they take little: texts stand one behind the other, a row is 28 bytes and names its
//! domain by a number. Numbers are also what is sorted: comparing names would look at a million places of memory twenty times,
//! and each row would cost the more the longer the list is. Repeated addresses are found in the same way, by sorting digests: a
//! table of them takes twice the memory, three times while it grows, and each row looks at another place of it. A chunk's rows are
//! put together when it is written.

use std::collections::HashMap;

use probity_account::block::{Block, ERASED};
use probity_engine::Tries;

use crate::error::Detail;
use crate::jobs::chunk::{ROWS_MAX, Row};
use crate::jobs::import::mailbox_key;

/// A domain with so many addresses gets chunks of its own: fewer would make many small chunks, each with its transactions.
const OWN_CHUNKS_ROWS: usize = ROWS_MAX / 2;

/// Addresses that are being read.
#[derive(Default)]
pub(super) struct Sorter {
    /// Rows so far.
    pub(super) rows: i64,
    addresses: Vec<Address>,
    /// The addresses as they were submitted, those of one reading in one text.
    texts: Vec<String>,
    /// Domains by their numbers; that of what is no address is empty.
    domains: HashMap<Box<str>, u32>,
    /// Each row with a digest of its normalized address, which is shorter than most and gives collisions to nobody. None of an
    /// erased row: which others it repeats is not known any more.
    digests: Vec<([u8; 16], u32)>,
}

/// The address of a row. Once sorted, only that of the first row with it is left.
struct Address {
    idx: u32,
    /// How many rows have it; nothing where an earlier row has it, too.
    copies: u32,
    /// The number of its domain; once sorted, its place among all by name.
    domain: u32,
    /// None where it was erased.
    email: Option<Text>,
}
const _: () = assert!(size_of::<Address>() == 28);

/// Where an address stands.
#[derive(Clone, Copy)]
struct Text {
    number: u32,
    from: u32,
    bytes: u32,
}

/// What an import comes to.
pub(super) struct Sorted {
    /// Work by chunk.
    pub(super) chunks: Vec<Chunk>,
    /// Repeated rows, each with the first one of its address.
    pub(super) duplicates: Vec<(i64, i64)>,
    unique: Vec<Address>,
    texts: Vec<String>,
}

/// Rows that are worked on together.
pub(super) struct Chunk {
    /// Their places among the sorted ones.
    places: Vec<u32>,
    /// `@` and the domain where all are of one that has many; empty where they are of many domains.
    pub(super) destination: String,
}

impl Sorter {
    /// A sorter with room for so many rows.
    pub(super) fn of_rows(rows: i64) -> Result<Self, Detail> {
        let rows = usize::try_from(rows)?;
        Ok(Self { addresses: Vec::with_capacity(rows), digests: Vec::with_capacity(rows), ..Self::default() })
    }

    /// Reads blocks, which must be the next ones.
    pub(super) fn take(mut self, blocks: &[(i64, Vec<u8>)]) -> Result<Self, Detail> {
        self.texts.push(String::new());
        for (first_idx, body) in blocks {
            if *first_idx != self.rows {
                return Err(format!("a block of addresses is missing before row {first_idx}").into());
            }
            for email in Block::decode(body)?.iter() {
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

    /// A row whose address was erased before it was sorted.
    fn add_erased(&mut self) -> Result<(), Detail> {
        let domain = self.domain(Box::default())?;
        self.push(domain, None)?;
        Ok(())
    }

    fn push(&mut self, domain: u32, email: Option<Text>) -> Result<u32, Detail> {
        let idx = u32::try_from(self.rows)?;
        self.addresses.push(Address { idx, copies: 1, domain, email });
        self.rows += 1;
        Ok(idx)
    }

    fn domain(&mut self, name: Box<str>) -> Result<u32, Detail> {
        let next = u32::try_from(self.domains.len())?;
        Ok(*self.domains.entry(name).or_insert(next))
    }

    fn text(&mut self, email: &str) -> Result<Text, Detail> {
        if self.texts.is_empty() {
            self.texts.push(String::new());
        }
        let number = self.texts.len() - 1;
        let text = &mut self.texts[number];
        let from = text.len();
        text.push_str(email);
        Ok(Text { number: u32::try_from(number)?, from: u32::try_from(from)?, bytes: u32::try_from(email.len())? })
    }

    /// Domain by domain, so that one session serves many; small domains share chunks. An error where these are not all of the
    /// rows that the job was accepted with: it would be completed without them.
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

/// Takes rows out whose address stands in an earlier one, which counts them; says which, each with the first row, in their order.
fn take_repeated(addresses: &mut Vec<Address>, mut digests: Vec<([u8; 16], u32)>) -> Vec<(i64, i64)> {
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

/// Gives each row the place of its domain by name; says the names in that order.
fn by_name(unique: &mut [Address], domains: HashMap<Box<str>, u32>) -> Result<Vec<Box<str>>, Detail> {
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

/// Cuts sorted rows into chunks.
fn cut(unique: &[Address], names: &[Box<str>]) -> Result<Vec<Chunk>, Detail> {
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

/// Takes as many full chunks as there are off the front. Each has room for its own rows only: they wait in memory together.
fn full(rows: &mut Vec<u32>) -> Vec<Vec<u32>> {
    let mut chunks = Vec::new();
    while rows.len() >= ROWS_MAX {
        chunks.push(rows.drain(..ROWS_MAX).collect());
    }
    chunks
}

/// Rows in as few chunks as they fit into, of about the same size.
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
    /// The rows of a chunk.
    pub(super) fn rows(&self, chunk: &Chunk) -> Vec<Row> {
        let row = |place: &u32| {
            let Address { idx, copies, email, .. } = &self.unique[in_memory(*place)];
            let email = email.map(|text| self.email(text).into());
            Row { idx: i64::from(*idx), copies: i64::from(*copies), tries: Tries::default(), email }
        };
        chunk.places.iter().map(row).collect()
    }

    fn email(&self, Text { number, from, bytes }: Text) -> &str {
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
        let block = Block::encode(emails).unwrap();
        Sorter::default().take(&[(0, block)]).unwrap().sorted(i64::try_from(emails.len()).unwrap()).unwrap()
    }

    fn rows_of(sorted: &Sorted) -> Vec<Row> {
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
        let block = |emails: &[&[u8]]| Block::encode(emails).unwrap();
        let sorter = Sorter::default().take(&[(0, block(&[b"b@b.example.org", ERASED]))]).unwrap();
        let sorter = sorter.take(&[(2, block(&[b"a@a.example.org"])), (3, block(&[b"", ERASED]))]).unwrap();
        let rows = rows_of(&sorter.sorted(5).unwrap());
        let rows: Vec<_> = rows.iter().map(|row| (row.idx, row.email.as_deref())).collect();
        let expected =
            [(1, None), (3, Some("")), (4, None), (2, Some("a@a.example.org")), (0, Some("b@b.example.org"))];
        assert_eq!(rows, expected);
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
        let block = Block::encode(&["a@example.org"]).unwrap();
        assert!(Sorter::default().take(&[(1_000, block)]).is_err());
        let block = Block::encode(&["a@example.org"]).unwrap();
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
