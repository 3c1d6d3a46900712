//! Replies in older encodings than UTF-8.
//!
//! A server that greets in French may write `exp\xe9diteur` as its installer saved it. If that byte were dropped, the word for the
//! sender would be gone, and the sentence would speak of a recipient.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

/// The text of a line. A line of UTF-8 may be cut within its last character. Other lines are read in the encoding that they look
/// like. Bytes that are no character become U+FFFD.
pub(super) fn decoded(line: &[u8]) -> Cow<'_, str> {
    let whole = match std::str::from_utf8(line) {
        Ok(text) => return Cow::Borrowed(text),
        // The end came within a character.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => 0,
    };
    if !line[..whole].is_ascii() {
        return String::from_utf8_lossy(line);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(line, true);
    let encoding: &encoding_rs::Encoding = detector.guess(None, Utf8Detection::Deny);
    encoding.decode_without_bom_handling(line).0
}
