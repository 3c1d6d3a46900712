//! Recipients as mail programs write them: addresses in lines, with names and fields of a header (`To:`), separated by commas or
//! semicolons.

use memchr::memchr2_iter;

use crate::absent::cleaned;
use crate::column::{is_address, looks_like_address};
use crate::encoding::SAMPLE_BYTES;

/// Lines that tell whether a text has recipients.
const LINES: usize = 200;
/// Longest name of a field or of a group (RFC 5322 §3.4), in bytes.
const LABEL_BYTES: usize = 64;

/// The recipients in a line, if all of its parts are addresses, with or without names; `None` for a line that is one entry or
/// something else. Separators within quotes and angle brackets belong to a recipient, as do commas in the name before brackets.
pub(crate) fn recipients(line: &str) -> Option<Vec<&str>> {
    let mut parts: Vec<&str> = Vec::new();
    // Start of a name with a comma.
    let mut named: Option<usize> = None;
    for (from, to) in parts_of(line) {
        let piece = line[from..to].trim();
        let is_name = !piece.contains('@') && piece.contains(char::is_alphabetic) && line[to..].starts_with(',');
        match named {
            _ if is_name => named = named.or(Some(from)),
            None if piece.is_empty() => {}
            None => parts.push(without_label(piece)),
            Some(start) if piece.ends_with('>') => parts.push(without_label(line[start..to].trim())),
            Some(_) => return None,
        }
        named = named.filter(|_| is_name);
    }
    let are_all = named.is_none() && parts.len() > 1 && parts.iter().all(|part| looks_like_address(part));
    are_all.then_some(parts)
}

/// Whether a text is lines of recipients: nothing but addresses, and several of them in some line.
pub(crate) fn are_recipients(head: &[u8]) -> bool {
    let (mut from, mut has_several) = (0, false);
    // The last line of a long text may be cut.
    let last = Some(head.len()).filter(|length| *length < SAMPLE_BYTES);
    for to in memchr2_iter(b'\n', b'\r', head).chain(last).take(LINES) {
        let line = String::from_utf8_lossy(&head[from..to]);
        from = (to + 1).min(head.len());
        match recipients(&line) {
            Some(_) => has_several = true,
            None if line.trim().is_empty() || is_address(&line) || cleaned(&line).is_some() => {}
            None => return false,
        }
    }
    has_several
}

/// Where the parts between separators are.
fn parts_of(line: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let (mut quoted, mut bracketed, mut escaped) = (false, false, false);
    let mut separates = move |byte: u8| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'<' => bracketed = true,
            b'>' => bracketed = false,
            b',' | b';' => return !bracketed,
            _ => {}
        }
        false
    };
    let ends = line.bytes().enumerate().filter_map(move |(at, byte)| separates(byte).then_some(at));
    let mut from = 0;
    ends.chain([line.len()]).map(move |to| (std::mem::replace(&mut from, to + 1), to))
}

/// A recipient without the name of a field or of a group before it: `To: ann@example.org`, `Team: ann@example.org`.
fn without_label(part: &str) -> &str {
    let Some((label, rest)) = part.split_once(':') else { return part };
    let is_label = label.len() <= LABEL_BYTES
        && label
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '\u{a0}' | '-' | '_' | '.' | '(' | ')' | '/'));
    if is_label && looks_like_address(rest) { rest.trim() } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_addresses_is_told_from_one_entry() {
        let table: [(&str, &[&str]); 13] = [
            ("a@x.org,b@x.org", &["a@x.org", "b@x.org"]),
            ("a@x.org; b@x.org ;", &["a@x.org", "b@x.org"]),
            ("A <a@x.org>, \"B, \\\"C\" <b@x.org>", &["A <a@x.org>", "\"B, \\\"C\" <b@x.org>"]),
            ("<a@x.org>,,<b@x.org>", &["<a@x.org>", "<b@x.org>"]),
            ("\"a,b\"@x.org;c@x.org", &["\"a,b\"@x.org", "c@x.org"]),
            ("ü@x.org;\u{202e}b@x.org", &["ü@x.org", "\u{202e}b@x.org"]),
            // Names with commas, as directories have them.
            ("\"Roe, A\" <a@x.org>; \"Lee, B\" <b@x.org>", &["\"Roe, A\" <a@x.org>", "\"Lee, B\" <b@x.org>"]),
            ("Roe, A <a@x.org>; Lee, B, Dr <b@x.org>", &["Roe, A <a@x.org>", "Lee, B, Dr <b@x.org>"]),
            ("Roe, A <a@x.org>, 'Lee, B' <b@x.org>", &["Roe, A <a@x.org>", "'Lee, B' <b@x.org>"]),
            // Fields of a header, and groups.
            ("To: a@x.org; b@x.org", &["a@x.org", "b@x.org"]),
            ("À : A <a@x.org>, b@x.org", &["A <a@x.org>", "b@x.org"]),
            ("Team 1: a@x.org, b@x.org;", &["a@x.org", "b@x.org"]),
            ("private: a@x.org, work: b@x.org", &["a@x.org", "b@x.org"]),
        ];
        for (line, expected) in table {
            assert_eq!(recipients(line).as_deref(), Some(expected), "{line}");
        }
        let single = [
            "",
            "a@x.org",
            "a@x.org;",
            "Doe, Ann <a@x.org>",
            "a@x.org, note",
            "\"a@x.org, b@x.org",
            "<a@x.org, b@x.org>",
            "1,a@x.org,b@x.org",
            "Ann,a@x.org,b@x.org",
            "A;a@x.org;b@x.org",
        ];
        for line in single.into_iter().chain(["<<<>>>", ",;,;", "a@x.org b@x.org"]) {
            assert_eq!(recipients(line), None, "{line}");
        }
        let many = "a@x.org;".repeat(100_000);
        assert_eq!(recipients(&many).unwrap().len(), 100_000);
        assert_eq!(recipients(&"a,".repeat(500_000)), None);
    }

    #[test]
    fn lines_of_recipients_are_told_from_tables() {
        let lists = [
            "a@x.org; b@x.org\nc@x.org; d@x.org\n",
            "a@x.org,b@x.org\r\nc@x.org,d@x.org",
            "A <a@x.org>; B <b@x.org>\n\nC <c@x.org>; D <d@x.org>\n",
            "\"Roe, A\" <a@x.org>; \"Lee, B\" <b@x.org>",
            "To: a@x.org; b@x.org\nCc: c@x.org\n",
            "a@x.org\nmailto:b@x.org\nc@x.org, d@x.org,\n",
        ];
        for text in lists {
            assert!(are_recipients(text.as_bytes()), "{text}");
        }
        let others = [
            "",
            "a@x.org\nb@x.org\n",
            "a@x.org,\nb@x.org,\n",
            "email,backup\na@x.org,b@x.org\n",
            "a@x.org;b@x.org;1\nc@x.org;d@x.org;2\n",
            "a@x.org\tb@x.org\n",
            "Doe, Ann <a@x.org>\n",
        ];
        for text in others {
            assert!(!are_recipients(text.as_bytes()), "{text}");
        }
        // A line that is cut proves nothing.
        let long = "a@x.org; b@x.org\n".repeat(SAMPLE_BYTES / 17 + 1);
        assert!(
            are_recipients(&long.as_bytes()[..SAMPLE_BYTES - 3]) && are_recipients(&long.as_bytes()[..SAMPLE_BYTES])
        );
    }
}
