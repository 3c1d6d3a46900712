//! Imports an input into the work file, once and in constant memory, before any probe.
//!
//! Faults of the input are found here, while stopping costs nothing: an unreadable file, an endless line, an unclosed quote, a
//! missing column, JSON lines of which none can be read. Oddities (a missing address, a line that is not JSON, ragged rows, invalid
//! bytes) are kept, answered and reported.

mod oddities;
mod places;
mod sheets;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use probity_access::secrets::hex;
use probity_lists::absent::{absence, cleaned, has_address};
use probity_lists::column::NoColumn;
use probity_lists::encoding::Encoding;
use probity_lists::kinds::ColumnKinds;
use probity_lists::rows::record::write_record;
use probity_lists::rows::{Layout, Record, RecordKind, TextForm, TextHint, TextRows};
use probity_lists::split::{Dialect, Eol};
use probity_lists::{FileFault, json};
use ring::digest;

use self::oddities::{InputOddities, better_column, remarked};
use super::form;
use super::order::{ROWS_MAX, RowCollector};
use super::request::ListFormat;
use super::workfile::{BatchHeader, Imported, LeftOut, WorkFile};
use crate::exit::{Exit, ExitsWith};

/// Meta of unreadable rows.
pub(crate) const UNREADABLE_ROW: &str = "unreadable_row";
/// Warning about rows that were unpacked.
const WRAPPED: &str = "each row was one quoted cell; the output has its cells without these quotes";
/// Rows between two checks of the stop flag.
const STOP_ROWS: u32 = 1_024;

/// A reader that counts and hashes its bytes.
pub(crate) struct Digested<R> {
    inner: R,
    context: digest::Context,
    size: u64,
}

impl<R: Read> Digested<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, context: digest::Context::new(&digest::SHA256), size: 0 }
    }

    /// Reads the rest; returns size and hash of the whole input.
    pub(crate) fn finish(mut self) -> io::Result<(u64, String)> {
        io::copy(&mut self, &mut io::sink())?;
        let hash = self.context.finish();
        Ok((self.size, hex(hash.as_ref())))
    }
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.context.update(&out[..read]);
        self.size += read as u64;
        Ok(read)
    }
}

/// Opens an input; `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        bail!("{} is a directory; pass a file", path.display());
    }
    Ok(Box::new(file))
}

/// Returns the name of an input for messages.
pub(crate) fn place(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads a text, of which only the first `most` bytes are used; `-` is standard input.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String> {
    let mut text = String::new();
    let read = open(path)?.take(most).read_to_string(&mut text);
    read.with_context(|| format!("cannot read {}", place(path)))?;
    Ok(text)
}

/// Reads the whole input into the work file; returns its properties and the rows.
pub(crate) fn import(begun: &BatchHeader, work: &mut WorkFile, stop: &AtomicBool) -> Result<(Imported, RowCollector)> {
    let name = &begun.input;
    let source = open(Path::new(name))?;
    let mut digested = Digested::new(source);
    let sheets::InputText { text, sheet, places } =
        sheets::text_of(&mut digested).map_err(|error| anyhow!("{name}: {error:#}. Nothing was probed yet"))?;
    let hint = hint(begun, sheet.is_some()).map_err(|message| anyhow!("{name}: {message}"))?;
    let mut from = TextRows::open(text, hint).map_err(|fault| unreadable(name, fault))?;
    let plan = InputPlan::make(begun, from.layout()).map_err(|message| anyhow!("{name}: {message}"))?;
    let rows = RowCollector::new(begun.names, begun.trims);
    let (found, kinds) = (InputOddities::default(), ColumnKinds::default());
    let mut import = Import { begun, plan, work, rows, found, kinds, names: Vec::new(), taken: 0, stop };
    import.records(&mut from)?;
    let Import { plan, rows, found, kinds, names, .. } = import;
    let (encoding, other, remarks) =
        (from.records().encoding(), from.records().other_encoding(), from.records().remarks());
    let wants_mark = from.records().wants_mark();
    if let Some(why) = found.refusal(rows.count(), plan.column, from.layout()) {
        bail!("{name}: {why}. Nothing was probed yet");
    }
    let wrapped = from.layout().sample.is_wrapped.then(|| WRAPPED.to_owned());
    drop(from);
    let (size, hash) = digested.finish().with_context(|| format!("cannot read {name}"))?;
    let mut warnings = found.warnings(plan.column, &places);
    warnings.extend(found.others_warning(&names));
    warnings.extend(wrapped);
    warnings.extend(remarked(&remarks, other, &places));
    let workbook = sheet.is_some();
    if let Some(sheet) = sheet {
        warnings.insert(0, sheet);
    } else if encoding != Encoding::Utf8 && other.is_none() {
        warnings.insert(0, format!("the input was read as {}", encoding.name()));
    }
    let imported = Imported {
        rows: rows.count(),
        size,
        hash,
        format: plan.format,
        delimiter: plan.dialect.delimiter,
        backslash: plan.dialect.backslash,
        header: plan.header,
        width: u32::try_from(found.width).unwrap_or(u32::MAX),
        encoding,
        wants_mark: Some(wants_mark),
        suffix: found.suffix,
        without: found.missing.count + found.several.count + found.guessed.count,
        unreadable: found.unreadable.count,
        workbook,
        kinds: kinds.finish(),
        warnings,
    };
    Ok((imported, rows))
}

/// Returns what is known about an input before it is read.
fn hint(begun: &BatchHeader, workbook: bool) -> Result<TextHint, String> {
    if workbook && begun.format.is_some_and(|format| format != ListFormat::Csv) {
        return Err("this is a workbook, which --format does not apply to".into());
    }
    if workbook && begun.encoding.is_some() {
        return Err("this is a workbook, which --encoding does not apply to".into());
    }
    let by_name = begun.format.is_none() && !workbook;
    let format = begun.format.or_else(|| named_format(Path::new(&begun.input))).filter(|_| !workbook);
    let form = format.map(|format| match format {
        ListFormat::Csv => TextForm::Csv,
        ListFormat::Txt => TextForm::Lines,
        ListFormat::Jsonl => TextForm::Json,
    });
    let form = form.or_else(|| workbook.then_some(TextForm::Csv));
    let delimiter = workbook.then_some(sheets::DELIMITER);
    Ok(TextHint { form, delimiter, encoding: begun.encoding, named: begun.column.is_some(), by_name, pasted: false })
}

/// Returns the format given by an input's name.
fn named_format(name: &Path) -> Option<ListFormat> {
    let extension = name.extension()?.to_ascii_lowercase();
    match extension.to_str()? {
        "csv" | "tsv" | "tab" => Some(ListFormat::Csv),
        "jsonl" | "ndjson" | "json" => Some(ListFormat::Jsonl),
        _ => None,
    }
}

fn unreadable(name: &str, fault: FileFault) -> anyhow::Error {
    match fault {
        FileFault::JsonArray => anyhow!("{name}: this is a JSON array; convert it to JSON lines (jq -c '.[]')"),
        fault => anyhow::Error::new(fault).context(format!("cannot read {name}; nothing was probed yet")),
    }
}

/// How to read an input.
#[derive(Debug)]
struct InputPlan {
    format: ListFormat,
    dialect: Dialect,
    column: usize,
    header: bool,
}

impl InputPlan {
    fn make(begun: &BatchHeader, layout: &Layout) -> Result<Self, String> {
        let format = match layout.form {
            TextForm::Csv => ListFormat::Csv,
            TextForm::Lines => ListFormat::Txt,
            TextForm::Json => ListFormat::Jsonl,
        };
        let mut plan = Self { format, dialect: layout.sample.dialect, column: 0, header: false };
        match format {
            ListFormat::Csv => {
                let found = layout.sample.column(begun.column.as_deref(), begun.no_header);
                (plan.column, plan.header) = found.map_err(|none| no_column(&none, layout))?;
            }
            ListFormat::Txt if begun.column.is_some() => return Err("--column needs CSV or JSON lines".into()),
            ListFormat::Txt | ListFormat::Jsonl => {}
        }
        Ok(plan)
    }
}

/// Explains why no column was found. Quotes the first row, which is untrusted text.
fn no_column(none: &NoColumn, layout: &Layout) -> String {
    let shown = |row: &[String]| {
        let cell = |cell: &String| crate::output::plain(&cell.chars().take(40).collect::<String>());
        row.iter().take(20).map(cell).collect::<Vec<_>>().join(" | ")
    };
    match none {
        NoColumn::Unlike(first) => {
            format!("no column looks like addresses; set one with --column. The first row is: {}", shown(first))
        }
        NoColumn::Missing(wanted, first) => {
            let better = better_column(layout, None);
            format!("there is no column {wanted:?}{better}. The first row is: {}", shown(first))
        }
    }
}

/// A JSON line without an address.
struct Unreadable {
    /// The line is an object nonetheless.
    object: bool,
    why: String,
}

struct Import<'a> {
    begun: &'a BatchHeader,
    plan: InputPlan,
    work: &'a mut WorkFile,
    rows: RowCollector,
    found: InputOddities,
    /// Kinds of the columns of CSV.
    kinds: ColumnKinds,
    /// Header.
    names: Vec<String>,
    /// Largest number of a verdict's key in the objects read so far.
    taken: u16,
    stop: &'a AtomicBool,
}

impl Import<'_> {
    fn records(&mut self, from: &mut TextRows<impl Read>) -> Result<()> {
        let mut first = true;
        let name = self.begun.input.clone();
        while let Some(record) = from.next_record().map_err(|fault| unreadable(&name, fault))? {
            let raw = from.records().bytes(&record);
            let is_above = record.kind == RecordKind::Above;
            // DOS programs end a text with a mark.
            if is_above || raw.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x1a) {
                self.work.verbatim(record.raw.end, is_above, raw)?;
                continue;
            }
            let is_changed = record.raw.stray || from.layout().sample.is_wrapped;
            let repaired = is_changed.then(|| self.repaired(&record.cells));
            let raw = repaired.as_deref().unwrap_or(raw);
            if record.kind == RecordKind::Blank {
                self.found.missing.meet(record.raw.line);
                self.work.without(record.raw.end, LeftOut::Blank, raw)?;
                continue;
            }
            if first && self.plan.header {
                self.header(&record.cells);
                self.work.verbatim(record.raw.end, false, raw)?;
                first = false;
                continue;
            }
            let guessed = record.foreign && from.records().is_guessed();
            if let Some(several) = from.records().recipients(&record) {
                self.recipients(&several, (record.raw.end, record.raw.line), guessed)?;
            } else {
                if self.plan.format == ListFormat::Csv {
                    self.kinds.row(&record.cells);
                    self.found.others.row(&record.cells, self.plan.column);
                }
                self.row(&record, raw, (first, guessed))?;
            }
            first = false;
            self.bounds()?;
        }
        Ok(())
    }

    /// Stores a record as a row. The flags say whether it is the first row, and whether its encoding was guessed.
    fn row(&mut self, record: &Record, raw: &[u8], (first, guessed): (bool, bool)) -> Result<()> {
        let (end, line) = (record.raw.end, record.raw.line);
        match self.email(&record.cells, line, first) {
            Ok(cell) => self.entry(&cell, raw, (end, line), guessed)?,
            Err(Unreadable { object, why }) => {
                self.found.unreadable(line, why);
                self.work.unreadable(end, object, raw)?;
            }
        }
        Ok(())
    }

    /// Stores the recipients of a line as rows.
    fn recipients(&mut self, several: &[String], (end, line): (Eol, u64), guessed: bool) -> Result<()> {
        for (at, email) in several.iter().enumerate() {
            let end = if at + 1 < several.len() { Eol::Lf } else { end };
            self.entry(email, email.as_bytes(), (end, line), guessed)?;
        }
        Ok(())
    }

    /// Stores the cell of the address column as a row.
    fn entry(&mut self, cell: &str, raw: &[u8], (end, line): (Eol, u64), guessed: bool) -> Result<()> {
        let email = cleaned(cell).unwrap_or(cell);
        if let Some(absence) = absence(email, self.names.get(self.plan.column).map(String::as_str), guessed) {
            self.found.left_out(absence, line);
            return self.work.without(end, absence.into(), raw);
        }
        self.found.addresses += u64::from(has_address(email));
        let place = self.work.row(end, email, raw)?;
        self.rows.add(email, place);
        Ok(())
    }

    /// Returns a record without an unpaired quote.
    fn repaired(&self, cells: &[String]) -> Vec<u8> {
        let mut record = Vec::new();
        write_record(cells.iter().map(String::as_str), self.plan.dialect.delimiter, &mut record);
        record
    }

    fn bounds(&self) -> Result<()> {
        let rows = self.rows.count();
        if rows >= ROWS_MAX {
            bail!("a batch has at most {ROWS_MAX} rows; split the input");
        }
        if rows.is_multiple_of(STOP_ROWS) && self.stop.load(Ordering::Relaxed) {
            return Err(anyhow!("nothing was probed yet").context(ExitsWith(Exit::Interrupted)));
        }
        Ok(())
    }

    /// Stores the header's width, and the names that our own columns must avoid.
    fn header(&mut self, cells: &[String]) {
        self.names = cells.to_vec();
        let names: Vec<String> = cells.iter().map(|cell| cell.trim().to_ascii_lowercase()).collect();
        self.found.width = names.len();
        let taken = |suffix: &str| {
            let ours = form::column_names(suffix);
            ours.iter().any(|name| names.contains(name))
        };
        let mut number = 1;
        while taken(&self.found.suffix) {
            number += 1;
            self.found.suffix = format!("_{number}");
        }
    }

    fn email<'t>(&mut self, cells: &'t [String], line: u64, first: bool) -> Result<Cow<'t, str>, Unreadable> {
        let email = match self.plan.format {
            ListFormat::Txt => Cow::Borrowed(cells[0].as_str()),
            ListFormat::Csv => {
                if cells.len() != self.found.width && (self.plan.header || !first) {
                    self.found.ragged.meet(line);
                }
                self.found.width = self.found.width.max(cells.len());
                Cow::Borrowed(cells.get(self.plan.column).map_or("", |cell| cell.trim_ascii()))
            }
            ListFormat::Jsonl => {
                let column = self.begun.column.as_deref();
                let found = json::find(&cells[0], column).map_err(|why| Unreadable { object: false, why })?;
                if found.taken > self.taken {
                    self.taken = found.taken;
                    self.found.suffix = format!("_{}", u32::from(found.taken) + 1);
                }
                let email = found.email.ok_or_else(|| {
                    let why = format!("no text under {:?}", column.unwrap_or("email"));
                    Unreadable { object: true, why }
                })?;
                Cow::Owned(email.trim_ascii().to_owned())
            }
        };
        Ok(email)
    }
}
