//! Rules of the house: sizes of crates and folders, and names of types.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum lines of `src` in a crate, without its tests.
const LINES_MAX: usize = 18_000;
/// Maximum files directly in a folder of `src`.
const FILES_MAX: usize = 15;
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    let of = |path: PathBuf| {
        if path.is_dir() {
            return sources(&path);
        }
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if is_rust { vec![path] } else { Vec::new() }
    };
    entries.into_iter().flat_map(of).collect()
}

/// Returns each crate's name with its source files.
fn crates() -> Vec<(String, Vec<PathBuf>)> {
    let mut folders: Vec<PathBuf> = fs::read_dir(root().join("crates"))
        .expect("the crates")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("src").is_dir())
        .collect();
    folders.sort();
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    folders.into_iter().map(|folder| (name(&folder), sources(&folder.join("src")))).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a source file")
}

/// Cuts off the tests within a file.
fn without_tests(code: &str) -> &str {
    code.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default()
}

#[test]
fn no_crate_is_too_large() {
    let is_program =
        |file: &&PathBuf| !file.ends_with("tests.rs") && !file.components().any(|part| part.as_os_str() == "tests");
    let lines = |files: &[PathBuf]| {
        files.iter().filter(is_program).map(|file| without_tests(&read(file)).lines().count()).sum::<usize>()
    };
    let sizes: BTreeMap<String, usize> = crates().into_iter().map(|(name, files)| (name, lines(&files))).collect();
    let large: Vec<_> = sizes.iter().filter(|(_, lines)| **lines > LINES_MAX).collect();
    assert!(sizes.len() > 10, "the crates are not seen: {sizes:?}");
    assert!(large.is_empty(), "crates above {LINES_MAX} lines: {large:?}");
}

/// Returns each folder from `folder` down with the number of files directly in it.
fn folders(folder: &Path) -> Vec<(PathBuf, usize)> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (inner, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut found = vec![(folder.to_path_buf(), files.len())];
    found.extend(inner.iter().flat_map(|folder| folders(folder)));
    found
}

#[test]
fn no_folder_is_crowded_and_none_has_a_single_file() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (name, _) in crates() {
        let src = root().join("crates").join(&name).join("src");
        for (folder, files) in folders(&src) {
            seen += 1;
            if files > FILES_MAX || (files == 1 && folder != src) {
                wrong.push(format!("{}: {files}", folder.display()));
            }
        }
    }
    wrong.sort();
    assert!(seen > 100, "the folders are not seen: {seen}");
    assert!(wrong.is_empty(), "folders with one file, or with more than {FILES_MAX}: {wrong:#?}");
}

/// Returns the name of the type that a line makes visible outside its file.
fn visible_type(line: &str) -> Option<&str> {
    let nested = line.starts_with(' ');
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = if rest.starts_with('(') { rest.split_once(')')?.1 } else { rest };
    let (keyword, rest) = rest.trim_start().split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "union"].contains(&keyword) || (keyword == "type" && !nested);
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    // A name that a macro puts in is its caller's.
    (is_type && !name.is_empty()).then_some(name)
}

/// Types of the contract have the names of the API, which those that they show may have, too.
#[test]
fn a_type_that_is_visible_outside_its_file_has_a_name_of_its_own() {
    let mut places: BTreeMap<(String, bool), BTreeSet<PathBuf>> = BTreeMap::new();
    for (crate_name, files) in crates() {
        for file in files {
            let code = read(&file);
            for name in without_tests(&code).lines().filter_map(visible_type) {
                places.entry((name.to_owned(), crate_name == "contract")).or_default().insert(file.clone());
            }
        }
    }
    assert!(places.len() > 500, "the types are not seen");
    let shared: Vec<_> = places.into_iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(shared.is_empty(), "names of more than one type: {shared:#?}");
}
