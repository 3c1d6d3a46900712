//! What stands in a work file: frames, by the first byte of their payload.

use std::path::PathBuf;

use probity_lists::encoding::Encoding;
use probity_lists::split::Eol;
use serde::{Deserialize, Serialize};

use crate::args::Format;
use crate::batch::answer::{Answer, PutOff};

/// How a batch was begun. A run that differs in one of these must not continue it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begun {
    /// The input's name, for messages.
    pub input: String,
    /// `--column`.
    pub column: Option<String>,
    /// `--format`.
    pub format: Option<Format>,
    /// `--no-header`.
    pub no_header: bool,
    /// `--offline`.
    pub offline: bool,
    /// `--sandbox`.
    pub sandbox: bool,
    /// Where results go; not compared.
    pub output: Option<PathBuf>,
    /// `--output-format`; not compared.
    pub output_format: Option<Format>,
}

/// What the import found out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Imported {
    /// Rows with an address to answer.
    pub rows: u32,
    /// Bytes of the input.
    pub size: u64,
    /// SHA-256 of the input, in hexadecimal.
    pub hash: String,
    /// The input's format.
    pub format: Format,
    /// The separator of CSV.
    pub delimiter: u8,
    /// Whether the first record of CSV is a header.
    pub header: bool,
    /// The widest row of CSV, in fields.
    pub width: u32,
    /// The encoding of the whole.
    pub encoding: Encoding,
    /// What goes before our column names, so that they are new.
    pub suffix: String,
    /// Lines that could not be read; they are not among the rows.
    pub unreadable: u64,
    /// What should be said about the input.
    pub warnings: Vec<String>,
}

/// One frame.
#[derive(Debug)]
pub(crate) enum Frame<'a> {
    /// How the batch was begun.
    Begun(Begun),
    /// A record with an address.
    Row {
        /// How the record ended.
        eol: Eol,
        /// The address.
        email: &'a str,
        /// The whole record.
        raw: &'a [u8],
    },
    /// A record without one: a header, a blank line.
    Verbatim {
        /// How the record ended.
        eol: Eol,
        /// The whole record.
        raw: &'a [u8],
    },
    /// A record that could not be read: its answer is known.
    Unreadable {
        /// How the record ended.
        eol: Eol,
        /// Whether it is a JSON object, without an address.
        object: bool,
        /// The whole record.
        raw: &'a [u8],
    },
    /// The end of the import.
    Imported(Box<Imported>),
    /// An answer.
    Answer(Answer<'a>),
    /// A row that must be asked about again.
    PutOff(PutOff),
}

/// A row whose record is its address and nothing else.
pub(super) const LINE: u8 = b'L';
/// A row with its record.
pub(super) const ROW: u8 = b'R';
/// A record without an address.
pub(super) const VERBATIM: u8 = b'V';
/// A record that could not be read.
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
            ANSWER => Answer::read(rest).map(Self::Answer),
            PUT_OFF => PutOff::read(rest).map(Self::PutOff),
            VERBATIM => rest.split_first().map(|(eol, raw)| Self::Verbatim { eol: Eol::from_code(*eol), raw }),
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
