//! The work file: everything that a batch must not lose, in one append-only file.
//!
//! A magic line, then frames: length, CRC-32 and payload, whose first byte is the kind. First the header (how the batch began),
//! then every record of the input, then the end of the import. Answers and deferred rows follow as they come. The file therefore
//! continues a batch from standard input, supplies the original columns for the output, and prevents repeated probes.
//!
//! A crash or a full disk leaves at most one torn frame at the end: reading stops at the first frame with a wrong length or
//! checksum, and the file is truncated there. A torn *import* restarts, since nothing was probed. The file is private to its owner
//! because it holds addresses, and locked while a run uses it. Answers are passed to the system at once, so a killed run loses
//! nothing, and synced about once a second: after a power failure, at most the last second is repeated.

mod frame;
mod reader;

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use probity_lists::split::Eol;
use serde::Serialize;

use self::frame::{ANSWER, BEGUN, IMPORTED, LINE, PUT_OFF, ROW, UNREADABLE, VERBATIM, WITHOUT, tagged};
use super::answer::{PutOff, StoredAnswer};
use crate::exit;

pub(crate) use self::frame::{BatchHeader, Frame, Imported, LeftOut};
pub(crate) use self::reader::{FrameReader, Scan, begun};

/// Start of the file; the number counts incompatible layouts.
const MAGIC: &[u8] = b"PROBITY-WORK 1\n";
/// Bytes before a frame's payload.
const FRAME_HEAD: usize = 8;
/// Size of the write buffer.
const BUFFER_BYTES: usize = 256 * 1024;

/// Opens a file without truncating it and locks it for this run; `None` if another run holds the lock.
pub(crate) fn open_locked(path: &Path, mode: u32) -> io::Result<Option<File>> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(mode).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Some network file systems have no locks; that does not prevent work.
            Err(TryLockError::Error(error)) => tracing::info!(%error, "a file cannot be locked"),
        }
        // The run that held the lock may have finished meanwhile, and deleted or renamed the file opened here.
        let (opened, there) = (file.metadata()?, std::fs::metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (opened.dev(), opened.ino())) {
            return Ok(Some(file));
        }
    }
}

/// An open, locked work file, positioned at its end.
#[derive(Debug)]
pub(crate) struct WorkFile {
    pub path: PathBuf,
    file: Arc<File>,
    buffer: Vec<u8>,
    end: u64,
    dirty: bool,
}

impl WorkFile {
    /// Opens a file for appending; creates an empty one if there is none.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let place = path.display();
        let file = open_locked(path, 0o600).with_context(|| format!("cannot open the work file {place}"))?;
        let Some(file) = file else { bail!("another run is using the work file {place}") };
        let end = file.metadata().with_context(|| format!("cannot read the work file {place}"))?.len();
        Ok(Self { path: path.to_owned(), file: Arc::new(file), buffer: Vec::new(), end, dirty: false })
    }

    pub(crate) fn is_new(&self) -> bool {
        self.end == 0
    }

    /// Discards the content and starts a batch.
    pub(crate) fn begin(&mut self, begun: &BatchHeader) -> Result<()> {
        self.cut(0)?;
        self.buffer.extend_from_slice(MAGIC);
        self.end += MAGIC.len() as u64;
        self.record(BEGUN, &json(begun), b"")
    }

    /// Truncates the file after a torn frame.
    pub(crate) fn cut(&mut self, end: u64) -> Result<()> {
        self.buffer.clear();
        self.file.set_len(end).map_err(|error| self.failed(error))?;
        self.end = end;
        Ok(())
    }

    /// Appends a record with its address; returns the position of its frame.
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

    /// Appends a record that is not a row: the header, or a blank line. `is_above`: it is above the header.
    pub(crate) fn verbatim(&mut self, eol: Eol, is_above: bool, raw: &[u8]) -> Result<()> {
        self.record(VERBATIM, &[tagged(eol, u8::from(is_above))], raw)
    }

    /// Appends a row that is left out.
    pub(crate) fn without(&mut self, eol: Eol, why: LeftOut, raw: &[u8]) -> Result<()> {
        self.record(WITHOUT, &[tagged(eol, why as u8)], raw)
    }

    /// Appends an unreadable record; `object`: it is nonetheless a JSON object.
    pub(crate) fn unreadable(&mut self, eol: Eol, object: bool, raw: &[u8]) -> Result<()> {
        self.record(UNREADABLE, &[eol.code(), u8::from(object)], raw)
    }

    fn record(&mut self, kind: u8, head: &[u8], raw: &[u8]) -> Result<()> {
        let fill = |out: &mut Vec<u8>| [head, raw].iter().for_each(|part| out.extend_from_slice(part));
        self.frame(kind, fill).map(drop)
    }

    /// Ends the import and syncs it to disk.
    pub(crate) fn imported(&mut self, imported: &Imported) -> Result<()> {
        self.record(IMPORTED, &json(imported), b"")?;
        self.sync()
    }

    /// Appends an answer; returns the position of its frame.
    pub(crate) fn answer(&mut self, answer: &StoredAnswer<'_>) -> Result<u64> {
        self.frame(ANSWER, |out| answer.write(out))
    }

    /// Appends a deferred row.
    pub(crate) fn put_off(&mut self, put_off: &PutOff) -> Result<()> {
        self.frame(PUT_OFF, |out| put_off.write(out)).map(drop)
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

    /// Passes all data to the system.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            let at = self.end - self.buffer.len() as u64;
            self.file.write_all_at(&self.buffer, at).map_err(|error| self.failed(error))?;
            self.buffer.clear();
            self.dirty = true;
        }
        Ok(())
    }

    /// Syncs all data to disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.flush()?;
        if self.dirty {
            self.file.sync_data().map_err(|error| self.failed(error))?;
            self.dirty = false;
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> anyhow::Error {
        unwritten(error, &format!("the work file {}", self.path.display()), "")
    }

    /// Returns a reader of the same file.
    pub(crate) fn reader(&self) -> FrameReader {
        FrameReader::of(self.file.clone())
    }

    /// Deletes the file of a finished batch.
    pub(crate) fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("cannot remove the work file {}", self.path.display()))
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain structures always serialize")
}

/// Explains a failure to write an output.
pub(crate) fn output_failed(error: io::Error, path: &Path) -> anyhow::Error {
    unwritten(error, &path.display().to_string(), "no verdict is lost, ")
}

fn unwritten(error: io::Error, what: &str, kept: &str) -> anyhow::Error {
    let advice = if error.kind() == io::ErrorKind::StorageFull { ": the disk is full" } else { "" };
    let message = format!("cannot write {what}{advice}; {kept}run again to continue");
    exit::local(anyhow::Error::new(error).context(message))
}
