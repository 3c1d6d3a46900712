//! The work file: everything that a batch must not lose, in one append-only file.
//!
//! A magic line, then frames: length, CRC-32 and payload, whose first byte is the kind. First the header (how the batch was
//! begun), then every record of the input, then the end of the import; behind it answers and put-off rows as they come. So
//! a batch from standard input can be continued, the original columns are at hand for the output, and what was answered is
//! never asked again.
//!
//! A crash or a full disk leaves at most one torn frame at the end: reading stops at the first frame whose length or checksum
//! is wrong, and the file is cut there. A torn *import* is begun anew (nothing had been asked yet). The file is created for its
//! owner only, because it holds addresses, and is locked while a run uses it. What was answered is handed to the system at once, so
//! a killed run loses nothing, and forced to disk about once a second: after a power failure at most the last second is asked again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::answer::{Answer, PutOff};
use super::decode::Encoding;
use super::input::split::Eol;
use crate::args::Format;
use crate::exit::{Ends, Exit};

/// The first bytes; the number counts incompatible layouts.
const MAGIC: &[u8] = b"PROBITY-WORK 1\n";
/// What work files of every version begin with.
const MAGIC_ANY: &[u8] = b"PROBITY-WORK ";
/// Frames above this are damage: a record of the input and its address have at most 2 MiB, escapes included 8.
const FRAME_MAX: usize = 16 << 20;
/// Bytes before a frame's payload.
const FRAME_HEAD: usize = 8;
/// How much is written at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// How much is read at once when scanning.
const SCAN_BYTES: usize = 256 * 1024;

/// How a batch was begun. A run that differs in one of these must not continue it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begun {
    /// The input's name, for messages.
    pub input: String,
    /// `--column`.
    pub column: Option<String>,
    /// `--format`.
    pub format: Option<Format>,
    /// `--no-header`.
    pub no_header: bool,
    /// `--offline`.
    pub offline: bool,
    /// `--sandbox`.
    pub sandbox: bool,
    /// Where results go; not compared.
    pub output: Option<PathBuf>,
    /// `--output-format`; not compared.
    pub output_format: Option<Format>,
}

/// What the import found out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Imported {
    /// Rows with an address to answer.
    pub rows: u32,
    /// Bytes of the input.
    pub size: u64,
    /// SHA-256 of the input, in hexadecimal.
    pub hash: String,
    /// The input's format.
    pub format: Format,
    /// The separator of CSV.
    pub delimiter: u8,
    /// Whether the first record of CSV is a header.
    pub header: bool,
    /// The widest row of CSV, in fields.
    pub width: u32,
    /// The encoding of the whole.
    pub encoding: Encoding,
    /// What goes before our column names, so that they are new.
    pub suffix: String,
    /// Lines that could not be read; they are not among the rows.
    pub unreadable: u64,
    /// What should be said about the input.
    pub warnings: Vec<String>,
}

/// One frame.
#[derive(Debug)]
pub(crate) enum Frame<'a> {
    /// How the batch was begun.
    Begun(Begun),
    /// A record with an address.
    Row {
        /// How the record ended.
        eol: Eol,
        /// The address.
        email: &'a str,
        /// The whole record.
        raw: &'a [u8],
    },
    /// A record without one: a header, a blank line.
    Verbatim {
        /// How the record ended.
        eol: Eol,
        /// The whole record.
        raw: &'a [u8],
    },
    /// A record that could not be read: its answer is known.
    Unreadable {
        /// How the record ended.
        eol: Eol,
        /// Whether it is a JSON object, without an address.
        object: bool,
        /// The whole record.
        raw: &'a [u8],
    },
    /// The end of the import.
    Imported(Box<Imported>),
    /// An answer.
    Answer(Answer<'a>),
    /// A row that must be asked about again.
    PutOff(PutOff),
}

/// A row whose record is its address and nothing else.
const LINE: u8 = b'L';
/// A row with its record.
const ROW: u8 = b'R';
/// A record without an address.
const VERBATIM: u8 = b'V';
/// A record that could not be read.
const UNREADABLE: u8 = b'U';
const BEGUN: u8 = b'B';
const IMPORTED: u8 = b'I';
const ANSWER: u8 = b'A';
const PUT_OFF: u8 = b'P';

impl<'a> Frame<'a> {
    fn read(payload: &'a [u8]) -> Option<Self> {
        let (kind, rest) = payload.split_first()?;
        match *kind {
            BEGUN => Some(Self::Begun(serde_json::from_slice(rest).ok()?)),
            IMPORTED => Some(Self::Imported(serde_json::from_slice(rest).ok()?)),
            ANSWER => Answer::read(rest).map(Self::Answer),
            PUT_OFF => PutOff::read(rest).map(Self::PutOff),
            VERBATIM => rest.split_first().map(|(eol, raw)| Self::Verbatim { eol: Eol::from_code(*eol), raw }),
            UNREADABLE => {
                let ([eol, object], raw) = rest.split_first_chunk::<2>()?;
                Some(Self::Unreadable { eol: Eol::from_code(*eol), object: *object != 0, raw })
            }
            LINE | ROW => {
                let (eol, rest) = rest.split_first()?;
                let (length, rest) = rest.split_at_checked(4)?;
                let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
                let (email, raw) = rest.split_at_checked(length)?;
                let raw = if *kind == LINE { email } else { raw };
                Some(Self::Row { eol: Eol::from_code(*eol), email: std::str::from_utf8(email).ok()?, raw })
            }
            _ => None,
        }
    }
}

/// Opens a file and locks it for this run, as it is; none where another run has it.
pub(crate) fn open_locked(path: &Path, mode: u32) -> io::Result<Option<File>> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(mode).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Some network file systems have no locks; that is no reason not to work.
            Err(TryLockError::Error(error)) => tracing::info!(%error, "a file cannot be locked"),
        }
        // The run that had it may have finished in between, and deleted or renamed what was opened here.
        let (opened, there) = (file.metadata()?, std::fs::metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (opened.dev(), opened.ino())) {
            return Ok(Some(file));
        }
    }
}

/// An open, locked work file, written at its end.
#[derive(Debug)]
pub(crate) struct WorkFile {
    /// Where it is.
    pub path: PathBuf,
    file: Arc<File>,
    buffer: Vec<u8>,
    end: u64,
    dirty: bool,
}

impl WorkFile {
    /// Opens a file for appending, an empty one where there is none.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let place = path.display();
        let file = open_locked(path, 0o600).with_context(|| format!("cannot open the work file {place}"))?;
        let Some(file) = file else { bail!("another run is using the work file {place}") };
        let end = file.metadata().with_context(|| format!("cannot read the work file {place}"))?.len();
        Ok(Self { path: path.to_owned(), file: Arc::new(file), buffer: Vec::new(), end, dirty: false })
    }

    /// Whether nothing was ever written.
    pub(crate) fn is_new(&self) -> bool {
        self.end == 0
    }

    /// Throws away what is there and begins a batch.
    pub(crate) fn begin(&mut self, begun: &Begun) -> Result<()> {
        self.cut(0)?;
        self.buffer.extend_from_slice(MAGIC);
        self.end += MAGIC.len() as u64;
        self.frame(BEGUN, |out| out.extend_from_slice(&json(begun)))?;
        Ok(())
    }

    /// Cuts the file, after a torn frame.
    pub(crate) fn cut(&mut self, end: u64) -> Result<()> {
        self.buffer.clear();
        self.file.set_len(end).map_err(|error| self.failed(error))?;
        self.end = end;
        Ok(())
    }

    /// Appends a record with its address; gives the place of its frame.
    pub(crate) fn row(&mut self, eol: Eol, email: &str, raw: &[u8]) -> Result<u64> {
        let kind = if raw == email.as_bytes() { LINE } else { ROW };
        let length = u32::try_from(email.len()).context("an address of four gigabytes")?;
        self.frame(kind, |out| {
            out.push(eol.code());
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(email.as_bytes());
            if kind == ROW {
                out.extend_from_slice(raw);
            }
        })
    }

    /// Appends a record without an address.
    pub(crate) fn verbatim(&mut self, eol: Eol, raw: &[u8]) -> Result<()> {
        self.frame(VERBATIM, |out| {
            out.push(eol.code());
            out.extend_from_slice(raw);
        })?;
        Ok(())
    }

    /// Appends a record that could not be read; `object` says whether it is a JSON object nevertheless.
    pub(crate) fn unreadable(&mut self, eol: Eol, object: bool, raw: &[u8]) -> Result<()> {
        self.frame(UNREADABLE, |out| {
            out.extend_from_slice(&[eol.code(), u8::from(object)]);
            out.extend_from_slice(raw);
        })?;
        Ok(())
    }

    /// Ends the import and forces it to disk.
    pub(crate) fn imported(&mut self, imported: &Imported) -> Result<()> {
        self.frame(IMPORTED, |out| out.extend_from_slice(&json(imported)))?;
        self.sync()
    }

    /// Appends an answer; gives the place of its frame.
    pub(crate) fn answer(&mut self, answer: &Answer<'_>) -> Result<u64> {
        self.frame(ANSWER, |out| answer.write(out))
    }

    /// Appends a put-off row.
    pub(crate) fn put_off(&mut self, put_off: &PutOff) -> Result<()> {
        self.frame(PUT_OFF, |out| put_off.write(out))?;
        Ok(())
    }

    fn frame(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) -> Result<u64> {
        let from = self.buffer.len();
        self.buffer.extend_from_slice(&[0; FRAME_HEAD]);
        self.buffer.push(kind);
        fill(&mut self.buffer);
        let payload = &self.buffer[from + FRAME_HEAD..];
        let length = u32::try_from(payload.len()).context("a frame of four gigabytes")?;
        let sum = crc32fast::hash(payload);
        self.buffer[from..from + 4].copy_from_slice(&length.to_le_bytes());
        self.buffer[from + 4..from + FRAME_HEAD].copy_from_slice(&sum.to_le_bytes());
        let place = self.end;
        self.end += u64::from(length) + FRAME_HEAD as u64;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(place)
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            let at = self.end - self.buffer.len() as u64;
            self.file.write_all_at(&self.buffer, at).map_err(|error| self.failed(error))?;
            self.buffer.clear();
            self.dirty = true;
        }
        Ok(())
    }

    /// Forces everything to disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.flush()?;
        if self.dirty {
            self.file.sync_data().map_err(|error| self.failed(error))?;
            self.dirty = false;
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> anyhow::Error {
        let advice = if error.kind() == io::ErrorKind::StorageFull { ": the disk is full" } else { "" };
        let message = format!("cannot write the work file {}{advice}; run again to continue", self.path.display());
        anyhow::Error::new(error).context(message).context(Ends(Exit::Local))
    }

    /// A reader of the same file.
    pub(crate) fn reader(&self) -> Reader {
        Reader { file: self.file.clone() }
    }

    /// Deletes the file: the batch is finished.
    pub(crate) fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("cannot remove the work file {}", self.path.display()))
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain structures always serialize")
}

/// How the batch of a work file was begun, without locking the file.
pub(crate) fn begun(file: File) -> Result<Option<Begun>> {
    let Some(mut scan) = (Reader { file: Arc::new(file) }).scan()? else { return Ok(None) };
    Ok(match scan.next()? {
        Some((_, Frame::Begun(begun))) => Some(begun),
        _ => None,
    })
}

/// Reads frames, in their order or at their places.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    file: Arc<File>,
}

impl Reader {
    /// Frames in their order from the beginning; none where this is no work file.
    pub(crate) fn scan(&self) -> Result<Option<Scan>> {
        let mut head = vec![0; MAGIC.len()];
        match self.file.read_exact_at(&mut head, 0) {
            Ok(()) if head == MAGIC => Ok(Some(self.scan_from(MAGIC.len() as u64))),
            Ok(()) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error).context("cannot read the work file"),
        }
    }

    /// Whether this is a work file, of whatever version.
    pub(crate) fn is_ours(&self) -> Result<bool> {
        let mut head = vec![0; MAGIC_ANY.len()];
        match self.file.read_exact_at(&mut head, 0) {
            Ok(()) => Ok(head == MAGIC_ANY),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error).context("cannot read the work file"),
        }
    }

    /// Frames in their order from a place.
    pub(crate) fn scan_from(&self, place: u64) -> Scan {
        Scan { file: self.file.clone(), buffer: Vec::new(), at: 0, place }
    }

    /// The payload of the frame at a place.
    fn at(&self, place: u64, buffer: &mut Vec<u8>) -> Result<()> {
        // One read does for nearly every frame; a longer one is read once more.
        buffer.resize(512, 0);
        let mut read = 0;
        while read < FRAME_HEAD + 6 {
            let more =
                self.file.read_at(&mut buffer[read..], place + read as u64).context("cannot read the work file")?;
            if more == 0 {
                break;
            }
            read += more;
        }
        let Some(length) = buffer.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize) else {
            bail!("the work file is damaged");
        };
        if length > FRAME_MAX {
            bail!("the work file is damaged at {place}");
        }
        let whole = FRAME_HEAD + length;
        if whole > read {
            buffer.resize(whole, 0);
            self.file.read_exact_at(&mut buffer[read..], place + read as u64).context("cannot read the work file")?;
        }
        buffer.truncate(whole);
        buffer.drain(..FRAME_HEAD);
        Ok(())
    }

    /// The address of the row at a place.
    pub(crate) fn email(&self, place: u64, buffer: &mut Vec<u8>) -> Result<Arc<str>> {
        self.at(place, buffer)?;
        match Frame::read(buffer) {
            Some(Frame::Row { email, .. }) => Ok(email.into()),
            _ => bail!("the work file is damaged at {place}"),
        }
    }

    /// The answer at a place, through `then`.
    pub(crate) fn answer<T>(&self, place: u64, buffer: &mut Vec<u8>, then: impl FnOnce(&Answer<'_>) -> T) -> Result<T> {
        self.at(place, buffer)?;
        match Frame::read(buffer) {
            Some(Frame::Answer(answer)) => Ok(then(&answer)),
            _ => bail!("the work file is damaged at {place}"),
        }
    }
}

/// Reads frames in their order.
pub(crate) struct Scan {
    file: Arc<File>,
    buffer: Vec<u8>,
    at: usize,
    /// Where the next frame begins.
    pub place: u64,
}

impl Scan {
    /// The next frame and its place; none at the end and at the first damage.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Frame<'_>)>> {
        if !self.fill(FRAME_HEAD)? {
            return Ok(None);
        }
        let head = &self.buffer[self.at..self.at + FRAME_HEAD];
        let length = u32::from_le_bytes(head[..4].try_into().expect("four bytes")) as usize;
        let sum = u32::from_le_bytes(head[4..].try_into().expect("four bytes"));
        if length > FRAME_MAX || !self.fill(FRAME_HEAD + length)? {
            return Ok(None);
        }
        let payload = &self.buffer[self.at + FRAME_HEAD..self.at + FRAME_HEAD + length];
        if crc32fast::hash(payload) != sum {
            return Ok(None);
        }
        let Some(frame) = Frame::read(payload) else { return Ok(None) };
        let place = self.place;
        self.at += FRAME_HEAD + length;
        self.place += (FRAME_HEAD + length) as u64;
        Ok(Some((place, frame)))
    }

    /// Goes back to the frame that was read last, whose place this is.
    pub(crate) fn back(&mut self, place: u64) {
        self.at -= usize::try_from(self.place - place).expect("a frame fits into memory");
        self.place = place;
    }

    /// Makes `wanted` bytes available; says whether there are so many.
    fn fill(&mut self, wanted: usize) -> Result<bool> {
        if self.buffer.len() - self.at >= wanted {
            return Ok(true);
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        while self.buffer.len() < wanted {
            let have = self.buffer.len();
            self.buffer.resize(have + SCAN_BYTES.max(wanted - have), 0);
            let read = self.file.read_at(&mut self.buffer[have..], self.place + have as u64);
            let read = read.context("cannot read the work file")?;
            self.buffer.truncate(have + read);
            if read == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What is said where an output cannot be written.
pub(crate) fn output_failed(error: io::Error, path: &Path) -> anyhow::Error {
    let advice = if error.kind() == io::ErrorKind::StorageFull { ": the disk is full" } else { "" };
    anyhow::Error::new(error)
        .context(format!("cannot write {}{advice}; no answer is lost, run again to continue", path.display()))
        .context(Ends(Exit::Local))
}
