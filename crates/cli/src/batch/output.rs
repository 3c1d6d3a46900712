//! The output: the input's records in their order, each with its answer, written as soon as everything before is answered.
//!
//! The input's own columns are repeated byte by byte; a list that was exported from somewhere must fit where it came from. Only
//! our cells are new, and a spreadsheet runs a cell that begins with `=`, `+`, `-`, `@` or a control character as a formula; so those
//! cells get a leading `'`, unless a machine reads them (`--raw`). `--protect-all` does the same to the input's cells.
//!
//! A file is written beside its place as `OUTPUT.part`, forced to disk and renamed at the end: under its name there is a whole
//! result or none. Devices and pipes are written directly.

mod form;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use probity_mail::address::Address;
use probity_mail::facts::Facts;
use probity_mail::lists::Lists;
use probity_mail::time::Millis;
use probity_mail::verdict::{Flags, Reason};

use super::answer::{Answers, FLAG_NAMES, bits, plain_domain};
use super::order::Order;
use super::summary::Tally;
use super::workfile::{Frame, Imported, Reader, Scan, open_locked, output_failed};
use crate::args::Format;
use crate::output::plain;

use form::Form;

/// How much is written at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// The byte order mark of UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Whose cells are protected from spreadsheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protect {
    /// Nobody's.
    Nothing,
    /// Ours.
    Ours,
    /// Also those of the input.
    All,
}

/// Our columns; the suffix makes them new where the input has them already.
pub(crate) fn column_names(suffix: &str) -> Vec<String> {
    let names = ["status", "reason", "meta", "suggestion"].into_iter().chain(FLAG_NAMES).chain(["domain"]);
    names.map(|name| format!("probity_{name}{suffix}")).collect()
}

/// Where the output goes.
#[derive(Debug)]
pub(crate) struct Target {
    /// Its name.
    pub path: PathBuf,
    /// The name while it grows; none for devices, pipes and standard output.
    part: Option<PathBuf>,
}

impl Target {
    /// Decides by what is there.
    pub(crate) fn at(path: &Path) -> Self {
        // Through a link the file is replaced that it leads to, as by every other way of writing.
        let linked = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
        let path = if linked { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() };
        let direct = path.as_os_str() == "-" || std::fs::metadata(&path).is_ok_and(|meta| !meta.is_file());
        let part = (!direct).then(|| super::beside(&path, ".part"));
        Self { path, part }
    }

    /// Whether there will be a file of this name.
    pub(crate) fn is_file(&self) -> bool {
        self.part.is_some()
    }

    /// The name while it grows, where that is another.
    pub(crate) fn part(&self) -> Option<&Path> {
        self.part.as_deref()
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
        // Two runs with work files of their own may still have one output; the umask narrows the mode.
        let file = open_locked(path, 0o666).with_context(unwritable)?;
        let file = file.with_context(|| format!("another run is writing {}", self.path.display()))?;
        file.set_len(0).with_context(unwritable)?;
        Ok(Box::new(file))
    }

    /// Puts the finished file into its place.
    fn finish(&self) -> Result<()> {
        let Some(part) = &self.part else { return Ok(()) };
        let failed = |error| output_failed(error, &self.path);
        File::open(part).and_then(|file| file.sync_all()).map_err(failed)?;
        std::fs::rename(part, &self.path).map_err(failed)?;
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // A file system that cannot force directories to disk has done what it can.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(())
    }
}

/// One answer, whole.
struct Reply<'a> {
    status: &'static str,
    reason: &'static str,
    meta: Cow<'a, str>,
    suggestion: Cow<'a, str>,
    flags: u8,
    domain: Cow<'a, str>,
}

/// Writes records with their answers.
pub(crate) struct Output {
    target: Target,
    out: BufWriter<Box<dyn Write + Send>>,
    /// Somebody watches, so nothing of the input may steer the terminal.
    terminal: bool,
    scan: Scan,
    reader: Reader,
    form: Form,
    row: u32,
    begun: bool,
    ended: bool,
    /// How many rows were written without a verdict.
    unanswered: u64,
    line: Vec<u8>,
    buffer: Vec<u8>,
    /// What was written so far.
    pub tally: Tally,
}

impl Output {
    /// An output of the rows of a work file, from the first.
    pub(crate) fn open(
        target: Target,
        format: Format,
        protect: Protect,
        imported: &Imported,
        reader: &Reader,
    ) -> Result<Self> {
        let out = BufWriter::with_capacity(BUFFER_BYTES, target.open()?);
        let scan = reader.scan()?.context("the work file is damaged")?;
        let terminal = target.path.as_os_str() == "-" && std::io::stdout().is_terminal();
        Ok(Self {
            target,
            out,
            terminal,
            scan,
            reader: reader.clone(),
            form: Form { imported: imported.clone(), format, protect, names: Vec::new() },
            row: 0,
            begun: false,
            ended: false,
            unanswered: 0,
            line: Vec::new(),
            buffer: Vec::new(),
            tally: Tally::default(),
        })
    }

    /// Writes as far as everything is answered.
    pub(crate) fn advance(&mut self, order: &Order, answers: &Answers) -> Result<()> {
        if !self.begun {
            self.line.clear();
            self.form.begin(&mut self.line);
            self.put()?;
            self.begun = true;
        }
        while !self.ended && self.record(order, answers, None)? {}
        Ok(())
    }

    /// Writes everything that is left; rows without a verdict become `unknown`.
    pub(crate) fn fill(&mut self, order: &Order, answers: &Answers, deferred: &HashMap<u32, Millis>) -> Result<()> {
        self.advance(order, answers)?;
        while !self.ended && self.record(order, answers, Some(deferred))? {}
        Ok(())
    }

    /// Writes one record; says whether there may be another. Without `deferred`, a row without a verdict is the end.
    fn record(&mut self, order: &Order, answers: &Answers, deferred: Option<&HashMap<u32, Millis>>) -> Result<bool> {
        self.line.clear();
        let Some((place, frame)) = self.scan.next()? else { anyhow::bail!("the work file is damaged") };
        match frame {
            Frame::Row { eol, email, raw } => {
                let leader = order.leaders[self.row as usize];
                let Some(packed) = answers.get(leader) else {
                    let Some(deferred) = deferred else {
                        self.scan.back(place);
                        return Ok(false);
                    };
                    let reply = without_verdict(email, deferred.contains_key(&leader));
                    self.tally.add(Reason::Unverified, leader != self.row);
                    self.form.row(eol, email, raw, &reply, &mut self.line);
                    (self.row, self.unanswered) = (self.row + 1, self.unanswered + 1);
                    self.put()?;
                    return Ok(true);
                };
                let mut reply = Reply {
                    status: packed.reason.status().as_str(),
                    reason: packed.reason.as_str(),
                    meta: Cow::Borrowed(packed.meta),
                    suggestion: Cow::Borrowed(""),
                    flags: packed.flags,
                    domain: if packed.has_domain { plain_domain(email).into() } else { "".into() },
                };
                if let Some(place) = packed.elsewhere {
                    self.reader.answer(place, &mut self.buffer, |answer| {
                        reply.meta = answer.meta.to_owned().into();
                        reply.suggestion = answer.suggestion.to_owned().into();
                        if !answer.domain.is_empty() {
                            reply.domain = answer.domain.to_owned().into();
                        }
                    })?;
                }
                self.tally.add(packed.reason, leader != self.row);
                self.form.row(eol, email, raw, &reply, &mut self.line);
                self.row += 1;
            }
            Frame::Unreadable { eol, object, raw } => {
                self.tally.add(Reason::Invalid, false);
                self.form.unreadable(eol, object, raw, &mut self.line);
            }
            Frame::Verbatim { eol, raw } => self.form.verbatim(eol, raw, &mut self.line),
            Frame::Imported(_) => self.ended = true,
            Frame::Begun(_) => {}
            Frame::Answer(_) | Frame::PutOff(_) => anyhow::bail!("the work file is damaged at {place}"),
        }
        self.put()?;
        Ok(true)
    }

    fn put(&mut self) -> Result<()> {
        let shown = if self.terminal { harmless(&self.line) } else { Cow::Borrowed(self.line.as_slice()) };
        self.out.write_all(&shown).map_err(|error| output_failed(error, &self.target.path))
    }

    /// How many rows were written without a verdict.
    pub(crate) fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// The file that a complete output replaces; none for streams.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.target.is_file().then_some(self.target.path.as_path())
    }

    /// Whether everything is written.
    pub(crate) fn is_complete(&self) -> bool {
        self.ended
    }

    /// Hands everything over; a complete output takes its place.
    pub(crate) fn finish(mut self) -> Result<Tally> {
        self.out.flush().map_err(|error| output_failed(error, &self.target.path))?;
        if self.ended {
            self.target.finish()?;
        }
        Ok(self.tally)
    }
}

/// What is said of an address without a verdict: what lists tell, and whether it was deferred or not asked about at all.
fn without_verdict(email: &str, deferred: bool) -> Reply<'static> {
    let parsed = Address::parse(email.trim_matches(|c: char| c.is_ascii_whitespace()));
    let facts = parsed.as_ref().map(|address| Lists::embedded().facts(address.local(), address.domain().ascii()));
    let Facts { role, disposable, free, relay, gibberish, suggestion, .. } = facts.unwrap_or_default();
    Reply {
        status: Reason::Unverified.status().as_str(),
        reason: Reason::Unverified.as_str(),
        meta: if deferred { "deferred" } else { "not_asked" }.into(),
        suggestion: suggestion.unwrap_or_default().into(),
        flags: bits(Flags { role, disposable, free, relay, gibberish }),
        domain: parsed.map_or_else(|_| plain_domain(email), |address| address.domain().ascii().to_owned()).into(),
    }
}

/// Records without what could steer a terminal; tabs and line ends stay.
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
