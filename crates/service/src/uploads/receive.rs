//! Receives a body as an upload.
//!
//! The connection, the reader and the database work concurrently, each a few pieces ahead of the next. A file that cannot
//! be read is still received to its end and discarded, because a browser that is still sending would not show the error.

use http::{HeaderName, HeaderValue};
use probity_access::secrets::random;
use probity_account::id::UploadId;
use probity_backend::uploads::about::FileKind;
use probity_backend::uploads::pieces::{BodyPieces, Piece};
#[cfg(feature = "xlsx")]
use probity_backend::uploads::places::COME_AGAIN_S;
use probity_backend::uploads::reader::{self, FileArrival, ReadRequest, RowBlock, Unread};
use probity_backend::uploads::view::UploadView;
use probity_contract::error::{ApiError, Code};
use probity_contract::query::{FromQuery, Query};
use probity_lists::FileFault;
use probity_lists::encoding::{CHOICES, TextEncoding, chosen};
use probity_store::uploads::{self, NewUpload, UploadNo};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::given::in_conflict;
use crate::callers::incoming::IncomingBody;
use crate::uploads::acts::get_upload;

/// Pieces and blocks that are buffered.
const AHEAD: usize = 8;
/// Blocks per transaction.
const BLOCKS_MAX: usize = 10;

/// Maximum length of a file name, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Options of an upload.
#[derive(Clone)]
pub struct UploadQuery {
    /// File name; empty for a pasted list.
    pub name: String,
    /// `csv` for a file, `input` for a pasted list with one address per line.
    pub source: &'static str,
    /// Upload without a job that this one replaces once it has arrived.
    pub replaces: Option<UploadId>,
    /// Sheet of a workbook to read; by default the one with the addresses.
    pub sheet: Option<String>,
    /// Encoding of a file without a mark that is not UTF-8; detected by default.
    pub encoding: Option<TextEncoding>,
}

impl FromQuery for UploadQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let name = query.text("name")?.unwrap_or_default().into_owned();
        if name.len() > NAME_BYTES_MAX {
            return Err(ApiError::invalid("name", format_args!("may have at most {NAME_BYTES_MAX} bytes")));
        }
        let source = match query.one_of("source", &["csv", "input"])?.as_deref() {
            Some("input") => "input",
            _ => "csv",
        };
        let sheet = query.filled("sheet")?;
        let replaces = query.filled("replaces")?.map(|id| id.parse()).transpose();
        let replaces = replaces.map_err(|_| ApiError::invalid("replaces", "must be an upload ID"))?;
        let encoding = query.filled("encoding")?.map(|word| chosen(&word).ok_or_else(unknown_encoding)).transpose()?;
        Ok(Self { name, source, replaces, sheet, encoding })
    }
}

fn unknown_encoding() -> ApiError {
    let names: Vec<String> = CHOICES.iter().map(|encoding| encoding.name().to_ascii_lowercase()).collect();
    ApiError::invalid("encoding", format_args!("must be one of {}", names.join(", ")))
}

/// Receives a file or a pasted list. `open` starts to read the body, whose maximum size in bytes it is given.
pub async fn receive_upload<B: IncomingBody>(
    app: &App,
    caller: &Caller,
    query: UploadQuery,
    open: impl FnOnce(usize) -> Result<B, ApiError>,
) -> Result<UploadView, ApiError> {
    let now = app.now();
    let source = query.source;
    let (id, test) = (random::id(now), caller.is_test());
    let new = NewUpload { org: caller.org(), id, test, source, user: caller.user(), at: now };
    let id = receive(app, &new, query, open).await?;
    get_upload(app, caller, id).await
}

async fn receive<B: IncomingBody>(
    app: &App,
    new: &NewUpload,
    query: UploadQuery,
    open: impl FnOnce(usize) -> Result<B, ApiError>,
) -> Result<UploadId, ApiError> {
    let _place = app.places.received.take(new.org)?;
    let replaced = match query.replaces {
        Some(id) => Some(uploads::by_id(&mut app.store.read().await?, new.org, id, new.test).await?),
        None => None,
    };
    // If all slots are taken, the upload gets the slot of the one it replaces; an upload with a job has none, and stays.
    let replaced = replaced.filter(|upload| upload.job.is_none()).map(|upload| upload.no);
    let at_once = app.config.uploads.at_once;
    let places = at_once + i64::from(replaced.is_some());
    let begun = app.store.write(|tx| uploads::begin(tx, new, places).scope_boxed()).await;
    let full = || format!("{at_once} files have not been started yet; start or delete one first");
    let no = begun.map_err(|error| in_conflict(error, full()))?;
    let mut arriving = Arriving { store: app.store.clone(), org: new.org, no, ended: false };
    let taken = take(app, new, (no, replaced), query, open).await;
    arriving.ended = true;
    if taken.is_err() {
        discard(&arriving.store, new.org, no).await;
    }
    taken.map(|()| new.id)
}

/// Discards an upload whose request is dropped before its end, for example when a user closes the page.
struct Arriving {
    store: Store,
    org: OrgNo,
    no: UploadNo,
    ended: bool,
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let (store, org, no) = (self.store.clone(), self.org, self.no);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { discard(&store, org, no).await });
        }
    }
}

/// Discards an incomplete upload. If this fails, or the process ends first, maintenance discards it later.
async fn discard(store: &Store, org: OrgNo, no: UploadNo) {
    let gone = store.write(|tx| uploads::mark_abandoned(tx, org, no).scope_boxed()).await;
    if let Err(error) = gone {
        tracing::warn!(%error, "cannot discard an upload; it is removed later");
    }
}

async fn take<B: IncomingBody>(
    app: &App,
    new: &NewUpload,
    (no, replaces): (UploadNo, Option<UploadNo>),
    query: UploadQuery,
    open: impl FnOnce(usize) -> Result<B, ApiError>,
) -> Result<(), ApiError> {
    let body = open(app.config.uploads.body_max)?;
    let sheet_named = query.sheet.is_some();
    let (to_reader, from_body) = mpsc::channel(AHEAD);
    let (to_store, from_reader) = mpsc::channel(AHEAD);
    let wish = ReadRequest {
        name: query.name,
        sheet: query.sheet,
        encoding: query.encoding,
        bytes_max: app.config.uploads.body_max,
        lines: query.source == "input",
        rows_max: u64::try_from(app.config.batch_rows_max).unwrap_or(u64::MAX),
    };
    let reading = tokio::task::spawn_blocking(move || reader::read(BodyPieces::new(from_body), wish, to_store));
    let (size, ()) = tokio::try_join!(feed(body, to_reader), keep(app, new, no, from_reader))?;
    let arrived = reading.await.map_err(ApiError::server_error)?.map_err(|unread| match unread {
        Unread::File(fault) => refused(&fault),
        Unread::Nobody => ApiError::server_error("the rows of a file were not received"),
        #[cfg(feature = "xlsx")]
        Unread::Busy => ApiError::new(Code::ServiceUnavailable, WORKBOOKS_BUSY).retry_after(COME_AGAIN_S),
    })?;
    let FileArrival { about, rows, choice, content } = arrived;
    if sheet_named && about.kind != FileKind::Xlsx {
        return Err(ApiError::invalid("sheet", "is only for workbooks; omit it for other files"));
    }
    let (about, org, now) = (about.to_bytes(), new.org, app.now());
    let finished = app.store.write(|tx| {
        let arrived = uploads::ArrivedUpload { about: &about, rows, size, choice, content: content.as_ref(), replaces };
        async move { uploads::finish(tx, org, no, &arrived, now).await }.scope_boxed()
    });
    Ok(finished.await?)
}

/// Passes the body to the reader and returns its size. The rest is read even if the reader has stopped.
async fn feed<B: IncomingBody>(mut body: B, reader: mpsc::Sender<Piece>) -> Result<i64, ApiError> {
    let mut size = 0_i64;
    while let Some(piece) = body.next().await? {
        size = size.saturating_add(i64::try_from(piece.len()).unwrap_or(i64::MAX));
        let _ = reader.send(Piece::Bytes(piece)).await;
    }
    let _ = reader.send(Piece::End).await;
    Ok(size)
}

/// Stores blocks until the reader has no more.
async fn keep(app: &App, new: &NewUpload, no: UploadNo, mut blocks: mpsc::Receiver<RowBlock>) -> Result<(), ApiError> {
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

/// Error for a workbook that got no slot in time.
#[cfg(feature = "xlsx")]
const WORKBOOKS_BUSY: &str = "too many workbooks are being read; try again, or use csv";

/// Returns the error for a file that is not a list. Its headers contain the error code for programs, with its number.
fn refused(fault: &FileFault) -> ApiError {
    let code = match fault {
        FileFault::TooManyRows(_) => Code::PayloadTooLarge,
        _ => Code::InvalidRequest,
    };
    let refused = ApiError::new(code, fault.to_string()).with_header(FAULT, HeaderValue::from_static(fault.word()));
    match fault.number() {
        Some(number) => refused.with_header(FAULT_NUMBER, number.into()),
        None => refused,
    }
}

/// Header with the error code of a file.
const FAULT: HeaderName = HeaderName::from_static("x-upload-fault");
/// Header with the line, row or limit that the message names.
const FAULT_NUMBER: HeaderName = HeaderName::from_static("x-upload-fault-number");
