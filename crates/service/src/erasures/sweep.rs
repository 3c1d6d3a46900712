//! One erasure, carried out: job by job, then what else may name an address, then the remnants in the database's files.
//!
//! Whatever is read is compared by keyed hashes, so the addresses themselves are nowhere. What has nothing to be erased is read
//! and not written. Within a job rows come before work, and work before results ([`Eraser::ALL`]): once the rows are erased no
//! import finds them, once the chunks are no worker can settle them, so no result comes behind the ones that are gone through.

use std::collections::{BTreeSet, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use probity_account::block::{Block, ERASED};
use probity_mail::time::Millis;
use probity_store::erasures::registry::{Eraser, HOLDING};
use probity_store::erasures::{self, Claimed, Tag, drop_kept_answers, empty_receivers_answers, record};
use probity_store::jobs::{self, Erased, JobNo, Results};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, outbox};

use crate::erasures::names::names;
use crate::erasures::{Keeper, tag};
use crate::error::Detail;
use crate::jobs::chunk;
use crate::published::erasures::Receipt;
use crate::secrets::Secrets;
use crate::webhooks::Callbacks;

/// Jobs that are looked up at a time.
const JOBS: i64 = 20;
/// Bodies that are read at a time.
const BODIES: i64 = 20;
/// Rows of one transaction elsewhere.
const ROWS: i64 = 200;
/// How often a run shows that it lives while the database works for it.
const HOLDING_ON: Duration = Duration::from_secs(3);
/// How often the log is tried to be emptied, which who reads what is older puts off, and how long in between.
const EMPTYINGS: usize = 100;
const BETWEEN: Duration = Duration::from_millis(100);

/// Why a sweep ends early.
pub(super) enum Stop {
    /// Another run has the erasure.
    Lost,
    /// Something failed.
    Failed(Detail),
}

impl<E: Into<Detail> + 'static> From<E> for Stop {
    fn from(error: E) -> Self {
        let error: Detail = error.into();
        match error.downcast_ref::<StoreError>() {
            Some(StoreError::LeaseLost) => Self::Lost,
            _ => Self::Failed(error),
        }
    }
}

/// What addresses are compared with.
#[derive(Clone)]
struct Matcher {
    org: OrgNo,
    tags: Arc<HashSet<Tag>>,
    secrets: Arc<Secrets>,
}

impl Matcher {
    fn is_erased(&self, email: &str) -> bool {
        self.tags.contains(&tag(&self.secrets, self.org, email))
    }

    /// Whether a text names an address that is to be erased.
    fn names(&self, text: &str) -> bool {
        names(text, &|email| self.is_erased(email))
    }

    fn is_erased_text(&self, row: &[u8]) -> bool {
        row != ERASED && self.names(&String::from_utf8_lossy(row))
    }

    /// A block of addresses without those that are to be erased.
    fn block(&self, body: &[u8]) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
        let damaged = |error| StoreError::Corrupt(Box::new(error));
        let block = Block::decode(body).map_err(damaged)?;
        let mut count = 0;
        let left = |email| {
            let erased = self.is_erased_text(email);
            count += u64::from(erased);
            if erased { ERASED } else { email }
        };
        let rows: Vec<&[u8]> = block.iter().map(left).collect();
        let body = Block::encode(&rows).map_err(|error| StoreError::Corrupt(error.into()))?;
        Ok((count > 0).then_some((body, count)))
    }

    fn chunk(&self, body: &[u8]) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
        chunk::erased(body, &|row| self.names(row)).map_err(|error| StoreError::Corrupt(error.into()))
    }

    /// The rows of blocks that are erased or to be erased, and the blocks of the latter.
    fn rows(&self, blocks: &[(i64, Vec<u8>)]) -> Result<(Vec<i64>, Vec<i64>), Detail> {
        let (mut rows, mut hit) = (Vec::new(), Vec::new());
        for (first, body) in blocks {
            for (idx, email) in (*first..).zip(Block::decode(body)?.iter()) {
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
    claimed: Claimed,
    matcher: Matcher,
    held_at: Millis,
}

/// One transaction of a sweep: what it does, and, where that changed something, how far the sweep is then.
macro_rules! slice {
    ($sweep:ident, $eraser:expr, |$tx:ident, $matcher:ident| $work:expr) => {{
        let (eraser, held_at): (Eraser, Millis) = ($eraser, $sweep.keeper.clock.now());
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

pub mod uploads;

impl<'a> Sweep<'a> {
    pub(super) async fn new(keeper: Keeper<'a>, claimed: Claimed) -> Result<Self, Detail> {
        let (org, id) = (claimed.erasure.org, claimed.erasure.id);
        let tags = Arc::new(erasures::tags(&mut keeper.store.read().await?, org, id).await?);
        let matcher = Matcher { org, tags, secrets: keeper.secrets.clone() };
        Ok(Self { held_at: keeper.clock.now(), keeper, claimed, matcher })
    }

    /// Does what is left to be done. It is complete no sooner than every node has had `nodes_ms` to forget.
    pub(crate) async fn run(mut self, nodes_ms: i64) -> Result<(), Stop> {
        let (org, test, up_to) =
            (self.claimed.erasure.org, self.claimed.erasure.test, self.claimed.erasure.requested_at);
        // Before jobs: what is erased there gets into none any more. Test keys see no uploads.
        if !test {
            self.uploads().await?;
        }
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
        for eraser in Eraser::ALL {
            self.elsewhere(eraser).await?;
        }
        self.scrub().await?;
        // From here on a copy of the database holds nothing of it, whatever the file says of its end.
        self.claimed.erasure.reached = erasures::THROUGH;
        self.hold().await?;
        let waits = nodes_ms - self.keeper.clock.now().since(self.claimed.erasure.known_at);
        tokio::time::sleep(Duration::from_millis(u64::try_from(waits.min(nodes_ms)).unwrap_or(0))).await;
        self.complete().await
    }

    async fn job(&mut self, job: JobNo) -> Result<(), Stop> {
        let mut rows = BTreeSet::new();
        for eraser in Eraser::ALL {
            match eraser {
                Eraser::Blocks => self.blocks(job, &mut rows).await?,
                Eraser::Chunks => {
                    self.chunks(job).await?;
                    let org = self.matcher.org;
                    // What is settled behind this suggests no erased address.
                    self.keeper.store.write(|tx| jobs::await_settling(tx, org, job).scope_boxed()).await?;
                }
                Eraser::Parts => self.results(job, Results::Parts, &rows).await?,
                Eraser::ResultBlocks => self.results(job, Results::Blocks, &rows).await?,
                Eraser::Uploads | Eraser::ReceiversAnswers | Eraser::KeptAnswers => {}
            }
        }
        Ok(())
    }

    /// Submitted rows. `erased` gets those whose addresses are gone afterwards.
    async fn blocks(&mut self, job: JobNo, erased: &mut BTreeSet<i64>) -> Result<(), Stop> {
        let (org, mut from) = (self.matcher.org, 0);
        loop {
            let blocks = jobs::blocks(&mut self.keeper.store.read().await?, org, job, from, BODIES).await?;
            let Some((last, _)) = blocks.last() else { return Ok(()) };
            from = last + 1;
            let matcher = self.matcher.clone();
            let (rows, hit) = tokio::task::spawn_blocking(move || matcher.rows(&blocks)).await??;
            erased.extend(rows);
            for first in hit {
                slice!(self, Eraser::Blocks, |tx, matcher| jobs::rewrite_block(tx, org, job, first, &|body| matcher
                    .block(body)));
            }
            self.hold_if_due().await?;
        }
    }

    /// Rows that wait or are worked on.
    async fn chunks(&mut self, job: JobNo) -> Result<(), Stop> {
        let (org, mut behind) = (self.matcher.org, i64::MIN);
        loop {
            let chunks = jobs::chunks(&mut self.keeper.store.read().await?, org, job, behind, BODIES).await?;
            let Some((last, _)) = chunks.last() else { return Ok(()) };
            behind = *last;
            for (no, body) in chunks {
                if self.matcher.chunk(&body)?.is_some() {
                    slice!(self, Eraser::Chunks, |tx, matcher| jobs::rewrite_chunk(tx, org, job, no, &|body| matcher
                        .chunk(body)));
                }
            }
            self.hold_if_due().await?;
        }
    }

    async fn results(&mut self, job: JobNo, results: Results, rows: &BTreeSet<i64>) -> Result<(), Stop> {
        let (org, mut behind) = (self.matcher.org, i64::MIN);
        let eraser = match results {
            Results::Parts => Eraser::Parts,
            Results::Blocks => Eraser::ResultBlocks,
        };
        loop {
            let matcher = self.matcher.clone();
            let is_erased = move |text: &str| matcher.is_erased(text);
            let what = Erased { rows, is_erased: &is_erased };
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

    /// What names addresses beside the rows of jobs.
    async fn elsewhere(&mut self, eraser: Eraser) -> Result<(), Stop> {
        // A message that was sent again since the wish left a copy of an earlier answer among those that are kept.
        let now = self.keeper.clock.now();
        let (org, test, up_to) =
            (self.claimed.erasure.org, self.claimed.erasure.test, self.claimed.erasure.requested_at);
        loop {
            let count = match eraser {
                Eraser::ReceiversAnswers => {
                    slice!(self, eraser, |tx, _matcher| empty_receivers_answers(tx, org, test, up_to, ROWS))
                }
                Eraser::KeptAnswers => slice!(self, eraser, |tx, _matcher| drop_kept_answers(tx, org, now, ROWS)),
                Eraser::Uploads | Eraser::Blocks | Eraser::Chunks | Eraser::Parts | Eraser::ResultBlocks => 0,
            };
            if count == 0 {
                return Ok(());
            }
        }
    }

    async fn hold_if_due(&mut self) -> Result<(), Stop> {
        if self.keeper.clock.now().since(self.held_at) > self.keeper.lease_ms / 4 {
            self.hold().await?;
        }
        Ok(())
    }

    /// Shows that this run lives, and how far it is.
    async fn hold(&mut self) -> Result<(), Stop> {
        let (now, claimed) = (self.keeper.clock.now(), &self.claimed);
        self.keeper.store.write(|tx| record(tx, claimed, now + self.keeper.lease_ms).scope_boxed()).await?;
        self.held_at = now;
        Ok(())
    }

    /// What was erased still stands in SQLite's log of earlier writes, and in PostgreSQL's dead rows.
    async fn scrub(&mut self) -> Result<(), Stop> {
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

    /// Vacuums every table that an eraser has written to. That takes as long as the tables are large, longer than a lease.
    async fn vacuum(&mut self) -> Result<(), Stop> {
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

    async fn complete(&self) -> Result<(), Stop> {
        let (now, claimed) = (self.keeper.clock.now(), &self.claimed);
        // First the file: what is told to be completed stays so if a backup comes back that was made meanwhile.
        if let Err(error) = self.keeper.tombstones.add_end(claimed.erasure.org, claimed.erasure.id).await {
            tracing::warn!(%error, "cannot write the tombstone file; retrying");
        }
        let mut done = claimed.erasure.clone();
        done.completed_at = Some(now);
        let told = done.webhook_url.as_deref().map(|url| {
            let body = serde_json::to_vec(&Receipt::from(&done)).expect("a receipt is plain JSON");
            Callbacks::erasure_completed(done.org, done.id, url, body, now)
        });
        let completed = self.keeper.store.write(|tx| {
            async {
                erasures::complete(tx, claimed, now).await?;
                if let Some(told) = &told {
                    outbox::put(tx, told).await?;
                }
                Ok(())
            }
            .scope_boxed()
        });
        Ok(completed.await?)
    }
}
