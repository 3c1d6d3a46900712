//! Recipients as mail programs show them: several addresses in one line, separated by commas or semicolons.

use crate::column::looks_like_address;

/// The recipients in a line, if all of its parts are addresses, with or without names; `None` for a line that is one entry or
/// something else. Separators within quotes and angle brackets belong to a recipient.
pub(crate) fn recipients(line: &str) -> Option<Vec<&str>> {
    let (mut parts, mut from) = (Vec::new(), 0);
    let (mut quoted, mut bracketed, mut escaped) = (false, false, false);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'<' => bracketed = true,
            b'>' => bracketed = false,
            b',' | b';' if !bracketed => {
                parts.push(line[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(line[from..].trim());
    parts.retain(|part| !part.is_empty());
    (parts.len() > 1 && parts.iter().all(|part| looks_like_address(part))).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_addresses_is_told_from_one_entry() {
        let table: [(&str, &[&str]); 6] = [
            ("a@x.org,b@x.org", &["a@x.org", "b@x.org"]),
            ("a@x.org; b@x.org ;", &["a@x.org", "b@x.org"]),
            ("A <a@x.org>, \"B, \\\"C\" <b@x.org>", &["A <a@x.org>", "\"B, \\\"C\" <b@x.org>"]),
            ("<a@x.org>,,<b@x.org>", &["<a@x.org>", "<b@x.org>"]),
            ("\"a,b\"@x.org;c@x.org", &["\"a,b\"@x.org", "c@x.org"]),
            ("ü@x.org;\u{202e}b@x.org", &["ü@x.org", "\u{202e}b@x.org"]),
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
        ];
        for line in single.into_iter().chain(["<<<>>>", ",;,;", "a@x.org b@x.org"]) {
            assert_eq!(recipients(line), None, "{line}");
        }
        let many = "a@x.org;".repeat(100_000);
        assert_eq!(recipients(&many).unwrap().len(), 100_000);
    }
}
