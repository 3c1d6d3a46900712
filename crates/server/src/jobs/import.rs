//! The import: a job's addresses are normalized, repeated ones found, and the rest sorted by domain into chunks. A domain with
//! many addresses gets chunks of its own, which can wait until it has room; small ones share chunks.
//!
//! One job at a time on a node, in memory: a million addresses take about a hundred megabytes while they are sorted. An
//! import that loses its holder is begun anew by the next; nothing of it is visible before its end.

use std::collections::HashMap;
use std::time::Duration;

use probity_core::block::{Block, ERASED};
use probity_engine::Tries;
use probity_store::jobs::{self, ImportClaim, NewChunk};
use probity_store::{ScopedFutureExt as _, StoreError};
use ring::digest::{SHA256, digest};
use tokio_util::sync::CancellationToken;

use super::Jobs;
use super::chunk::{self, ROWS_MAX, Row};
use crate::error::Detail;
use crate::mailbox;
use crate::nodes::Work;

/// How long the importer waits without a bell.
const POLL: Duration = Duration::from_secs(1);
/// How long it waits after a failure.
const REST: Duration = Duration::from_secs(5);
/// Blocks that are read at a time.
const BLOCKS: i64 = 50;
/// Chunks that are written in one transaction, which must stay short.
const CHUNKS: usize = 10;
/// Repeated rows that are written in one transaction.
const DUPLICATES: usize = 5_000;

/// A domain with so many addresses gets chunks of its own: fewer would make many small chunks, each with its transactions.
const OWN_CHUNKS_ROWS: usize = ROWS_MAX / 2;

/// Imports one job after the other until it is told to end.
pub(super) async fn run(jobs: Jobs, ending: CancellationToken) {
    while !ending.is_cancelled() {
        let pause = match next(&jobs, &ending).await {
            Ok(true) => continue,
            Ok(false) => jobs.presence.poll(POLL),
            Err(error) => {
                tracing::warn!(%error, "an import failed; it is begun anew");
                REST
            }
        };
        tokio::select! {
            () = ending.cancelled() => {}
            () = jobs.wake.import.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Imports the oldest job that waits; says whether there was one.
async fn next(jobs: &Jobs, ending: &CancellationToken) -> Result<bool, Detail> {
    let now = jobs.now();
    if !jobs::any_import(&mut jobs.store.read().await?, now).await? {
        return Ok(false);
    }
    let claim = jobs.store.write(|tx| jobs::claim_import(tx, now, jobs.lease_ms()).scope_boxed()).await?;
    let Some(claim) = claim else { return Ok(false) };
    let _working = jobs.presence.works_on(Work::Import);
    match ending.run_until_cancelled(import(jobs, &claim)).await {
        Some(Ok(())) => jobs.wake.work.notify_one(),
        // Cut off by the end: the next holder begins anew, and need not wait for the end of the lease.
        None => jobs.store.write(|tx| jobs::free_import(tx, &claim).scope_boxed()).await?,
        // Somebody else has it, or the job was cancelled.
        Some(Err(Failed::Lost)) => {}
        Some(Err(Failed::Other(error))) => return Err(error),
    }
    Ok(true)
}

enum Failed {
    Lost,
    Other(Detail),
}

impl<E: Into<Detail> + 'static> From<E> for Failed {
    fn from(error: E) -> Self {
        let error: Detail = error.into();
        match error.downcast_ref::<StoreError>() {
            Some(StoreError::LeaseLost | StoreError::NotFound) => Self::Lost,
            _ => Self::Other(error),
        }
    }
}

async fn import(jobs: &Jobs, claim: &ImportClaim) -> Result<(), Failed> {
    while restart(jobs, claim).await? {}
    let sorted = read(jobs, claim).await?;
    let repeated = sorted.duplicates.len();
    for part in sorted.duplicates.chunks(DUPLICATES) {
        add(jobs, claim, &[], part).await?;
    }
    let ready_at = jobs.now();
    let mut chunks = Vec::with_capacity(CHUNKS);
    for Chunk { rows, destination } in &sorted.chunks {
        chunks.push(NewChunk { destination: destination.clone(), ..chunk::pack(rows, ready_at) });
        if chunks.len() == CHUNKS {
            add(jobs, claim, &chunks, &[]).await?;
            chunks.clear();
        }
    }
    add(jobs, claim, &chunks, &[]).await?;
    let (repeated, now) = (i64::try_from(repeated)?, jobs.now());
    Ok(jobs.store.write(|tx| jobs::imported(tx, claim, repeated, now).scope_boxed()).await?)
}

/// Removes a part of what an earlier holder has made; says whether more may be left.
async fn restart(jobs: &Jobs, claim: &ImportClaim) -> Result<bool, StoreError> {
    let now = jobs.now();
    jobs.store.write_bulk(|tx| jobs::restart_import(tx, claim, now, jobs.lease_ms()).scope_boxed()).await
}

async fn add(jobs: &Jobs, claim: &ImportClaim, chunks: &[NewChunk], repeated: &[(i64, i64)]) -> Result<(), StoreError> {
    let now = jobs.now();
    jobs.store.write_bulk(|tx| jobs::add_chunks(tx, claim, chunks, repeated, now, jobs.lease_ms()).scope_boxed()).await
}

/// Reads all blocks of a job and sorts them, off the threads that serve requests.
async fn read(jobs: &Jobs, claim: &ImportClaim) -> Result<Sorted, Failed> {
    let mut sorter = Sorter::default();
    let mut held = jobs.now();
    loop {
        let from = sorter.rows;
        let blocks = jobs::blocks(&mut jobs.store.read().await?, claim.org, claim.job, from, BLOCKS).await?;
        if blocks.is_empty() {
            break;
        }
        sorter = tokio::task::spawn_blocking(move || sorter.take(&blocks)).await??;
        if jobs.now().since(held) > jobs.lease_ms() / 4 {
            add(jobs, claim, &[], &[]).await?;
            held = jobs.now();
        }
    }
    let rows = claim.rows;
    Ok(tokio::task::spawn_blocking(move || sorter.sorted(rows)).await??)
}

/// What an import comes to.
struct Sorted {
    /// Rows of work by chunk.
    chunks: Vec<Chunk>,
    /// Repeated rows, each with the first one of its address.
    duplicates: Vec<(i64, i64)>,
}

/// Rows that are worked on together.
struct Chunk {
    rows: Vec<Row>,
    /// `@` and the domain where all are of one that has many; empty where they are of many domains.
    destination: String,
}

/// Addresses on their way into chunks.
#[derive(Default)]
struct Sorter {
    rows: i64,
    unique: Vec<Unique>,
    /// By a digest of the normalized address, which is shorter than most and gives collisions to nobody.
    seen: HashMap<[u8; 16], u32>,
    duplicates: Vec<(i64, i64)>,
}

struct Unique {
    idx: i64,
    copies: i64,
    domain: Box<str>,
    /// None where it was erased.
    email: Option<Box<str>>,
}

impl Sorter {
    fn take(mut self, blocks: &[(i64, Vec<u8>)]) -> Result<Self, Detail> {
        for (first_idx, body) in blocks {
            if *first_idx != self.rows {
                return Err(format!("a block of addresses is missing before row {first_idx}").into());
            }
            for email in Block::decode(body)?.iter() {
                match email {
                    ERASED => self.add_erased(),
                    email => self.add(&String::from_utf8_lossy(email)),
                }
            }
        }
        Ok(self)
    }

    fn add(&mut self, email: &str) {
        let idx = self.rows;
        self.rows += 1;
        let (key, domain) = mailbox_key(email);
        let place = u32::try_from(self.unique.len()).expect("a job has fewer rows than that");
        match *self.seen.entry(key).or_insert(place) {
            first if first != place => {
                let first = &mut self.unique[usize::try_from(first).expect("a place in memory")];
                first.copies += 1;
                self.duplicates.push((idx, first.idx));
            }
            _ => self.unique.push(Unique { idx, copies: 1, domain, email: Some(email.into()) }),
        }
    }

    /// A row whose address was erased before it was sorted. Which others it repeats is not known any more.
    fn add_erased(&mut self) {
        self.unique.push(Unique { idx: self.rows, copies: 1, domain: Box::default(), email: None });
        self.rows += 1;
    }

    /// Domain by domain, so that one session serves many; small domains share chunks. An error where these are not all of the
    /// rows that the job was accepted with: it would be completed without them.
    fn sorted(self, rows: i64) -> Result<Sorted, Detail> {
        let Self { mut unique, duplicates, rows: read, seen } = self;
        // Forty megabytes of a million, before chunks take more.
        drop(seen);
        if read != rows {
            return Err(format!("a job of {rows} addresses has {read}").into());
        }
        unique.sort_unstable_by(|a, b| a.domain.cmp(&b.domain).then(a.idx.cmp(&b.idx)));
        let mut chunks = Vec::with_capacity(unique.len() / ROWS_MAX + 1);
        let mut shared: Vec<Row> = Vec::new();
        let mut rows = unique.into_iter().peekable();
        while let Some(first) = rows.next() {
            let domain = first.domain.clone();
            let mut own = vec![Row::from(first)];
            own.extend(std::iter::from_fn(|| rows.next_if(|next| next.domain == domain)).map(Row::from));
            if own.len() < OWN_CHUNKS_ROWS || domain.is_empty() {
                shared.extend(own);
                for rows in full(&mut shared) {
                    chunks.push(Chunk { rows, destination: String::new() });
                }
            } else {
                let destination = format!("@{domain}");
                chunks.extend(evenly(own).map(|rows| Chunk { rows, destination: destination.clone() }));
            }
        }
        if !shared.is_empty() {
            chunks.push(Chunk { rows: shared, destination: String::new() });
        }
        Ok(Sorted { chunks, duplicates })
    }
}

impl From<Unique> for Row {
    fn from(Unique { idx, copies, email, .. }: Unique) -> Self {
        Self { idx, copies, tries: Tries::default(), email }
    }
}

/// Takes as many full chunks as there are off the front. Each has room for its own rows only: they wait in memory together.
fn full(rows: &mut Vec<Row>) -> Vec<Vec<Row>> {
    let mut chunks = Vec::new();
    while rows.len() >= ROWS_MAX {
        chunks.push(rows.drain(..ROWS_MAX).collect());
    }
    chunks
}

/// Rows in as few chunks as they fit into, of about the same size.
fn evenly(rows: Vec<Row>) -> impl Iterator<Item = Vec<Row>> {
    let (mut left, mut rows) = (rows.len().div_ceil(ROWS_MAX), rows.into_iter());
    std::iter::from_fn(move || {
        let size = rows.len().div_ceil(left.max(1));
        left = left.saturating_sub(1);
        let chunk: Vec<Row> = rows.by_ref().take(size).collect();
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// What two rows with the same mailbox have in common, and the domain: of what is no address none.
pub(crate) fn mailbox_key(email: &str) -> ([u8; 16], Box<str>) {
    let (normal, domain) = mailbox::normal_form(email);
    let hash = digest(&SHA256, normal.as_bytes());
    let key = hash.as_ref().first_chunk().expect("SHA-256 has 32 bytes");
    (*key, domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(emails: &[&str]) -> Sorted {
        let block = Block::encode(emails).unwrap();
        Sorter::default().take(&[(0, block)]).unwrap().sorted(i64::try_from(emails.len()).unwrap()).unwrap()
    }

    fn rows_of(sorted: &Sorted) -> Vec<&Row> {
        sorted.chunks.iter().flat_map(|chunk| &chunk.rows).collect()
    }

    fn sizes(sorted: &Sorted) -> Vec<(&str, usize)> {
        sorted.chunks.iter().map(|chunk| (&*chunk.destination, chunk.rows.len())).collect()
    }

    #[test]
    fn repeated_addresses_are_asked_about_once() {
        let sorted =
            sorted(&["jo@B.example.org", "x", "JO@b.EXAMPLE.org", " x ", "a@a.example.org", "jo@b.example.org"]);
        let rows: Vec<_> = rows_of(&sorted).iter().map(|row| (row.idx, row.copies)).collect();
        assert_eq!(rows, [(1, 2), (4, 1), (0, 3)], "sorted by domain, texts without one first");
        assert_eq!(sorted.duplicates, [(2, 0), (3, 1), (5, 0)]);
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
            sorter.add(&format!("user{n}@d{}.example.org", n % 7));
        }
        assert_eq!(sizes(&sorter.sorted(2_500).unwrap()), [("", 1_000), ("", 1_000), ("", 500)]);
    }

    #[test]
    fn chunks_take_memory_for_their_own_rows_only() {
        let mut list = Sorter::default();
        for n in 0..20_000 {
            list.add(&format!("user{n}@big.example.org"));
            list.add(&format!("user{n}@d{n}.example.org"));
        }
        let rows = |count: fn(&Vec<Row>) -> usize, of: &Sorted| {
            of.chunks.iter().map(|chunk| count(&chunk.rows)).sum::<usize>()
        };
        let sorted = list.sorted(40_000).unwrap();
        assert_eq!(rows(Vec::len, &sorted), 40_000);
        assert!(rows(Vec::capacity, &sorted) < 50_000, "{}", rows(Vec::capacity, &sorted));
    }

    #[test]
    fn a_domain_with_many_addresses_has_chunks_of_its_own() {
        let mut list = Sorter::default();
        for n in 0..1_300 {
            list.add(&format!("user{n}@big.example.org"));
        }
        for n in 0..OWN_CHUNKS_ROWS - 1 {
            list.add(&format!("user{n}@a.example.org"));
            list.add(&format!("user{n}@z.example.org"));
            list.add(&format!("no address {n}"));
        }
        let rows = list.rows;
        let sorted = list.sorted(rows).unwrap();
        let big = "@big.example.org";
        assert_eq!(sizes(&sorted), [(big, 650), (big, 650), ("", 1_000), ("", 497)]);
        let all = sorted.chunks.iter().map(|chunk| chunk.rows.len()).sum::<usize>();
        assert_eq!(rows_of(&sorted).iter().map(|row| row.idx).collect::<std::collections::BTreeSet<_>>().len(), all);
    }
}
