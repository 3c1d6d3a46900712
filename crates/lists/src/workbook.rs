//! Workbooks in Office Open XML: the rows of one sheet, cell by cell.
//!
//! A workbook is a zip archive of XML, so 40 KB may claim gigabytes. Each part is unpacked as it is read, within [`crate::bounds`],
//! which are checked as bytes and elements pass; unneeded parts are not unpacked at all. Memory holds the shared texts, packed, one
//! byte for each cell format, and addresses behind links: everything else is one row at a time.
//!
//! A workbook beyond a bound is rejected with the name of the bound; a part of a sheet is never taken for the whole.

mod escapes;
mod format;
mod links;
mod package;
mod shared;
mod sheet;
mod xml;

use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use quick_xml::events::{BytesStart, Event};

use self::format::Formats;
use self::links::Links;
use self::package::{Bounded, Package};
use self::shared::SharedTexts;
use self::sheet::{Sheet, SheetCounts};
use self::xml::{Xml, attributes};
use crate::bounds::{PARTS_MAX, SHEETS_MAX};
use crate::column::Sample;
use crate::remarks::Oddity;
use crate::{FileFault, WorkbookBound};

/// Longest name of a sheet or of a part, in bytes. Spreadsheet programs allow 31 characters for a sheet.
const NAME_MAX: usize = 1_024;

/// A workbook whose shared texts were read.
pub struct Workbook {
    package: Package,
    texts: SharedTexts,
    formats: Formats,
    counted: SheetCounts,
    /// Cells of the sheets read that refer to a shared text that does not exist: they are blank. Rows that have no address because
    /// a link was ignored. The line is that of the row.
    unreadable: Oddity,
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
    /// [`FileFault`]: it is not a workbook, is beyond a bound, or is damaged.
    pub fn open(file: File) -> Result<Self, FileFault> {
        guarded(|| {
            let mut package = Package::open(file)?;
            let root = relations(&mut package, "", "_rels/.rels")?;
            let root =
                root.into_iter().find(|relation| relation.kind == "officeDocument").ok_or(FileFault::Archive)?.target;
            let (folder, name) = root.rsplit_once('/').unwrap_or(("", &root));
            // A binary workbook (.xlsb) has another format.
            if !has_extension(&root, "xml") {
                return Err(FileFault::Archive);
            }
            let book = book(package.part(&root)?.ok_or(FileFault::Archive)?)?;
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
                let relation = by_id.get(sheet.relation.as_str()).ok_or(FileFault::Archive)?;
                sheets.push(sheet.name);
                parts.push(relation.target.clone());
            }
            let (counted, unreadable) = (SheetCounts::default(), Oddity::default());
            Ok(Self { package, texts, formats, counted, unreadable, sheets, parts })
        })
    }

    /// Names of the visible sheets, in order.
    pub fn sheets(&self) -> &[String] {
        &self.sheets
    }

    /// Cells that could not be read and are blank, and the row of the first.
    pub fn unreadable(&self) -> Oddity {
        self.unreadable
    }

    /// Passes the first rows of each sheet to `take`, with the number of the sheet, until it returns false for that sheet. What
    /// cannot be read is left out here: reading the sheet tells why. All sheets together are within the bounds of one, and do
    /// not count later.
    pub fn look(&mut self, mut take: impl FnMut(usize, Vec<String>) -> bool) {
        let (left, mut counted) = (self.package.left(), SheetCounts::default());
        let Self { package, texts, formats, parts, .. } = self;
        for (number, part) in parts.iter().enumerate() {
            // The fault only ends the reading of this sheet.
            let mut until = |_, row| if take(number, row) { Ok(()) } else { Err(FileFault::Empty) };
            let _ = guarded(|| {
                let links = &Links::read(package, part)?;
                let part = package.part(part)?.ok_or(FileFault::NoSheet)?;
                let (counted, unreadable) = (&mut counted, &mut Oddity::default());
                Sheet { part, texts, formats, counted, links, unreadable }.rows(&mut until)
            });
        }
        self.package.restore(left);
    }

    /// Names of the visible sheets, the one with the most addresses among its first rows first: a workbook may begin with a cover,
    /// or with notes. Sheets with as many keep their order. At most `rows` of a sheet are examined, and fewer of them once they
    /// have this many bytes.
    pub fn by_addresses(&mut self, rows: usize, bytes: usize) -> Vec<String> {
        if self.sheets.len() < 2 {
            return self.sheets.clone();
        }
        let (mut found, mut of) = (vec![0; self.sheets.len()], 0);
        let (mut sample, mut size) = (Vec::new(), 0);
        self.look(|sheet, row| {
            if sheet != of {
                found[of] = Sample::of_rows(std::mem::take(&mut sample)).addresses();
                (of, size) = (sheet, 0);
            }
            size += row.iter().map(String::len).sum::<usize>();
            sample.push(row);
            sample.len() < rows && size < bytes
        });
        if let Some(last) = found.get_mut(of) {
            *last = Sample::of_rows(sample).addresses();
        }
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by_key(|sheet| std::cmp::Reverse(found[*sheet]));
        order.into_iter().map(|sheet| self.sheets[sheet].clone()).collect()
    }

    /// Passes the rows of a sheet to `take`, except those without text, each with its number as the spreadsheet shows it; returns
    /// how many there are.
    ///
    /// # Errors
    /// [`FileFault`]: the sheet is missing, damaged, too wide, beyond a bound, or `take` failed.
    pub fn read(
        &mut self,
        sheet: &str,
        mut take: impl FnMut(u64, Vec<String>) -> Result<(), FileFault>,
    ) -> Result<u64, FileFault> {
        let at = self.sheets.iter().position(|name| name == sheet).ok_or(FileFault::NoSheet)?;
        let Self { package, texts, formats, counted, unreadable, parts, .. } = self;
        guarded(|| {
            let left = package.left();
            let links = &Links::read(package, &parts[at])?;
            package.restore(left);
            let part = package.part(&parts[at])?.ok_or(FileFault::NoSheet)?;
            Sheet { part, texts, formats, counted, links, unreadable }.rows(&mut take)
        })
    }
}

/// Reads the part that names the sheets.
fn book(mut part: Xml<impl Bounded>) -> Result<Book, FileFault> {
    let (mut book, mut begun) = (Book::default(), false);
    loop {
        match part.next()? {
            Event::Start(tag) => match tag.local_name().as_ref() {
                "workbook" => begun = true,
                // Another office document.
                _ if !begun => return Err(FileFault::Archive),
                "workbookPr" => {
                    let from_1904 =
                        attributes(&tag, |name, value| (name == "date1904").then(|| ["1", "true"].contains(&value)))?;
                    book.from_1904 |= from_1904.unwrap_or_default();
                }
                "sheet" => book.sheets.extend(named(&tag)?),
                _ => {}
            },
            Event::Eof => return if begun { Ok(book) } else { Err(FileFault::Archive) },
            _ => {}
        }
        if book.sheets.len() > SHEETS_MAX {
            return Err(WorkbookBound::Sheets.into());
        }
    }
}

/// A sheet from its tag; `None` if it is hidden.
fn named(tag: &BytesStart<'_>) -> Result<Option<Named>, FileFault> {
    let hidden = attributes(tag, |name, value| (name == "state").then(|| value != "visible"))?;
    let relation = attributes(tag, |name, value| (name == "id" || name.ends_with(":id")).then(|| short(value)))?;
    let name = attributes(tag, |name, value| (name == "name").then(|| short(value)))?;
    if hidden.unwrap_or_default() {
        return Ok(None);
    }
    Ok(Some(Named {
        name: name.unwrap_or(Err(FileFault::Damaged))?,
        relation: relation.unwrap_or(Err(FileFault::Damaged))?,
    }))
}

/// Value of a name attribute.
fn short(value: &str) -> Result<String, FileFault> {
    if value.len() > NAME_MAX {
        return Err(FileFault::Damaged);
    }
    quick_xml::escape::unescape(value).map(std::borrow::Cow::into_owned).map_err(|_| FileFault::Damaged)
}

/// Relations of a part in this folder.
fn relations(package: &mut Package, folder: &str, name: &str) -> Result<Vec<Relation>, FileFault> {
    let mut part = package.part(name)?.ok_or(FileFault::Archive)?;
    let (mut relations, mut met) = (Vec::new(), 0);
    loop {
        match part.next()? {
            Event::Start(tag) if tag.local_name().as_ref() == "Relationship" => {
                met += 1;
                if met > PARTS_MAX {
                    return Err(WorkbookBound::Parts.into());
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
fn guarded<T>(work: impl FnOnce() -> Result<T, FileFault>) -> Result<T, FileFault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(FileFault::Damaged))
}

#[cfg(test)]
mod tests;
