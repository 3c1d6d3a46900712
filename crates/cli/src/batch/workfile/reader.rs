//! Reads a work file, sequentially or at positions.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};

use super::frame::{BatchHeader, Frame};
use super::{FRAME_HEAD, MAGIC};
use crate::batch::answer::StoredAnswer;

/// Common start of work files of all versions.
const MAGIC_ANY: &[u8] = b"PROBITY-WORK ";
/// Maximum size of a frame; larger ones are corrupt. A record and its address have at most 2 MiB, or 8 MiB with escapes.
const FRAME_MAX: usize = 16 << 20;
/// Read size while scanning.
const SCAN_BYTES: usize = 256 * 1024;

/// Reads the start of a work file's batch, without locking the file.
pub(crate) fn begun(file: File) -> Result<Option<BatchHeader>> {
    let Some(mut scan) = FrameReader::of(Arc::new(file)).scan()? else { return Ok(None) };
    Ok(match scan.next()? {
        Some((_, Frame::Begun(begun))) => Some(begun),
        _ => None,
    })
}

/// Reads frames, sequentially or at positions.
#[derive(Clone, Debug)]
pub(crate) struct FrameReader {
    file: Arc<File>,
}

impl FrameReader {
    pub(super) fn of(file: Arc<File>) -> Self {
        Self { file }
    }

    /// Returns the frames from the beginning; `None` if this is not a work file.
    pub(crate) fn scan(&self) -> Result<Option<Scan>> {
        Ok(self.begins_with(MAGIC)?.then(|| self.scan_from(MAGIC.len() as u64)))
    }

    /// Reports whether this is a work file of any version.
    pub(crate) fn is_ours(&self) -> Result<bool> {
        self.begins_with(MAGIC_ANY)
    }

    fn begins_with(&self, magic: &[u8]) -> Result<bool> {
        let mut head = vec![0; magic.len()];
        match self.file.read_exact_at(&mut head, 0) {
            Ok(()) => Ok(head == magic),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error).context("cannot read the work file"),
        }
    }

    /// Returns the frames from a position.
    pub(crate) fn scan_from(&self, place: u64) -> Scan {
        Scan { file: self.file.clone(), buffer: Vec::new(), at: 0, place }
    }

    /// Reads the payload of the frame at a position.
    fn at(&self, place: u64, buffer: &mut Vec<u8>) -> Result<()> {
        // One read suffices for nearly every frame; a longer frame is read again.
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

    /// Reads the address of the row at a position.
    pub(crate) fn email(&self, place: u64, buffer: &mut Vec<u8>) -> Result<Arc<str>> {
        self.at(place, buffer)?;
        match Frame::read(buffer) {
            Some(Frame::Row { email, .. }) => Ok(email.into()),
            _ => bail!("the work file is damaged at {place}"),
        }
    }

    /// Passes the answer at a position to `then`.
    pub(crate) fn answer<T>(
        &self,
        place: u64,
        buffer: &mut Vec<u8>,
        then: impl FnOnce(&StoredAnswer<'_>) -> T,
    ) -> Result<T> {
        self.at(place, buffer)?;
        match Frame::read(buffer) {
            Some(Frame::Answer(answer)) => Ok(then(&answer)),
            _ => bail!("the work file is damaged at {place}"),
        }
    }
}

/// Reads frames sequentially.
pub(crate) struct Scan {
    file: Arc<File>,
    buffer: Vec<u8>,
    at: usize,
    /// Position of the next frame.
    pub place: u64,
}

impl Scan {
    /// Returns the next frame with its position; `None` at the end and at the first corruption.
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

    /// Returns to the last frame read, at position `place`.
    pub(crate) fn back(&mut self, place: u64) {
        self.at -= usize::try_from(self.place - place).expect("a frame fits into memory");
        self.place = place;
    }

    /// Makes `wanted` bytes available; returns `false` if the file is shorter.
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
