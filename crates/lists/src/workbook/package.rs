//! The archive of a workbook: its parts by name, unpacked as they are read.
//!
//! An archive's declared sizes are never trusted. Its directory is scanned before a parser allocates memory for it; unpacked bytes
//! are counted as they pass, over all parts together.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use zip::ZipArchive;
use zip::result::ZipError;

use super::xml::Xml;
use crate::FileFault;
use crate::bounds::{DIRECTORY_MAX, PARTS_MAX, RUN_MAX, UNPACKED_MAX, WorkbookBound};

/// Size of a file's end that can hold the end of an archive's directory: 22 bytes and a comment of 65,535.
const END_BYTES: u64 = 22 + 65_535;
/// Bytes of a file scanned at once.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes of a part unpacked at once.
const UNPACK_BYTES: usize = 64 << 10;
/// Longest directory record that is examined, without its texts, in bytes.
const RECORD_BYTES: usize = 56;

/// An archive whose directory was scanned.
pub(super) struct Package {
    archive: ZipArchive<BufReader<File>>,
    /// Index of each part by name. Names differ in case and in the direction of slashes.
    places: HashMap<String, usize>,
    /// Bytes that may still be unpacked.
    left: u64,
}

impl Package {
    pub(super) fn open(mut file: File) -> Result<Self, FileFault> {
        ends(&mut file)?;
        directory(&mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let archive = ZipArchive::new(BufReader::new(file)).map_err(fault)?;
        let mut places = HashMap::new();
        for (place, name) in archive.file_names().enumerate() {
            if let Ok(name) = name {
                places.entry(plain(&name)).or_insert(place);
            }
        }
        Ok(Self { archive, places, left: UNPACKED_MAX })
    }

    /// Bytes that may still be unpacked.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Forgets what was unpacked since this many bytes were left.
    pub(super) fn restore(&mut self, left: u64) {
        self.left = left;
    }

    /// A part as XML; `None` if there is no part of that name.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<Xml<impl Bounded>>, FileFault> {
        let Some(&at) = self.places.get(&plain(name)) else { return Ok(None) };
        let part = BufReader::with_capacity(UNPACK_BYTES, self.archive.by_index(at).map_err(fault)?);
        Ok(Some(Xml::new(Unpacked { part, left: &mut self.left, run: 0, refused: None })))
    }
}

fn plain(name: &str) -> String {
    name.replace('\\', "/").to_ascii_lowercase()
}

/// A part being unpacked, within bounds.
struct Unpacked<'a, R> {
    part: BufReader<R>,
    left: &'a mut u64,
    /// Bytes of the current event.
    run: usize,
    refused: Option<WorkbookBound>,
}

/// A bounded source.
pub(super) trait Bounded: BufRead {
    /// Begins an event: it may take [`RUN_MAX`] bytes, because a parser keeps all of it.
    fn begin(&mut self);

    /// Bound at which reading failed.
    fn refused(&self) -> Option<WorkbookBound>;
}

impl<R: Read> Bounded for Unpacked<'_, R> {
    fn begin(&mut self) {
        self.run = 0;
    }

    fn refused(&self) -> Option<WorkbookBound> {
        self.refused
    }
}

impl<R: Read> BufRead for Unpacked<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.refused = match (*self.left, self.run) {
            (0, _) => Some(WorkbookBound::Unpacked),
            (_, run) if run > RUN_MAX => Some(WorkbookBound::Run),
            _ => return self.part.fill_buf(),
        };
        Err(io::Error::other("beyond a bound"))
    }

    fn consume(&mut self, bytes: usize) {
        *self.left = self.left.saturating_sub(bytes as u64);
        self.run += bytes;
        self.part.consume(bytes);
    }
}

impl<R: Read> Read for Unpacked<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

/// Checks the declared number of parts at every possible end of the archive.
fn ends(file: &mut File) -> Result<(), FileFault> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES)))?;
    let mut end = Vec::new();
    file.take(END_BYTES).read_to_end(&mut end)?;
    let ends = memchr::memmem::find_iter(&end, b"PK\x05\x06");
    let mut claims = ends.filter_map(|at| end.get(at + 10..at + 12)).peekable();
    if claims.peek().is_none() {
        return Err(FileFault::Damaged);
    }
    // All bits set refer to a directory of more than 65,534 parts.
    let many = |claim: &[u8]| u64::from(u16::from_le_bytes([claim[0], claim[1]])) > PARTS_MAX;
    if claims.any(many) { Err(WorkbookBound::Parts.into()) } else { Ok(()) }
}

/// Scans the whole file for possible directory records, wherever a parser would look for them.
fn directory(file: &mut File) -> Result<(), FileFault> {
    file.seek(SeekFrom::Start(0))?;
    let (mut window, mut texts) = (Vec::with_capacity(PIECE_BYTES + RECORD_BYTES), 0);
    loop {
        let kept = window.len();
        let read = file.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut window)?;
        let last = read == 0;
        // A record that begins near the end is examined with the next piece.
        let until = if last { window.len() } else { (kept + read).saturating_sub(RECORD_BYTES) };
        for at in memchr::memmem::find_iter(&window, b"PK").take_while(|at| *at < until) {
            texts += record(&window[at..])?;
        }
        if texts > DIRECTORY_MAX {
            return Err(WorkbookBound::Directory.into());
        }
        if last {
            return Ok(());
        }
        window.drain(..until);
    }
}

/// Text bytes of a directory record; rejects one that declares too many parts.
fn record(bytes: &[u8]) -> Result<u64, FileFault> {
    let short = |at: usize| bytes.get(at..at + 2).map_or(0, |pair| u64::from(u16::from_le_bytes([pair[0], pair[1]])));
    let long = |at: usize| (0..4).rev().fold(0, |number, n| number << 16 | short(at + 2 * n));
    if bytes.starts_with(b"PK\x01\x02") {
        return Ok(short(28) + short(30) + short(32));
    }
    // The end of a large directory. Compressed bytes that happen to match have no such size.
    if bytes.starts_with(b"PK\x06\x06") && u32::try_from(long(4)).is_ok() {
        if long(24).max(long(32)) > PARTS_MAX {
            return Err(WorkbookBound::Parts.into());
        }
        return Ok(long(4));
    }
    Ok(0)
}

fn fault(error: ZipError) -> FileFault {
    match error {
        ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => FileFault::Io(error),
        _ => FileFault::Damaged,
    }
}
