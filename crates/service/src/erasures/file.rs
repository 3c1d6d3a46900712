//! The file of tombstones, beside the database: which addresses were erased when, by keyed hashes.
//!
//! One line of JSON for each erasure, added and synced once the database has it and before it is answered, and one for its end,
//! when the database says that nothing is left of it and before it says that it is completed. So a database that knows less than
//! the file
//! is an older copy of itself. No line is ever changed, and their order says nothing. A process that dies before it has written
//! a line, or
//! while it does (which leaves one that cannot be read), has told nobody; the next start finds in the database what is missing
//! ([`follow`](mod@super::follow)). The file grows by 35 bytes an address and is kept for as long as backups are.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use probity_account::id::ErasureId;
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::erasures::{NewErasure, Tag};
use serde::{Deserialize, Serialize};

use crate::erasures::Heard;
use crate::secrets::hex;

/// The line of a wish.
#[derive(Serialize, Deserialize)]
struct Line {
    id: String,
    org: i64,
    test: bool,
    at: i64,
    tags: Vec<String>,
}

/// The line of an erasure's end.
#[derive(Serialize, Deserialize)]
struct End {
    completed: String,
    org: i64,
}

/// Which erasure a line is about: the one of a wish, or of an end.
#[derive(Deserialize)]
struct Named {
    id: Option<String>,
    completed: Option<String>,
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// An erasure was wished.
    Wished(NewErasure),
    /// An erasure was completed.
    Completed(OrgNo, ErasureId),
}

impl Entry {
    /// Which erasure it is about.
    pub(super) fn key(&self) -> (OrgNo, ErasureId) {
        match self {
            Self::Wished(new) => (new.org, new.id),
            Self::Completed(org, id) => (*org, *id),
        }
    }
}

/// What is in the file, as far as this node has written or read it.
#[derive(Debug, Default)]
struct Written {
    wished: Heard,
    completed: Heard,
}

/// The file of a node, or none.
#[derive(Clone, Debug)]
pub(super) struct Tombstones {
    path: Option<PathBuf>,
    /// Whoever holds this writes.
    written: Arc<Mutex<Written>>,
}

impl Tombstones {
    pub(super) fn at(path: Option<PathBuf>) -> Self {
        Self { path, written: Arc::default() }
    }

    /// Takes note of what is in the file.
    pub(super) async fn load(&self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut lines = Lines::of(path).await?;
        let named = move || lines.some(usize::MAX, |line| serde_json::from_slice::<Named>(line).ok());
        let named = tokio::task::spawn_blocking(named).await.map_err(io::Error::other)??;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for Named { id, completed } in named {
            written.wished.extend(id.and_then(|id| id.parse::<ErasureId>().ok()));
            written.completed.extend(completed.and_then(|id| id.parse::<ErasureId>().ok()));
        }
        Ok(())
    }

    /// Whether the wish of an erasure need not be written any more.
    pub(super) fn have(&self, id: ErasureId) -> bool {
        self.path.is_none() || self.written.lock().unwrap_or_else(PoisonError::into_inner).wished.contains(&id)
    }

    /// Whether the end of an erasure need not be written any more.
    pub(super) fn have_end(&self, id: ErasureId) -> bool {
        self.path.is_none() || self.written.lock().unwrap_or_else(PoisonError::into_inner).completed.contains(&id)
    }

    /// Whether something can be added, as far as that can be known before.
    pub(super) async fn can_add(&self) -> io::Result<()> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        tokio::task::spawn_blocking(move || open(&path).map(drop)).await.map_err(io::Error::other)?
    }

    /// Adds an erasure that is not there, and returns when it is on the disk.
    pub(super) async fn add(&self, new: &NewErasure) -> io::Result<()> {
        self.write(new.id, line(new), |written| &mut written.wished).await
    }

    /// Adds that an erasure is completed, where that is not there, and returns when it is on the disk.
    pub(super) async fn add_end(&self, org: OrgNo, id: ErasureId) -> io::Result<()> {
        let end = End { completed: id.to_string(), org: org.0 };
        self.write(id, text(&end), |written| &mut written.completed).await
    }

    async fn write(&self, id: ErasureId, line: String, among: fn(&mut Written) -> &mut Heard) -> io::Result<()> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        let written = self.written.clone();
        let write = move || {
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            let among = among(&mut written);
            if among.contains(&id) {
                return Ok(());
            }
            append(&path, &line)?;
            among.insert(id);
            Ok(())
        };
        tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?
    }
}

fn line(new: &NewErasure) -> String {
    let tags = new.tags.iter().map(|tag| hex(tag)).collect();
    text(&Line { id: new.id.to_string(), org: new.org.0, test: new.test, at: new.requested_at.0, tags })
}

fn text(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("a line is plain JSON") + "\n"
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    // A line that broke off must not spoil this one.
    if length > 0 && !ends_a_line(&mut file)? {
        file.write_all(b"\n")?;
    }
    file.write_all(line.as_bytes())?;
    file.sync_all()?;
    if length == 0 { sync_directory(path) } else { Ok(()) }
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}

/// A name survives a power cut when its directory is written (fsync(2)).
fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) if cfg!(unix) => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

/// A file that is read from its beginning on, some lines at a time: it may be larger than the memory.
pub(super) struct Lines {
    path: PathBuf,
    /// None where there is no file.
    file: Option<BufReader<File>>,
    /// Lines so far that could not be read.
    broken: usize,
}

impl Lines {
    pub(super) async fn of(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        let open = move || match File::open(&path) {
            Ok(file) => Ok(Self { path, file: Some(BufReader::new(file)), broken: 0 }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self { path, file: None, broken: 0 }),
            Err(error) => Err(error),
        };
        tokio::task::spawn_blocking(open).await.map_err(io::Error::other)?
    }

    /// What the next lines say, at most so many; nothing at the end.
    pub(super) async fn next(mut self, at_most: usize) -> io::Result<(Self, Vec<Entry>)> {
        let read = move || self.some(at_most, parsed).map(|some| (self, some));
        tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
    }

    fn some<T>(&mut self, at_most: usize, parsed: impl Fn(&[u8]) -> Option<T>) -> io::Result<Vec<T>> {
        let (mut some, mut line) = (Vec::new(), Vec::new());
        let Some(file) = &mut self.file else { return Ok(some) };
        while some.len() < at_most {
            line.clear();
            if file.read_until(b'\n', &mut line)? == 0 {
                if self.broken > 0 {
                    tracing::warn!(broken = self.broken, file = %self.path.display(), "cannot read some lines of the tombstone file");
                }
                self.file = None;
                break;
            }
            let text = line.trim_ascii_end();
            match parsed(text) {
                Some(one) => some.push(one),
                None => self.broken += usize::from(!text.is_empty()),
            }
        }
        Ok(some)
    }
}

fn parsed(line: &[u8]) -> Option<Entry> {
    let ended = || {
        let End { completed, org } = serde_json::from_slice(line).ok()?;
        Some(Entry::Completed(OrgNo(org), completed.parse().ok()?))
    };
    wished(line).map(Entry::Wished).or_else(ended)
}

fn wished(line: &[u8]) -> Option<NewErasure> {
    let Line { id, org, test, at, tags } = serde_json::from_slice(line).ok()?;
    let tags: HashSet<Tag> = tags.iter().map(|tag| unhex(tag)).collect::<Option<_>>()?;
    let tags: Vec<Tag> = tags.into_iter().collect();
    if tags.is_empty() {
        return None;
    }
    Some(NewErasure { org: OrgNo(org), id: id.parse().ok()?, test, tags, webhook_url: None, requested_at: Millis(at) })
}

fn unhex(text: &str) -> Option<Tag> {
    u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32).map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(path: &Path) -> Vec<Entry> {
        let (mut lines, mut all) = (Lines::of(path).await.unwrap(), Vec::new());
        loop {
            let one;
            (lines, one) = lines.next(1).await.unwrap();
            if one.is_empty() {
                return all;
            }
            all.extend(one);
        }
    }

    fn erasure(n: u8, tags: Vec<Tag>) -> NewErasure {
        let at = Millis(1_800_000_000_000);
        let id = ErasureId::new(at, [n; 10]);
        NewErasure { org: OrgNo(-7), id, test: n == 2, tags, webhook_url: None, requested_at: at }
    }

    #[tokio::test]
    async fn what_was_added_is_read_once_and_a_line_that_broke_off_spoils_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("erasures");
        assert_eq!(read(&path).await, []);
        let (one, two) = (erasure(1, vec![[0; 16]]), erasure(2, vec![[0xff; 16]]));
        let tombstones = Tombstones::at(Some(path.clone()));
        tombstones.add(&one).await.unwrap();
        tombstones.add(&one).await.unwrap();
        let broken = line(&erasure(3, vec![[1; 16]]));
        OpenOptions::new().append(true).open(&path).unwrap().write_all(&broken.as_bytes()[..50]).unwrap();
        // As after a start.
        let again = Tombstones::at(Some(path.clone()));
        again.load().await.unwrap();
        again.add(&one).await.unwrap();
        again.add(&two).await.unwrap();
        for tombstones in [&again, &again, &tombstones] {
            tombstones.add_end(one.org, one.id).await.unwrap();
        }
        let end = || Entry::Completed(one.org, one.id);
        // Of two that do not know of each other, one knows it already and one adds it again.
        assert_eq!(read(&path).await, [Entry::Wished(one.clone()), Entry::Wished(two.clone()), end(), end()]);
        let last = Tombstones::at(Some(path.clone()));
        last.load().await.unwrap();
        assert!(last.have(one.id) && last.have_end(one.id) && last.have(two.id) && !last.have_end(two.id));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
