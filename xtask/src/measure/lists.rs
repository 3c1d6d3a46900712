//! Figures about the lists: recall on lists that were not used to build them, and errors on real domains and people.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use probity_mail::facts::lists::Lists;

use super::{percent, real};
use crate::disposable::{self, Domains, Sources};
use crate::{data, names, packages};

/// Prints how much of each disposable list the others find, which domains are wrongly called disposable, and what MX hosts add.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn disposable() -> Result<()> {
    let sources = Sources::load()?;
    let shipped = Lists::embedded();
    for (name, domains) in sources.lists() {
        let others = sources.without(name).domains(&Domains::new())?;
        let without = with_list("disposable.txt", &others)?;
        println!(
            "{name}: {} domains; without it {:.1} % are known; the shipped lists have {:.1} %",
            domains.len(),
            share(domains, |d| without.disposable(d)),
            share(domains, |d| shipped.disposable(d))
        );
    }
    let score = packages::read("disposable-email-score", "disposable_email_score/data/email_block_list.conf")?;
    let score = disposable::clean(score.lines());
    println!(
        "disposable-email-score (no source): {} domains; {:.1} % are known",
        score.len(),
        share(&score, |d| shipped.disposable(d))
    );
    words(&sources)?;
    for (title, domains) in real::sets()? {
        let is_wrong = |d: &&String| shipped.disposable(d) || shipped.disposable_exchanger(d);
        let wrong: Vec<_> = domains.iter().filter(is_wrong).map(String::as_str).collect();
        println!("{title}: {} of {} called disposable {}", wrong.len(), domains.len(), wrong.join(" "));
    }
    throwaway(&crate::workspace().join("xtask/data/throwaway_cases.txt"))
}

/// Prints what the words in names find alone: on the lists, and on real sites.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
fn words(sources: &Sources) -> Result<()> {
    let words = with_list("disposable.txt", &Domains::new())?;
    let listed = sources.any();
    let found = listed.iter().filter(|d| words.disposable(d)).count();
    println!("words in names: on {found} of {} domains of all sources", listed.len());
    let sites = disposable::sites()?;
    let said: Vec<_> = sites.iter().filter(|d| words.disposable(d)).map(String::as_str).collect();
    println!("words in names: on {} of {} sites of the HSTS preload list: {}", said.len(), sites.len(), said.join(" "));
    Ok(())
}

/// Prints how much of each list of consumer mail domains is known, and of one that is not a source.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn free() -> Result<()> {
    let shipped = Lists::embedded();
    let other = packages::read("freemail", "data/free.txt")?;
    let other = ("freemail (no source)", disposable::clean(other.lines()));
    for (name, domains) in data::free_lists()?.into_iter().chain([other]) {
        println!(
            "{name}: {} domains; {:.1} % are free, {:.1} % disposable",
            domains.len(),
            share(&domains, |d| shipped.free(d)),
            share(&domains, |d| shipped.disposable(d))
        );
    }
    Ok(())
}

/// Prints names of people that are mistaken for roles.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn role() -> Result<()> {
    let shipped = Lists::embedded();
    for (title, names) in [("names of the training", names::load()?), ("another package's names", names::mimesis()?)] {
        let (mut given, mut last) = (Domains::new(), Domains::new());
        for region in names.0.into_values() {
            given.extend(region.given.iter().map(|name| name.to_lowercase()));
            last.extend(region.last.iter().map(|name| name.to_lowercase()));
        }
        for (kind, names) in [("given names", given), ("surnames", last)] {
            let roles: Vec<_> = names.iter().filter(|name| shipped.role(name)).map(String::as_str).collect();
            println!("{title}: {} of {} {kind} are roles: {}", roles.len(), names.len(), roles.join(" "));
        }
    }
    Ok(())
}

/// Returns the embedded lists with one of them replaced.
fn with_list(file: &str, domains: &Domains) -> Result<Lists> {
    let text = domains.iter().fold(String::new(), |text, domain| text + domain + "\n");
    Ok(Lists::with_files(&BTreeMap::from([(file.to_owned(), text)]))?)
}

fn share<'d>(domains: impl IntoIterator<Item = &'d String>, is: impl Fn(&str) -> bool) -> f64 {
    let (mut hits, mut all) = (0, 0);
    for domain in domains {
        hits += usize::from(is(domain));
        all += 1;
    }
    percent(hits, all)
}

/// Prints how many disposable domains of a file are found, by their names and by their MX hosts.
///
/// A line is SERVICE, DOMAIN and EXCHANGERS (separated by tabs; exchangers by blanks). A line with only a domain means that its MX
/// hosts are unknown.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn throwaway(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let (mut by_name, mut by_exchanger, mut by_either, mut all) = (0, 0, 0, 0);
    let mut services: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (service, domain, exchangers) = match fields[..] {
            [domain] => ("unknown", domain, ""),
            [service, domain, exchangers] => (service, domain, exchangers),
            _ => anyhow::bail!("{line}: the line is SERVICE, DOMAIN, EXCHANGERS, or DOMAIN"),
        };
        let named = Lists::embedded().disposable(domain);
        let told = exchangers.split(' ').any(|host| Lists::embedded().disposable_exchanger(host));
        by_name += usize::from(named);
        by_exchanger += usize::from(told);
        by_either += usize::from(named || told);
        all += 1;
        let of_service = services.entry(service).or_default();
        of_service.0 += usize::from(told);
        of_service.1 += 1;
    }
    println!(
        "{}: {all} throw-away domains; found by name {:.1} %, by exchanger {:.1} %, by either {:.1} %",
        file.display(),
        percent(by_name, all),
        percent(by_exchanger, all),
        percent(by_either, all)
    );
    let each: Vec<String> = services.iter().map(|(name, (hits, of))| format!("{name} {hits}/{of}")).collect();
    println!("by exchanger, each service: {}", each.join(", "));
    Ok(())
}
