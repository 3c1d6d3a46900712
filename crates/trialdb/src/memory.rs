//! Files in memory, for databases that need not outlive the machine. On a disk, creating and syncing their hundreds of files takes
//! most of the time of many tests.

use std::path::Path;

use tempfile::TempDir;

/// Directory of files in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// Free memory that the files of many tests at once never fill, in bytes.
const FREE_MIN: u64 = 4 << 30;

/// Returns the directory of files in memory if there is one with plenty of room.
pub(crate) fn directory() -> Option<&'static Path> {
    let space = rustix::fs::statvfs(MEMORY).ok()?;
    (space.f_bavail.saturating_mul(space.f_frsize) >= FREE_MIN).then_some(Path::new(MEMORY))
}

/// Creates an empty directory for the files of a test, in memory if there is plenty: it tests what is stored, not whether a power
/// failure leaves it there.
///
/// # Panics
///
/// If it cannot be created.
pub fn scratch_directory() -> TempDir {
    directory().map_or_else(tempfile::tempdir, tempfile::tempdir_in).expect("a temporary directory can be created")
}
