//! Workbooks in Office Open XML: the rows of one sheet, cell by cell.
//!
//! A workbook is a zip archive of XML, so 40 KB may claim gigabytes. Each part is unpacked as it is read, within [`crate::bounds`],
//! which are checked as bytes and elements pass; unneeded parts are not unpacked at all. Memory holds the shared texts, packed, and
//! one byte for each cell format: everything else is one row at a time.
//!
//! A workbook beyond a bound is rejected with the name of the bound; a part of a sheet is never taken for the whole.

mod escapes;
mod format;
mod package;
mod shared;
mod sheet;
mod xml;

use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use quick_xml::events::{BytesStart, Event};

use self::format::Formats;
use self::package::{Bounded, Package};
use self::shared::SharedTexts;
use self::sheet::{Counted, Sheet};
use self::xml::{Xml, attributes};
use crate::bounds::{PARTS_MAX, SHEETS_MAX};
use crate::{Bound, Fault};

/// Longest name of a sheet or of a part, in bytes. Spreadsheet programs allow 31 characters for a sheet.
const NAME_MAX: usize = 1_024;

/// A workbook whose shared texts were read.
pub struct Workbook {
    package: Package,
    texts: SharedTexts,
    formats: Formats,
    counted: Counted,
    sheets: Vec<String>,
    /// Part of each sheet.
    parts: Vec<String>,
}

/// A visible sheet.
struct Named {
    name: String,
    relation: String,
}

/// Content of the part that names the sheets.
#[derive(Default)]
struct Book {
    sheets: Vec<Named>,
    from_1904: bool,
}

/// Relation from one part to another.
struct Relation {
    id: String,
    /// Last word of its type.
    kind: String,
    target: String,
}

impl Workbook {
    /// Opens a file and reads everything except its sheets.
    ///
    /// # Errors
    /// [`Fault`]: it is not a workbook, is beyond a bound, or is damaged.
    pub fn open(file: File) -> Result<Self, Fault> {
        guarded(|| {
            let mut package = Package::open(file)?;
            let root = relations(&mut package, "", "_rels/.rels")?;
            let root =
                root.into_iter().find(|relation| relation.kind == "officeDocument").ok_or(Fault::Archive)?.target;
            let (folder, name) = root.rsplit_once('/').unwrap_or(("", &root));
            // A binary workbook (.xlsb) has another format.
            if !has_extension(&root, "xml") {
                return Err(Fault::Archive);
            }
            let book = book(package.part(&root)?.ok_or(Fault::Archive)?)?;
            let place = resolved(folder, &format!("_rels/{name}.rels"));
            let relations = relations(&mut package, folder, &place)?;
            let part = |kind: &str| relations.iter().find(|relation| relation.kind == kind).map(|found| &found.target);
            let (texts, formats) = (part("sharedStrings"), part("styles"));
            let texts = texts.map(|name| package.part(name)).transpose()?.flatten().map(SharedTexts::read);
            let texts = texts.transpose()?.unwrap_or_default();
            let formats = formats.map(|name| package.part(name)).transpose()?.flatten().map(Formats::read);
            let mut formats = formats.transpose()?.unwrap_or_default();
            formats.from_1904 = book.from_1904;
            // In reverse, so that the first relation of each id counts.
            let by_id: HashMap<&str, &Relation> =
                relations.iter().rev().map(|found| (found.id.as_str(), found)).collect();
            let (mut sheets, mut parts) = (Vec::new(), Vec::new());
            for sheet in book.sheets {
                let relation = by_id.get(sheet.relation.as_str()).ok_or(Fault::Archive)?;
                sheets.push(sheet.name);
                parts.push(relation.target.clone());
            }
            Ok(Self { package, texts, formats, counted: Counted::default(), sheets, parts })
        })
    }

    /// Names of the visible sheets, in order.
    pub fn sheets(&self) -> &[String] {
        &self.sheets
    }

    /// Passes the rows of a sheet to `take`, except those without text; returns their number.
    ///
    /// # Errors
    /// [`Fault`]: the sheet is missing, damaged, too wide, beyond a bound, or `take` failed.
    pub fn read(&mut self, sheet: &str, mut take: impl FnMut(Vec<String>) -> Result<(), Fault>) -> Result<u64, Fault> {
        let at = self.sheets.iter().position(|name| name == sheet).ok_or(Fault::NoSheet)?;
        let Self { package, texts, formats, counted, parts, .. } = self;
        guarded(|| {
            let part = package.part(&parts[at])?.ok_or(Fault::NoSheet)?;
            Sheet { part, texts, formats, counted }.rows(&mut take)
        })
    }
}

/// Reads the part that names the sheets.
fn book(mut part: Xml<impl Bounded>) -> Result<Book, Fault> {
    let (mut book, mut begun) = (Book::default(), false);
    loop {
        match part.next()? {
            Event::Start(tag) => match tag.local_name().as_ref() {
                "workbook" => begun = true,
                // Another office document.
                _ if !begun => return Err(Fault::Archive),
                "workbookPr" => {
                    let from_1904 =
                        attributes(&tag, |name, value| (name == "date1904").then(|| ["1", "true"].contains(&value)))?;
                    book.from_1904 |= from_1904.unwrap_or_default();
                }
                "sheet" => book.sheets.extend(named(&tag)?),
                _ => {}
            },
            Event::Eof => return if begun { Ok(book) } else { Err(Fault::Archive) },
            _ => {}
        }
        if book.sheets.len() > SHEETS_MAX {
            return Err(Bound::Sheets.into());
        }
    }
}

/// A sheet from its tag; `None` if it is hidden.
fn named(tag: &BytesStart<'_>) -> Result<Option<Named>, Fault> {
    let hidden = attributes(tag, |name, value| (name == "state").then(|| value != "visible"))?;
    let relation = attributes(tag, |name, value| (name == "id" || name.ends_with(":id")).then(|| short(value)))?;
    let name = attributes(tag, |name, value| (name == "name").then(|| short(value)))?;
    if hidden.unwrap_or_default() {
        return Ok(None);
    }
    Ok(Some(Named { name: name.unwrap_or(Err(Fault::Damaged))?, relation: relation.unwrap_or(Err(Fault::Damaged))? }))
}

/// Value of a name attribute.
fn short(value: &str) -> Result<String, Fault> {
    if value.len() > NAME_MAX {
        return Err(Fault::Damaged);
    }
    quick_xml::escape::unescape(value).map(std::borrow::Cow::into_owned).map_err(|_| Fault::Damaged)
}

/// Relations of a part in this folder.
fn relations(package: &mut Package, folder: &str, name: &str) -> Result<Vec<Relation>, Fault> {
    let mut part = package.part(name)?.ok_or(Fault::Archive)?;
    let (mut relations, mut met) = (Vec::new(), 0);
    loop {
        match part.next()? {
            Event::Start(tag) if tag.local_name().as_ref() == "Relationship" => {
                met += 1;
                if met > PARTS_MAX {
                    return Err(Bound::Parts.into());
                }
                let text =
                    |wanted: &str| attributes(&tag, |name, value| (name == wanted).then(|| short(value)))?.transpose();
                let (Some(target), Some(kind)) = (text("Target")?, text("Type")?) else { continue };
                let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
                let id = text("Id")?.unwrap_or_default();
                relations.push(Relation { id, kind, target: resolved(folder, &target) });
            }
            Event::Eof => return Ok(relations),
            _ => {}
        }
    }
}

/// Path of a part named relative to a folder.
fn resolved(folder: &str, target: &str) -> String {
    let (from, target) = target.strip_prefix('/').map_or((folder, target), |absolute| ("", absolute));
    let mut place: Vec<&str> = from.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split(['/', '\\']) {
        match step {
            "" | "." => {}
            ".." => drop(place.pop()),
            step => place.push(step),
        }
    }
    place.join("/")
}

fn has_extension(name: &str, wanted: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case(wanted))
}

/// The archive and XML parsers are third-party. A panic in one counts as a damaged workbook.
fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Fault::Damaged))
}

#[cfg(test)]
mod tests;
