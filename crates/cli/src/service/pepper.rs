//! Secrets outside the database: the pepper, from the configuration or a file that only the service's user can read, and the master
//! key, always from such a file.
//!
//! The first start creates the pepper's file; a master key is created only on request. Both are text, for copying into a secret
//! store; their bytes are the text's SHA-256.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use probity_access::secrets::hex;
use probity_access::secrets::sealing::MasterKey;
use ring::digest::{SHA256, digest};
use secrecy::ExposeSecret as _;

use crate::config::serve::Pepper;
use crate::files::{create_private, parent, sync};
use crate::log;

/// Maximum size of a secret's file, in bytes.
const FILE_MAX: u64 = 4_096;
/// Minimum characters of a secret in a file.
const LEAST: usize = 32;

/// Returns the pepper's bytes, creating its file if missing.
pub(super) fn read(pepper: &Pepper) -> Result<[u8; 32]> {
    if let Pepper::File(path) = pepper
        && let Err(error) = create(path)
        && error.kind() != ErrorKind::AlreadyExists
    {
        return Err(error).with_context(|| format!("cannot create the pepper {}", path.display()));
    }
    existing(pepper)
}

/// Returns the pepper's bytes; fails if its file is missing.
pub(super) fn existing(pepper: &Pepper) -> Result<[u8; 32]> {
    match pepper {
        Pepper::Given(text) => Ok(bytes(text.expose_secret())),
        Pepper::File(path) => read_file(path, "the pepper"),
    }
}

/// Reads the master key from a file.
pub(super) fn master_key(path: &Path) -> Result<MasterKey> {
    read_file(path, "the master key").map(|bytes| MasterKey::of(&bytes))
}

/// Creates a master key in a new file.
pub(crate) fn new_master_key(path: &Path) -> Result<()> {
    create(path).with_context(|| format!("cannot create the master key {}", path.display()))
}

fn bytes(text: &str) -> [u8; 32] {
    digest(&SHA256, text.trim().as_bytes()).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn read_file(path: &Path, what: &str) -> Result<[u8; 32]> {
    let place = path.display();
    let file = File::open(path).with_context(|| format!("cannot read {what} {place}"))?;
    warn_if_open(&file, path, what);
    let mut text = String::new();
    file.take(FILE_MAX).read_to_string(&mut text).with_context(|| format!("cannot read {what} {place}"))?;
    if text.trim().len() < LEAST {
        bail!("{what} {place} has fewer than {LEAST} characters: restore the original");
    }
    Ok(bytes(&text))
}

/// Creates a secret's file if missing. The file gets its name when complete: a killed process leaves no empty file, which would
/// block every later start.
fn create(path: &Path) -> std::io::Result<()> {
    if path.exists() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let text = hex(&random()?) + "\n";
    let unfinished = path.with_added_extension(hex(&random()?[..8]));
    let created = write(&unfinished, &text).and_then(|()| {
        // Unlike a rename, a link never replaces another secret.
        std::fs::hard_link(&unfinished, path)
    });
    let removed = std::fs::remove_file(&unfinished);
    created.and(removed)?;
    sync(parent(path))
}

/// Writes and syncs a secret: keys are hashed or wrapped with it, so it must be as durable as they are.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = create_private(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn random() -> std::io::Result<[u8; 32]> {
    let random = ring::rand::generate(&ring::rand::SystemRandom::new());
    Ok(random.map_err(|_| std::io::Error::other("the operating system returned no random bytes"))?.expose())
}

fn warn_if_open(file: &File, path: &Path, what: &str) {
    let open = file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0);
    if open {
        log::say(&format!("probity: other users can read {what} {}: run `chmod 600` on it", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_start_at_once_read_one_whole_pepper() {
        for _ in 0..50 {
            let directory = tempfile::tempdir().unwrap();
            let pepper = Pepper::File(directory.path().join("pepper"));
            let all = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| read(&pepper))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect::<Vec<_>>()
            });
            assert!(all.iter().all(|pepper| *pepper == all[0]));
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
        }
    }

    #[test]
    fn a_pepper_is_made_once_and_for_nobody_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pepper");
        let pepper = Pepper::File(path.clone());
        let made = read(&pepper).unwrap();
        assert_eq!(read(&pepper).unwrap(), made);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.trim().len(), 64);
        assert_eq!(bytes(&text), made);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "short").unwrap();
        assert!(read(&pepper).unwrap_err().to_string().contains("32 characters"));
    }
}
