//! Uploaded files: a row that names an address in any of its cells is emptied, and keeps its place.
//!
//! A cell may hold more than an address, as a submitted row may ([`super::names`]), and a whole JSON object. What is known of a
//! file besides its rows has the cells of its first row, and its name.

use probity_account::block::table::{TableBlock, TableFilling};
use probity_lists::json;
use probity_store::uploads::{self, UploadNo};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::erasures::sweep::{BODIES, Eraser, Matcher, Millis, Stop, Sweep, record};
use crate::uploads::About;

/// Uploads that are looked up at a time.
const UPLOADS: i64 = 50;

impl Matcher {
    /// Whether a cell names an address that is to be erased.
    fn is_named_in(&self, cell: &str) -> bool {
        let named = |text: &str| text.contains('@') && self.names(text);
        // A line of JSON may write an address in escapes.
        let members = |text: &str| {
            let members = if text.starts_with('{') { json::members(text).unwrap_or_default() } else { Vec::new() };
            members.iter().any(|(_, value)| named(&json::cell(value)))
        };
        named(cell) || members(cell.trim())
    }

    /// A block of rows without those that are to be erased.
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
        let mut about = About::of(bytes).map_err(|error| StoreError::Corrupt(error.into()))?;
        let texts = about.first.iter_mut().chain([&mut about.name]);
        let named: Vec<&mut String> = texts.filter(|text| self.is_named_in(text)).collect();
        let count = u64::try_from(named.len()).unwrap_or(u64::MAX);
        named.into_iter().for_each(String::clear);
        Ok((count > 0).then(|| (about.to_bytes(), count)))
    }
}

impl Sweep<'_> {
    /// Every upload of the organization that had arrived.
    pub(super) async fn uploads(&mut self) -> Result<(), Stop> {
        let (org, up_to) = (self.matcher.org, self.claimed.erasure.requested_at);
        let mut behind = UploadNo(i64::MIN);
        loop {
            let some = uploads::of_org(&mut self.keeper.store.read().await?, org, up_to, behind, UPLOADS).await?;
            let Some(last) = some.last() else { return Ok(()) };
            behind = *last;
            for no in some {
                slice!(self, Eraser::Uploads, |tx, matcher| uploads::rewrite_about(tx, org, no, &|about| matcher
                    .about(about)));
                self.upload(no).await?;
            }
        }
    }

    async fn upload(&mut self, no: UploadNo) -> Result<(), Stop> {
        let (org, mut behind) = (self.matcher.org, -1);
        loop {
            // The first may be one that was seen: reading begins with the block in which a row is.
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
                slice!(self, Eraser::Uploads, |tx, matcher| uploads::rewrite_block(tx, org, no, first, &|body| {
                    matcher.table(body)
                }));
            }
            self.hold_if_due().await?;
        }
    }
}
