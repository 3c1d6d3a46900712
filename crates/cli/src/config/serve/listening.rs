//! Listening address of this data directory's service, written at its start for other commands, because a flag or the system may
//! have chosen the port. The file stays after shutdown, since the next start most likely uses the same address.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// Name of the file in the data directory.
const FILE: &str = "listening";

/// Writes the first listening address. A failure is harmless: commands fall back to the configuration.
pub(crate) fn tell(data: &Path, listening: &[SocketAddr]) {
    let Some(first) = listening.first() else { return };
    // The rename is atomic, so that readers see one complete file.
    let unfinished = data.join(format!("{FILE}.{}", std::process::id()));
    let written = fs::write(&unfinished, format!("{first}\n")).and_then(|()| fs::rename(&unfinished, data.join(FILE)));
    if let Err(error) = written {
        tracing::info!(%error, "cannot write the listen addresses to the data directory");
    }
}

/// Returns the current or last listening address.
pub(crate) fn of(data: &Path) -> Option<SocketAddr> {
    fs::read_to_string(data.join(FILE)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_is_found_again() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(of(data.path()), None);
        let addresses: Vec<SocketAddr> = ["[::1]:9000", "127.0.0.1:1"].map(|text| text.parse().unwrap()).to_vec();
        tell(data.path(), &addresses);
        assert_eq!(of(data.path()), Some(addresses[0]));
        tell(data.path(), &addresses[1..]);
        assert_eq!(of(data.path()), Some(addresses[1]));
        tell(data.path(), &[]);
        assert_eq!(of(data.path()), Some(addresses[1]));
        fs::write(data.path().join(FILE), "nowhere").unwrap();
        assert_eq!(of(data.path()), None);
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1);
    }
}
