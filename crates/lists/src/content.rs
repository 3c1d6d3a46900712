//! Detects a file's type from its first bytes. Its name and the browser's media type are not trusted.

use crate::Fault;

/// Leading bytes that decide.
pub const HEAD_BYTES: usize = 4_096;

/// Readable types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Text,
    /// A zip archive, as .xlsx workbooks are.
    Zip,
}

/// Leading bytes, and the fault for that type.
type Signature = (&'static [u8], fn() -> Fault);

/// Signatures of files that users mistake for lists.
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

/// Type of a file from its first bytes: up to [`HEAD_BYTES`], or all of a shorter file.
///
/// # Errors
/// The [`Fault`] that names its actual type.
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
