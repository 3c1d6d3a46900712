//! Erases addresses from uploaded files: a row that names one in any cell is emptied and keeps its index.
//!
//! A cell may contain more than an address, like a submitted row ([`super::names`]), or a whole JSON object. The description of a
//! file contains its name, the cells of its first row and the records above the header, so it is searched as well.

use probity_account::block::table::{TableBlock, TableFilling};
use probity_lists::json;
use probity_store::uploads::{self, UploadNo};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::privacy::erasures::sweep::{BODIES, ColumnEraser, Matcher, Millis, Sweep, SweepStop, record};
use crate::uploads::FileFacts;

/// Uploads looked up at a time.
const UPLOADS: i64 = 50;

impl Matcher {
    /// Whether a cell names an address of the erasure.
    fn is_named_in(&self, cell: &str) -> bool {
        let named = |text: &str| text.contains('@') && self.names(text);
        // A line of JSON may escape characters of an address.
        let members = |text: &str| {
            let members = if text.starts_with('{') { json::members(text).unwrap_or_default() } else { Vec::new() };
            members.iter().any(|(_, value)| named(&json::cell(value)))
        };
        named(cell) || members(cell.trim())
    }

    /// Returns a block without erased rows and their number; `None` if it has none.
    fn table(&self, body: &[u8]) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
        let block = TableBlock::decode(body).map_err(|error| StoreError::Corrupt(error.into()))?;
        let (mut filling, mut count) = (TableFilling::default(), 0);
        for row in block.rows() {
            let erased = row.iter().any(|cell| self.is_named_in(&String::from_utf8_lossy(cell)));
            count += u64::from(erased);
            let left = if erased { Vec::new() } else { row };
            filling.push(&left).map_err(|error| StoreError::Corrupt(error.into()))?;
        }
        Ok(filling.take().filter(|_| count > 0).map(|(body, _)| (body, count)))
    }

    fn about(&self, bytes: &[u8]) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
        let mut about = FileFacts::of(bytes).map_err(|error| StoreError::Corrupt(error.into()))?;
        let texts = about.first.iter_mut().chain(&mut about.above).chain([&mut about.name]);
        let named: Vec<&mut String> = texts.filter(|text| self.is_named_in(text)).collect();
        let count = u64::try_from(named.len()).unwrap_or(u64::MAX);
        named.into_iter().for_each(String::clear);
        Ok((count > 0).then(|| (about.to_bytes(), count)))
    }
}

impl Sweep<'_> {
    /// Erases rows in all live or all test uploads that the organization created before the request.
    pub(super) async fn uploads(&mut self) -> Result<(), SweepStop> {
        let (org, test) = (self.matcher.org, self.claimed.erasure.test);
        let up_to = self.claimed.erasure.requested_at;
        let mut behind = UploadNo(i64::MIN);
        loop {
            let some =
                uploads::of_org(&mut self.keeper.store.read().await?, (org, test), up_to, behind, UPLOADS).await?;
            let Some(last) = some.last() else { return Ok(()) };
            behind = *last;
            for no in some {
                slice!(self, ColumnEraser::Uploads, |tx, matcher| uploads::rewrite_about(tx, org, no, &|about| {
                    matcher.about(about)
                }));
                self.upload(no).await?;
            }
        }
    }

    async fn upload(&mut self, no: UploadNo) -> Result<(), SweepStop> {
        let (org, mut behind) = (self.matcher.org, -1);
        loop {
            // Reading starts with the block that contains a row, which may already have been processed.
            let blocks = uploads::blocks(&mut self.keeper.store.read().await?, org, no, behind + 1, BODIES).await?;
            let fresh: Vec<_> = blocks.into_iter().filter(|(first, _)| *first > behind).collect();
            let Some((last, _)) = fresh.last() else { return Ok(()) };
            behind = *last;
            let matcher = self.matcher.clone();
            let look = move || {
                let hit = |(first, body): &(i64, Vec<u8>)| Ok(matcher.table(body)?.map(|_| *first));
                fresh.iter().map(hit).collect::<Result<Vec<Option<i64>>, StoreError>>()
            };
            for first in tokio::task::spawn_blocking(look).await??.into_iter().flatten() {
                slice!(self, ColumnEraser::Uploads, |tx, matcher| uploads::rewrite_block(
                    tx,
                    org,
                    no,
                    first,
                    &|body| { matcher.table(body) }
                ));
            }
            self.hold_if_due().await?;
        }
    }
}
