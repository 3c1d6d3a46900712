//! Tombstone file beside the database: records which addresses were erased when, as keyed hashes.
//!
//! An erasure has a line of JSON, added and synced after the database stores it and before it is answered. A second line marks
//! its end, added before the database marks the erasure as completed. A database that lacks something in the file is therefore
//! an older copy of itself. Lines never change, and their order has no meaning.
//!
//! A process that dies before or while it writes a line has answered nothing. The next start finds the missing line in the
//! database ([`follow`](mod@super::follow)). The file grows by 35 bytes per address and is kept as long as backups.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use probity_access::secrets::hex;
use probity_account::id::ErasureId;
use probity_engine::locked;
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::privacy::erasures::{NewErasure, SuppressionTag};
use serde::{Deserialize, Serialize};

use crate::privacy::erasures::Heard;

/// Line of an erasure request.
#[derive(Serialize, Deserialize)]
struct ErasureLine {
    id: String,
    org: i64,
    test: bool,
    at: i64,
    tags: Vec<String>,
}

/// Line of a completed erasure.
#[derive(Serialize, Deserialize)]
struct CompletedLine {
    completed: String,
    org: i64,
}

/// Erasure that a line is about: `id` in a request, `completed` in an end.
#[derive(Deserialize)]
struct NamedErasure {
    id: Option<String>,
    completed: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TombstoneEntry {
    /// An erasure was requested.
    Wished(NewErasure),
    Completed(OrgNo, ErasureId),
}

impl TombstoneEntry {
    /// Returns the erasure that the line is about.
    pub(super) fn key(&self) -> (OrgNo, ErasureId) {
        match self {
            Self::Wished(new) => (new.org, new.id),
            Self::Completed(org, id) => (*org, *id),
        }
    }
}

/// Erasures in the file, as far as this node has read or written them.
#[derive(Debug, Default)]
struct WrittenErasures {
    wished: Heard,
    completed: Heard,
}

/// Tombstone file of a node, if it has one.
#[derive(Clone, Debug)]
pub(super) struct Tombstones {
    path: Option<PathBuf>,
    /// Its lock serializes writers.
    written: Arc<Mutex<WrittenErasures>>,
}

impl Tombstones {
    pub(super) fn at(path: Option<PathBuf>) -> Self {
        Self { path, written: Arc::default() }
    }

    /// Reads the IDs in the file, so that no line is written twice.
    pub(super) async fn load(&self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut lines = FileLines::of(path).await?;
        let named = move || lines.some(usize::MAX, |line| serde_json::from_slice::<NamedErasure>(line).ok());
        let named = tokio::task::spawn_blocking(named).await.map_err(io::Error::other)??;
        let mut written = locked(&self.written);
        for NamedErasure { id, completed } in named {
            written.wished.extend(id.and_then(|id| id.parse::<ErasureId>().ok()));
            written.completed.extend(completed.and_then(|id| id.parse::<ErasureId>().ok()));
        }
        Ok(())
    }

    /// Whether the request of an erasure is in the file; also true without a file.
    pub(super) fn have(&self, id: ErasureId) -> bool {
        self.path.is_none() || locked(&self.written).wished.contains(&id)
    }

    /// Whether the end of an erasure is in the file; also true without a file.
    pub(super) fn have_end(&self, id: ErasureId) -> bool {
        self.path.is_none() || locked(&self.written).completed.contains(&id)
    }

    /// Checks that the file can be opened for writing.
    pub(super) async fn can_add(&self) -> io::Result<()> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        tokio::task::spawn_blocking(move || open(&path).map(drop)).await.map_err(io::Error::other)?
    }

    /// Adds an erasure unless the file has it. Returns once it is on disk.
    pub(super) async fn add(&self, new: &NewErasure) -> io::Result<()> {
        self.write(new.id, line(new), |written| &mut written.wished).await
    }

    /// Adds the end of an erasure unless the file has it. Returns once it is on disk.
    pub(super) async fn add_end(&self, org: OrgNo, id: ErasureId) -> io::Result<()> {
        let end = CompletedLine { completed: id.to_string(), org: org.0 };
        self.write(id, text(&end), |written| &mut written.completed).await
    }

    async fn write(
        &self,
        id: ErasureId,
        line: String,
        among: fn(&mut WrittenErasures) -> &mut Heard,
    ) -> io::Result<()> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        let written = self.written.clone();
        let write = move || {
            let mut written = locked(&written);
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
    text(&ErasureLine { id: new.id.to_string(), org: new.org.0, test: new.test, at: new.requested_at.0, tags })
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
    // An incomplete line must not corrupt this one.
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

/// A new file name survives a power cut only if its directory is synced (fsync(2)).
fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) if cfg!(unix) => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

/// Reader of a file that may be larger than memory, a few lines at a time.
pub(super) struct FileLines {
    path: PathBuf,
    /// `None` without a file, and after its end.
    file: Option<BufReader<File>>,
    /// Number of unreadable lines so far.
    broken: usize,
}

impl FileLines {
    pub(super) async fn of(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        let open = move || match File::open(&path) {
            Ok(file) => Ok(Self { path, file: Some(BufReader::new(file)), broken: 0 }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self { path, file: None, broken: 0 }),
            Err(error) => Err(error),
        };
        tokio::task::spawn_blocking(open).await.map_err(io::Error::other)?
    }

    /// Reads the next entries, at most `at_most`; none at the end.
    pub(super) async fn next(mut self, at_most: usize) -> io::Result<(Self, Vec<TombstoneEntry>)> {
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

fn parsed(line: &[u8]) -> Option<TombstoneEntry> {
    let ended = || {
        let CompletedLine { completed, org } = serde_json::from_slice(line).ok()?;
        Some(TombstoneEntry::Completed(OrgNo(org), completed.parse().ok()?))
    };
    erasure_of_line(line).map(TombstoneEntry::Wished).or_else(ended)
}

fn erasure_of_line(line: &[u8]) -> Option<NewErasure> {
    let ErasureLine { id, org, test, at, tags } = serde_json::from_slice(line).ok()?;
    let tags: HashSet<SuppressionTag> = tags.iter().map(|tag| unhex(tag)).collect::<Option<_>>()?;
    let tags: Vec<SuppressionTag> = tags.into_iter().collect();
    if tags.is_empty() {
        return None;
    }
    Some(NewErasure { org: OrgNo(org), id: id.parse().ok()?, test, tags, webhook_url: None, requested_at: Millis(at) })
}

fn unhex(text: &str) -> Option<SuppressionTag> {
    u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32).map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(path: &Path) -> Vec<TombstoneEntry> {
        let (mut lines, mut all) = (FileLines::of(path).await.unwrap(), Vec::new());
        loop {
            let one;
            (lines, one) = lines.next(1).await.unwrap();
            if one.is_empty() {
                return all;
            }
            all.extend(one);
        }
    }

    fn erasure(n: u8, tags: Vec<SuppressionTag>) -> NewErasure {
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
        // As after a restart.
        let again = Tombstones::at(Some(path.clone()));
        again.load().await.unwrap();
        again.add(&one).await.unwrap();
        again.add(&two).await.unwrap();
        for tombstones in [&again, &again, &tombstones] {
            tombstones.add_end(one.org, one.id).await.unwrap();
        }
        let end = || TombstoneEntry::Completed(one.org, one.id);
        // Each instance adds the end once: neither reads what the other has written since.
        assert_eq!(
            read(&path).await,
            [TombstoneEntry::Wished(one.clone()), TombstoneEntry::Wished(two.clone()), end(), end()]
        );
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
