//! Addresses as lists have them: often behind the name of a person, as mail programs write them (RFC 5322 §3.4).
//!
//! Only lists are read like this. The name is skipped without being judged, since nothing of it is sent; what stands in
//! the brackets is as strictly an [`Address`](super::Address) as any other. No address ends with `>`, so that a text that is
//! an address already keeps its meaning.

/// The text without blanks and invisible characters at its ends: what documents, pages and exports leave around an address
/// (no-break, ideographic and zero-width spaces, byte order marks, soft hyphens, marks of writing direction).
///
/// No address begins or ends with them. Inside of an address they stay, and make it invalid.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// White space, and format characters that show nothing.
pub fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The address in an entry of a list: what stands in the angle brackets at its end, otherwise the whole entry, without
/// what [`trimmed`] removes.
///
/// Several addresses in one entry are left as they are, which is no address: nobody can say which one is meant.
pub fn bare_address(entry: &str) -> &str {
    let entry = trimmed(entry);
    bracketed(entry).unwrap_or(entry)
}

/// Whether an entry, valid or not, names one address: it has one `@` between two texts, and nothing that separates addresses. Of
/// other entries, nobody can say which address is meant.
pub fn names_one_address(entry: &str) -> bool {
    let address = bare_address(entry);
    let separates = |c: char| is_blank(c) || c.is_control() || matches!(c, ',' | ';' | '|' | '<' | '>');
    let parts: Vec<&str> = address.split('@').collect();
    matches!(parts[..], [local, domain] if !local.is_empty() && !domain.is_empty()) && !address.contains(separates)
}

/// `Name <user@host>`, where the name may be quoted or missing, and where a separator of recipients may follow.
fn bracketed(entry: &str) -> Option<&str> {
    let rest = entry.trim_end_matches(|c: char| matches!(c, ',' | ';') || is_blank(c)).strip_suffix('>')?;
    let open = opening(rest)?;
    let (name, address) = (&rest[..open], trimmed(&rest[open + 1..]));
    // Word processors write links into the brackets. Links encode characters: what they decode to is not guessed.
    let address = match mail_link(address) {
        Some(target) if target.contains('%') => return None,
        target => target.unwrap_or(address),
    };
    (!address.is_empty() && !names_several(name) && !holds_bracket(address)).then_some(address)
}

/// Where the address begins: the first bracket outside of quotes. A quote that is never closed belongs to the name.
fn opening(text: &str) -> Option<usize> {
    Unquoted::of(text).find(|(_, byte)| *byte == b'<').map(|(at, _)| at).or_else(|| text.find('<'))
}

/// Whether a name is itself a list: an address and a separator, both outside of quotes. `Doe, Ann` is one name.
fn names_several(name: &str) -> bool {
    let (mut at_sign, mut separator) = (false, false);
    for (_, byte) in Unquoted::of(name) {
        at_sign |= byte == b'@';
        separator |= matches!(byte, b',' | b';');
    }
    at_sign && separator
}

fn holds_bracket(address: &str) -> bool {
    Unquoted::of(address).any(|(_, byte)| matches!(byte, b'<' | b'>'))
}

/// What a link `mailto:` is to, encoded as in the link (RFC 6068 §2): addresses, and perhaps headers behind a `?`.
pub fn mail_link(text: &str) -> Option<&str> {
    let (scheme, target) = text.split_at_checked("mailto:".len())?;
    scheme.eq_ignore_ascii_case("mailto:").then_some(target)
}

/// Bytes outside of quoted strings (RFC 5322 §3.2.4), with their positions.
struct Unquoted<'a> {
    bytes: &'a [u8],
    at: usize,
    quoted: bool,
}

impl<'a> Unquoted<'a> {
    fn of(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, quoted: false }
    }
}

impl Iterator for Unquoted<'_> {
    type Item = (usize, u8);

    fn next(&mut self) -> Option<(usize, u8)> {
        while let Some(&byte) = self.bytes.get(self.at) {
            let at = self.at;
            self.at += 1;
            match byte {
                b'"' => self.quoted = !self.quoted,
                b'\\' if self.quoted => self.at += 1,
                _ if self.quoted => {}
                _ => return Some((at, byte)),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::address::Address;

    #[test]
    fn an_entry_names_one_address_or_leaves_open_which() {
        for one in
            ["ann@example.org", " Ann <ann@example.org> ", "ann@example", "ann..lee@example.org", "a(b)@example.org"]
        {
            assert!(names_one_address(one), "{one:?}");
        }
        let open =
            ["5", "", "@example.org", "ann@", "ann@example.org, bob@example.org", "ann@example.org bob@example.org"];
        let odd =
            ["ann\u{0}@example.org", "ann@example.org|eve", "ann@example.org/bob@example.org", "ann lee@example.org"];
        for entry in open.into_iter().chain(odd) {
            assert!(!names_one_address(entry), "{entry:?}");
        }
    }

    #[test]
    fn names_are_skipped() {
        let table = [
            "ann@example.org",
            " ann@example.org\t",
            "<ann@example.org>",
            "Ann <ann@example.org>",
            "Ann<ann@example.org>",
            "Ann Lee <  ann@example.org >  ",
            "Ann <ann@example.org>;",
            "Ann <ann@example.org> , ",
            "Lee, Ann <ann@example.org>",
            "\"Lee, Ann\" <ann@example.org>",
            "\"Ann \\\"The\\\" <Lee>\" <ann@example.org>",
            "\"bob@example.com; eve@example.com\" <ann@example.org>",
            "bob@example.com <ann@example.org>",
            "'ann@example.org' <ann@example.org>",
            "ann@example.org <MailTo:ann@example.org>",
            "\"Ann <ann@example.org>",
            "O\"Lee <ann@example.org>",
            "Jörg Ünal\u{a0}<ann@example.org>",
            "\u{202e}נועה\u{202c} <ann@example.org>",
            "Ann\r\n\t<ann@example.org>",
            "\\ <ann@example.org>",
            "\u{0}\u{1b}[2J <ann@example.org>",
            "Ann <\u{a0}ann@example.org\u{200b}>\u{a0};",
        ];
        for entry in table {
            assert_eq!(bare_address(entry), "ann@example.org", "{entry:?}");
        }
        assert_eq!(bare_address("Ann <\"a <> b\"@example.org>"), "\"a <> b\"@example.org");
    }

    #[test]
    fn blanks_and_invisible_characters_at_the_ends_are_removed() {
        for blank in [
            ' ', '\t', '\r', '\n', '\u{85}', '\u{a0}', '\u{ad}', '\u{1680}', '\u{180e}', '\u{2002}', '\u{2007}',
            '\u{2009}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{202a}', '\u{202e}',
            '\u{202f}', '\u{205f}', '\u{2060}', '\u{2066}', '\u{2069}', '\u{61c}', '\u{3000}', '\u{feff}',
        ] {
            for text in [format!("{blank}ann@example.org"), format!("ann@example.org {blank}{blank}")] {
                assert_eq!((trimmed(&text), bare_address(&text)), ("ann@example.org", "ann@example.org"), "{text:?}");
            }
            for inside in [format!("an{blank}n@example.org"), format!("ann@exam{blank}ple.org")] {
                assert!(Address::parse(trimmed(&inside)).is_err() && bare_address(&inside) == inside, "{inside:?}");
            }
        }
        for text in ["", " \u{feff} ", "\u{200b}"] {
            assert_eq!(trimmed(text), "", "{text:?}");
        }
        assert_eq!(trimmed("\0ann@example.org"), "\0ann@example.org", "a control character is no blank");
    }

    #[test]
    fn what_names_no_one_address_stays_as_it_is() {
        let table = [
            "",
            "<>",
            "< >",
            "<<<>>>",
            ">",
            "<",
            "Ann <<ann@example.org>>",
            "Ann <ann@example.org",
            "Ann ann@example.org>",
            "Ann <ann@example.org> Lee",
            "ann@example.org, bob@example.com",
            "ann@example.org bob@example.com",
            "Ann <ann@example.org>, Bob <bob@example.com>",
            "ann@example.org, Bob <bob@example.com>",
            "ann@example.org; Bob <bob@example.com>;",
            "Ann <ann@example.org> <bob@example.com>",
            "\"<ann>\"@example.org",
            "Ann <mailto:ann%2Blists@example.org>",
            "Ann <MAILTO:ann@example.org%20>",
        ];
        for entry in table {
            assert_eq!(bare_address(entry), entry, "{entry:?}");
        }
        assert_eq!(bare_address("Ann <ann%lists@example.org>"), "ann%lists@example.org", "no link");
        assert!(
            Address::parse(bare_address("Ann <ann@\r\n example.org>")).is_err(),
            "folding is not read within an address"
        );
    }

    /// A name of 10 MB is read at the pace of any other text: a quadratic reader would take hours.
    #[test]
    fn long_names_take_linear_time() {
        for filling in ["x", "<", ">", "\"", "\\", "\"\\", "<>", "@,", "\u{202e}", "a@b <"] {
            let name = filling.repeat((10 << 20) / filling.len());
            for entry in [format!("{name}<ann@example.org>"), name.clone(), format!("<{name}>"), format!("\"{name}")] {
                let read = bare_address(&entry);
                assert!(entry.contains(read));
            }
        }
    }

    proptest! {
        #[test]
        fn addresses_keep_their_meaning(text in "[ -~äß\u{202e}\r\n]{0,40}", local in "[a-z\"<>@. ]{1,12}") {
            for text in [text, format!("{local}@example.org"), format!("\"{local}\"@example.org")] {
                if let Ok(address) = Address::parse(&text) {
                    prop_assert_eq!(Address::parse(bare_address(&text)), Ok(address.clone()));
                    let mut wire = Vec::new();
                    address.write_path(&mut wire);
                    let named = format!("\"Lee, Ann\" <{}>", String::from_utf8(wire).unwrap());
                    prop_assert_eq!(Address::parse(bare_address(&named)), Ok(address));
                }
            }
        }
    }
}
