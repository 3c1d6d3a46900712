//! Addresses behind cells: a program that shows names keeps them in links only.
//!
//! The links of a sheet follow its rows, so a sheet with links to addresses is read once before. Memory holds these addresses,
//! within [`LINK_BYTES_MAX`], and the rows of links beyond.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;
use probity_mail::address::mail_link;
use quick_xml::events::Event;

use super::package::Package;
use super::sheet::{ROW_LAST, place};
use super::xml::attributes;
use super::{NAME_MAX, resolved};
use crate::FileFault;
use crate::bounds::LINK_BYTES_MAX;
use crate::column::is_address;

/// Bytes of a link apart from its texts: its place or key in two tables.
const LINK_BYTES: usize = 64;

/// Addresses of links, within a bound.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// By row and column of their cells, counted from 0.
    found: HashMap<(u32, u32), Box<str>>,
    /// Rows of links that were ignored.
    ignored: HashSet<u32>,
}

/// Addresses that a part of relations links to, by id.
#[derive(Default)]
struct Targets {
    found: HashMap<String, Box<str>>,
    /// Whether some were ignored.
    cut: bool,
}

impl Links {
    /// Reads the links of a sheet, which is this part.
    pub(super) fn read(package: &mut Package, sheet: &str) -> Result<Self, FileFault> {
        let (folder, name) = sheet.rsplit_once('/').unwrap_or(("", sheet));
        let targets = Targets::read(package, &resolved(folder, &format!("_rels/{name}.rels")))?;
        let (mut links, mut bytes) = (Self::default(), 0);
        if targets.found.is_empty() {
            return Ok(links);
        }
        let Some(mut part) = package.part(sheet)? else { return Ok(links) };
        loop {
            match part.next()? {
                Event::Start(tag) if tag.local_name().as_ref() == "hyperlink" => {
                    let at = attributes(&tag, |name, value| (name == "ref").then(|| first_place(value)))?.flatten();
                    let of = |name: &str, value: &str| {
                        (name == "id" || name.ends_with(":id")).then(|| targets.found.get(value).cloned())
                    };
                    let Some(at) = at.filter(|(row, _)| *row <= ROW_LAST) else { continue };
                    match attributes(&tag, of)? {
                        Some(Some(address)) if bytes < LINK_BYTES_MAX => {
                            bytes += address.len() + LINK_BYTES;
                            links.found.insert(at, address);
                        }
                        Some(None) if !targets.cut => {}
                        Some(_) => _ = links.ignored.insert(at.0),
                        None => {}
                    }
                }
                Event::Eof => return Ok(links),
                _ => {}
            }
        }
    }

    pub(super) fn at(&self, row: u32, column: u32) -> Option<&str> {
        self.found.get(&(row, column)).map(AsRef::as_ref)
    }

    /// Whether a link in this row was ignored.
    pub(super) fn is_ignored(&self, row: u32) -> bool {
        self.ignored.contains(&row)
    }
}

impl Targets {
    fn read(package: &mut Package, name: &str) -> Result<Self, FileFault> {
        let (mut targets, mut bytes) = (Self::default(), 0);
        let Some(mut part) = package.part(name)? else { return Ok(targets) };
        loop {
            match part.next()? {
                Event::Start(tag) if tag.local_name().as_ref() == "Relationship" => {
                    let target = attributes(&tag, |name, value| (name == "Target").then(|| linked(value)))?.flatten();
                    let id = attributes(&tag, |name, value| (name == "Id").then(|| value.to_owned()))?;
                    let (Some(id), Some(address)) = (id.filter(|id| id.len() <= NAME_MAX), target) else { continue };
                    targets.cut |= bytes >= LINK_BYTES_MAX;
                    if !targets.cut {
                        bytes += id.len() + address.len() + LINK_BYTES;
                        targets.found.insert(id, address.into());
                    }
                }
                Event::Eof => return Ok(targets),
                _ => {}
            }
        }
    }
}

/// The first cell of a range.
fn first_place(range: &str) -> Option<(u32, u32)> {
    place(range.split(':').next().unwrap_or_default())
}

/// The address that an escaped link leads to.
fn linked(link: &str) -> Option<String> {
    let link = link.split('?').next().unwrap_or_default();
    let link = quick_xml::escape::unescape(link).ok()?;
    mailed(&link)
}

/// The address of a link to write to. What is no proper encoding stands for itself.
fn mailed(link: &str) -> Option<String> {
    let address = mail_link(link.trim())?.split('?').next().filter(|address| address.len() <= NAME_MAX)?;
    let address = percent_decode_str(address).decode_utf8_lossy();
    is_address(&address).then(|| address.into_owned())
}

/// The address of a formula such as `HYPERLINK("mailto:ann@example.org","Ann")`.
pub(super) fn of_formula(formula: &str) -> Option<String> {
    let (name, rest) = formula.trim_start_matches(['=', ' ']).split_at_checked("HYPERLINK(".len())?;
    let link = rest.trim_start().strip_prefix('"')?.split('"').next()?;
    if name.eq_ignore_ascii_case("HYPERLINK(") { mailed(link) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_addresses() {
        let table = [
            ("mailto:ann@example.org", Some("ann@example.org")),
            ("MailTo:ann%2Bnews@example.org?subject=hi", Some("ann+news@example.org")),
            ("mailto:ann@example.org?cc=a&amp;bcc=%", Some("ann@example.org")),
            ("mailto:50%@example.org", Some("50%@example.org")),
            ("mailto:j%C3%B6rg@example.org", Some("jörg@example.org")),
            ("mailto:a@example.org,b@example.org", None),
            ("mailto:", None),
            ("https://example.org/@ann", None),
            ("ö", None),
        ];
        for (link, address) in table {
            assert_eq!(linked(link).as_deref(), address, "{link}");
        }
        assert_eq!(of_formula("HYPERLINK(\"mailto:bob@example.org\",\"Bob\")").as_deref(), Some("bob@example.org"));
        for formula in
            ["HYPERLINK(A1,\"Bob\")", "SUM(\"mailto:bob@example.org\")", "", "HYPERLINK(\"https://example.org\")"]
        {
            assert_eq!(of_formula(formula), None, "{formula}");
        }
    }
}
