//! Contents of a work file: frames, by the first byte of their payload.

use std::path::PathBuf;

use probity_lists::absent::Absence;
use probity_lists::encoding::{Encoding, TextEncoding};
use probity_lists::kinds::ColumnKind;
use probity_lists::split::{Dialect, Eol};
use serde::{Deserialize, Serialize};

use crate::batch::answer::{PutOff, StoredAnswer};
use crate::batch::request::{ListFormat, OutputFormat};

/// Start of a batch. A run that differs in a compared field must not continue it.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line or of the program that began")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchHeader {
    /// Name of the input, for messages.
    pub input: String,
    pub column: Option<String>,
    pub format: Option<ListFormat>,
    #[serde(default)]
    pub encoding: Option<TextEncoding>,
    pub no_header: bool,
    pub offline: bool,
    pub sandbox: bool,
    /// Whether a row with a display name belongs to its mailbox. Missing in files of earlier versions that did not read names:
    /// their rows keep the groups that have answers. Not compared.
    #[serde(default)]
    pub names: bool,
    /// Whether a row with invisible characters around its address belongs to its mailbox; likewise. Not compared.
    #[serde(default)]
    pub trims: bool,
    /// Destination of the results; not compared.
    pub output: Option<PathBuf>,
    /// `--output-format`; not compared.
    pub output_format: Option<OutputFormat>,
}

/// Findings of the import.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Imported {
    /// Rows with an address to answer.
    pub rows: u32,
    /// Size of the input, in bytes.
    pub size: u64,
    /// SHA-256 of the input, in hexadecimal.
    pub hash: String,
    pub format: ListFormat,
    /// CSV separator.
    pub delimiter: u8,
    /// Whether backslashes escape quotes in CSV.
    #[serde(default)]
    pub backslash: bool,
    /// The first CSV record is a header.
    pub header: bool,
    /// Fields of the widest CSV row.
    pub width: u32,
    /// Encoding of the whole input.
    pub encoding: Encoding,
    /// Whether CSV needs a byte order mark; unknown in files of earlier versions.
    #[serde(default)]
    pub wants_mark: Option<bool>,
    /// Suffix that makes our column names unique.
    pub suffix: String,
    /// Rows without an address, which are not counted in `rows`.
    #[serde(default)]
    pub without: u64,
    /// Unreadable lines, which are not counted in `rows`.
    pub unreadable: u64,
    /// Whether the input was a workbook. Its texts are not formulas, and must not become formulas in CSV.
    #[serde(default)]
    pub workbook: bool,
    /// Kinds of the columns of CSV; missing ones are text.
    #[serde(default)]
    pub kinds: Vec<ColumnKind>,
    /// Warnings about the input.
    pub warnings: Vec<String>,
}

impl Imported {
    /// Returns the separator and quoting of its CSV.
    pub(crate) fn dialect(&self) -> Dialect {
        Dialect { delimiter: self.delimiter, backslash: self.backslash }
    }
}

/// Reason why a row is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LeftOut {
    /// It has no address.
    Blank = 0,
    /// One cell has several addresses.
    Several = 1,
    /// The encoding of its address was guessed.
    Guess = 2,
}

impl LeftOut {
    /// Returns its meta in the output.
    pub(crate) fn meta(self) -> &'static str {
        match self {
            Self::Blank => "no_address",
            Self::Several => "several_addresses",
            Self::Guess => "unknown_encoding",
        }
    }

    fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Several,
            2 => Self::Guess,
            _ => Self::Blank,
        }
    }
}

impl From<Absence> for LeftOut {
    fn from(absence: Absence) -> Self {
        match absence {
            Absence::Blank => Self::Blank,
            Absence::Several(_) => Self::Several,
            Absence::Guess => Self::Guess,
        }
    }
}

/// Encodes a line end and a small number in one byte. Earlier files have only the line end.
pub(super) fn tagged(eol: Eol, tag: u8) -> u8 {
    eol.code() | (tag << 4)
}

fn untagged(byte: u8) -> (Eol, u8) {
    (Eol::from_code(byte & 0x0f), byte >> 4)
}

#[derive(Debug)]
pub(crate) enum Frame<'a> {
    Begun(BatchHeader),
    /// A record with an address.
    Row {
        /// Line ending of the record.
        eol: Eol,
        email: &'a str,
        raw: &'a [u8],
    },
    /// A record without an address: a header, a blank line.
    Verbatim {
        eol: Eol,
        /// Whether it is above the header.
        is_above: bool,
        raw: &'a [u8],
    },
    /// A row without an address, which has no answer.
    Without {
        eol: Eol,
        why: LeftOut,
        raw: &'a [u8],
    },
    /// An unreadable record, whose answer is fixed.
    Unreadable {
        eol: Eol,
        /// The record is a JSON object without an address.
        object: bool,
        raw: &'a [u8],
    },
    Imported(Box<Imported>),
    Answer(StoredAnswer<'a>),
    PutOff(PutOff),
}

/// Kind of a row whose record is only its address.
pub(super) const LINE: u8 = b'L';
/// Kind of a row with its record.
pub(super) const ROW: u8 = b'R';
/// Kind of a record without an address.
pub(super) const VERBATIM: u8 = b'V';
/// Kind of a row without an address.
pub(super) const WITHOUT: u8 = b'W';
/// Kind of an unreadable record.
pub(super) const UNREADABLE: u8 = b'U';
pub(super) const BEGUN: u8 = b'B';
pub(super) const IMPORTED: u8 = b'I';
pub(super) const ANSWER: u8 = b'A';
pub(super) const PUT_OFF: u8 = b'P';

impl<'a> Frame<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Option<Self> {
        let (kind, rest) = payload.split_first()?;
        match *kind {
            BEGUN => Some(Self::Begun(serde_json::from_slice(rest).ok()?)),
            IMPORTED => Some(Self::Imported(serde_json::from_slice(rest).ok()?)),
            ANSWER => StoredAnswer::read(rest).map(Self::Answer),
            PUT_OFF => PutOff::read(rest).map(Self::PutOff),
            VERBATIM => {
                let ((eol, tag), raw) = rest.split_first().map(|(byte, raw)| (untagged(*byte), raw))?;
                Some(Self::Verbatim { eol, is_above: tag != 0, raw })
            }
            WITHOUT => {
                let ((eol, tag), raw) = rest.split_first().map(|(byte, raw)| (untagged(*byte), raw))?;
                Some(Self::Without { eol, why: LeftOut::from_code(tag), raw })
            }
            UNREADABLE => {
                let ([eol, object], raw) = rest.split_first_chunk::<2>()?;
                Some(Self::Unreadable { eol: Eol::from_code(*eol), object: *object != 0, raw })
            }
            LINE | ROW => {
                let (eol, rest) = rest.split_first()?;
                let (length, rest) = rest.split_at_checked(4)?;
                let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
                let (email, raw) = rest.split_at_checked(length)?;
                let raw = if *kind == LINE { email } else { raw };
                Some(Self::Row { eol: Eol::from_code(*eol), email: std::str::from_utf8(email).ok()?, raw })
            }
            _ => None,
        }
    }
}
