//! One run of an erasure: uploads, jobs, other places that may name an address, then remnants in the database's files.
//!
//! Stored texts are compared by keyed hashes, because the addresses themselves are not stored. Anything without an erased
//! address is read but not written. Within a job, rows are erased before chunks, and chunks before results ([`ColumnEraser::ALL`]).
//! Then no import reads an erased row, no worker settles one, and no result appears behind those already processed.

use std::collections::{BTreeSet, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use probity_access::secrets::Secrets;
use probity_account::block::{AddressBlock, ERASED};
use probity_contract::error::Detail;
use probity_contract::published::privacy::erasures::Receipt;
use probity_mail::time::Millis;
use probity_store::connections::changes;
use probity_store::connections::contacts;
use probity_store::jobs::{self, ErasedRows, JobNo, StoredResultsKind};
use probity_store::outcomes;
use probity_store::privacy::erasures::registry::{ColumnEraser, HOLDING};
use probity_store::privacy::erasures::{
    self, ClaimedErasure, SuppressionTag, drop_kept_answers, empty_receivers_answers, record,
};
use probity_store::webhooks::outbox;
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, work};

use crate::jobs::chunk;
use crate::privacy::erasures::{Keeper, names_any, tag};
use crate::webhooks::Callbacks;

/// Jobs looked up at a time.
const JOBS: i64 = 20;
/// Bodies read at a time.
const BODIES: i64 = 20;
/// Contacts of a block.
const CONTACTS: i64 = 1_000;
/// Rows per transaction outside of jobs.
const ROWS: i64 = 200;
/// Interval between heartbeats while the database vacuums.
const HOLDING_ON: Duration = Duration::from_secs(3);
/// Attempts to empty the write-ahead log, which a reader of older data prevents, and the pause between them.
const EMPTYINGS: usize = 100;
const BETWEEN: Duration = Duration::from_millis(100);

/// Reason why a sweep ends early.
pub(super) enum SweepStop {
    /// Another run claimed the erasure.
    Lost,
    Failed(Detail),
}

impl<E: Into<Detail> + 'static> From<E> for SweepStop {
    fn from(error: E) -> Self {
        let error: Detail = error.into();
        match error.downcast_ref::<StoreError>() {
            Some(StoreError::LeaseLost) => Self::Lost,
            _ => Self::Failed(error),
        }
    }
}

/// Compares texts with the addresses of an erasure.
#[derive(Clone)]
struct Matcher {
    org: OrgNo,
    tags: Arc<HashSet<SuppressionTag>>,
    secrets: Arc<Secrets>,
}

impl Matcher {
    fn is_erased(&self, email: &str) -> bool {
        self.tags.contains(&tag(&self.secrets, self.org, email))
    }

    /// Whether a text names an address of the erasure.
    fn names(&self, text: &str) -> bool {
        names_any(&self.secrets, self.org, &self.tags, text)
    }

    fn is_erased_text(&self, row: &[u8]) -> bool {
        row != ERASED && self.names(&String::from_utf8_lossy(row))
    }

    /// Returns a block without erased addresses and their number; `None` if it has none.
    fn block(&self, body: &[u8]) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
        let damaged = |error| StoreError::Corrupt(Box::new(error));
        let block = AddressBlock::decode(body).map_err(damaged)?;
        let mut count = 0;
        let left = |email| {
            let erased = self.is_erased_text(email);
            count += u64::from(erased);
            if erased { ERASED } else { email }
        };
        let rows: Vec<&[u8]> = block.iter().map(left).collect();
        let body = AddressBlock::encode(&rows).map_err(|error| StoreError::Corrupt(error.into()))?;
        Ok((count > 0).then_some((body, count)))
    }

    fn chunk(&self, body: &[u8]) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
        chunk::erased(body, &|row| self.names(row)).map_err(|error| StoreError::Corrupt(error.into()))
    }

    /// Returns the rows of blocks whose addresses are or must be erased, and the blocks that must change.
    fn rows(&self, blocks: &[(i64, Vec<u8>)]) -> Result<(Vec<i64>, Vec<i64>), Detail> {
        let (mut rows, mut hit) = (Vec::new(), Vec::new());
        for (first, body) in blocks {
            for (idx, email) in (*first..).zip(AddressBlock::decode(body)?.iter()) {
                if self.is_erased_text(email) {
                    rows.push(idx);
                    hit.push(*first);
                } else if email == ERASED {
                    rows.push(idx);
                }
            }
        }
        hit.dedup();
        Ok((rows, hit))
    }
}

/// A run of one erasure.
pub(super) struct Sweep<'a> {
    keeper: Keeper<'a>,
    claimed: ClaimedErasure,
    matcher: Matcher,
    held_at: Millis,
}

/// Runs one transaction of a sweep: erases, adds up the counts, and renews the lease.
macro_rules! slice {
    ($sweep:ident, $eraser:expr, |$tx:ident, $matcher:ident| $work:expr) => {{
        let (eraser, held_at): (ColumnEraser, Millis) = ($eraser, $sweep.keeper.clock.now());
        let until = held_at + $sweep.keeper.lease_ms;
        let ($matcher, claimed) = (&$sweep.matcher, &$sweep.claimed);
        let written = $sweep.keeper.store.write_bulk(|$tx| {
            async move {
                let count: u64 = $work.await?;
                let mut next = claimed.clone();
                if count > 0 {
                    *next.erasure.removed.entry(eraser.table().to_owned()).or_default() += count;
                }
                record($tx, &next, until).await?;
                Ok((count, next))
            }
            .scope_boxed()
        });
        let (count, next) = written.await?;
        $sweep.claimed = next;
        $sweep.held_at = held_at;
        count
    }};
}

mod rules;
pub mod uploads;

impl<'a> Sweep<'a> {
    pub(super) async fn new(keeper: Keeper<'a>, claimed: ClaimedErasure) -> Result<Self, Detail> {
        let (org, id) = (claimed.erasure.org, claimed.erasure.id);
        let tags = Arc::new(erasures::tags(&mut keeper.store.read().await?, org, id).await?);
        let matcher = Matcher { org, tags, secrets: keeper.secrets.clone() };
        Ok(Self { held_at: keeper.clock.now(), keeper, claimed, matcher })
    }

    /// Runs the rest of the erasure. It completes only after every node has had `nodes_ms` to clear its caches.
    pub(super) async fn run(mut self, nodes_ms: i64) -> Result<(), SweepStop> {
        let (org, test, up_to) =
            (self.claimed.erasure.org, self.claimed.erasure.test, self.claimed.erasure.requested_at);
        // Before jobs, so that no new job contains an erased row.
        self.uploads().await?;
        loop {
            let behind = self.claimed.erasure.reached;
            let jobs = jobs::older(&mut self.keeper.store.read().await?, org, test, up_to, behind, JOBS).await?;
            if jobs.is_empty() {
                break;
            }
            for (at, job) in jobs {
                self.job(job).await?;
                self.claimed.erasure.reached = (at, job.0);
                self.hold().await?;
            }
        }
        self.keyword_rules().await?;
        for eraser in ColumnEraser::ALL {
            self.elsewhere(eraser).await?;
        }
        self.scrub().await?;
        // From here on, a copy of the database contains none of the addresses, even if the file lacks the end.
        self.claimed.erasure.reached = erasures::THROUGH;
        self.hold().await?;
        let waits = nodes_ms - self.keeper.clock.now().since(self.claimed.erasure.known_at);
        tokio::time::sleep(Duration::from_millis(u64::try_from(waits.min(nodes_ms)).unwrap_or(0))).await;
        self.complete().await
    }

    async fn job(&mut self, job: JobNo) -> Result<(), SweepStop> {
        let mut rows = BTreeSet::new();
        for eraser in ColumnEraser::ALL {
            match eraser {
                ColumnEraser::Blocks => self.blocks(job, &mut rows).await?,
                ColumnEraser::Chunks => {
                    self.chunks(job).await?;
                    let org = self.matcher.org;
                    // Results settled from here on suggest no erased address.
                    self.keeper.store.write(|tx| jobs::await_settling(tx, org, job).scope_boxed()).await?;
                }
                ColumnEraser::Parts => self.results(job, StoredResultsKind::Parts, &rows).await?,
                ColumnEraser::ResultBlocks => self.results(job, StoredResultsKind::Blocks, &rows).await?,
                ColumnEraser::Contacts => self.contacts(job, &rows).await?,
                ColumnEraser::Uploads
                | ColumnEraser::KeywordRules
                | ColumnEraser::Outcomes
                | ColumnEraser::Statuses
                | ColumnEraser::ReceiversAnswers
                | ColumnEraser::KeptAnswers => {}
            }
        }
        Ok(())
    }

    /// Erases submitted rows. Adds all rows whose addresses are gone to `erased`.
    async fn blocks(&mut self, job: JobNo, erased: &mut BTreeSet<i64>) -> Result<(), SweepStop> {
        let (org, mut from) = (self.matcher.org, 0);
        loop {
            let blocks = jobs::blocks(&mut self.keeper.store.read().await?, org, job, from, BODIES).await?;
            let Some((last, _)) = blocks.last() else { return Ok(()) };
            from = last + 1;
            let matcher = self.matcher.clone();
            let (rows, hit) = tokio::task::spawn_blocking(move || matcher.rows(&blocks)).await??;
            erased.extend(rows);
            for first in hit {
                slice!(self, ColumnEraser::Blocks, |tx, matcher| jobs::rewrite_block(tx, org, job, first, &|body| {
                    matcher.block(body)
                }));
            }
            self.hold_if_due().await?;
        }
    }

    /// Erases rows that wait or are leased.
    async fn chunks(&mut self, job: JobNo) -> Result<(), SweepStop> {
        let (org, mut behind) = (self.matcher.org, i64::MIN);
        loop {
            let chunks = jobs::chunks(&mut self.keeper.store.read().await?, org, job, behind, BODIES).await?;
            let Some((last, _)) = chunks.last() else { return Ok(()) };
            behind = *last;
            for (no, body) in chunks {
                if self.matcher.chunk(&body)?.is_some() {
                    slice!(self, ColumnEraser::Chunks, |tx, matcher| jobs::rewrite_chunk(tx, org, job, no, &|body| {
                        matcher.chunk(body)
                    }));
                }
            }
            self.hold_if_due().await?;
        }
    }

    async fn results(&mut self, job: JobNo, results: StoredResultsKind, rows: &BTreeSet<i64>) -> Result<(), SweepStop> {
        let (org, mut behind) = (self.matcher.org, i64::MIN);
        let eraser = match results {
            StoredResultsKind::Parts => ColumnEraser::Parts,
            StoredResultsKind::Blocks => ColumnEraser::ResultBlocks,
        };
        loop {
            let matcher = self.matcher.clone();
            let is_erased = move |text: &str| matcher.is_erased(text);
            let what = ErasedRows { rows, is_erased: &is_erased };
            let mut conn = self.keeper.store.read().await?;
            let found = jobs::results_behind(&mut conn, (org, job), results, behind, BODIES, what).await?;
            drop(conn);
            let Some((last, _)) = found.last() else { return Ok(()) };
            behind = *last;
            for (no, _) in found.into_iter().filter(|(_, hit)| *hit) {
                slice!(self, eraser, |tx, _matcher| jobs::strip_results(tx, (org, job), results, no, what));
            }
            self.hold_if_due().await?;
        }
    }

    /// Erases the contacts of erased rows, if the job is a run. No further action is taken on them.
    async fn contacts(&mut self, job: JobNo, rows: &BTreeSet<i64>) -> Result<(), SweepStop> {
        let (org, mut behind) = (self.matcher.org, -1);
        while !rows.is_empty() {
            let blocks =
                contacts::blocks_behind(&mut self.keeper.store.read().await?, org, job, behind, BODIES).await?;
            let Some(last) = blocks.last() else { break };
            behind = *last;
            for first in blocks {
                if rows.range(first..first + CONTACTS).next().is_some() {
                    slice!(self, ColumnEraser::Contacts, |tx, _matcher| contacts::erase_rows(
                        tx,
                        (org, job),
                        first,
                        rows
                    ));
                }
            }
            self.hold_if_due().await?;
        }
        Ok(())
    }

    /// Erases addresses outside of jobs' rows.
    async fn elsewhere(&mut self, eraser: ColumnEraser) -> Result<(), SweepStop> {
        // A delivery repeated since the request left a copy of an earlier endpoint response in a stored idempotent response.
        let now = self.keeper.clock.now();
        let (org, test, up_to) =
            (self.claimed.erasure.org, self.claimed.erasure.test, self.claimed.erasure.requested_at);
        let id = self.claimed.erasure.id;
        loop {
            let count = match eraser {
                ColumnEraser::ReceiversAnswers => {
                    slice!(self, eraser, |tx, _matcher| empty_receivers_answers(tx, org, test, up_to, ROWS))
                }
                ColumnEraser::Outcomes => {
                    slice!(self, eraser, |tx, _matcher| outcomes::erase(tx, (org, test), id, up_to, ROWS))
                }
                ColumnEraser::Statuses => {
                    slice!(self, eraser, |tx, _matcher| changes::erase(tx, (org, test), id, up_to, ROWS))
                }
                ColumnEraser::KeptAnswers => slice!(self, eraser, |tx, _matcher| drop_kept_answers(tx, org, now, ROWS)),
                ColumnEraser::Uploads
                | ColumnEraser::Blocks
                | ColumnEraser::Chunks
                | ColumnEraser::Parts
                | ColumnEraser::ResultBlocks
                | ColumnEraser::Contacts
                | ColumnEraser::KeywordRules => 0,
            };
            if count == 0 {
                return Ok(());
            }
        }
    }

    async fn hold_if_due(&mut self) -> Result<(), SweepStop> {
        if self.keeper.clock.now().since(self.held_at) > self.keeper.lease_ms / 4 {
            self.hold().await?;
        }
        Ok(())
    }

    /// Renews the lease and records the progress.
    async fn hold(&mut self) -> Result<(), SweepStop> {
        let (now, claimed) = (self.keeper.clock.now(), &self.claimed);
        self.keeper.store.write(|tx| record(tx, claimed, now + self.keeper.lease_ms).scope_boxed()).await?;
        self.held_at = now;
        Ok(())
    }

    /// Removes erased data from SQLite's write-ahead log and from PostgreSQL's dead rows.
    async fn scrub(&mut self) -> Result<(), SweepStop> {
        self.vacuum().await?;
        for _ in 0..EMPTYINGS {
            if self.keeper.store.empty_log().await? {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN).await;
            self.hold_if_due().await?;
        }
        tracing::warn!("cannot empty the database's write-ahead log after an erasure: a reader still uses older data");
        Ok(())
    }

    /// Vacuums every table that an eraser has written to. On large tables this takes longer than a lease.
    async fn vacuum(&mut self) -> Result<(), SweepStop> {
        let removed = &self.claimed.erasure.removed;
        let written = HOLDING.iter().filter(|(_, eraser)| removed.contains_key(eraser.table()));
        let tables: BTreeSet<&str> = written.filter_map(|(column, _)| column.split('.').next()).collect();
        let tables: Vec<&str> = tables.into_iter().collect();
        let mut vacuum = pin!(self.keeper.store.vacuum(&tables));
        let vacuumed = loop {
            tokio::select! {
                vacuumed = &mut vacuum => break vacuumed,
                () = tokio::time::sleep(HOLDING_ON) => self.hold().await?,
            }
        };
        if let Err(error) = vacuumed {
            tracing::warn!(%error, "cannot vacuum tables after an erasure; autovacuum will do it");
        }
        Ok(())
    }

    async fn complete(&self) -> Result<(), SweepStop> {
        let (now, claimed) = (self.keeper.clock.now(), &self.claimed);
        // Written first, so that a reported completion survives the restore of a backup made in between.
        if let Err(error) = self.keeper.tombstones.add_end(claimed.erasure.org, claimed.erasure.id).await {
            tracing::warn!(%error, "cannot write the tombstone file; retrying");
        }
        let mut done = claimed.erasure.clone();
        done.completed_at = Some(now);
        let told = done.webhook_url.as_deref().map(|url| {
            let body = serde_json::to_vec(&Receipt::from(&done)).expect("a receipt is plain JSON");
            Callbacks::erasure_completed(done.org, done.id, url, body, now)
        });
        let completed = self.keeper.store.write(work!(|tx| {
            erasures::complete(tx, claimed, now).await?;
            if let Some(told) = &told {
                outbox::put(tx, told).await?;
            }
            Ok(())
        }));
        Ok(completed.await?)
    }
}
