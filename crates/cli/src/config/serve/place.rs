//! Where data lies.

use std::path::PathBuf;

use crate::config::settings::Reader;

/// The directory for data of the system's services.
const SYSTEM_DATA: &str = "/var/lib";
/// Our directory among those of other programs.
const OWN_DATA: &str = "probity";

/// Where data lies that nobody configured a place for: for root and for those without a home where the system's services
/// have theirs, else where the XDG Base Directory Specification says. It also says that a relative path is to be ignored.
pub(in crate::config) fn data_home(environment: &[(String, String)]) -> PathBuf {
    choose_data_home(environment, is_root())
}

pub(super) fn choose_data_home(environment: &[(String, String)], root: bool) -> PathBuf {
    let absolute = |name: &str| {
        let found = environment.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let system = || PathBuf::from(SYSTEM_DATA);
    if root {
        return system();
    }
    let home = || absolute("HOME").map(|home| home.join(".local/share"));
    absolute("XDG_DATA_HOME").or_else(home).unwrap_or_else(system)
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(target_os = "linux"))]
fn is_root() -> bool {
    false
}

pub(super) fn data_directory(read: &Reader<'_>) -> PathBuf {
    match read.text("server.data") {
        "" => read.0.data_home.join(OWN_DATA),
        directory => PathBuf::from(directory),
    }
}
