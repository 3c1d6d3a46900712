//! A body that becomes an upload.
//!
//! The connection, the reader and the database work at the same time, each a few pieces ahead of the next. A file that cannot be
//! read is still taken to its end, and thrown away: a browser that is still sending would not see the answer.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use probity_account::id::UploadId;
use probity_lists::Fault;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
#[cfg(feature = "xlsx")]
use probity_service::uploads::places::COME_AGAIN_S;
use probity_service::uploads::places::{FULL, Places};
use probity_service::uploads::reader;
use probity_service::uploads::reader::{Arrived, Block, Piece, Pieces, Unread, Wish};
use probity_store::uploads::{self, NewUpload, UploadNo};
use probity_store::{ScopedFutureExt as _, StoreError};
use tokio::sync::mpsc;

use crate::body;
use crate::error::Refusal;

/// Files that this process reads at a time.
static PLACES: Places = Places::new(8, 2, FULL);
/// Pieces and blocks that are ahead.
const AHEAD: usize = 8;
/// Blocks of one transaction.
const BLOCKS_MAX: usize = 10;

/// What comes in besides the rows.
pub(super) struct Coming {
    pub(super) new: NewUpload,
    pub(super) name: String,
    pub(super) sheet: Option<String>,
}

/// Takes a body in.
pub(super) async fn receive(app: &Arc<App>, coming: Coming, request: Request) -> Result<UploadId, Refusal> {
    let _place = PLACES.take(coming.new.org)?;
    let (id, org, at_once) = (coming.new.id, coming.new.org, app.config.uploads.at_once);
    let begun = app.store.write(|tx| uploads::begin(tx, &coming.new, at_once).scope_boxed()).await;
    let no = begun.map_err(|error| match error {
        StoreError::Conflict => {
            ApiError::conflict(format!("{at_once} files have not been started yet; start or delete one first"))
        }
        error => error.into(),
    })?;
    let taken = take(app, &coming, no, request).await;
    if taken.is_err() {
        let gone = app.store.write(|tx| uploads::mark_gone(tx, org, no).scope_boxed()).await;
        if let Err(error) = gone {
            tracing::warn!(%error, "cannot discard an upload; it is removed later");
        }
    }
    taken.map(|()| id)
}

async fn take(app: &Arc<App>, coming: &Coming, no: UploadNo, request: Request) -> Result<(), Refusal> {
    let pieces = body::pieces(request, app.config.uploads.body_max)?;
    let (to_reader, from_body) = mpsc::channel(AHEAD);
    let (to_store, from_reader) = mpsc::channel(AHEAD);
    let wish = Wish {
        name: coming.name.clone(),
        sheet: coming.sheet.clone(),
        bytes_max: app.config.uploads.body_max,
        lines: coming.new.source == "input",
        rows_max: u64::try_from(app.config.batch_rows_max).unwrap_or(u64::MAX),
    };
    let reading = tokio::task::spawn_blocking(move || reader::read(Pieces::new(from_body), wish, to_store));
    let (size, ()) = tokio::try_join!(feed(pieces, to_reader), keep(app, &coming.new, no, from_reader))?;
    let arrived = reading.await.map_err(ApiError::server_error)?.map_err(|unread| match unread {
        Unread::File(fault) => refused(&fault),
        Unread::Nobody => ApiError::server_error("the rows of a file had nowhere to go"),
        #[cfg(feature = "xlsx")]
        Unread::Busy => ApiError::new(Code::ServiceUnavailable, WORKBOOKS_BUSY).retry_after(COME_AGAIN_S),
    })?;
    let Arrived { about, rows, choice, content } = arrived;
    let (about, org, now) = (about.to_bytes(), coming.new.org, app.now());
    let finished = app.store.write(|tx| {
        let arrived = uploads::Arrived { about: &about, rows, size, choice, content: content.as_ref() };
        async move { uploads::finish(tx, org, no, &arrived, now).await }.scope_boxed()
    });
    Ok(finished.await?)
}

/// Hands the body to the reader; gives its size. What the reader does not want any more is still read.
async fn feed(mut pieces: body::Pieces, reader: mpsc::Sender<Piece>) -> Result<i64, Refusal> {
    let mut size = 0_i64;
    while let Some(piece) = pieces.next().await? {
        size = size.saturating_add(i64::try_from(piece.len()).unwrap_or(i64::MAX));
        let _ = reader.send(Piece::Bytes(piece)).await;
    }
    let _ = reader.send(Piece::End).await;
    Ok(size)
}

/// Keeps blocks until the reader has no more.
async fn keep(app: &App, new: &NewUpload, no: UploadNo, mut blocks: mpsc::Receiver<Block>) -> Result<(), Refusal> {
    let (mut next, mut ready) = (0, Vec::with_capacity(BLOCKS_MAX));
    while blocks.recv_many(&mut ready, BLOCKS_MAX).await > 0 {
        let kept = app.store.write_bulk(|tx| {
            let ready = &ready;
            async move {
                let mut first = next;
                for (body, rows) in ready {
                    uploads::add_block(tx, new.org, no, first, body).await?;
                    first += rows;
                }
                Ok(first)
            }
            .scope_boxed()
        });
        next = kept.await?;
        ready.clear();
    }
    Ok(())
}

/// What somebody is told whose workbook waited for its turn in vain.
#[cfg(feature = "xlsx")]
const WORKBOOKS_BUSY: &str = "too many workbooks are being read; try again, or use csv";

/// What a client is told of a file that is no list. The word in the header is for programs, with the number that belongs to it.
pub(super) fn refused(fault: &Fault) -> ApiError {
    let code = match fault {
        Fault::TooManyRows(_) => Code::PayloadTooLarge,
        _ => Code::InvalidRequest,
    };
    let refused = ApiError::new(code, fault.to_string()).with_header(FAULT, HeaderValue::from_static(fault.word()));
    match fault.number() {
        Some(number) => refused.with_header(FAULT_NUMBER, number.into()),
        None => refused,
    }
}

/// Says in one word what is wrong with a file.
const FAULT: HeaderName = HeaderName::from_static("x-upload-fault");
/// The line, the row or the bound that the sentence names.
const FAULT_NUMBER: HeaderName = HeaderName::from_static("x-upload-fault-number");
