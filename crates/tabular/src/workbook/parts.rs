//! A look through the parts of a workbook, before anything understands them.
//!
//! What an archive says of its sizes is a claim, so everything is unpacked here, counted, and thrown away. That bounds what a
//! parser meets later: the bytes in all, those of each part that a parser keeps whole, and, because a parser of XML keeps one
//! tag or one text whole, the length of each of those. A document type declaration is refused: spreadsheet programs write none,
//! and entities are declared there. So are encodings in which a tag would not be the bytes of ASCII, because all of this looks
//! for those bytes; and a claim of more shared texts than can be there, because a parser makes room for all of them at once.
//!
//! A sheet may be any part that the workbook points to. What does not end as XML does is not looked into, as pictures are not;
//! it may be no larger than a parser can keep whole.

mod claim;

use std::io::{Read, Seek, SeekFrom};

use zip::ZipArchive;
use zip::result::ZipError;

use self::claim::Claim;
use crate::Fault;

/// Parts of a workbook: so many have one with a hundred sheets, each with its drawings and comments.
const PARTS_MAX: usize = 2_000;
/// What all parts may unpack to: the largest sheet, a million rows of a few columns, has about 300 MB.
const UNPACKED_MAX: u64 = 512 << 20;
/// What the texts may unpack to that cells share: they are in memory while a sheet is read.
const SHARED_MAX: u64 = 128 << 20;
/// What any other part may unpack to that is no sheet: styles and the like, which a parser keeps; pictures, for which it may
/// take a sheet.
const PART_MAX: u64 = 16 << 20;
/// One tag with the text behind it; one comment. A cell has at most 32,767 characters.
const RUN_MAX: usize = 1 << 20;
/// The least that a shared text takes: `<si/>`.
const SHARED_BYTES: u64 = 5;
/// How much of a file's end can hold the end of an archive's directory: 22 bytes and a comment of 65,535.
const END_BYTES: u64 = 22 + 65_535;
/// How much is unpacked at once.
const PIECE_BYTES: usize = 64 << 10;

/// Refuses what no spreadsheet program writes. Leaves the file at its beginning.
pub(super) fn check(file: &mut (impl Read + Seek)) -> Result<(), Fault> {
    directory(file)?;
    let mut archive = ZipArchive::new(&mut *file).map_err(fault)?;
    if archive.index_for_name("xl/workbook.xml").is_none() {
        return Err(Fault::Archive);
    }
    let mut left = UNPACKED_MAX;
    for index in 0..archive.len() {
        let mut part = archive.by_index(index).map_err(fault)?;
        let name = part.name().map_err(fault)?.to_ascii_lowercase();
        left -= unpacked(&mut part, &name, left)?;
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(())
}

/// Looks at how many parts the archive claims, before room is made for them: at every place that may be its end.
fn directory(file: &mut (impl Read + Seek)) -> Result<(), Fault> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES)))?;
    let mut end = Vec::new();
    file.take(END_BYTES).read_to_end(&mut end)?;
    file.seek(SeekFrom::Start(0))?;
    let ends = memchr::memmem::find_iter(&end, b"PK\x05\x06");
    let mut claims = ends.filter_map(|at| end.get(at + 10..at + 12)).peekable();
    if claims.peek().is_none() {
        return Err(Fault::Damaged);
    }
    // All bits set point to a directory of more than 65,534 parts.
    let many = |claim: &[u8]| usize::from(u16::from_le_bytes([claim[0], claim[1]])) > PARTS_MAX;
    if claims.any(many) { Err(Fault::Unpacks) } else { Ok(()) }
}

fn most_of(name: &str) -> u64 {
    match name {
        name if is_shared(name) => SHARED_MAX,
        name if is_xml(name) && name.starts_with("xl/worksheets/") => UNPACKED_MAX,
        _ => PART_MAX,
    }
}

/// Whether the texts are in it that cells share, in whatever folder the workbook is.
fn is_shared(name: &str) -> bool {
    name.ends_with("sharedstrings.xml")
}

fn is_xml(name: &str) -> bool {
    [".xml", ".rels", ".vml"].iter().any(|end| name.ends_with(end))
}

/// How many bytes a part unpacks to; refuses more than it may have or than are left, and what is longer in it than it can be.
fn unpacked(part: &mut impl Read, name: &str, left: u64) -> Result<u64, Fault> {
    let (most, xml, shared) = (most_of(name).min(left), is_xml(name), is_shared(name));
    let (mut piece, mut bytes, mut runs, mut claim) = (vec![0; PIECE_BYTES], 0, Runs::default(), Claim::default());
    loop {
        let read = part.read(&mut piece).map_err(|_| Fault::Damaged)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        if bytes > most {
            return Err(Fault::Unpacks);
        }
        if xml {
            runs.pass(&piece[..read])?;
        }
        if shared {
            claim.pass(&piece[..read]);
        }
    }
    if claim.largest() > bytes / SHARED_BYTES { Err(Fault::Unpacks) } else { Ok(bytes) }
}

/// What a parser of XML would keep whole.
#[derive(Default)]
struct Runs {
    /// Bytes since the last tag began.
    run: usize,
    inside: Inside,
    /// The last three bytes.
    last: [u8; 3],
}

/// Where in XML a reader stands.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    /// In tags and texts.
    #[default]
    Plain,
    /// Right behind `<`.
    Tag,
    /// Behind `<!` and so many more bytes of `--` or `[CDATA[`.
    Declared(&'static [u8], usize),
    /// In a comment, a section of plain characters or an instruction, up to these bytes.
    Until(&'static [u8]),
}

impl Runs {
    fn pass(&mut self, mut piece: &[u8]) -> Result<(), Fault> {
        // XML has neither of these characters: they are halves of wider ones, or change what the bytes behind them are.
        if memchr::memchr2(0, 0x1b, piece).is_some() {
            return Err(Fault::Damaged);
        }
        while let Some(&first) = piece.first() {
            let mut used = 1;
            self.inside = match self.inside {
                Inside::Plain => {
                    let tag = memchr::memchr(b'<', piece);
                    used = tag.map_or(piece.len(), |at| at + 1);
                    if tag.is_some() { Inside::Tag } else { Inside::Plain }
                }
                Inside::Tag => self.begun(first),
                Inside::Declared(word, seen) => declared(word, seen, first)?,
                Inside::Until(end) => self.within(first, end),
            };
            self.run += used;
            if self.run > RUN_MAX {
                return Err(Fault::Unpacks);
            }
            if self.inside == Inside::Tag {
                self.run = 1;
            }
            piece = &piece[used..];
        }
        Ok(())
    }

    /// Behind `<`: what begins with no letter is no element.
    fn begun(&mut self, byte: u8) -> Inside {
        self.last = [0; 3];
        match byte {
            b'!' => Inside::Declared(b"", 0),
            b'?' => Inside::Until(b"?>"),
            b'<' => Inside::Tag,
            _ => Inside::Plain,
        }
    }

    fn within(&mut self, byte: u8, end: &'static [u8]) -> Inside {
        self.last = [self.last[1], self.last[2], byte];
        if self.last.ends_with(end) { Inside::Plain } else { Inside::Until(end) }
    }
}

/// Behind `<!`: a comment or plain characters. Anything else declares something, and no spreadsheet program does.
fn declared(word: &'static [u8], seen: usize, byte: u8) -> Result<Inside, Fault> {
    let word: &'static [u8] = match (word, byte) {
        (b"", b'-') => b"--",
        (b"", b'[') => b"[CDATA[",
        (word, _) => word,
    };
    match word.get(seen) {
        Some(wanted) if *wanted == byte && seen + 1 < word.len() => Ok(Inside::Declared(word, seen + 1)),
        Some(wanted) if *wanted == byte => Ok(Inside::Until(if word == b"--" { b"-->" } else { b"]]>" })),
        _ => Err(Fault::Damaged),
    }
}

fn fault(error: ZipError) -> Fault {
    match error {
        ZipError::Io(error) => Fault::Io(error),
        _ => Fault::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(xml: &[u8]) -> Result<(), &'static str> {
        // Cut into pieces at every place that could matter.
        for size in [1, 2, 3, 7, xml.len().max(1)] {
            let mut runs = Runs::default();
            for piece in xml.chunks(size) {
                runs.pass(piece).map_err(|fault| fault.word())?;
            }
        }
        Ok(())
    }

    #[test]
    fn what_a_parser_would_keep_whole_is_bounded() {
        let long = |start: &str, end: &str| [start, &"x".repeat(RUN_MAX), end].concat().into_bytes();
        assert_eq!(passes(b"<?xml version=\"1.0\"?><a><!-- < > --><![CDATA[ <b> ]]>text<b c=\"d\"/></a>"), Ok(()));
        assert_eq!(passes(b"<!DOCTYPE lolz [<!ENTITY lol \"lol\">]><a>&lol;</a>"), Err("damaged"));
        for (start, end) in [("<a>", "</a>"), ("<a b='", "'/>"), ("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")] {
            assert_eq!(passes(&long(start, end)), Err("unpacks"), "{start}");
        }
        let wide: Vec<u8> = "<!DOCTYPE a><a/>".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(passes(&wide), Err("damaged"));
        assert_eq!(passes(b"<?xml version=\"1.0\" encoding=\"ISO-2022-JP\"?><!DOC\x1b(BTYPE a>"), Err("damaged"));
        let many = "<c><v>1</v></c>".repeat(200_000);
        assert_eq!(Runs::default().pass(many.as_bytes()).map_err(|fault| fault.word()), Ok(()));
        assert_eq!(passes(["<!--", &"<".repeat(RUN_MAX), "-->"].concat().as_bytes()), Err("unpacks"));
    }
}
