//! Output: the input's records in order, each with its answer, written as soon as all earlier records are answered.
//!
//! The input's own columns are copied byte for byte, so that a list can return to the system that exported it. A spreadsheet runs a
//! cell that begins with `=`, `+`, `-`, `@` or a control character as a formula. Cells of ours that do so get a leading `'`, unless
//! `--raw` is given. `--protect-all` does the same to the input's cells.
//!
//! A file is written as `OUTPUT.part`, synced, and renamed at the end, so that its name never shows a partial result. Devices and
//! pipes are written directly.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use probity_lists::split::Eol;
use probity_mail::address::{Address, bare_address};
use probity_mail::facts::Facts;
use probity_mail::facts::lists::Lists;
use probity_mail::time::Millis;
use probity_mail::verdict::{Flags, Reason};

use super::answer::{AnswerTable, PackedAnswer, bits, plain_domain};
#[cfg(feature = "xlsx")]
use super::book::BookForm;
use super::form::{OutputForm, Protect, RowAnswer};
use super::order::Order;
use super::request::{ListFormat, OutputFormat};
use super::summary::RowTally;
use super::workfile::{Frame, FrameReader, Imported, Scan, open_locked, output_failed};
use crate::files::{beside, parent, sync};
use crate::output::plain;

/// Size of the write buffer.
const BUFFER_BYTES: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct OutputTarget {
    pub path: PathBuf,
    /// Temporary name while writing; `None` for devices, pipes and standard output.
    pub part: Option<PathBuf>,
}

impl OutputTarget {
    /// Selects the kind of output by the existing file at the path.
    pub(crate) fn at(path: &Path) -> Self {
        // Writing through a link replaces the file it points to, as other ways of writing do.
        let linked = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
        let path = if linked { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() };
        let direct = path.as_os_str() == "-" || std::fs::metadata(&path).is_ok_and(|meta| !meta.is_file());
        let part = (!direct).then(|| beside(&path, ".part"));
        Self { path, part }
    }

    /// Reports whether the result is a regular file.
    pub(crate) fn is_file(&self) -> bool {
        self.part.is_some()
    }

    fn open(&self) -> Result<Box<dyn Write + Send>> {
        if self.path.as_os_str() == "-" {
            return Ok(Box::new(std::io::stdout()));
        }
        let path = self.part.as_ref().unwrap_or(&self.path);
        let unwritable = || format!("cannot write {}", path.display());
        if !self.is_file() {
            return Ok(Box::new(File::options().write(true).open(path).with_context(unwritable)?));
        }
        // Two runs with different work files may share one output; the umask narrows the mode.
        let file = open_locked(path, 0o666).with_context(unwritable)?;
        let file = file.with_context(|| format!("another run is writing {}", self.path.display()))?;
        file.set_len(0).with_context(unwritable)?;
        Ok(Box::new(file))
    }

    /// Renames the finished file into place.
    fn finish(&self) -> Result<()> {
        let Some(part) = &self.part else { return Ok(()) };
        let failed = |error| output_failed(error, &self.path);
        sync(part).map_err(failed)?;
        std::fs::rename(part, &self.path).map_err(failed)?;
        // A file system that cannot sync directories has done what it can.
        let _ = sync(parent(&self.path));
        Ok(())
    }
}

/// Properties of an output.
pub(crate) struct OutputShape {
    pub format: OutputFormat,
    pub protect: Protect,
    /// Name of the list.
    pub title: String,
}

/// Form of an output: text, which is written to `out`, or a sheet, which is written at the end.
pub(super) trait RowForm: Send {
    /// Writes the text before the first record.
    fn begin(&self, _out: &mut Vec<u8>) {}

    /// Writes a record that is not a row, such as the header.
    fn verbatim(&mut self, eol: Eol, is_above: bool, raw: &[u8], out: &mut Vec<u8>);

    fn row(&mut self, eol: Eol, email: &str, raw: &[u8], reply: &RowAnswer<'_>, out: &mut Vec<u8>) -> Result<()>;

    /// Writes an unreadable record with its answer; `object`: it is nonetheless a JSON object.
    fn unreadable(&mut self, eol: Eol, object: bool, raw: &[u8], out: &mut Vec<u8>) -> Result<()>;

    /// Returns the text after the last record.
    fn finish(self: Box<Self>) -> Result<Option<File>> {
        Ok(None)
    }
}

fn form_of(shape: OutputShape, imported: &Imported) -> Result<Box<dyn RowForm>> {
    let OutputShape { format, protect, title } = shape;
    let format = match format {
        OutputFormat::Csv => ListFormat::Csv,
        OutputFormat::Txt => ListFormat::Txt,
        OutputFormat::Jsonl => ListFormat::Jsonl,
        #[cfg(feature = "xlsx")]
        OutputFormat::Xlsx => return Ok(Box::new(BookForm::open(imported, title)?)),
        #[cfg(not(feature = "xlsx"))]
        OutputFormat::Xlsx => bail!("{title}: this program was built without workbooks; name the output .csv"),
    };
    Ok(Box::new(OutputForm { imported: imported.clone(), format, protect, names: Vec::new() }))
}

/// Writes records with their answers.
pub(crate) struct Output {
    target: OutputTarget,
    out: BufWriter<Box<dyn Write + Send>>,
    /// The output is a terminal, so control characters of the input must be removed.
    terminal: bool,
    scan: Scan,
    reader: FrameReader,
    form: Box<dyn RowForm>,
    row: u32,
    begun: bool,
    /// Whether all records are written.
    pub is_complete: bool,
    /// Rows written without a verdict.
    pub unanswered: u64,
    line: Vec<u8>,
    buffer: Vec<u8>,
    /// Counts of the rows written so far.
    pub tally: RowTally,
}

impl Output {
    /// Opens an output for the rows of a work file, from the first row.
    pub(crate) fn open(
        target: OutputTarget,
        shape: OutputShape,
        imported: &Imported,
        reader: &FrameReader,
    ) -> Result<Self> {
        let terminal = target.path.as_os_str() == "-" && io::stdout().is_terminal();
        if terminal && shape.format == OutputFormat::Xlsx {
            bail!("a terminal shows no workbook; name a file with -o");
        }
        let form = form_of(shape, imported)?;
        let out = BufWriter::with_capacity(BUFFER_BYTES, target.open()?);
        let scan = reader.scan()?.context("the work file is damaged")?;
        Ok(Self {
            target,
            out,
            terminal,
            scan,
            reader: reader.clone(),
            form,
            row: 0,
            begun: false,
            is_complete: false,
            unanswered: 0,
            line: Vec::new(),
            buffer: Vec::new(),
            tally: RowTally::default(),
        })
    }

    /// Writes the records up to the first without an answer.
    pub(crate) fn advance(&mut self, order: &Order, answers: &AnswerTable) -> Result<()> {
        if !self.begun {
            self.line.clear();
            self.form.begin(&mut self.line);
            self.put()?;
            self.begun = true;
        }
        while !self.is_complete && self.record(order, answers, None)? {}
        Ok(())
    }

    /// Writes all remaining records; rows without a verdict become `unknown`.
    pub(crate) fn fill(&mut self, order: &Order, answers: &AnswerTable, deferred: &HashMap<u32, Millis>) -> Result<()> {
        self.advance(order, answers)?;
        while !self.is_complete && self.record(order, answers, Some(deferred))? {}
        Ok(())
    }

    /// Writes one record; returns whether there may be another. Without `deferred`, stops at a row without a verdict.
    fn record(
        &mut self,
        order: &Order,
        answers: &AnswerTable,
        deferred: Option<&HashMap<u32, Millis>>,
    ) -> Result<bool> {
        self.line.clear();
        let Some((place, frame)) = self.scan.next()? else { bail!("the work file is damaged") };
        match frame {
            Frame::Row { eol, email, raw } => {
                let leader = order.leaders[self.row as usize];
                let (reason, reply) = match (answers.get(leader), deferred) {
                    (Some(packed), _) => (packed.reason, stored(packed, email, &self.reader, &mut self.buffer)?),
                    (None, Some(deferred)) => {
                        self.unanswered += 1;
                        (Reason::Unverified, without_verdict(email, deferred.contains_key(&leader)))
                    }
                    (None, None) => {
                        self.scan.back(place);
                        return Ok(false);
                    }
                };
                self.tally.add(reason, leader != self.row);
                self.form.row(eol, email, raw, &reply, &mut self.line)?;
                self.row += 1;
            }
            Frame::Unreadable { eol, object, raw } => {
                self.tally.add(Reason::Invalid, false);
                self.form.unreadable(eol, object, raw, &mut self.line)?;
            }
            Frame::Without { eol, why, raw } => {
                self.form.row(eol, "", raw, &RowAnswer::without(why), &mut self.line)?;
            }
            Frame::Verbatim { eol, is_above, raw } => self.form.verbatim(eol, is_above, raw, &mut self.line),
            Frame::Imported(_) => self.is_complete = true,
            Frame::Begun(_) => {}
            Frame::Answer(_) | Frame::PutOff(_) => bail!("the work file is damaged at {place}"),
        }
        self.put()?;
        Ok(true)
    }

    fn put(&mut self) -> Result<()> {
        let shown = if self.terminal { harmless(&self.line) } else { Cow::Borrowed(self.line.as_slice()) };
        self.out.write_all(&shown).map_err(|error| output_failed(error, &self.target.path))
    }

    /// File that a complete output replaces; `None` for streams.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.target.is_file().then_some(self.target.path.as_path())
    }

    /// Flushes everything; moves a complete output into place.
    pub(crate) fn finish(self) -> Result<RowTally> {
        let Self { target, mut out, form, is_complete, tally, .. } = self;
        let failed = |error| output_failed(error, &target.path);
        if is_complete && let Some(mut book) = form.finish()? {
            io::copy(&mut book, &mut out).map_err(failed)?;
        }
        out.flush().map_err(failed)?;
        if is_complete {
            target.finish()?;
        }
        Ok(tally)
    }
}

/// Returns the answer for an address: from memory, and the rest from the work file.
fn stored<'a>(
    packed: PackedAnswer<'a>,
    email: &str,
    reader: &FrameReader,
    buffer: &mut Vec<u8>,
) -> Result<RowAnswer<'a>> {
    let mut reply = RowAnswer {
        flags: packed.flags,
        domain: if packed.has_domain { plain_domain(email).into() } else { "".into() },
        ..RowAnswer::of(packed.reason, packed.meta)
    };
    if let Some(place) = packed.elsewhere {
        reader.answer(place, buffer, |answer| {
            reply.meta = answer.meta.to_owned().into();
            reply.suggestion = answer.suggestion.to_owned().into();
            if !answer.domain.is_empty() {
                reply.domain = answer.domain.to_owned().into();
            }
        })?;
    }
    Ok(reply)
}

/// Builds the answer for an address without a verdict: facts from lists, and whether the address was deferred or never probed.
fn without_verdict(email: &str, deferred: bool) -> RowAnswer<'static> {
    let parsed = Address::parse(bare_address(email));
    let facts = parsed.as_ref().map(|address| Lists::embedded().facts(address.local(), address.domain().ascii()));
    let Facts { role, disposable, free, relay, gibberish, suggestion, .. } = facts.unwrap_or_default();
    RowAnswer {
        suggestion: suggestion.and_then(|meant| meant.asserted(false)).unwrap_or_default().into(),
        flags: bits(Flags { role, disposable, free, relay, gibberish }),
        domain: parsed.map_or_else(|_| plain_domain(email), |address| address.domain().ascii().to_owned()).into(),
        ..RowAnswer::of(Reason::Unverified, if deferred { "deferred" } else { "not_asked" })
    }
}

/// Removes control characters from records, except tabs and line breaks.
fn harmless(records: &[u8]) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(records);
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix("\r\n") {
            Some(line) => (line, "\r\n"),
            None => line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n")),
        };
        let cells: Vec<String> = line.split('\t').map(plain).collect();
        out.push_str(&cells.join("\t"));
        out.push_str(end);
    }
    Cow::Owned(out.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn on_a_terminal_nothing_of_the_input_steers_it() {
        let shown = harmless(b"a\x1b[2J@x.org\tpassed\r\nb\rc\x07\n\xe2\x80\xaed");
        assert_eq!(String::from_utf8_lossy(&shown), "a\\u{1b}[2J@x.org\tpassed\r\nb\\u{d}c\\u{7}\n\\u{202e}d");
    }
}
