//! The output: the input's records in their order, each with its answer, written as soon as everything before is answered.
//!
//! The input's own columns are repeated byte by byte; a list that was exported from somewhere must fit where it came from. Only
//! our cells are new, and a spreadsheet runs a cell that begins with `=`, `+`, `-`, `@` or a control character as a formula; so those
//! cells get a leading `'`, unless a machine reads them (`--raw`). `--protect-all` does the same to the input's cells.
//!
//! A file is written beside its place as `OUTPUT.part`, forced to disk and renamed at the end: under its name there is a whole
//! result or none. Devices and pipes are written directly.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use probity_core::verdict::Reason;

use super::answer::{Answers, FLAG_NAMES, plain_domain};
use super::input::UNREADABLE_ROW;
use super::input::json::ANSWER_KEY;
use super::input::split::{Eol, fields, unquote};
use super::order::Order;
use super::summary::Tally;
use super::workfile::{Frame, Imported, Reader, Scan, open_locked, output_failed};
use crate::args::Format;
use crate::output::plain;

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
        while !self.ended && self.record(order, answers)? {}
        Ok(())
    }

    /// Writes one record; says whether there may be another.
    fn record(&mut self, order: &Order, answers: &Answers) -> Result<bool> {
        self.line.clear();
        let Some((place, frame)) = self.scan.next()? else { anyhow::bail!("the work file is damaged") };
        match frame {
            Frame::Row { eol, email, raw } => {
                let leader = order.leaders[self.row as usize];
                let Some(packed) = answers.get(leader) else {
                    self.scan.back(place);
                    return Ok(false);
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

/// How records look.
struct Form {
    imported: Imported,
    format: Format,
    protect: Protect,
    /// The keys of a CSV row as JSON.
    names: Vec<String>,
}

impl Form {
    /// What stands before the first record.
    fn begin(&self, out: &mut Vec<u8>) {
        if self.format != Format::Csv {
            return;
        }
        if self.imported.encoding.wants_bom() {
            out.extend_from_slice(BOM);
        }
        if self.imported.format != Format::Csv {
            out.extend_from_slice(b"email");
            self.names_of_ours(b',', out);
            out.push(b'\n');
        }
    }

    fn names_of_ours(&self, delimiter: u8, out: &mut Vec<u8>) {
        for name in column_names(if self.imported.format == Format::Csv { &self.imported.suffix } else { "" }) {
            out.push(delimiter);
            out.extend_from_slice(name.as_bytes());
        }
    }

    /// A header or a blank line; repeated only where the output has the input's format.
    fn verbatim(&mut self, eol: Eol, raw: &[u8], out: &mut Vec<u8>) {
        let blank = raw.iter().all(u8::is_ascii_whitespace);
        let csv = self.imported.format == Format::Csv;
        if csv && !blank && self.names.is_empty() {
            self.names = keys(raw, self.imported.delimiter);
        }
        if self.format != self.imported.format {
            return;
        }
        if blank || !csv {
            out.extend_from_slice(raw);
        } else {
            self.original(raw, out);
            self.names_of_ours(self.imported.delimiter, out);
        }
        out.extend_from_slice(eol.bytes());
    }

    fn row(&self, eol: Eol, email: &str, raw: &[u8], reply: &Reply<'_>, out: &mut Vec<u8>) {
        let same = self.format == self.imported.format;
        match self.format {
            Format::Csv => {
                let delimiter = if same { self.imported.delimiter } else { b',' };
                if same {
                    self.original(raw, out);
                } else {
                    cell(email, delimiter, self.protect != Protect::Nothing, out);
                }
                self.cells(reply, delimiter, out);
            }
            Format::Txt => {
                out.extend_from_slice(
                    if same { Cow::Borrowed(raw) } else { plain(email).into_bytes().into() }.as_ref(),
                );
                for text in [reply.status, reply.reason, &reply.meta, &reply.suggestion] {
                    out.push(b'\t');
                    out.extend_from_slice(plain(text).as_bytes());
                }
            }
            Format::Jsonl => self.object(email, raw, reply, out),
        }
        out.extend_from_slice(if same { eol.bytes() } else { b"\n" });
    }

    /// A record that could not be read, with its answer. Where it is no JSON object, one is made that has it as a text; where the
    /// output has another format, it stands in the address's place.
    fn unreadable(&self, eol: Eol, object: bool, raw: &[u8], out: &mut Vec<u8>) {
        let reply = Reply {
            status: Reason::Invalid.status().as_str(),
            reason: Reason::Invalid.as_str(),
            meta: UNREADABLE_ROW.into(),
            suggestion: "".into(),
            flags: 0,
            domain: "".into(),
        };
        let text = String::from_utf8_lossy(raw);
        if object || self.format != Format::Jsonl {
            return self.row(eol, &text, raw, &reply, out);
        }
        let mut made = format!("{{\"{UNREADABLE_ROW}\":").into_bytes();
        json_text(&text, &mut made);
        made.push(b'}');
        self.row(eol, "", &made, &reply, out);
    }

    /// The input's own columns, filled up to the widest row.
    fn original(&self, raw: &[u8], out: &mut Vec<u8>) {
        let delimiter = self.imported.delimiter;
        let mut width = 0;
        if self.protect == Protect::All {
            for field in fields(raw, delimiter) {
                if width > 0 {
                    out.push(delimiter);
                }
                let text = unquote(field);
                match std::str::from_utf8(&text) {
                    Ok(text) if is_formula(text) => cell(text, delimiter, true, out),
                    _ => out.extend_from_slice(field),
                }
                width += 1;
            }
        } else {
            out.extend_from_slice(raw);
            width = fields(raw, delimiter).count();
        }
        let missing = (self.imported.width as usize).saturating_sub(width);
        out.extend(std::iter::repeat_n(delimiter, missing));
    }

    fn cells(&self, reply: &Reply<'_>, delimiter: u8, out: &mut Vec<u8>) {
        let protect = self.protect != Protect::Nothing;
        for text in [reply.status, reply.reason, &reply.meta, &reply.suggestion] {
            out.push(delimiter);
            cell(text, delimiter, protect, out);
        }
        for (n, _) in FLAG_NAMES.iter().enumerate() {
            out.push(delimiter);
            out.extend_from_slice(flag(reply.flags, n));
        }
        out.push(delimiter);
        cell(&reply.domain, delimiter, protect, out);
    }

    /// The input's fields as one JSON object, with the answer under a key of its own.
    fn object(&self, email: &str, raw: &[u8], reply: &Reply<'_>, out: &mut Vec<u8>) {
        match self.imported.format {
            Format::Jsonl => {
                let open = raw.trim_ascii_end().strip_suffix(b"}").unwrap_or(raw).trim_ascii_end();
                out.extend_from_slice(open);
                if !open.ends_with(b"{") {
                    out.push(b',');
                }
            }
            Format::Txt => {
                out.extend_from_slice(b"{\"email\":");
                json_text(email, out);
                out.push(b',');
            }
            Format::Csv => {
                out.push(b'{');
                for (n, field) in fields(raw, self.imported.delimiter).enumerate() {
                    match self.names.get(n) {
                        Some(name) => json_text(name, out),
                        None => json_text(&format!("column_{}", n + 1), out),
                    }
                    out.push(b':');
                    json_text(&String::from_utf8_lossy(&unquote(field)), out);
                    out.push(b',');
                }
            }
        }
        let suffix = if self.imported.format == Format::Jsonl { self.imported.suffix.as_str() } else { "" };
        json_text(&format!("{ANSWER_KEY}{suffix}"), out);
        out.push(b':');
        json_reply(reply, out);
        out.push(b'}');
    }
}

/// The header's names as keys of an object, each different and none ours.
fn keys(header: &[u8], delimiter: u8) -> Vec<String> {
    let mut taken = std::collections::HashSet::from([ANSWER_KEY.to_owned()]);
    let mut keys = Vec::new();
    for (n, raw) in fields(header, delimiter).enumerate() {
        let mut name = String::from_utf8_lossy(&unquote(raw)).trim().to_owned();
        if name.is_empty() {
            name = format!("column_{}", n + 1);
        }
        let base = name.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        keys.push(name);
    }
    keys
}

fn json_reply(reply: &Reply<'_>, out: &mut Vec<u8>) {
    let texts = [
        ("{\"status\":", reply.status),
        (",\"reason\":", reply.reason),
        (",\"meta\":", &reply.meta),
        (",\"suggestion\":", &reply.suggestion),
        (",\"domain\":", &reply.domain),
    ];
    for (key, text) in texts {
        out.extend_from_slice(key.as_bytes());
        json_text(text, out);
    }
    for (n, name) in FLAG_NAMES.iter().enumerate() {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        out.extend_from_slice(flag(reply.flags, n));
    }
    out.push(b'}');
}

fn flag(flags: u8, number: usize) -> &'static [u8] {
    if flags >> number & 1 == 1 { b"true" } else { b"false" }
}

fn json_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a text always serializes");
}

/// Whether a spreadsheet would run this cell (OWASP: CSV injection), full-width forms included.
fn is_formula(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| matches!(c, '=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '\0' | '＝' | '＋' | '－' | '＠'))
}

/// One CSV cell (RFC 4180).
fn cell(text: &str, delimiter: u8, protect: bool, out: &mut Vec<u8>) {
    let guard = protect && is_formula(text);
    let quoted = guard || text.bytes().any(|byte| byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n'));
    if !quoted {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    if guard {
        out.push(b'\'');
    }
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::decode::Encoding;

    fn form(input: Format, output: Format, protect: Protect, width: u32) -> Form {
        let imported = Imported {
            rows: 1,
            size: 0,
            hash: String::new(),
            format: input,
            delimiter: b';',
            header: true,
            width,
            encoding: Encoding::Utf8,
            suffix: String::new(),
            unreadable: 0,
            warnings: vec![],
        };
        Form { imported, format: output, protect, names: vec![] }
    }

    fn reply() -> Reply<'static> {
        Reply {
            status: "risky",
            reason: "role_based",
            meta: "role".into(),
            suggestion: "+x@y.org".into(),
            flags: 0b00101,
            domain: "x.org".into(),
        }
    }

    fn row(form: &Form, email: &str, raw: &str) -> String {
        let mut out = Vec::new();
        form.row(Eol::CrLf, email, raw.as_bytes(), &reply(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_inputs_columns_are_repeated_byte_by_byte_and_filled_up() {
        let form = form(Format::Csv, Format::Csv, Protect::Ours, 4);
        let raw = "\"a;\"\"b\";=1+1;a@x.org";
        let expected = format!("{raw};;risky;role_based;role;\"'+x@y.org\";true;false;true;false;false;x.org\r\n");
        assert_eq!(row(&form, "a@x.org", raw), expected);
    }

    #[test]
    fn cells_are_protected_as_far_as_was_asked() {
        let all = form(Format::Csv, Format::Csv, Protect::All, 2);
        assert!(row(&all, "a@x.org", "=1;\"fine\"").starts_with("\"'=1\";\"fine\";risky"));
        let raw = form(Format::Csv, Format::Csv, Protect::Nothing, 2);
        assert!(row(&raw, "a@x.org", "=1;x").contains(";+x@y.org;"));
        for first in ["=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠"] {
            let mut out = Vec::new();
            cell(&format!("{first}x"), b',', true, &mut out);
            assert!(out.starts_with(b"\"'"), "{first:?}");
        }
    }

    #[test]
    fn other_formats_carry_the_address_and_the_answer() {
        let line = row(&form(Format::Txt, Format::Txt, Protect::Ours, 0), "a@x.org", " a@x.org");
        assert_eq!(line, " a@x.org\trisky\trole_based\trole\t+x@y.org\r\n");
        let csv = row(&form(Format::Txt, Format::Csv, Protect::Ours, 0), "=a@x.org", "=a@x.org");
        assert!(csv.starts_with("\"'=a@x.org\",risky,"));
        for (input, raw) in
            [(Format::Txt, "a@x.org"), (Format::Jsonl, "{\"email\":\"a@x.org\"} "), (Format::Csv, "a@x.org;5")]
        {
            let line = row(&form(input, Format::Jsonl, Protect::Ours, 0), "a@x.org", raw);
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!(value["probity"]["reason"], "role_based", "{line}");
            assert_eq!(value["probity"]["free"], true);
        }
        let line = row(&form(Format::Jsonl, Format::Jsonl, Protect::Ours, 0), "", "{ }");
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{line}");
    }

    #[test]
    fn on_a_terminal_nothing_of_the_input_steers_it() {
        let shown = harmless(b"a\x1b[2J@x.org\tpassed\r\nb\rc\x07\n\xe2\x80\xaed");
        assert_eq!(String::from_utf8_lossy(&shown), "a\\u{1b}[2J@x.org\tpassed\r\nb\\u{d}c\\u{7}\n\\u{202e}d");
    }

    #[test]
    fn keys_are_different_and_none_is_ours() {
        assert_eq!(keys(b"a;a;;probity", b';'), ["a", "a_2", "column_3", "probity_2"]);
    }
}
