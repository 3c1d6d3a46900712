//! The directory of an unfinished backup. It belongs to this user alone, and goes away unless it gets the name of a backup.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::files::{remove, remove_database};
use super::{DATABASE, MANIFEST, PEPPER};
use crate::log;
use crate::service::TOMBSTONES_FILE;

/// Held, so that no other backup uses the same directory.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    _held: File,
    named: bool,
}

impl Part {
    /// Makes the directory, or empties the one that a killed backup left.
    pub(super) fn begin(path: PathBuf) -> Result<Self> {
        let unusable = || format!("cannot create {}", path.display());
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error).with_context(unusable),
            // In a shared directory others can make it first, and put a file of theirs where the database is written.
            Err(_) if !is_private(&path).with_context(unusable)? => bail!(
                "{} exists and is not a directory of this user with mode 0700; remove it, or choose another directory",
                path.display()
            ),
            Ok(()) | Err(_) => {}
        }
        let held = File::open(&path).with_context(unusable)?;
        let locked_elsewhere = matches!(held.try_lock(), Err(fs::TryLockError::WouldBlock));
        // The backup that held it before may have removed it, or given it its name.
        if locked_elsewhere || !is_at(&held, &path).with_context(unusable)? {
            bail!("another backup to {} is in progress", path.display());
        }
        remove_database(&path.join(DATABASE))?;
        for name in [PEPPER, TOMBSTONES_FILE, MANIFEST] {
            remove(&path.join(name))?;
        }
        if fs::read_dir(&path).with_context(unusable)?.next().is_some() {
            bail!("{} has files that belong to no backup; move it away", path.display());
        }
        Ok(Self { path, _held: held, named: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the directory the name of a backup.
    pub(super) fn name(mut self, target: &Path) -> Result<()> {
        fs::rename(&self.path, target).with_context(|| format!("cannot rename the backup to {}", target.display()))?;
        self.named = true;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.named {
            return;
        }
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                log::say(&format!("note: delete {}: it contains addresses ({error})", self.path.display()));
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// Whether this is a directory, not a link to one, that belongs to this user and that nobody else can use.
fn is_private(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    Ok(found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o777 == 0o700)
}

fn is_at(held: &File, path: &Path) -> io::Result<bool> {
    let (held, found) = (held.metadata()?, fs::symlink_metadata(path)?);
    Ok((held.dev(), held.ino()) == (found.dev(), found.ino()))
}
