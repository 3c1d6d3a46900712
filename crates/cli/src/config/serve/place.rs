//! Location of data.

use std::path::PathBuf;

/// Data directory of system services.
const SYSTEM_DATA: &str = "/var/lib";

/// Returns the default parent of the data directory: that of system services for root and users without a home, else the one of the
/// XDG Base Directory Specification, which also says to ignore a relative path.
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
