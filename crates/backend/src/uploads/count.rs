//! Counts the addresses of a column: all, duplicates, texts that are not addresses, and addresses by domain.
//!
//! Duplicates are found as in the import of a job, so the figures are those of the job. Counting a file takes 16 bytes of
//! memory per address, and the name of each domain.

use std::collections::{HashMap, HashSet};
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use probity_contract::error::ApiError;
use probity_lists::absent::Absence;
use probity_lists::column::OtherAddresses;
use probity_store::Store;
use probity_store::uploads::{self, ColumnChoice, ColumnContent, Upload};
use serde::{Deserialize, Serialize};

use crate::jobs::mailbox_key;
use crate::uploads::about::FileFacts;
use crate::uploads::cells::{FileRow, address_of, decoded};
use crate::uploads::places::Places;

/// Maximum number of domains kept by name, those with the most addresses.
const DOMAINS_MAX: usize = 20_000;
/// Maximum number of named rows without an address.
const WITHOUT_NAMED: usize = 10;
/// Blocks read at a time.
const BLOCKS: i64 = 20;

/// Number of different addresses by domain, largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domains {
    pub named: Vec<(String, i64)>,
    /// Addresses of domains without a name here.
    pub others: i64,
    /// Rows with several addresses in one cell, and rows whose address is in a guessed encoding.
    #[serde(default)]
    pub several: i64,
    #[serde(default)]
    pub guesses: i64,
    /// First rows without an address, numbered from 0 with the header, each with the reason.
    #[serde(default)]
    pub first_without: Vec<(i64, Absence)>,
    /// Addresses in other columns of a table, by column, the fullest first.
    #[serde(default)]
    pub beside: Vec<(usize, u64)>,
}

impl Domains {
    fn packed(&self) -> Vec<u8> {
        let mut out = DeflateEncoder::new(Vec::new(), Compression::fast());
        let text = serde_json::to_vec(self).expect("names and numbers are plain JSON");
        out.write_all(&text).and_then(|()| out.finish()).expect("writing to memory does not fail")
    }

    /// Decodes the domains of an upload.
    pub fn of(bytes: &[u8]) -> Result<Self, ApiError> {
        let mut text = Vec::new();
        DeflateDecoder::new(bytes).read_to_end(&mut text).map_err(ApiError::server_error)?;
        serde_json::from_slice(&text).map_err(ApiError::server_error)
    }
}

#[derive(Default)]
pub(super) struct Counter {
    found: ColumnContent,
    several: i64,
    guesses: i64,
    first_without: Vec<(i64, Absence)>,
    beside: OtherAddresses,
    seen: HashSet<[u8; 16]>,
    domains: HashMap<Box<str>, i64>,
}

impl Counter {
    /// Counts a row of a file, unless it is the header. Rows are numbered from 0.
    pub(super) fn row(&mut self, about: &FileFacts, (at, row): (i64, &FileRow), choice: ColumnChoice) {
        let Some(column) = choice.column.filter(|_| at > 0 || !choice.header) else { return };
        self.add(at, address_of(about, (at, row), choice).as_deref().map_err(|why| *why));
        if !about.is_json() {
            self.beside.row(row, usize::try_from(column).unwrap_or(usize::MAX));
        }
    }

    /// Counts the address of a row.
    fn add(&mut self, row: i64, address: Result<&str, Absence>) {
        let text = match address {
            Ok(text) => text,
            Err(why) => return self.without(row, why),
        };
        self.found.addresses += 1;
        let (key, domain) = mailbox_key(text);
        if !self.seen.insert(key) {
            self.found.repeated += 1;
        } else if domain.is_empty() {
            self.found.invalid += 1;
        } else {
            *self.domains.entry(domain).or_default() += 1;
        }
    }

    fn without(&mut self, row: i64, why: Absence) {
        self.found.blank += 1;
        self.several += i64::from(matches!(why, Absence::Several(_)));
        self.guesses += i64::from(why == Absence::Guess);
        if self.first_without.len() < WITHOUT_NAMED {
            self.first_without.push((row, why));
        }
    }

    pub(super) fn finish(self) -> ColumnContent {
        let Self { found, several, guesses, first_without, beside, domains, .. } = self;
        let mut named: Vec<(String, i64)> = domains.into_iter().map(|(name, count)| (name.into(), count)).collect();
        // By number, then by name, so that the same list gives the same result.
        named.sort_unstable_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.cmp(b)));
        let others = named.split_off(named.len().min(DOMAINS_MAX)).iter().map(|(_, count)| count).sum();
        let domains = Domains { named, others, several, guesses, first_without, beside: beside.columns() };
        ColumnContent { domains: domains.packed(), ..found }
    }
}

/// Counts an upload's rows again, with this choice. `None` if no column is chosen. Fails if too many files are being counted.
pub async fn count(
    store: &Store,
    upload: &Upload,
    choice: ColumnChoice,
    places: &Places,
) -> Result<Option<ColumnContent>, ApiError> {
    if choice.column.is_none() {
        return Ok(None);
    }
    let _place = places.take(upload.org)?;
    let about = FileFacts::of(&upload.about)?;
    let (mut counter, mut next) = (Counter::default(), 0);
    while next < upload.rows {
        let blocks = uploads::blocks(&mut store.read().await?, upload.org, upload.no, next, BLOCKS).await?;
        let about = about.clone();
        let work = tokio::task::spawn_blocking(move || {
            for (first, body) in blocks {
                for (at, row) in (first..).zip(decoded(&body)?) {
                    counter.row(&about, (at, &row), choice);
                    next = at + 1;
                }
            }
            Ok::<_, ApiError>((counter, next))
        });
        let before = next;
        (counter, next) = work.await.map_err(ApiError::server_error)??;
        if next == before {
            return Err(ApiError::server_error("rows of an upload are missing"));
        }
    }
    let found = tokio::task::spawn_blocking(move || counter.finish()).await.map_err(ApiError::server_error)?;
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_counted_as_a_job_counts_them() {
        let mut counter = Counter::default();
        for (row, text) in
            (1..).zip(["a@x.org", "A@X.org", "", "b@x.org", "c@y.example.com", "no address", "no address", ""])
        {
            counter.add(row, if text.is_empty() { Err(Absence::Blank) } else { Ok(text) });
        }
        counter.add(9, Err(Absence::Several(2)));
        counter.add(10, Err(Absence::Guess));
        let found = counter.finish();
        assert_eq!((found.addresses, found.blank, found.repeated, found.invalid), (6, 4, 2, 1));
        let domains = Domains::of(&found.domains).unwrap();
        assert_eq!(domains.named, [("x.org".to_owned(), 2), ("y.example.com".to_owned(), 1)]);
        assert_eq!((domains.others, domains.several, domains.guesses), (0, 1, 1));
        let without = [(3, Absence::Blank), (8, Absence::Blank), (9, Absence::Several(2)), (10, Absence::Guess)];
        assert_eq!(domains.first_without, without);
    }

    #[test]
    fn domains_beyond_those_with_the_most_addresses_are_others() {
        let mut counter = Counter::default();
        for n in 0..DOMAINS_MAX + 10 {
            counter.add(0, Ok(&format!("a@d{n}.example.org")));
        }
        counter.add(0, Ok("b@d20005.example.org"));
        let domains = Domains::of(&counter.finish().domains).unwrap();
        assert_eq!(domains.named[0], ("d20005.example.org".to_owned(), 2));
        assert_eq!((domains.named.len(), domains.others), (DOMAINS_MAX, 10));
    }
}
