//! Imports an input into the work file, once and in constant memory, before any probe.
//!
//! Faults of the input are found here, while stopping costs nothing: an unreadable file, an endless line, an unclosed quote, a
//! missing column, JSON lines of which none can be read. Oddities (a missing address, a line that is not JSON, ragged rows, invalid
//! bytes) are kept, answered and reported.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use probity_lists::column::{NoColumn, Sample};
use probity_lists::encoding::{self, Decoded};
use probity_lists::json;
use probity_lists::rows::{self, TextForm, first_byte, line_end};
use probity_lists::split::{Splitter, fields, unquote};
use ring::digest;

use super::order::{ROWS_MAX, RowCollector};
use super::sheets;
use super::workfile::{BatchHeader, Imported, WorkFile};
use crate::args::ListFormat;
use crate::exit::{Exit, ExitsWith};

/// Size of one read.
const READ_BYTES: usize = 256 * 1024;
/// Meta of unreadable rows.
pub(crate) const UNREADABLE_ROW: &str = "unreadable_row";
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

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Opens an input; `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        bail!("{} is a directory", path.display());
    }
    Ok(Box::new(file))
}

/// Reads the whole input into the work file; returns its properties and the rows.
pub(crate) fn import(begun: &BatchHeader, work: &mut WorkFile, stop: &AtomicBool) -> Result<(Imported, RowCollector)> {
    let name = &begun.input;
    let source = open(Path::new(name))?;
    let mut digested = Digested::new(source);
    let sheets::InputText { text, sheet } =
        sheets::text_of(&mut digested).map_err(|error| anyhow!("{name}: {error:#}. Nothing was probed yet"))?;
    let decoded = Decoded::open(text).with_context(|| format!("cannot read {name}"))?;
    let encoding = decoded.encoding;
    let mut from = BufReader::with_capacity(READ_BYTES, decoded);
    let head = encoding::head(&mut from).with_context(|| format!("cannot read {name}"))?;
    let plan = Plan::make(begun, &head, sheet.is_some()).map_err(|message| anyhow!("{name}: {message}"))?;
    let whole = io::Cursor::new(head).chain(from);
    let rows = RowCollector::new(begun.names);
    let mut import = Import { begun, plan, work, rows, found: InputOddities::default(), stop };
    import.records(whole)?;
    let Import { plan, rows, found, .. } = import;
    let (size, hash) = digested.finish().with_context(|| format!("cannot read {name}"))?;
    if rows.count() == 0 && found.unreadable.count > 0 {
        let (line, why) = (found.unreadable.line, found.why_unreadable);
        bail!("{name}: no line is a JSON object with an address; line {line}: {why}. Nothing was probed yet");
    }
    let mut warnings = found.warnings(plan.column);
    let workbook = sheet.is_some();
    if let Some(sheet) = sheet {
        warnings.insert(0, sheet);
    } else if encoding != encoding::Encoding::Utf8 {
        warnings.insert(0, format!("the input was read as {}", encoding.name()));
    }
    let imported = Imported {
        rows: rows.count(),
        size,
        hash,
        format: plan.format,
        delimiter: plan.delimiter,
        header: plan.header,
        width: u32::try_from(found.width).unwrap_or(u32::MAX),
        encoding,
        suffix: found.suffix,
        unreadable: found.unreadable.count,
        workbook,
        warnings,
    };
    Ok((imported, rows))
}

/// How to read an input.
#[derive(Debug)]
struct Plan {
    format: ListFormat,
    delimiter: u8,
    end: u8,
    column: usize,
    header: bool,
}

impl Plan {
    fn make(begun: &BatchHeader, head: &[u8], workbook: bool) -> Result<Self, String> {
        let end = if workbook { b'\n' } else { line_end(head) };
        let sample = if workbook { Sample::separated(head, sheets::DELIMITER, end) } else { Sample::read(head, end) };
        let format = match begun.format {
            Some(ListFormat::Txt | ListFormat::Jsonl) if workbook => {
                return Err("this is a workbook, which --format does not apply to".into());
            }
            _ if workbook => ListFormat::Csv,
            Some(format) => format,
            None => guess(Path::new(&begun.input), head, &sample, begun.column.is_some()),
        };
        let mut plan = Self { format, delimiter: sample.delimiter, end, column: 0, header: false };
        match format {
            ListFormat::Csv => {
                let found = sample.column(begun.column.as_deref(), begun.no_header);
                (plan.column, plan.header) = found.map_err(|none| no_column(&none))?;
            }
            ListFormat::Txt if begun.column.is_some() => return Err("--column needs CSV or JSON lines".into()),
            ListFormat::Jsonl if first_byte(head) == Some(b'[') => {
                return Err("this is a JSON array; convert it to JSON lines (jq -c '.[]')".into());
            }
            ListFormat::Txt | ListFormat::Jsonl => {}
        }
        Ok(plan)
    }
}

/// Explains why no column was found. Quotes the first row, which is untrusted text.
fn no_column(none: &NoColumn) -> String {
    let shown = |row: &[String]| {
        let cell = |cell: &String| crate::output::plain(&cell.chars().take(40).collect::<String>());
        row.iter().take(20).map(cell).collect::<Vec<_>>().join(" | ")
    };
    match none {
        NoColumn::Unlike(first) => {
            format!("no column looks like addresses; set one with --column. The first row is: {}", shown(first))
        }
        NoColumn::Missing(wanted, first) => {
            format!("there is no column {wanted:?}. The first row is: {}", shown(first))
        }
    }
}

/// Guesses the format from the input's name, then from its content.
fn guess(name: &Path, head: &[u8], sample: &Sample, column_named: bool) -> ListFormat {
    let extension = name.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("csv" | "tsv" | "tab") => return ListFormat::Csv,
        Some("jsonl" | "ndjson" | "json") => return ListFormat::Jsonl,
        _ => {}
    }
    match rows::guess(head, sample, column_named) {
        TextForm::Csv => ListFormat::Csv,
        TextForm::Lines => ListFormat::Txt,
        TextForm::Json => ListFormat::Jsonl,
    }
}

/// Oddities of the input.
#[derive(Debug, Default)]
struct InputOddities {
    width: usize,
    suffix: String,
    ragged: OddityCount,
    strange: OddityCount,
    missing: OddityCount,
    unreadable: OddityCount,
    /// Why the first unreadable line could not be read.
    why_unreadable: String,
}

/// A JSON line without an address.
struct Unreadable {
    /// The line is an object nonetheless.
    object: bool,
    why: String,
}

/// Count of an oddity, and its first occurrence.
#[derive(Debug, Default)]
struct OddityCount {
    count: u64,
    line: u64,
}

impl OddityCount {
    fn meet(&mut self, line: u64) {
        if self.count == 0 {
            self.line = line;
        }
        self.count += 1;
    }
}

impl InputOddities {
    fn unreadable(&mut self, line: u64, why: String) {
        if self.unreadable.count == 0 {
            self.why_unreadable = why;
        }
        self.unreadable.meet(line);
    }

    fn warnings(&self, column: usize) -> Vec<String> {
        let mut warnings = Vec::new();
        let OddityCount { count, line } = self.strange;
        if count > 0 {
            warnings
                .push(format!("{count} records are not UTF-8 and were read as Windows-1252, the first in line {line}"));
        }
        let OddityCount { count, line } = self.ragged;
        if count > 0 {
            warnings.push(format!(
                "{count} rows differ in the number of fields, the first in line {line}; all rows were padded to {} fields",
                self.width
            ));
        }
        let OddityCount { count, line } = self.missing;
        if count > 0 {
            let place = if column > 0 { format!(" (column {})", column + 1) } else { String::new() };
            warnings.push(format!("{count} rows have no address{place}, the first in line {line}"));
        }
        let OddityCount { count, line } = self.unreadable;
        if count > 0 {
            warnings.push(format!(
                "{count} lines could not be read and get `invalid` ({UNREADABLE_ROW}), the first is line {line}: {}",
                self.why_unreadable
            ));
        }
        warnings
    }
}

struct Import<'a> {
    begun: &'a BatchHeader,
    plan: Plan,
    work: &'a mut WorkFile,
    rows: RowCollector,
    found: InputOddities,
    stop: &'a AtomicBool,
}

impl Import<'_> {
    fn records(&mut self, from: impl BufRead) -> Result<()> {
        let delimiter = (self.plan.format == ListFormat::Csv).then_some(self.plan.delimiter);
        let mut splitter = Splitter::new(from, delimiter, self.plan.end);
        let mut record = Vec::new();
        let mut first = true;
        let name = self.begun.input.clone();
        let broken = || format!("{name}: nothing was probed yet");
        while let Some((eol, line)) = splitter.next(&mut record).with_context(broken)? {
            let (text, strange) = encoding::text(&record);
            if strange {
                self.found.strange.meet(line);
            }
            if text.bytes().all(|byte| byte.is_ascii_whitespace()) {
                self.work.verbatim(eol, text.as_bytes())?;
                continue;
            }
            if first && self.plan.header {
                self.header(&text);
                self.work.verbatim(eol, text.as_bytes())?;
            } else {
                match self.email(&text, line, first) {
                    Ok(email) => {
                        let place = self.work.row(eol, &email, text.as_bytes())?;
                        self.rows.add(&email, place);
                    }
                    Err(Unreadable { object, why }) => {
                        self.found.unreadable(line, why);
                        self.work.unreadable(eol, object, text.as_bytes())?;
                    }
                }
            }
            first = false;
            self.bounds()?;
        }
        Ok(())
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

    /// Stores the header's width, and the names that our columns must avoid.
    fn header(&mut self, text: &str) {
        let names: Vec<String> = fields(text.as_bytes(), self.plan.delimiter)
            .map(|raw| String::from_utf8_lossy(&unquote(raw)).trim().to_ascii_lowercase())
            .collect();
        self.found.width = names.len();
        let taken = |suffix: &str| {
            let ours = super::form::column_names(suffix);
            ours.iter().any(|name| names.contains(name))
        };
        let mut number = 1;
        while taken(&self.found.suffix) {
            number += 1;
            self.found.suffix = format!("_{number}");
        }
    }

    fn email<'t>(&mut self, text: &'t str, line: u64, first: bool) -> Result<Cow<'t, str>, Unreadable> {
        let trim = |text: &str| text.trim_matches(|c: char| c.is_ascii_whitespace()).to_owned();
        let email = match self.plan.format {
            ListFormat::Txt => Cow::Borrowed(text.trim_matches(|c: char| c.is_ascii_whitespace())),
            ListFormat::Csv => {
                let mut width = 0;
                let mut email = Cow::Borrowed("");
                for raw in fields(text.as_bytes(), self.plan.delimiter) {
                    if width == self.plan.column {
                        let cell = unquote(raw);
                        email = Cow::Owned(trim(std::str::from_utf8(&cell).unwrap_or("")));
                    }
                    width += 1;
                }
                if width != self.found.width && (self.plan.header || !first) {
                    self.found.ragged.meet(line);
                }
                self.found.width = self.found.width.max(width);
                email
            }
            ListFormat::Jsonl => {
                let column = self.begun.column.as_deref();
                let found = json::find(text, column).map_err(|why| Unreadable { object: false, why })?;
                if found.taken && self.found.suffix.is_empty() {
                    "_2".clone_into(&mut self.found.suffix);
                }
                let email = found.email.ok_or_else(|| {
                    let why = format!("no text under {:?}", column.unwrap_or("email"));
                    Unreadable { object: true, why }
                })?;
                Cow::Owned(trim(&email))
            }
        };
        if email.is_empty() {
            self.found.missing.meet(line);
        }
        Ok(email)
    }
}
