//! What a file is, by its first bytes. Its name and what a browser calls it are not believed.

use crate::Fault;

/// How many bytes of the beginning decide.
pub const HEAD_BYTES: usize = 4_096;

/// What can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text in some encoding.
    Text,
    /// A zip archive, as .xlsx workbooks are.
    Zip,
}

/// A beginning, and what it is the beginning of.
type Signature = (&'static [u8], fn() -> Fault);

/// The beginnings of files that people take for lists.
const SIGNATURES: [Signature; 8] = [
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", || Fault::OldWorkbook),
    (b"%PDF-", || Fault::Pdf),
    (b"\x1f\x8b", || Fault::Compressed),
    (b"BZh", || Fault::Compressed),
    (b"\x28\xb5\x2f\xfd", || Fault::Compressed),
    (b"\xfd7zXZ\0", || Fault::Compressed),
    (b"7z\xbc\xaf\x27\x1c", || Fault::Compressed),
    (b"Rar!\x1a\x07", || Fault::Compressed),
];

/// What these first bytes are the beginning of: up to [`HEAD_BYTES`], all of a shorter file.
///
/// # Errors
/// The [`Fault`] that says what it is instead.
pub fn of(head: &[u8]) -> Result<Content, Fault> {
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Ok(Content::Zip);
    }
    if let Some((_, fault)) = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)) {
        return Err(fault());
    }
    if head.iter().all(u8::is_ascii_whitespace) {
        return Err(Fault::Empty);
    }
    if is_binary(head) { Err(Fault::Binary) } else { Ok(Content::Text) }
}

/// Text has no NULs, unless it is UTF-16, and hardly any other control characters.
fn is_binary(head: &[u8]) -> bool {
    let encoding = crate::encoding::sniff(head).0;
    if encoding.is_wide() {
        return false;
    }
    let control = |byte: &&u8| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    head.contains(&0) || head.iter().filter(control).count() * 20 > head.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_is_named() {
        let words = |head: &[u8]| of(head).map_err(|fault| fault.word());
        let table: [(&[u8], Result<Content, &str>); 13] = [
            (b"email\na@example.org\n", Ok(Content::Text)),
            ("j\u{f6}rg@example.org".as_bytes(), Ok(Content::Text)),
            (b"J\xf6rg;j@example.org\r\n", Ok(Content::Text)),
            (b"\xff\xfea\0@\0x\0.\0o\0r\0g\0", Ok(Content::Text)),
            (b"a\0@\0x\0.\0o\0r\0g\0", Ok(Content::Text)),
            (b"PK\x03\x04\x14\0", Ok(Content::Zip)),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", Err("old_workbook")),
            (b"%PDF-1.7\n", Err("pdf")),
            (b"\x1f\x8b\x08\0", Err("compressed")),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Err("binary")),
            (b"\x7fELF\x02\x01\x01\0", Err("binary")),
            (b"", Err("empty")),
            (b" \r\n\t\n", Err("empty")),
        ];
        for (head, expected) in table {
            assert_eq!(words(head), expected, "{head:?}");
        }
    }
}
