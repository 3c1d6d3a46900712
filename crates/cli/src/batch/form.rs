//! Formats of output records: CSV with the input's cells unchanged, one address per line, or JSON lines.

use std::borrow::Cow;

use anyhow::Result;
use probity_lists::json::{self, ANSWER_KEY};
use probity_lists::rows::record::{is_formula, write_cell, write_quoted};
use probity_lists::rows::separator;
use probity_lists::split::{Dialect, Eol, fields, unquote};
use probity_mail::verdict::Reason;

use super::answer::FLAG_NAMES;
use super::input::UNREADABLE_ROW;
use super::output::RowForm;
use super::request::ListFormat;
use super::workfile::{Imported, LeftOut};
use crate::output::plain;

/// UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Cells to protect from spreadsheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protect {
    Nothing,
    Ours,
    /// Our own and the input's.
    All,
}

/// Returns our column names; the suffix avoids names that the input already has.
pub(super) fn column_names(suffix: &str) -> Vec<String> {
    let names = ["status", "reason", "meta", "suggestion"].into_iter().chain(FLAG_NAMES).chain(["domain"]);
    names.map(|name| format!("probity_{name}{suffix}")).collect()
}

/// A complete answer.
pub(super) struct RowAnswer<'a> {
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) meta: Cow<'a, str>,
    pub(super) suggestion: Cow<'a, str>,
    pub(super) flags: u8,
    pub(super) domain: Cow<'a, str>,
}

impl<'a> RowAnswer<'a> {
    /// The answer with this reason, without flags and domain.
    pub(super) fn of(reason: Reason, meta: impl Into<Cow<'a, str>>) -> Self {
        let (status, suggestion, domain) = (reason.status().as_str(), "".into(), "".into());
        Self { status, reason: reason.as_str(), meta: meta.into(), suggestion, flags: 0, domain }
    }

    /// Returns the answer for an unreadable line.
    pub(super) fn unreadable() -> Self {
        Self::of(Reason::Invalid, UNREADABLE_ROW)
    }

    /// Returns the answer for a row without an address: only the reason why it is left out.
    pub(super) fn without(why: LeftOut) -> Self {
        Self { status: "", reason: "", meta: why.meta().into(), suggestion: "".into(), flags: 0, domain: "".into() }
    }
}

pub(super) struct OutputForm {
    pub(super) imported: Imported,
    pub(super) format: ListFormat,
    pub(super) protect: Protect,
    /// JSON keys for the columns of a CSV row.
    pub(super) names: Vec<String>,
}

impl RowForm for OutputForm {
    fn begin(&self, out: &mut Vec<u8>) {
        if self.format != ListFormat::Csv {
            return;
        }
        if self.imported.wants_mark.unwrap_or_else(|| self.imported.encoding.wants_bom()) {
            out.extend_from_slice(BOM);
        }
        if self.imported.format != ListFormat::Csv {
            out.extend_from_slice(b"email");
            self.names_of_ours(b',', out);
            out.push(b'\n');
        }
    }

    /// Writes a header, a blank line or a record above the header. It is repeated only if the output has the input's format.
    fn verbatim(&mut self, eol: Eol, is_above: bool, raw: &[u8], out: &mut Vec<u8>) {
        // Work files of earlier versions do not mark the line that declares the separator as above the header.
        let blank =
            is_above || raw.iter().all(u8::is_ascii_whitespace) || (self.names.is_empty() && separator(raw).is_some());
        let csv = self.imported.format == ListFormat::Csv;
        if csv && !blank && self.names.is_empty() {
            self.names = keys(raw, self.imported.dialect());
        }
        if self.format != self.imported.format {
            return;
        }
        if is_above && separator(raw).is_none() {
            self.own(raw, out);
        } else if blank || !csv {
            out.extend_from_slice(raw);
        } else {
            self.original(raw, out);
            self.names_of_ours(self.imported.delimiter, out);
        }
        out.extend_from_slice(eol.bytes());
    }

    fn row(&mut self, eol: Eol, email: &str, raw: &[u8], reply: &RowAnswer<'_>, out: &mut Vec<u8>) -> Result<()> {
        let same = self.format == self.imported.format;
        match self.format {
            ListFormat::Csv => {
                let delimiter = if same { self.imported.delimiter } else { b',' };
                if same {
                    self.original(raw, out);
                } else {
                    cell(email, delimiter, self.protect != Protect::Nothing, out);
                }
                self.cells(reply, delimiter, out);
            }
            ListFormat::Txt => {
                out.extend_from_slice(
                    if same { Cow::Borrowed(raw) } else { plain(email).into_bytes().into() }.as_ref(),
                );
                for text in [reply.status, reply.reason, &reply.meta, &reply.suggestion] {
                    out.push(b'\t');
                    out.extend_from_slice(plain(text).as_bytes());
                }
            }
            ListFormat::Jsonl => self.object(email, raw, reply, out),
        }
        out.extend_from_slice(if same { eol.bytes() } else { b"\n" });
        Ok(())
    }

    /// Writes an unreadable record with its answer. JSON output wraps a record that is not an object as a string. In other formats,
    /// the record takes the place of the address.
    fn unreadable(&mut self, eol: Eol, object: bool, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let reply = RowAnswer::unreadable();
        let text = String::from_utf8_lossy(raw);
        if object || self.format != ListFormat::Jsonl {
            return self.row(eol, &text, raw, &reply, out);
        }
        let mut made = format!("{{\"{UNREADABLE_ROW}\":").into_bytes();
        json_text(&text, &mut made);
        made.push(b'}');
        self.row(eol, "", &made, &reply, out)
    }
}

impl OutputForm {
    fn names_of_ours(&self, delimiter: u8, out: &mut Vec<u8>) {
        for name in column_names(if self.imported.format == ListFormat::Csv { &self.imported.suffix } else { "" }) {
            out.push(delimiter);
            out.extend_from_slice(name.as_bytes());
        }
    }

    /// Writes the input's own columns, padded to the widest row.
    fn original(&self, raw: &[u8], out: &mut Vec<u8>) {
        let width = self.own(raw, out);
        let missing = (self.imported.width as usize).saturating_sub(width);
        out.extend(std::iter::repeat_n(self.imported.delimiter, missing));
    }

    /// Writes the input's own columns; returns their number.
    fn own(&self, raw: &[u8], out: &mut Vec<u8>) -> usize {
        let (dialect, delimiter) = (self.imported.dialect(), self.imported.delimiter);
        if self.protect != Protect::All {
            out.extend_from_slice(raw);
            return fields(raw, dialect).count();
        }
        let mut width = 0;
        for field in fields(raw, dialect) {
            if width > 0 {
                out.push(delimiter);
            }
            let text = unquote(field, dialect);
            match std::str::from_utf8(&text) {
                Ok(text) if is_formula(text) => write_quoted("'", text, out),
                _ => out.extend_from_slice(field),
            }
            width += 1;
        }
        width
    }

    fn cells(&self, reply: &RowAnswer<'_>, delimiter: u8, out: &mut Vec<u8>) {
        let protect = self.protect != Protect::Nothing;
        for text in [reply.status, reply.reason, &reply.meta, &reply.suggestion] {
            out.push(delimiter);
            cell(text, delimiter, protect, out);
        }
        for (n, _) in FLAG_NAMES.iter().enumerate() {
            out.push(delimiter);
            if !reply.status.is_empty() {
                out.extend_from_slice(flag(reply.flags, n));
            }
        }
        out.push(delimiter);
        cell(&reply.domain, delimiter, protect, out);
    }

    /// Writes the input's fields as one JSON object, with the answer under its own key.
    fn object(&self, email: &str, raw: &[u8], reply: &RowAnswer<'_>, out: &mut Vec<u8>) {
        match self.imported.format {
            ListFormat::Jsonl => {
                let open = raw.trim_ascii_end().strip_suffix(b"}").unwrap_or(raw).trim_ascii_end();
                out.extend_from_slice(open);
                if !open.ends_with(b"{") {
                    out.push(b',');
                }
            }
            ListFormat::Txt => {
                out.extend_from_slice(b"{\"email\":");
                json_text(email, out);
                out.push(b',');
            }
            ListFormat::Csv => {
                out.push(b'{');
                let dialect = self.imported.dialect();
                for (n, field) in fields(raw, dialect).enumerate() {
                    match self.names.get(n) {
                        Some(name) => json_text(name, out),
                        None => json_text(&format!("column_{}", n + 1), out),
                    }
                    out.push(b':');
                    json_text(&String::from_utf8_lossy(&unquote(field, dialect)), out);
                    out.push(b',');
                }
            }
        }
        let suffix = if self.imported.format == ListFormat::Jsonl { self.imported.suffix.as_str() } else { "" };
        json_text(&format!("{ANSWER_KEY}{suffix}"), out);
        out.push(b':');
        json_reply(reply, out);
        out.push(b'}');
    }
}

/// Makes distinct JSON keys from the header, avoiding our own.
fn keys(header: &[u8], dialect: Dialect) -> Vec<String> {
    let names = fields(header, dialect).enumerate().map(|(n, raw)| {
        let name = String::from_utf8_lossy(&unquote(raw, dialect)).trim().to_owned();
        if name.is_empty() { format!("column_{}", n + 1) } else { name }
    });
    json::keys(names, &[ANSWER_KEY])
}

fn json_reply(reply: &RowAnswer<'_>, out: &mut Vec<u8>) {
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
    for (n, name) in FLAG_NAMES.iter().enumerate().filter(|_| !reply.status.is_empty()) {
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

/// Writes one CSV cell, protected from spreadsheets if wanted.
fn cell(text: &str, delimiter: u8, protect: bool, out: &mut Vec<u8>) {
    if protect && is_formula(text) {
        write_quoted("'", text, out);
    } else {
        write_cell(text, delimiter, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probity_lists::encoding::Encoding;

    fn form(input: ListFormat, output: ListFormat, protect: Protect, width: u32) -> OutputForm {
        let imported = Imported {
            rows: 1,
            size: 0,
            hash: String::new(),
            format: input,
            delimiter: b';',
            backslash: false,
            header: true,
            width,
            encoding: Encoding::Utf8,
            wants_mark: None,
            suffix: String::new(),
            without: 0,
            unreadable: 0,
            workbook: false,
            kinds: vec![],
            warnings: vec![],
        };
        OutputForm { imported, format: output, protect, names: vec![] }
    }

    fn reply() -> RowAnswer<'static> {
        RowAnswer {
            status: "risky",
            reason: "role_based",
            meta: "role".into(),
            suggestion: "+x@y.org".into(),
            flags: 0b00101,
            domain: "x.org".into(),
        }
    }

    fn row(form: &mut OutputForm, email: &str, raw: &str) -> String {
        let mut out = Vec::new();
        form.row(Eol::CrLf, email, raw.as_bytes(), &reply(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_inputs_columns_are_repeated_byte_by_byte_and_filled_up() {
        let mut form = form(ListFormat::Csv, ListFormat::Csv, Protect::Ours, 4);
        let raw = "\"a;\"\"b\";=1+1;a@x.org";
        let expected = format!("{raw};;risky;role_based;role;\"'+x@y.org\";true;false;true;false;false;x.org\r\n");
        assert_eq!(row(&mut form, "a@x.org", raw), expected);
    }

    #[test]
    fn cells_are_protected_as_far_as_was_asked() {
        let mut all = form(ListFormat::Csv, ListFormat::Csv, Protect::All, 2);
        assert!(row(&mut all, "a@x.org", "=1;\"fine\"").starts_with("\"'=1\";\"fine\";risky"));
        let mut raw = form(ListFormat::Csv, ListFormat::Csv, Protect::Nothing, 2);
        assert!(row(&mut raw, "a@x.org", "=1;x").contains(";+x@y.org;"));
        for first in ["=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠"] {
            let mut out = Vec::new();
            cell(&format!("{first}x"), b',', true, &mut out);
            assert!(out.starts_with(b"\"'"), "{first:?}");
        }
    }

    #[test]
    fn other_formats_carry_the_address_and_the_answer() {
        let line = row(&mut form(ListFormat::Txt, ListFormat::Txt, Protect::Ours, 0), "a@x.org", " a@x.org");
        assert_eq!(line, " a@x.org\trisky\trole_based\trole\t+x@y.org\r\n");
        let csv = row(&mut form(ListFormat::Txt, ListFormat::Csv, Protect::Ours, 0), "=a@x.org", "=a@x.org");
        assert!(csv.starts_with("\"'=a@x.org\",risky,"));
        for (input, raw) in [
            (ListFormat::Txt, "a@x.org"),
            (ListFormat::Jsonl, "{\"email\":\"a@x.org\"} "),
            (ListFormat::Csv, "a@x.org;5"),
        ] {
            let line = row(&mut form(input, ListFormat::Jsonl, Protect::Ours, 0), "a@x.org", raw);
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!(value["probity"]["reason"], "role_based", "{line}");
            assert_eq!(value["probity"]["free"], true);
        }
        let line = row(&mut form(ListFormat::Jsonl, ListFormat::Jsonl, Protect::Ours, 0), "", "{ }");
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{line}");
    }

    #[test]
    fn keys_are_different_and_none_is_ours() {
        assert_eq!(keys(b"a;a;;probity", Dialect::separated(b';')), ["a", "a_2", "column_3", "probity_2"]);
    }
}
