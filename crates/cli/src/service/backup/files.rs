//! Files of a backup: private to their owner, and synced before they get their names.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use probity_backend::secrets::hex;
use ring::digest::{Context, SHA256};

use crate::batch::beside;
use crate::exit::{Exit, ExitsWith};

/// Suffixes of SQLite's extra files, which a closed database does not have.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// Size of one read, in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// Creates an empty file, private to its owner.
pub(super) fn create(path: &Path) -> Result<File> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.with_context(|| format!("cannot create {}", path.display()))
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
        Some(log) => {
            Err(anyhow!("{} is still there: the database is in use", log.display()).context(ExitsWith(Exit::Local)))
        }
        None => beside_of(path).try_for_each(|path| remove(&path)),
    }
}

pub(super) fn sum(path: &Path) -> Result<String> {
    let (mut file, mut context) = (File::open(path)?, Context::new(&SHA256));
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(context.finish().as_ref())),
            read => context.update(&piece[..read]),
        }
    }
}

pub(super) fn sync(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.sync_all()).with_context(|| format!("cannot write {}", path.display()))
}

pub(super) fn parent(path: &Path) -> PathBuf {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}
