//! Workbooks in Office Open XML: the rows of one sheet, cell by cell.
//!
//! A workbook is a zip archive of XML, so forty kilobytes may claim gigabytes. Each part is unpacked as it is read, within
//! [`crate::bounds`] that are counted while bytes and elements pass; parts that nobody needs are not unpacked at all. What stays in
//! memory are the texts that cells share, packed, and one byte for each cell format: everything else is one row at a time.
//!
//! A workbook beyond a bound is refused with the name of the bound; a part of a sheet is never taken for the whole.

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

/// The longest name of a sheet or of a part, in bytes. A spreadsheet program takes 31 characters for a sheet.
const NAME_MAX: usize = 1_024;

/// A workbook whose shared texts were read.
pub struct Workbook {
    package: Package,
    texts: SharedTexts,
    formats: Formats,
    counted: Counted,
    sheets: Vec<String>,
    /// The part of each sheet.
    parts: Vec<String>,
}

/// A sheet that can be seen.
struct Named {
    name: String,
    relation: String,
}

/// What the part that names the sheets says.
#[derive(Default)]
struct Book {
    sheets: Vec<Named>,
    from_1904: bool,
}

/// One part that belongs to another.
struct Relation {
    id: String,
    /// The last word of its kind.
    kind: String,
    target: String,
}

impl Workbook {
    /// Opens a file and reads all but its sheets.
    ///
    /// # Errors
    /// [`Fault`]: it is no workbook, is beyond a bound, or is damaged.
    pub fn open(file: File) -> Result<Self, Fault> {
        guarded(|| {
            let mut package = Package::open(file)?;
            let root = relations(&mut package, "", "_rels/.rels")?;
            let root =
                root.into_iter().find(|relation| relation.kind == "officeDocument").ok_or(Fault::Archive)?.target;
            let (folder, name) = root.rsplit_once('/').unwrap_or(("", &root));
            // A binary workbook (.xlsb) is another form.
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
            // Backwards, so that the first of those with one id counts.
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

    /// The names of the sheets that can be seen, in their order.
    pub fn sheets(&self) -> &[String] {
        &self.sheets
    }

    /// Gives the rows of a sheet to `take`, those without any text left out; gives how many there were.
    ///
    /// # Errors
    /// [`Fault`]: the sheet is not there, damaged, too wide, beyond a bound, or what `take` said.
    pub fn read(&mut self, sheet: &str, mut take: impl FnMut(Vec<String>) -> Result<(), Fault>) -> Result<u64, Fault> {
        let at = self.sheets.iter().position(|name| name == sheet).ok_or(Fault::NoSheet)?;
        let Self { package, texts, formats, counted, parts, .. } = self;
        guarded(|| {
            let part = package.part(&parts[at])?.ok_or(Fault::NoSheet)?;
            Sheet { part, texts, formats, counted }.rows(&mut take)
        })
    }
}

/// The part that names the sheets.
fn book(mut part: Xml<impl Bounded>) -> Result<Book, Fault> {
    let (mut book, mut begun) = (Book::default(), false);
    loop {
        match part.next()? {
            Event::Start(tag) => match tag.local_name().as_ref() {
                "workbook" => begun = true,
                // Any other document of an office.
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

/// A sheet by its tag; none where it is hidden.
fn named(tag: &BytesStart<'_>) -> Result<Option<Named>, Fault> {
    let hidden = attributes(tag, |name, value| (name == "state").then(|| value != "visible"))?;
    let relation = attributes(tag, |name, value| (name == "id" || name.ends_with(":id")).then(|| short(value)))?;
    let name = attributes(tag, |name, value| (name == "name").then(|| short(value)))?;
    if hidden.unwrap_or_default() {
        return Ok(None);
    }
    Ok(Some(Named { name: name.unwrap_or(Err(Fault::Damaged))?, relation: relation.unwrap_or(Err(Fault::Damaged))? }))
}

/// The value of an attribute that is a name.
fn short(value: &str) -> Result<String, Fault> {
    if value.len() > NAME_MAX {
        return Err(Fault::Damaged);
    }
    quick_xml::escape::unescape(value).map(std::borrow::Cow::into_owned).map_err(|_| Fault::Damaged)
}

/// The parts that belong to a part in this folder.
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

/// Where a part is that is named from a folder.
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

/// The parsers of archives and of XML are not ours. A panic in one is a damaged workbook.
fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Fault::Damaged))
}

#[cfg(test)]
mod tests;
