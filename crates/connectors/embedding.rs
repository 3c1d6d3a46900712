//! Table of the connector files of a folder, as the source of a constant.

use std::fmt::Write as _;
use std::path::Path;

/// Returns the table: the name of each file, and its text.
pub(crate) fn table(folder: &Path) -> std::io::Result<String> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut table = "&[\n".to_owned();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(table, "    ({name:?}, include_str!({:?})),", path.display().to_string());
    }
    Ok(table + "]\n")
}
