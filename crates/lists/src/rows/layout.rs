//! How a text is read: what is known before, and what its beginning tells.

use crate::column::Sample;
use crate::encoding::{SAMPLE_BYTES, TextEncoding};
use crate::recipients::are_recipients;
use crate::split::{Dialect, RECORD_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    Csv,
    Lines,
    /// One JSON object per line: rows have one cell, the line.
    Json,
}

/// What is known of a text before it is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextHint {
    pub form: Option<TextForm>,
    /// Separator of CSV.
    pub delimiter: Option<u8>,
    /// Encoding of what has no mark and is not UTF-8, if somebody chose it.
    pub encoding: Option<TextEncoding>,
    /// Whether a column was requested, so that there are columns.
    pub named: bool,
    /// Whether only the name of the file tells the form: recipients are read as such all the same.
    pub by_name: bool,
    /// Whether the text was typed or pasted: each line is meant as one address, or as the recipients of a message.
    pub pasted: bool,
}

/// How a text is read, decided by its beginning.
#[derive(Debug)]
pub struct Layout {
    pub form: TextForm,
    /// CSV only.
    pub dialect: Option<Dialect>,
    /// First rows of CSV.
    pub sample: Sample,
    /// Whether the first line names the separator.
    pub(super) has_separator_line: bool,
    /// Whether a line may have several recipients.
    pub(super) is_recipients: bool,
    /// Whether it is one JSON array.
    pub(super) is_array: bool,
}

impl Layout {
    pub(super) fn of(head: &[u8], hint: TextHint) -> Self {
        let said = separator_line(head).filter(|_| !hint.pasted && hint.form.is_none_or(|form| form == TextForm::Csv));
        let body = said.map_or(head, |(_, length)| &head[length..]);
        let sample = match hint.delimiter.or(said.map(|(delimiter, _)| delimiter)) {
            Some(delimiter) => Sample::separated(body, delimiter),
            None => Sample::read(body),
        };
        let has_columns = said.is_some() || hint.named || (hint.form == Some(TextForm::Csv) && !hint.by_name);
        let is_json = matches!(first_byte(body), Some(b'{' | b'['));
        let several = hint.pasted || (!has_columns && !is_json && are_recipients(body));
        let form = hint.form.filter(|_| !several || hint.pasted || !hint.by_name);
        let is_table = has_columns || sample.has_columns() || sample.is_named() || sample.has_quotes;
        let form = form.unwrap_or(match () {
            () if several => TextForm::Lines,
            () if is_json => TextForm::Json,
            () if is_table => TextForm::Csv,
            () => TextForm::Lines,
        });
        Self {
            form,
            dialect: (form == TextForm::Csv).then_some(sample.dialect),
            sample,
            has_separator_line: said.is_some(),
            is_recipients: several && form == TextForm::Lines,
            is_array: form == TextForm::Json && first_byte(body) == Some(b'['),
        }
    }
}

/// The first byte that is not blank.
fn first_byte(head: &[u8]) -> Option<u8> {
    head.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Length of a beginning that tells how to read the text: some rows at least, whatever their length. `None`: it is too short.
pub(super) fn head_length(head: &[u8], last: bool) -> Option<usize> {
    if last && head.len() <= SAMPLE_BYTES {
        return Some(head.len());
    }
    // At least the header and one row; anything longer is rejected anyway.
    let mut lengths = (1..).map(|n| n * SAMPLE_BYTES).take_while(|length| *length <= head.len());
    let enough = |length: &usize| {
        *length >= 2 * RECORD_MAX || memchr::memchr2_iter(b'\n', b'\r', &head[..*length]).nth(3).is_some()
    };
    lengths.find(enough).or(last.then_some(head.len()))
}

/// The separator that the first line names, and the length of the line.
fn separator_line(head: &[u8]) -> Option<(u8, usize)> {
    let length = memchr::memchr2(b'\n', b'\r', head)?;
    let separator = separator(&head[..length])?;
    Some((separator, length + if head[length..].starts_with(b"\r\n") { 2 } else { 1 }))
}

/// The separator that a line such as `sep=;` names, perhaps in quotes. Spreadsheet programs write and read it as the first one.
pub fn separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line.split_at_checked(4)? {
        (name, [separator]) if name.eq_ignore_ascii_case(b"sep=") => Some(*separator),
        _ => None,
    }
}
