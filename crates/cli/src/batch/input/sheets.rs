//! Workbooks as input: the sheet with the addresses becomes CSV in an unnamed temporary file, and is read like any other CSV.
//!
//! Files that are not lists, such as a PDF, are refused before any of their content is taken for an address.

use std::io::{self, Read};

use anyhow::Result;
use probity_lists::FileFault;
use probity_lists::content::{self, ContentKind, HEAD_BYTES};

use super::places::RowPlaces;

/// Separator of the CSV created from a sheet.
pub(super) const DELIMITER: u8 = b',';

/// An input as text.
pub(super) struct InputText<'a> {
    pub(super) text: Box<dyn Read + 'a>,
    /// Note about the sheet, if the input is a workbook.
    pub(super) sheet: Option<String>,
    /// Locations of its rows.
    pub(super) places: RowPlaces,
}

/// Examines the beginning of an input, and converts a workbook to CSV.
pub(super) fn text_of<'a>(from: &'a mut (impl Read + 'a)) -> Result<InputText<'a>> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    from.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let kind = content::of(&head);
    let mut whole = io::Cursor::new(head).chain(from);
    match kind {
        Ok(ContentKind::Zip) => of_workbook(&mut whole),
        Err(fault @ (FileFault::OldWorkbook | FileFault::Pdf | FileFault::Compressed)) => Err(fault.into()),
        // Irregular text gets an answer row by row.
        Ok(ContentKind::Text) | Err(_) => {
            Ok(InputText { text: Box::new(whole), sheet: None, places: RowPlaces::default() })
        }
    }
}

#[cfg(not(feature = "xlsx"))]
fn of_workbook<'a>(_: &mut impl Read) -> Result<InputText<'a>> {
    Err(FileFault::Workbooks.into())
}

/// Converts the sheet with the addresses to CSV.
#[cfg(feature = "xlsx")]
fn of_workbook<'a>(from: &mut impl Read) -> Result<InputText<'a>> {
    use std::io::{BufWriter, Seek as _, SeekFrom, Write as _};

    use probity_lists::rows::record::write_record;
    use probity_lists::workbook::Workbook;

    /// Rows of a sheet that are examined for addresses, and their size in bytes.
    const SAMPLE: (usize, usize) = (200, 2 << 20);

    let mut file = tempfile::tempfile()?;
    io::copy(from, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    let mut book = Workbook::open(file)?;
    let mut made = BufWriter::new(tempfile::tempfile()?);
    let (mut record, mut places) = (Vec::new(), RowPlaces::of_sheet());
    let mut read = None;
    for sheet in book.by_addresses(SAMPLE.0, SAMPLE.1) {
        let rows = book.read(&sheet, |number, row| {
            record.clear();
            write_record(row.iter().map(String::as_str), DELIMITER, &mut record);
            record.push(b'\n');
            places.add(number, &record);
            made.write_all(&record).map_err(FileFault::Io)
        })?;
        if rows > 0 {
            read = Some(sheet);
            break;
        }
    }
    let mut made = made.into_inner().map_err(io::IntoInnerError::into_error)?;
    made.seek(SeekFrom::Start(0))?;
    let sheet = read.map_or_else(String::new, |sheet| crate::output::plain(&sheet));
    let (sheets, unreadable) = (book.sheets().len(), book.unreadable());
    let blank = match (unreadable.count, unreadable.line) {
        (0, _) => String::new(),
        (count, row) => format!("; {count} cells could not be read and are blank, the first in row {row}"),
    };
    let note = format!("the sheet \"{sheet}\" was read, one of {sheets}{blank}");
    Ok(InputText { text: Box::new(made), sheet: Some(note), places })
}
