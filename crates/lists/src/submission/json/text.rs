//! Kept texts: their end, and their content (RFC 8259 §7).

use std::borrow::Cow;

use memchr::memchr2;

/// Finds the quote that closes a text, from this place on. If the bytes end before it: whether the next byte is escaped.
pub(super) fn closing_quote(bytes: &[u8], mut at: usize) -> Result<usize, bool> {
    loop {
        let Some(rest) = bytes.get(at..) else { return Err(true) };
        match memchr2(b'"', b'\\', rest) {
            None => return Err(false),
            Some(found) if rest[found] == b'"' => return Ok(at + found),
            Some(found) => at += found + 2,
        }
    }
}

/// Content of a text in its quotes, or what is wrong with it.
pub(super) fn content(quoted: &[u8]) -> Result<Cow<'_, str>, &'static str> {
    // Without a branch for each byte.
    let look = |(control, escape), byte: &u8| (control | u8::from(*byte < b' '), escape | u8::from(*byte == b'\\'));
    let (controls, escapes) = quoted.iter().fold((0, 0), look);
    if controls != 0 {
        return Err("has a control character that is not escaped");
    }
    let text = str::from_utf8(quoted).map_err(|_| "must be UTF-8")?;
    if escapes == 0 {
        return Ok(Cow::Borrowed(&text[1..text.len() - 1]));
    }
    serde_json::from_str(text).map(Cow::Owned).map_err(|error| {
        // serde_json says so only of surrogates.
        let is_surrogate = error.to_string().contains("hex escape");
        if is_surrogate { "has half of a surrogate pair" } else { "has an escape that is not valid in JSON" }
    })
}
