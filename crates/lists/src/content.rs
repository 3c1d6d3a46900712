//! Detects a file's type from its first bytes. Its name and the browser's media type are not trusted.

use crate::FileFault;

/// Leading bytes that decide.
pub const HEAD_BYTES: usize = 4_096;

/// Readable types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    Text,
    /// A zip archive, as .xlsx workbooks are.
    Zip,
}

/// Leading bytes, and the fault for that type.
type Signature = (&'static [u8], fn() -> FileFault);

/// Signatures of files that users mistake for lists.
const SIGNATURES: [Signature; 7] = [
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", || FileFault::OldWorkbook),
    (b"%PDF-", || FileFault::Pdf),
    (b"\x1f\x8b", || FileFault::Compressed),
    (b"\x28\xb5\x2f\xfd", || FileFault::Compressed),
    (b"\xfd7zXZ\0", || FileFault::Compressed),
    (b"7z\xbc\xaf\x27\x1c", || FileFault::Compressed),
    (b"Rar!\x1a\x07", || FileFault::Compressed),
];

/// Type of a file from its first bytes: up to [`HEAD_BYTES`], or all of a shorter file.
///
/// # Errors
/// The [`FileFault`] that names its actual type.
pub fn of(head: &[u8]) -> Result<ContentKind, FileFault> {
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Ok(ContentKind::Zip);
    }
    if let Some((_, fault)) = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)) {
        return Err(fault());
    }
    if is_bzip2(head) {
        return Err(FileFault::Compressed);
    }
    if head.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x1a) {
        return Err(FileFault::Empty);
    }
    if is_binary(head) { Err(FileFault::Binary) } else { Ok(ContentKind::Text) }
}

/// Reports whether a stream of bzip2 begins: its name is text, with which an address may begin, so the level and the first block,
/// or the end of an empty stream, must follow.
fn is_bzip2(head: &[u8]) -> bool {
    let Some([b'1'..=b'9', rest @ ..]) = head.strip_prefix(b"BZh") else { return false };
    rest.starts_with(b"1AY&SY") || rest.starts_with(b"\x17\x72\x45\x38\x50\x90")
}

/// Text has hardly any control characters. NULs do not count, unless it begins with several: databases fill columns with them, and a
/// program that crashed leaves them behind. Nor does the end that DOS programs write (0x1A).
fn is_binary(head: &[u8]) -> bool {
    if crate::encoding::is_wide(head) {
        return false;
    }
    let head = head.strip_prefix(b"\0").unwrap_or(head);
    let head = head.strip_suffix(b"\x1a").unwrap_or(head);
    let control = |byte: &u8| matches!(byte, 1..=8 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    let (nuls, controls) = (memchr::memchr_iter(0, head).count(), head.iter().filter(|byte| control(byte)).count());
    // The number of a tape archive, behind the name of its first file.
    let is_tape = head.get(257..262) == Some(b"ustar");
    is_tape || head.first().is_some_and(|byte| *byte == 0 || control(byte)) || controls * 20 > head.len() - nuls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_is_named() {
        let words = |head: &[u8]| of(head).map_err(|fault| fault.word());
        let table: [(&[u8], Result<ContentKind, &str>); 24] = [
            (b"email\na@example.org\n", Ok(ContentKind::Text)),
            ("j\u{f6}rg@example.org".as_bytes(), Ok(ContentKind::Text)),
            (b"J\xf6rg;j@example.org\r\n", Ok(ContentKind::Text)),
            (b"\xff\xfea\0@\0x\0.\0o\0r\0g\0", Ok(ContentKind::Text)),
            (b"a\0@\0x\0.\0o\0r\0g\0", Ok(ContentKind::Text)),
            (b"PK\x03\x04\x14\0", Ok(ContentKind::Zip)),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", Err("old_workbook")),
            (b"%PDF-1.7\n", Err("pdf")),
            (b"\x1f\x8b\x08\0", Err("compressed")),
            (b"BZh91AY&SY\x88\x1f", Err("compressed")),
            (b"BZh1\x17rE8P\x90\0\0\0\0", Err("compressed")),
            (b"BZhang@corp.example\n", Ok(ContentKind::Text)),
            (b"BZh9@corp.example\n", Ok(ContentKind::Text)),
            (b"BZh01AY&SY@corp.example\n", Ok(ContentKind::Text)),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Err("binary")),
            (b"\x7fELF\x02\x01\x01\0", Err("binary")),
            (b"email,notes\r\na@example.org,called\0\0\0\r\n", Ok(ContentKind::Text)),
            (
                b"a@example.org;\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\n",
                Ok(ContentKind::Text),
            ),
            (b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20\0\0\0\x02", Err("binary")),
            (b"\0a@example.org\n", Ok(ContentKind::Text)),
            (b"a@x.org\x1a", Ok(ContentKind::Text)),
            (b"\0\x01\0\0\0\x0f\0\x80", Err("binary")),
            (b"", Err("empty")),
            (b" \r\n\t\n", Err("empty")),
        ];
        for (head, expected) in table {
            assert_eq!(words(head), expected, "{head:?}");
        }
    }
}
