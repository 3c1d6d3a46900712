//! Lock on the database of a data directory: shared by commands that have the database open, exclusive for a restore.
//!
//! SQLite's own locks belong to a file, and a restore replaces the file. A process that had just opened the old file would continue
//! with it, and its log would corrupt the new one.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Result, anyhow};

use crate::exit;

/// Name of the file in the data directory.
const FILE: &str = "lock";

/// Held until dropped; has no effect if the file system has no locks or the file cannot be created.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: Option<File>,
}

/// Acquires shared use of the database.
pub(crate) fn share(data: &Path) -> Result<DirectoryLock> {
    taken(data, File::try_lock_shared, "a restore is running; retry when it has finished")
}

/// Acquires exclusive use of the database.
pub(crate) fn alone(data: &Path) -> Result<DirectoryLock> {
    taken(data, File::try_lock, "the database is in use; stop the service and every other program that has it open")
}

fn taken(data: &Path, lock: fn(&File) -> Result<(), TryLockError>, taken: &'static str) -> Result<DirectoryLock> {
    let Some(file) = open(data) else { return Ok(DirectoryLock { _file: None }) };
    match lock(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(exit::local(anyhow!("{}: {taken}", data.display())));
        }
        Err(TryLockError::Error(error)) => tracing::info!(%error, "the data directory cannot be locked"),
    }
    Ok(DirectoryLock { _file: Some(file) })
}

/// Opens the lock file, which is never written: everyone who may use the directory may lock it.
fn open(data: &Path) -> Option<File> {
    let path = data.join(FILE);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o644);
    options.open(&path).or_else(|_| File::open(&path)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_share_and_one_is_alone() {
        let data = tempfile::tempdir().unwrap();
        let (one, two) = (share(data.path()).unwrap(), share(data.path()).unwrap());
        let refused = alone(data.path()).unwrap_err();
        assert!(format!("{refused:#}").contains("in use"), "{refused:#}");
        drop((one, two));
        let held = alone(data.path()).unwrap();
        assert!(format!("{:#}", share(data.path()).unwrap_err()).contains("restore"));
        drop(held);
        assert!(share(data.path()).is_ok());
        assert!(share(Path::new("/does/not/exist")).is_ok(), "whoever opens the database says what is wrong");
    }
}
