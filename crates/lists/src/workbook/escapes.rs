//! Characters that XML cannot contain, as workbooks write them: `_x000D_` is a carriage return (ECMA-376 part 1, §22.9.2.19).

use std::borrow::Cow;

/// Length of an escape.
const ESCAPE_BYTES: usize = 7;

/// A text with its escapes resolved.
pub(super) fn resolved(text: &str) -> Cow<'_, str> {
    let Some(mut at) = find(text, 0) else { return Cow::Borrowed(text) };
    let (mut resolved, mut copied) = (String::with_capacity(text.len()), 0);
    loop {
        resolved.push_str(&text[copied..at]);
        // Characters beyond the first 65,536 are two escapes.
        let mut units = vec![unit(text, at).unwrap_or_default()];
        copied = at + ESCAPE_BYTES;
        if let Some(second) = unit(text, copied).filter(|second| is_pair(units[0], *second)) {
            units.push(second);
            copied += ESCAPE_BYTES;
        }
        resolved.push_str(&String::from_utf16_lossy(&units));
        match find(text, copied) {
            Some(next) => at = next,
            None => break,
        }
    }
    resolved.push_str(&text[copied..]);
    Cow::Owned(resolved)
}

fn is_pair(first: u16, second: u16) -> bool {
    (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second)
}

/// Position of the next escape.
fn find(text: &str, from: usize) -> Option<usize> {
    memchr::memmem::find_iter(&text.as_bytes()[from..], b"_x").map(|at| from + at).find(|at| unit(text, *at).is_some())
}

/// Value of the escape at this position.
fn unit(text: &str, at: usize) -> Option<u16> {
    let escape = text.as_bytes().get(at..at + ESCAPE_BYTES)?;
    let digits = escape.strip_prefix(b"_x")?.strip_suffix(b"_")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved_and_everything_else_stays() {
        let table = [
            ("plain_text", "plain_text"),
            ("a_x000D_\nb", "a\r\nb"),
            ("_x005F_x000D_", "_x000D_"),
            ("_xD83D__xDE00_!", "\u{1f600}!"),
            ("_xD83D_x", "\u{fffd}x"),
            ("_xDE00_", "\u{fffd}"),
            ("_x00zz_ _x000D", "_x00zz_ _x000D"),
            ("__x0041_ü_x0042_", "_AüB"),
        ];
        for (text, expected) in table {
            assert_eq!(resolved(text), expected, "{text}");
        }
    }
}
