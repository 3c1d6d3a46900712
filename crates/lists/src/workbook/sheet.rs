//! A sheet as rows of texts, cell by cell. Its declared size, merged ranges and styles are ignored. Formulas are not evaluated:
//! their last result is the cell's value.

use probity_mail::address::bare_address;
use quick_xml::events::Event;

use super::format::Formats;
use super::links::{Behind, Formula, Links};
use super::package::Bounded;
use super::shared::{SharedText, SharedTexts};
use super::xml::{CellText, Xml, attributes};
use crate::absent::has_address;
use crate::bounds::{CELLS_MAX, ROWS_MAX, WorkbookBound};
use crate::column::is_address;
use crate::remarks::Oddity;
use crate::split::RECORD_MAX;
use crate::{CELL_MAX_BYTES, COLUMNS_MAX, FileFault};

/// Last row of a sheet, counted from 0.
pub(super) const ROW_LAST: u32 = (1 << 20) - 1;
/// Last column of a sheet, counted from 0.
const COLUMN_LAST: u32 = (1 << 14) - 1;

/// Rows and cells met so far, including empty ones, in all sheets of a workbook.
#[derive(Debug, Default)]
pub(super) struct SheetCounts {
    rows: u64,
    cells: u64,
}

/// A sheet being read.
pub(super) struct Sheet<'a, R> {
    pub(super) part: Xml<R>,
    pub(super) texts: &'a SharedTexts,
    pub(super) formats: &'a Formats,
    pub(super) counted: &'a mut SheetCounts,
    pub(super) links: &'a Links,
    /// Cells that refer to a shared text that does not exist, and rows whose address was behind a link that was ignored.
    pub(super) unreadable: &'a mut Oddity,
}

/// Content of a cell's tag.
struct Tag {
    /// Row and column, if given.
    place: Option<(u32, u32)>,
    format: Option<usize>,
    kind: CellKind,
}

/// Type of a cell's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellKind {
    /// A number, or any value without a type.
    Number,
    Shared,
    Inline,
    /// The text of a formula, or a date as a text.
    Text,
    Bool,
    Error,
}

impl<R: Bounded> Sheet<'_, R> {
    /// Passes the rows to `take`, each with its number from 1; returns how many there are.
    pub(super) fn rows(
        &mut self,
        take: &mut impl FnMut(u64, Vec<String>) -> Result<(), FileFault>,
    ) -> Result<u64, FileFault> {
        if !self.begin()? {
            return Ok(0);
        }
        let mut rows = Rows {
            row: Vec::new(),
            at: 0,
            bytes: 0,
            given: 0,
            link: None,
            linked: Vec::new(),
            links: self.links,
            lost: Oddity::default(),
            has_shared: false,
            take,
        };
        let unreadable = self.unreadable.count;
        let (mut row, mut column) = (0, 0);
        let (mut content, mut formula) = (CellText::default(), Formula::default());
        loop {
            let tag = match self.part.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "row" => {
                        count(&mut self.counted.rows, ROWS_MAX, WorkbookBound::Rows)?;
                        let number = attributes(&tag, |name, value| (name == "r").then(|| value.parse::<u32>()))?;
                        if let Some(number) = number {
                            row = number.ok().and_then(|number| number.checked_sub(1)).ok_or(FileFault::Damaged)?;
                        }
                        column = 0;
                        continue;
                    }
                    "c" => Tag::read(&tag)?,
                    _ => continue,
                },
                Event::End(tag) => match tag.local_name().as_ref() {
                    "row" => {
                        row += 1;
                        continue;
                    }
                    "sheetData" => break,
                    _ => continue,
                },
                Event::Eof => return Err(FileFault::Damaged),
                _ => continue,
            };
            count(&mut self.counted.cells, CELLS_MAX, WorkbookBound::Cells)?;
            let place = tag.place.unwrap_or((row, column));
            if place.0 > ROW_LAST || place.1 > COLUMN_LAST {
                return Err(FileFault::Damaged);
            }
            column = place.1 + 1;
            content.clear();
            formula.clear();
            self.content(tag.kind, &mut content, &mut formula)?;
            let link = self.links.at(place.0, place.1).map(|address| Behind::Address(address.to_owned()));
            let is_shown = content.text().is_some_and(|text| !text.trim().is_empty());
            rows.link = link.or_else(|| formula.behind(place).filter(|_| is_shown));
            self.value(&tag, place, &content, &mut rows)?;
        }
        rows.end()?;
        self.part.end()?;
        // One number may be broken; where all are, the texts themselves are.
        let is_damaged = self.unreadable.count > unreadable && !rows.has_shared;
        self.unreadable.join(rows.lost);
        if is_damaged { Err(FileFault::Damaged) } else { Ok(rows.given) }
    }

    /// Reads up to the rows; returns whether there are any. A chart sheet has none.
    fn begin(&mut self) -> Result<bool, FileFault> {
        let mut worksheet = false;
        loop {
            match self.part.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "worksheet" => worksheet = true,
                    "sheetData" => return Ok(true),
                    _ => {}
                },
                Event::Eof => return if worksheet { Err(FileFault::Damaged) } else { Ok(false) },
                _ => {}
            }
        }
    }

    /// Reads a cell to its end, its text into `content`, and its formula.
    fn content(&mut self, kind: CellKind, content: &mut CellText, formula: &mut Formula) -> Result<(), FileFault> {
        let outside = self.part.depth() - 1;
        let (mut value, mut computed) = (false, false);
        loop {
            let child = self.part.depth() == outside + 1;
            match self.part.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "v" if child => value = kind != CellKind::Inline,
                    "is" if child => self.part.rich(content)?,
                    "f" if child => {
                        computed = true;
                        formula.group =
                            attributes(&tag, |name, value| (name == "si").then(|| value.parse().ok()))?.flatten();
                    }
                    _ => (value, computed) = (false, false),
                },
                Event::End(_) => {
                    (value, computed) = (false, false);
                    if self.part.depth() == outside {
                        return Ok(());
                    }
                }
                Event::Eof => return Err(FileFault::Damaged),
                event if value => content.take(&event)?,
                event if computed => formula.text.take(&event)?,
                _ => {}
            }
        }
    }

    fn value(
        &mut self,
        tag: &Tag,
        (row, column): (u32, u32),
        content: &CellText,
        rows: &mut Rows<'_, impl FnMut(u64, Vec<String>) -> Result<(), FileFault>>,
    ) -> Result<(), FileFault> {
        let too_long = || FileFault::CellTooLong(u64::from(row) + 1);
        let text = content.text().ok_or_else(too_long)?;
        match tag.kind {
            CellKind::Error => Ok(()),
            CellKind::Inline => rows.cell(row, column, text),
            CellKind::Text => rows.cell(row, column, &super::escapes::resolved(text)),
            CellKind::Shared if text.is_empty() => Ok(()),
            CellKind::Shared => {
                match text.trim().parse().map_or(SharedText::Nothing, |number| self.texts.get(number)) {
                    SharedText::Text(text) => {
                        rows.has_shared = true;
                        rows.cell(row, column, text)
                    }
                    SharedText::TooLong => Err(too_long()),
                    SharedText::Nothing => {
                        self.unreadable.meet(u64::from(row) + 1);
                        rows.cell(row, column, "")
                    }
                }
            }
            CellKind::Bool => match text.trim() {
                "" => Ok(()),
                "1" | "true" => rows.cell(row, column, "true"),
                "0" | "false" => rows.cell(row, column, "false"),
                _ => Err(FileFault::Damaged),
            },
            CellKind::Number => match text.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => rows.cell(row, column, &self.formats.show(number, tag.format)),
                _ => rows.cell(row, column, text),
            },
        }
    }
}

fn count(counter: &mut u64, most: u64, bound: WorkbookBound) -> Result<(), FileFault> {
    *counter += 1;
    if *counter > most { Err(bound.into()) } else { Ok(()) }
}

impl Tag {
    fn read(tag: &quick_xml::events::BytesStart<'_>) -> Result<Self, FileFault> {
        let mut read = Self { place: None, format: None, kind: CellKind::Number };
        let mut damaged = false;
        attributes(tag, |name, value| {
            match name {
                "r" => {
                    read.place = place(value);
                    damaged |= read.place.is_none();
                }
                "s" => read.format = value.parse().ok(),
                "t" => match CellKind::named(value) {
                    Some(kind) => read.kind = kind,
                    None => damaged = true,
                },
                _ => {}
            }
            None::<()>
        })?;
        if damaged { Err(FileFault::Damaged) } else { Ok(read) }
    }
}

impl CellKind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "n" => Self::Number,
            "s" => Self::Shared,
            "inlineStr" | "is" => Self::Inline,
            "str" | "d" => Self::Text,
            "b" => Self::Bool,
            "e" => Self::Error,
            _ => return None,
        })
    }
}

/// Row and column of a cell such as `B7`, counted from 0.
pub(super) fn place(name: &str) -> Option<(u32, u32)> {
    let digits = name.find(|character: char| character.is_ascii_digit())?;
    let (letters, number) = name.split_at(digits);
    let mut column = 0_u32;
    for letter in letters.bytes() {
        let letter = letter.to_ascii_uppercase();
        let value = letter.is_ascii_uppercase().then(|| u32::from(letter - b'A') + 1)?;
        column = column.checked_mul(26)?.checked_add(value)?;
    }
    let number = number.bytes().all(|digit| digit.is_ascii_digit()).then(|| number.parse::<u32>().ok())??;
    Some((number.checked_sub(1)?, column.checked_sub(1)?))
}

/// Rows being built.
struct Rows<'a, T> {
    row: Vec<String>,
    /// Index of the current row.
    at: u32,
    /// Total length of its texts: many cells may share a long one.
    bytes: usize,
    given: u64,
    /// What is behind the current cell.
    link: Option<Behind>,
    /// Columns of other cells of the current row, and what is behind them.
    linked: Vec<(usize, Behind)>,
    links: &'a Links,
    /// Rows without an address, as a link was ignored or is not known.
    lost: Oddity,
    /// Whether a shared text was found.
    has_shared: bool,
    take: &'a mut T,
}

impl<T: FnMut(u64, Vec<String>) -> Result<(), FileFault>> Rows<'_, T> {
    fn cell(&mut self, row: u32, column: u32, text: &str) -> Result<(), FileFault> {
        let link = self.link.take().filter(|_| !has_address(text));
        // Colored columns are full of cells without text.
        if text.trim().is_empty() && link.is_none() {
            return Ok(());
        }
        if row < self.at {
            return Err(FileFault::Damaged);
        }
        if row > self.at {
            self.end()?;
            self.at = row;
        }
        let number = u64::from(row) + 1;
        let column = usize::try_from(column).ok().filter(|column| *column < COLUMNS_MAX);
        let column = column.ok_or(FileFault::TooManyColumns(number))?;
        if text.len() > CELL_MAX_BYTES {
            return Err(FileFault::CellTooLong(number));
        }
        let behind =
            link.as_ref().map_or(0, |link| if let Behind::Address(address) = link { address.len() } else { 0 });
        self.bytes += text.len() + behind;
        if self.bytes > RECORD_MAX {
            return Err(FileFault::RowTooLong(number));
        }
        if self.row.len() <= column {
            self.row.resize(column + 1, String::new());
        }
        text.clone_into(&mut self.row[column]);
        self.linked.extend(link.map(|link| (column, link)));
        Ok(())
    }

    fn end(&mut self) -> Result<(), FileFault> {
        if self.row.is_empty() {
            return Ok(());
        }
        self.link_addresses();
        self.given += 1;
        self.bytes = 0;
        (self.take)(u64::from(self.at) + 1, std::mem::take(&mut self.row))
    }

    /// Adds the addresses behind cells to their texts, unless the row has another address. A name whose address is not known is no
    /// address itself.
    fn link_addresses(&mut self) {
        let linked = std::mem::take(&mut self.linked);
        for (column, behind) in &linked {
            let of = |column: &u32| self.row.get(usize::try_from(*column).ok()?).filter(|cell| is_address(cell));
            if let Behind::Column(other) = behind
                && let Some(address) = of(other).cloned()
            {
                self.name_address(*column, address);
            }
        }
        let is_ignored = self.links.is_ignored(self.at);
        if (linked.is_empty() && !is_ignored) || self.row.iter().any(|cell| has_address(cell)) {
            return;
        }
        let is_known = |(_, behind): &(usize, Behind)| matches!(behind, Behind::Address(_));
        if !linked.iter().any(is_known) {
            self.lost.meet(u64::from(self.at) + 1);
        }
        for (column, behind) in linked {
            match behind {
                Behind::Address(address) => self.name_address(column, address),
                Behind::Column(_) | Behind::Unknown => self.row[column].clear(),
            }
        }
    }

    /// Adds an address to the name in a cell.
    fn name_address(&mut self, column: usize, address: String) {
        let name = self.row[column].trim();
        let named = format!("{name} <{address}>");
        // Not every text can be a name before an address.
        let is_name = !name.is_empty() && bare_address(&named) == address;
        self.row[column] = if is_name { named } else { address };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_letters_and_a_number() {
        let table = [
            ("A1", Some((0, 0))),
            ("b7", Some((6, 1))),
            ("XFD1048576", Some((1_048_575, 16_383))),
            ("A0", None),
            ("7", None),
            ("A", None),
            ("A-1", None),
            ("A1B", None),
            ("ZZZZZZZZZZZZ1", None),
            ("A99999999999", None),
            ("Ä1", None),
            ("", None),
        ];
        for (name, expected) in table {
            assert_eq!(place(name), expected, "{name}");
        }
    }
}
