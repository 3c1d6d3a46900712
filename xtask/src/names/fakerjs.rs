//! Names from the locales of `@faker-js/faker`: bundled scripts whose tables are arrays of literals, or one literal that is split
//! at a separator.

use anyhow::{Context as _, Result};

use super::{Region, romanize};
use crate::packages;

/// Returns the locales with given names and surnames that have Latin spellings, by name.
pub(super) fn load() -> Result<Vec<(String, Region)>> {
    let folder = packages::unpacked("@faker-js/faker")?.join("dist");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        files.push(entry?.file_name().to_string_lossy().into_owned());
    }
    files.sort_unstable();
    let mut found = Vec::new();
    for file in files {
        // `pl-BXqbAama.js`: the locale and a hash.
        let Some((locale, _)) = file.strip_suffix(".js").and_then(|name| name.rsplit_once('-')) else {
            continue;
        };
        let source = std::fs::read_to_string(folder.join(&file))?;
        let Some(person) = source.find("person:{").map(|at| &source[at..]) else {
            continue;
        };
        let (given, last) = (table(person, "first_name:{"), table(person, "last_name:{"));
        // If a locale leaves one kind to English, the other is used for both.
        let (given, last) = match (given.is_empty(), last.is_empty()) {
            (true, true) => continue,
            (true, false) => (last.clone(), last),
            (false, true) => (given.clone(), given),
            (false, false) => (given, last),
        };
        found.push((format!("js_{locale}"), Region { given, last, told_apart: false }));
    }
    Ok(found)
}

/// Returns the names between this opening brace and its closing brace.
fn table(person: &str, open: &str) -> Vec<String> {
    let Some(start) = person.find(open).map(|at| at + open.len()) else {
        return Vec::new();
    };
    let mut depth = 1_usize;
    let mut names = Vec::new();
    let mut pieces = person[start..].split('`');
    // The pieces alternate: outside a literal, then inside.
    while let Some(code) = pieces.next() {
        for c in code.chars() {
            depth = match c {
                '{' => depth + 1,
                '}' => depth.saturating_sub(1),
                _ => depth,
            };
            if depth == 0 {
                return names;
            }
        }
        let Some(literal) = pieces.next() else { break };
        let mut rest = pieces.clone();
        let is_split = rest.next().is_some_and(|code| code.starts_with(".split("));
        if is_split {
            pieces.next();
            let sign = pieces.next().unwrap_or_default();
            names.extend(literal.split(sign).flat_map(romanize::latin));
        } else {
            names.extend(romanize::latin(literal));
        }
    }
    names
}
