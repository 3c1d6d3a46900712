//! Names of people by region, from the packages, in Latin letters.
//!
//! Each name belongs to the training or to the held-out part by a hash of its text, so that a name never stands in both,
//! whatever list it comes from.

mod romanize;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{data, packages};

/// Given names and surnames of one region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    pub(crate) given: Vec<String>,
    pub(crate) last: Vec<String>,
}

/// All regions by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(pub(crate) BTreeMap<String, Region>);

/// Which names of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Four of five.
    Train,
    /// The fifth.
    HeldOut,
}

/// How many names of the census count as common given names.
const COMMON_GIVEN: usize = 1500;
/// Surnames of the census that are learned from; the list is by frequency.
const CENSUS_LAST: usize = 20_000;

impl Names {
    /// The names of one part.
    pub(crate) fn part(&self, part: Part) -> Self {
        let keep = |names: &Vec<String>| names.iter().filter(|n| part_of(n) == part).cloned().collect();
        let regions = self
            .0
            .iter()
            .map(|(region, names)| (region.clone(), Region { given: keep(&names.given), last: keep(&names.last) }));
        Self(regions.filter(|(_, names)| !names.given.is_empty() && !names.last.is_empty()).collect())
    }

    /// Given names that role words must not be.
    pub(crate) fn common_given(&self) -> BTreeSet<String> {
        self.0.get("census").map(|census| census.given.iter().take(COMMON_GIVEN).cloned().collect()).unwrap_or_default()
    }
}

/// FNV-1a of the text; one of five is held out.
fn part_of(name: &str) -> Part {
    let hash =
        name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    if (hash >> 20).is_multiple_of(5) { Part::HeldOut } else { Part::Train }
}

/// The names that the model is trained on and tested with.
pub(crate) fn load() -> Result<Names> {
    let mut names = Names::default();
    names.0.insert("census".into(), census()?);
    let folder = packages::unpacked("Faker")?.join("faker/providers/person");
    for locale in folders(&folder)? {
        let region = faker(&folder.join(&locale).join("__init__.py"))?;
        if !region.given.is_empty() && !region.last.is_empty() {
            names.0.insert(locale, region);
        }
    }
    for line in data::own("xtask/data/names_own.txt")? {
        let (region, name) = line.split_once('\t').context("REGION and NAME")?;
        let region = names.0.entry(region.to_owned()).or_default();
        // These lists do not tell given names from surnames; both orders are common.
        region.given.extend(romanize::latin(name));
        region.last.extend(romanize::latin(name));
    }
    Ok(names)
}

/// Names of another package, which the model never sees.
pub(crate) fn foreign() -> Result<Names> {
    let folder = packages::unpacked("mimesis")?.join("mimesis/datasets");
    let mut names = Names::default();
    for locale in folders(&folder)? {
        let Ok(text) = std::fs::read_to_string(folder.join(&locale).join("person.json")) else {
            continue;
        };
        let person: Value = serde_json::from_str(&text)?;
        let region = Region { given: romanized(&person["names"]), last: romanized(&person["surnames"]) };
        if !region.given.is_empty() && !region.last.is_empty() {
            names.0.insert(locale, region);
        }
    }
    Ok(names)
}

fn romanized(value: &Value) -> Vec<String> {
    match value {
        Value::String(name) => romanize::latin(name),
        Value::Array(items) => items.iter().flat_map(romanized).collect(),
        Value::Object(items) => items.values().flat_map(romanized).collect(),
        _ => Vec::new(),
    }
}

fn folders(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn census() -> Result<Region> {
    let column = |file: &str, most: usize| -> Result<Vec<String>> {
        let text = packages::read("names", file)?;
        Ok(text.lines().filter_map(|l| l.split_whitespace().next()).take(most).map(str::to_lowercase).collect())
    };
    let (women, men) = (column("names/dist.female.first", usize::MAX)?, column("names/dist.male.first", usize::MAX)?);
    let longest = women.len().max(men.len());
    // Both lists are by frequency; taking turns keeps that order.
    let given = (0..longest).flat_map(|n| [women.get(n), men.get(n)]).flatten().cloned().collect();
    Ok(Region { given, last: column("names/dist.all.last", CENSUS_LAST)? })
}

/// The tables of names in a locale's source: assignments whose target is called after given names or surnames.
fn faker(path: &Path) -> Result<Region> {
    let source = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut region = Region::default();
    let mut table: Option<bool> = None;
    for line in source.lines() {
        let trimmed = line.trim_start();
        if line.len() - trimmed.len() == 4 && trimmed.starts_with(|c: char| c.is_ascii_alphabetic()) {
            table = trimmed.split([':', '=', ' ']).next().and_then(is_given);
        }
        let Some(given) = table else { continue };
        let names = literals(trimmed).into_iter().filter(|n| !n.contains("{{")).flat_map(romanize::latin);
        if given {
            region.given.extend(names);
        } else {
            region.last.extend(names);
        }
    }
    for list in [&mut region.given, &mut region.last] {
        list.sort_unstable();
        list.dedup();
    }
    Ok(region)
}

/// Given names (`true`), surnames (`false`), or another table.
fn is_given(target: &str) -> Option<bool> {
    if target.contains("format") || target.contains("prefix") || target.contains("suffix") || target.contains("kana") {
        None
    } else if target.starts_with("first_") {
        Some(true)
    } else if target.starts_with("last_") {
        Some(false)
    } else {
        None
    }
}

fn literals(line: &str) -> Vec<&str> {
    let code = line.split(" #").next().unwrap_or(line);
    data::quoted(code, if code.contains('"') { '"' } else { '\'' })
}
