//! Where the service of this data directory listens: written at its start, for commands beside it, because a flag of `serve` or
//! the system may have chosen the port. It stays when the service ends, because the next one most likely listens there, too.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// The file in the data directory.
const FILE: &str = "listening";

/// Writes where the service listens first. Commands fall back to the configuration, so a failure costs no more than that.
pub(super) fn tell(data: &Path, listening: &[SocketAddr]) {
    let Some(first) = listening.first() else { return };
    // Whoever reads meanwhile sees one of the two, whole.
    let unfinished = data.join(format!("{FILE}.{}", std::process::id()));
    let written = fs::write(&unfinished, format!("{first}\n")).and_then(|()| fs::rename(&unfinished, data.join(FILE)));
    if let Err(error) = written {
        tracing::info!(%error, "cannot write the listen addresses to the data directory");
    }
}

/// Where the service listens, or listened last.
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
