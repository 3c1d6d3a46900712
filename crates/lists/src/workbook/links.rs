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
use super::xml::{CellText, attributes};
use super::{NAME_MAX, resolved};
use crate::absent::addresses_in;
use crate::bounds::LINK_BYTES_MAX;
use crate::column::is_address;
use crate::{COLUMNS_MAX, FileFault};

/// Bytes of a link apart from its texts: its place or key in two tables.
const LINK_BYTES: usize = 64;

/// Addresses of links, within a bound.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// By row and column of their cells, counted from 0.
    found: HashMap<(u32, u32), Box<str>>,
    /// Rows of links that were ignored.
    ignored: HashSet<u32>,
    /// Whether even these were too many: any row may have had a link.
    is_lost: bool,
}

/// What is behind a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    Address(String),
    /// The address in another column of the row, counted from 0.
    Column(u32),
    /// An address that only the formula tells.
    Unknown,
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
                    let range = attributes(&tag, |name, value| (name == "ref").then(|| cells_of(value)))?.flatten();
                    let of = |name: &str, value: &str| {
                        (name == "id" || name.ends_with(":id")).then(|| targets.found.get(value).cloned())
                    };
                    let Some((first, last)) = range else { continue };
                    match attributes(&tag, of)? {
                        Some(Some(address)) => links.add((first, last), Some(&address), &mut bytes),
                        Some(None) if targets.cut => links.add((first, last), None, &mut bytes),
                        Some(None) | None => {}
                    }
                }
                Event::Eof => return Ok(links),
                _ => {}
            }
        }
    }

    /// Adds a link of a range, as far as its cells fit; one without an address is ignored.
    fn add(&mut self, (first, last): ((u32, u32), (u32, u32)), address: Option<&str>, bytes: &mut usize) {
        for row in first.0..=last.0 {
            let Some(address) = address.filter(|_| *bytes < LINK_BYTES_MAX) else {
                self.ignored.insert(row);
                *bytes += LINK_BYTES;
                // Many long ranges take no time without bound.
                self.is_lost |= *bytes >= 2 * LINK_BYTES_MAX;
                if self.is_lost {
                    return;
                }
                continue;
            };
            for column in first.1..=last.1 {
                *bytes += address.len() + LINK_BYTES;
                self.found.insert((row, column), address.into());
            }
        }
    }

    pub(super) fn at(&self, row: u32, column: u32) -> Option<&str> {
        self.found.get(&(row, column)).map(AsRef::as_ref)
    }

    /// Whether a link in this row was ignored.
    pub(super) fn is_ignored(&self, row: u32) -> bool {
        self.is_lost || self.ignored.contains(&row)
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

/// The first and the last cell of a range that a table of people may have.
fn cells_of(range: &str) -> Option<((u32, u32), (u32, u32))> {
    let (first, last) = range.split_once(':').unwrap_or((range, range));
    let (first, last) = (place(first)?, place(last)?);
    let columns_max = u32::try_from(COLUMNS_MAX).unwrap_or(u32::MAX);
    (first.0 <= ROW_LAST)
        .then(|| (first, (last.0.clamp(first.0, ROW_LAST), last.1.clamp(first.1, first.1 + columns_max))))
}

/// The address that an escaped link leads to.
fn linked(link: &str) -> Option<String> {
    let link = link.split('?').next().unwrap_or_default();
    let link = quick_xml::escape::unescape(link).ok()?;
    mailed(&link)
}

/// The address of a link to write to, or several, which a reader finds in the cell. What is no proper encoding stands for itself.
fn mailed(link: &str) -> Option<String> {
    let address = mail_link(link.trim())?.split('?').next().filter(|address| address.len() <= NAME_MAX)?;
    let address = percent_decode_str(address).decode_utf8_lossy();
    (addresses_in(&address) > 0 || is_address(&address)).then(|| address.into_owned())
}

/// Groups of cells with one formula that are told apart.
const GROUPS_MAX: usize = 1_000;

/// Formula of a cell.
#[derive(Default)]
pub(super) struct Formula {
    pub(super) text: CellText,
    /// Group of cells that share the text of the first one.
    pub(super) group: Option<u32>,
    /// What is behind the cells of groups, and the column of the first.
    groups: HashMap<u32, (u32, Behind)>,
}

impl Formula {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.group = None;
    }

    /// What is behind the cell at this row and column.
    pub(super) fn behind(&mut self, (row, column): (u32, u32)) -> Option<Behind> {
        let text = self.text.text()?;
        let Some(group) = self.group else { return of_formula(text, row) };
        if text.is_empty() {
            return self.groups.get(&group).map(|(first, behind)| match behind {
                // Filled to the side, it links to another column.
                Behind::Column(_) if *first != column => Behind::Unknown,
                behind => behind.clone(),
            });
        }
        let behind = of_formula(text, row);
        if let Some(behind) = behind.clone().filter(|_| self.groups.len() < GROUPS_MAX) {
            let is_fixed = text.split('$').skip(1).any(|cell| cell.starts_with(|c: char| c.is_ascii_digit()));
            let is_other = is_fixed && matches!(behind, Behind::Column(_));
            self.groups.insert(group, (column, if is_other { Behind::Unknown } else { behind }));
        }
        behind
    }
}

/// What a formula links to, such as `HYPERLINK("mailto:ann@example.org","Ann")` or `HYPERLINK("mailto:"&B2,A2)` in this row; `None`
/// if that is no address.
fn of_formula(formula: &str, row: u32) -> Option<Behind> {
    let upper = formula.to_ascii_uppercase();
    let mut calls = upper.match_indices("HYPERLINK(").map(|(at, name)| formula[at + name.len()..].trim_start());
    let link = calls.next().filter(|_| upper.contains("MAILTO:"))?;
    let (literal, rest) = link.strip_prefix('"').and_then(|rest| rest.split_once('"')).unwrap_or_default();
    // Of several calls, one was shown.
    if calls.next().is_some() || literal.is_empty() {
        return Some(Behind::Unknown);
    }
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with([',', ';', ')']) {
        return mailed(literal).map(Behind::Address);
    }
    let end = rest.find([',', ';', ')']).unwrap_or(rest.len());
    let cell = rest[..end].strip_prefix('&').map(|cell| cell.trim().replace('$', ""));
    let cell = cell.filter(|_| literal.eq_ignore_ascii_case("mailto:")).and_then(|cell| place(&cell));
    let column = cell.filter(|(of, _)| *of == row).map(|(_, column)| Behind::Column(column));
    Some(column.unwrap_or(Behind::Unknown))
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
            ("mailto:a@example.org,b@example.org", Some("a@example.org,b@example.org")),
            ("mailto:", None),
            ("https://example.org/@ann", None),
            ("ö", None),
        ];
        for (link, address) in table {
            assert_eq!(linked(link).as_deref(), address, "{link}");
        }
        let address = |address: &str| Some(Behind::Address(address.to_owned()));
        let table = [
            ("HYPERLINK(\"mailto:bob@example.org\",\"Bob\")", address("bob@example.org")),
            ("=hyperlink( \"MAILTO:bob@example.org?subject=hi\" ; \"Bob\")", address("bob@example.org")),
            ("IF(C2=\"\",\"\",HYPERLINK(\"mailto:bob@example.org\",\"Bob\"))", address("bob@example.org")),
            ("HYPERLINK(\"mailto:\"&B2,\"Bob\")", Some(Behind::Column(1))),
            ("HYPERLINK(\"mailto:\" & $B$2)", Some(Behind::Column(1))),
            ("HYPERLINK(\"mailto:\"&B9,\"Bob\")", Some(Behind::Unknown)),
            ("HYPERLINK(\"mailto:\"&B2&\"@example.org\",\"Bob\")", Some(Behind::Unknown)),
            ("HYPERLINK(\"mailto:bob@\"&B2,\"Bob\")", Some(Behind::Unknown)),
            ("HYPERLINK(CONCATENATE(\"mailto:\",B2),\"Bob\")", Some(Behind::Unknown)),
            ("HYPERLINK(A1,\"Bob\")", None),
            ("SUM(\"mailto:bob@example.org\")", None),
            ("", None),
            ("HYPERLINK(\"https://example.org\")", None),
        ];
        for (formula, behind) in table {
            assert_eq!(of_formula(formula, 1), behind, "{formula}");
        }
        assert_eq!(cells_of("A2:B3"), Some(((1, 0), (2, 1))));
        assert_eq!(cells_of("C4"), Some(((3, 2), (3, 2))));
    }
}
