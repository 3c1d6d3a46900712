//! Files of a backup: private to their owner, and synced before they get their names.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};

use crate::exit;
use crate::files::{self, beside, create_private};

/// Suffixes of SQLite's extra files, which a closed database does not have.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Creates an empty file, private to its owner.
pub(super) fn create(path: &Path) -> Result<File> {
    create_private(path).with_context(|| format!("cannot create {}", path.display()))
}

pub(super) fn write(path: &Path, content: &[u8]) -> Result<()> {
    let mut file = create(path)?;
    file.write_all(content).and_then(|()| file.sync_all()).with_context(|| format!("cannot write {}", path.display()))
}

/// Copies a file's content, but not its mode.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut file = File::open(from).with_context(|| format!("cannot read {}", from.display()))?;
    let copied = io::copy(&mut file, &mut create(to)?);
    copied.map(drop).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// Copies a file that may be missing; returns whether it existed.
pub(super) fn copy_if_there(from: &Path, to: &Path) -> Result<bool> {
    match fs::read(from) {
        Ok(content) => write(to, &content).map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", from.display())),
    }
}

pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

pub(super) fn remove_database(path: &Path) -> Result<()> {
    beside_of(path).try_for_each(|path| remove(&path))?;
    remove(path)
}

pub(super) fn beside_of(path: &Path) -> impl Iterator<Item = PathBuf> {
    BESIDE.iter().map(|more| beside(path, more))
}

/// Checks that a closed database is a single file. Data in a leftover log would be missing in a copy, or would corrupt another
/// file.
pub(super) fn alone_in_its_file(path: &Path) -> Result<()> {
    match beside_of(path).find(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 0)) {
        Some(log) => Err(exit::local(anyhow!("{} is still there: the database is in use", log.display()))),
        None => beside_of(path).try_for_each(|path| remove(&path)),
    }
}

pub(super) fn sync(path: &Path) -> Result<()> {
    files::sync(path).with_context(|| format!("cannot write {}", path.display()))
}
