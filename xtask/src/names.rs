//! Names of people by region, from the packages, in Latin letters.
//!
//! A hash of its text assigns each name to the training or the held-out part, so that no name is in both, whatever its list.

mod fakerjs;
mod romanize;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use probity_mail::rng::stable_hash;
use serde_json::Value;

use crate::{data, packages};

/// Given names and surnames of one region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    pub(crate) given: Vec<String>,
    pub(crate) last: Vec<String>,
    /// The source distinguishes given names from surnames; otherwise, both have all names.
    pub(crate) told_apart: bool,
}

/// All regions by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(pub(crate) BTreeMap<String, Region>);

/// Part of a list of names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// 80% of the names.
    Train,
    /// The other 20%.
    HeldOut,
}

/// Number of census names that count as common given names.
const COMMON_GIVEN: usize = 1500;
/// Number of census surnames used for training; the list is sorted by frequency.
const CENSUS_LAST: usize = 20_000;

impl Names {
    /// Returns the names of one part.
    pub(crate) fn part(&self, part: Part) -> Self {
        let keep = |names: &Vec<String>| names.iter().filter(|n| part_of(n) == part).cloned().collect();
        let regions = self.0.iter().map(|(region, names)| {
            (
                region.clone(),
                Region { given: keep(&names.given), last: keep(&names.last), told_apart: names.told_apart },
            )
        });
        Self(regions.filter(|(_, names)| !names.given.is_empty() && !names.last.is_empty()).collect())
    }

    /// Reads a file of lines LIST, `given` or `last`, and NAME, separated by tabs. A list with names of one kind uses them for
    /// both.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let mut names = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split('\t');
            let (list, kind, name) = (fields.next(), fields.next(), fields.next());
            let (Some(list), Some(kind), Some(name)) = (list, kind, name) else {
                anyhow::bail!("{line}: the line is LIST, given or last, and NAME");
            };
            let region = names.0.entry(list.to_owned()).or_default();
            if kind == "given" { &mut region.given } else { &mut region.last }.extend(romanize::latin(name));
        }
        for region in names.0.values_mut() {
            if region.given.is_empty() {
                region.given.clone_from(&region.last);
            } else if region.last.is_empty() {
                region.last.clone_from(&region.given);
            }
        }
        names.0.retain(|_, region| !region.given.is_empty());
        Ok(names)
    }

    /// Returns the given names that must not be role words: the common ones of the census, and all of the other regions that have
    /// lists of given names, which are short.
    pub(crate) fn common_given(&self) -> BTreeSet<String> {
        let most = |region: &str| if region == "census" { COMMON_GIVEN } else { usize::MAX };
        let told_apart = self.0.iter().filter(|(_, region)| region.told_apart);
        told_apart.flat_map(|(name, region)| region.given.iter().take(most(name)).cloned()).collect()
    }
}

/// Assigns a name by the FNV-1a hash of its text; 1 in 5 is held out.
fn part_of(name: &str) -> Part {
    if (stable_hash(name.bytes()) >> 20).is_multiple_of(5) { Part::HeldOut } else { Part::Train }
}

/// Loads the names for training and testing the model.
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
    for (locale, region) in fakerjs::load()? {
        names.0.insert(locale, region);
    }
    // One list of names worldwide, without regions.
    let listed = packages::read("@cspell/dict-people-names", "dict/people-names.txt")?;
    let listed: Vec<String> = listed.lines().filter(|l| !l.starts_with('#')).flat_map(romanize::latin).collect();
    names.0.insert("listed".into(), Region { given: listed.clone(), last: listed, told_apart: false });
    for line in data::own("xtask/data/names_own.txt")? {
        let (region, name) = line.split_once('\t').context("REGION and NAME")?;
        let region = names.0.entry(region.to_owned()).or_default();
        // These lists do not distinguish given names from surnames; both orders are common.
        region.given.extend(romanize::latin(name));
        region.last.extend(romanize::latin(name));
    }
    Ok(names)
}

/// Returns names from packages that the model never sees, without those that it was trained on.
pub(crate) fn foreign() -> Result<[(&'static str, Names); 2]> {
    let known: BTreeSet<String> = load()?.0.into_values().flat_map(|r| [r.given, r.last]).flatten().collect();
    let unseen = |names: Names| {
        let keep = |names: Vec<String>| names.into_iter().filter(|n| !known.contains(n)).collect();
        let regions =
            names.0.into_iter().map(|(name, r)| (name, Region { given: keep(r.given), last: keep(r.last), ..r }));
        Names(regions.filter(|(_, r)| r.given.len() >= 10 && r.last.len() >= 10).collect())
    };
    Ok([("mimesis", unseen(mimesis()?)), ("name-variants", unseen(variants()?))])
}

/// Reads spellings in Latin letters, from literals in one table per language.
fn variants() -> Result<Names> {
    let folder = packages::unpacked("name-variants")?.join("name_variants");
    let mut names = Names::default();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        let Some(language) = file.strip_suffix(".py").filter(|f| f.ends_with("names") || f.contains("_names_")) else {
            continue;
        };
        let source = std::fs::read_to_string(folder.join(&file))?;
        let forms = source.lines().filter(|line| line.trim_start().starts_with("\"forms\""));
        let forms = forms.flat_map(|line| data::quoted(line, '"')).filter(|literal| *literal != "forms");
        let forms: Vec<String> = forms.flat_map(romanize::latin).collect();
        names.0.insert(language.to_owned(), Region { given: forms.clone(), last: forms, told_apart: false });
    }
    Ok(names)
}

/// Returns all names of a package that the model never sees.
pub(crate) fn mimesis() -> Result<Names> {
    let folder = packages::unpacked("mimesis")?.join("mimesis/datasets");
    let mut names = Names::default();
    for locale in folders(&folder)? {
        let Ok(text) = std::fs::read_to_string(folder.join(&locale).join("person.json")) else {
            continue;
        };
        let person: Value = serde_json::from_str(&text)?;
        let region =
            Region { given: romanized(&person["names"]), last: romanized(&person["surnames"]), told_apart: true };
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
    // Both lists are sorted by frequency; interleaving keeps that order.
    let given = (0..longest).flat_map(|n| [women.get(n), men.get(n)]).flatten().cloned().collect();
    Ok(Region { given, last: column("names/dist.all.last", CENSUS_LAST)?, told_apart: true })
}

/// Reads the name tables in a locale's source: assignments whose target is named after given names or surnames.
fn faker(path: &Path) -> Result<Region> {
    let source = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut region = Region { told_apart: true, ..Region::default() };
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

/// Classifies a table: given names (`true`), surnames (`false`), or another table.
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
