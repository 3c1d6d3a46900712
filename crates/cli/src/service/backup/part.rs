//! Directory of an unfinished backup, private to this user. Dropping it deletes the directory unless it became a backup.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::files::{remove, remove_database};
use super::{DATABASE, MANIFEST, PEPPER};
use crate::log;
use crate::service::TOMBSTONES_FILE;

/// Locked, so that no other backup uses the same directory.
#[derive(Debug)]
pub(super) struct PartialBackup {
    path: PathBuf,
    _held: File,
    named: bool,
}

impl PartialBackup {
    /// Creates the directory, or empties the one that a killed backup left.
    pub(super) fn begin(path: PathBuf) -> Result<Self> {
        let unusable = || format!("cannot create {}", path.display());
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error).with_context(unusable),
            // In a shared directory, another user could create it first, with a file in the database's place.
            Err(_) if !is_private(&path).with_context(unusable)? => bail!(
                "{} exists and is not a directory of this user with mode 0700; remove it, or choose another directory",
                path.display()
            ),
            Ok(()) | Err(_) => {}
        }
        let held = File::open(&path).with_context(unusable)?;
        let locked_elsewhere = matches!(held.try_lock(), Err(fs::TryLockError::WouldBlock));
        // The backup that held the lock may have removed or renamed the directory.
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

    /// Renames the directory to its final name.
    pub(super) fn name(mut self, target: &Path) -> Result<()> {
        fs::rename(&self.path, target).with_context(|| format!("cannot rename the backup to {}", target.display()))?;
        self.named = true;
        Ok(())
    }
}

impl Drop for PartialBackup {
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

/// Reports whether this is a directory, not a link, owned by this user and accessible to no other.
fn is_private(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    Ok(found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o777 == 0o700)
}

fn is_at(held: &File, path: &Path) -> io::Result<bool> {
    let (held, found) = (held.metadata()?, fs::symlink_metadata(path)?);
    Ok((held.dev(), held.ino()) == (found.dev(), found.ino()))
}
