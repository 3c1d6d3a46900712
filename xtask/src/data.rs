//! Refreshes the product data from pinned packages and our own files.
//!
//! The same pins give the same bytes. None of the inputs is read at run time; the sorted text outputs are committed, so that a
//! build needs no registry. Our own input files are in `xtask/data`; the outputs are in `crates/mail/data`, beside the lists that
//! are written by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use probity_mail::facts::gibberish::{Layer, Model};
use probity_mail::facts::lists::Lists;
use serde_json::Value;

use crate::disposable::{self, Domains, Sources};
use crate::measure;
use crate::names::{self, Names};
use crate::packages::{self, Registry, Use};
use crate::train;

/// Runs the whole refresh.
pub(crate) fn refresh() -> Result<()> {
    let names = names::load()?;
    lists(&names)?;
    std::fs::write(data_dir().join("gibberish.txt"), train::model_text(&names, &words()?))?;
    Ok(())
}

/// Refreshes the lists without training the model, which takes a while.
pub(crate) fn refresh_lists() -> Result<()> {
    lists(&names::load()?)
}

fn lists(names: &Names) -> Result<()> {
    let roles = roles(names)?;
    write("role", ROLE_HEAD, &roles)?;
    let sources = Sources::load()?;
    let free = free(&sources)?;
    let disposable = sources.domains(&real_domains(&free)?)?;
    write("disposable", DISPOSABLE_HEAD, &disposable)?;
    write("free", FREE_HEAD, &free)?;
    std::fs::write(
        data_dir().join("LICENSES.md"),
        licences(&[("role", roles.len()), ("disposable", disposable.len()), ("free", free.len())]),
    )?;
    Ok(())
}

/// Trains the gibberish model alone.
pub(crate) fn train() -> Result<()> {
    std::fs::write(data_dir().join("gibberish.txt"), train::model_text(&names::load()?, &words()?))?;
    Ok(())
}

const ROLE_HEAD: &str =
    "Role local parts. Made by the refresh command from a public list and our own words; given names are left out.";
const DISPOSABLE_HEAD: &str = "Throw-away domains. Made by the refresh command: careful lists, what two independent ones of four others agree on, and families of these.";
const FREE_HEAD: &str =
    "Consumer mail domains. Made by the refresh command from our own list and what two of three public lists agree on.";

fn data_dir() -> PathBuf {
    crate::workspace().join("crates/mail/data")
}

fn write(name: &str, head: &str, lines: &BTreeSet<String>) -> Result<()> {
    let mut text = format!("# {head}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    std::fs::write(data_dir().join(format!("{name}.txt")), text).with_context(|| name.to_owned())
}

/// Returns the lines of one of our files, without comments.
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
    let kept = own("xtask/data/role_keep.txt")?;
    let given: BTreeSet<String> = names.common_given().into_iter().filter(|name| !kept.contains(name)).collect();
    // A common given name belongs to a person unless one of our lists says otherwise.
    Ok(roles.into_iter().filter(|r| !dropped.contains(r) && !given.contains(r) && is_local(r)).collect())
}

fn is_local(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && !text.contains(char::is_whitespace)
}

/// Returns the literals between two quotes.
pub(crate) fn quoted(source: &str, quote: char) -> Vec<&str> {
    source.lines().flat_map(|line| line.split(quote).skip(1).step_by(2)).collect()
}

/// Returns domains that are never disposable: guarded, free, relay and popular ones.
fn real_domains(free: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let mut real = own("crates/mail/data/guard.txt")?;
    real.extend(own("crates/mail/data/relay.txt")?);
    real.extend(popular()?);
    real.extend(free.iter().cloned());
    Ok(real)
}

fn popular() -> Result<BTreeSet<String>> {
    let lines = own("crates/mail/data/popular.txt")?;
    Ok(lines.iter().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect())
}

/// Builds the list of free domains: our own, those of mail.com, and those on two of three public lists but on no disposable list.
///
/// Two of the three lists have one ancestor, with web hosters, firms and what expired long ago: what only they have is a provider if
/// its name says so. Merged lists of disposable domains contain many consumer providers by mistake. For a domain on the most careful of the three
/// lists, only the careful disposable lists count.
fn free(sources: &Sources) -> Result<Domains> {
    let careful = sources.careful();
    let any = sources.any();
    let spamassassin = spamassassin("20_freemail_domains.cf")?;
    let agreed = disposable::agreed(free_lists()?.values());
    let own = own("xtask/data/free_own.txt")?;
    let popular = popular()?;
    let guard = self::own("crates/mail/data/guard.txt")?;
    let universities = measure::universities()?;
    let mut free: Domains = agreed
        .into_iter()
        .filter(|d| {
            let throw_away = if spamassassin.contains(d) { careful.contains(d) } else { any.contains(d) };
            let is_provider = spamassassin.contains(d) || says_mail(d);
            let is_other = throw_away || guard.contains(d) || universities.contains(d);
            disposable::is_registrable_or_below(d) && is_provider && !is_other
        })
        .collect();
    let slips = slips(&free, &own)?;
    eprintln!("left out as slips of popular domains, not providers: {}", slips.len());
    free.retain(|domain| !slips.contains(domain));
    free.extend(self::spamassassin("20_freemail_mailcom_domains.cf")?.into_iter().filter(|d| !guard.contains(d)));
    free.extend(own);
    free.extend(popular);
    let dropped = self::own("xtask/data/free_drop.txt")?;
    free.retain(|domain| !dropped.contains(domain));
    Ok(free)
}

/// Reports whether the name is that of a mail provider.
fn says_mail(domain: &str) -> bool {
    ["mail", "post", "inbox"].iter().any(|word| domain.contains(word))
}

/// Returns the public lists of consumer mail domains, by package.
pub(crate) fn free_lists() -> Result<BTreeMap<&'static str, Domains>> {
    let json = |name, file| -> Result<Domains> {
        let list: Value = serde_json::from_str(&packages::read(name, file)?)?;
        Ok(list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_lowercase).collect())
    };
    Ok(BTreeMap::from([
        ("free-email-domains", json("free-email-domains", "domains.json")?),
        ("email-providers", json("email-providers", "all.json")?),
        ("spamassassin", spamassassin("20_freemail_domains.cf")?),
    ]))
}

/// Returns the domains in one of the spam filter's consumer mail lists.
pub(crate) fn spamassassin(file: &str) -> Result<Domains> {
    let text = packages::read("spamassassin", &format!("usr/share/spamassassin/{file}"))?;
    let lines = text.lines().filter_map(|line| line.strip_prefix("freemail_domains "));
    Ok(disposable::clean(lines.flat_map(str::split_whitespace)))
}

/// Returns the domains for which a popular one would be suggested if they were on no list.
fn slips(free: &BTreeSet<String>, own: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let text = own.iter().fold(String::new(), |text, domain| text + domain + "\n");
    // Uses lists that do not depend on the output of an earlier refresh.
    let model = Model::new(&[], &[], Layer::NONE, 1.0).to_text();
    let changes = BTreeMap::from([("free.txt".to_owned(), text), ("gibberish.txt".to_owned(), model)]);
    let lists = Lists::with_files(&changes)?;
    Ok(free.iter().filter(|d| lists.suggest("a", d).is_some()).cloned().collect())
}

/// Returns lowercase English words without apostrophes and proper names.
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
