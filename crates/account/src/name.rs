//! Names that users give to keys, organizations and other things that others see: one rule for all.
//!
//! A name is shown in tables, mail and logs beside other names, so it must look like what it is: one line of limited length
//! without invisible content. Direction marks can make a name read as another one (Unicode Technical Report 36, section 2.5), and
//! invisible characters make two names look alike. Required by scripts and therefore allowed: letters of all kinds, combining
//! marks, variation selectors, and joiners between two visible characters (RFC 5892, appendix A.1 and A.2), which Persian and
//! Indic words and some emoji need.

/// Maximum length of a name, in characters.
pub const NAME_MAX: usize = 200;

/// Forbidden characters, first and last of each range: control characters, line and paragraph separators, direction marks, and
/// characters without a form (`Default_Ignorable_Code_Point`), except joiners and variation selectors.
pub const FORBIDDEN: [(char, char); 21] = [
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200b}'),
    ('\u{200e}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{fffe}', '\u{ffff}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Variation selectors, which choose the form of the previous character.
pub const SELECTORS: [(char, char); 3] = [('\u{180b}', '\u{180d}'), ('\u{180f}', '\u{180f}'), ('\u{fe00}', '\u{fe0f}')];

/// Joiners: at most one between two visible characters.
pub const JOINERS: [(char, char); 1] = [('\u{200c}', '\u{200d}')];

/// White space that is allowed in names, and trimmed from their ends.
pub const SPACES: [(char, char); 7] = [
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
];

/// Reason why a text is not a name. The messages are worded to follow a field name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// Only white space.
    #[error("must not be empty")]
    Empty,
    /// Longer than [`NAME_MAX`].
    #[error("may have at most 200 characters")]
    Long,
    /// A character of [`FORBIDDEN`], or a joiner or selector without effect.
    #[error("must be one line without control characters or invisible characters")]
    Hidden,
}

/// Trims and validates a name.
pub fn name(text: &str) -> Result<&str, NameFault> {
    let name = text.trim_matches(is_space);
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    if text.chars().count() > NAME_MAX {
        return Err(NameFault::Long);
    }
    let mut before = Before::Space;
    for c in name.chars() {
        before = before.then(c).ok_or(NameFault::Hidden)?;
    }
    if before == Before::Joiner { Err(NameFault::Hidden) } else { Ok(name) }
}

/// Class of the previous character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Space,
    Seen,
    Joiner,
}

impl Before {
    /// Returns the class after `c`; `None` if `c` is not allowed here.
    fn then(self, c: char) -> Option<Self> {
        if within(&FORBIDDEN, c) {
            None
        } else if within(&JOINERS, c) {
            (self == Self::Seen).then_some(Self::Joiner)
        } else if within(&SELECTORS, c) {
            (self == Self::Seen).then_some(Self::Seen)
        } else if is_space(c) {
            (self != Self::Joiner).then_some(Self::Space)
        } else {
            Some(Self::Seen)
        }
    }
}

/// Returns whether a character is a space of any width (general category `Zs`).
pub fn is_space(c: char) -> bool {
    within(&SPACES, c)
}

fn within(ranges: &[(char, char)], c: char) -> bool {
    ranges.iter().any(|&(first, last)| (first..=last).contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_scripts_are_names() {
        for good in [
            "Sign-up form",
            "Müller & Söhne GmbH",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "ᠠ\u{180b} ᠠ",
            "株式会社\u{3000}例",
            "שלום עולם",
            "O\u{2019}Neil \u{2764}\u{fe0f}",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        ] {
            assert_eq!(name(good), Ok(good));
        }
        assert_eq!(name(" \u{a0}Shop\u{3000}"), Ok("Shop"));
    }

    #[test]
    fn nothing_hides_in_a_name() {
        for hidden in [
            "a\nb",
            "a\n",
            "\ta",
            "a\0",
            "a\u{7f}",
            "a\u{85}b",
            "a\u{2028}b",
            "a\u{202e}b",
            "\u{200b}",
            "a\u{200b}b",
            "a\u{feff}",
            "a\u{ad}b",
            "a\u{2066}b\u{2069}",
            "a\u{200d}",
            "\u{200c}a",
            "a \u{200d}b",
            "a\u{200d}\u{200d}b",
            "a\u{200d} b",
            "\u{fe0f}",
            "a \u{fe0f}b",
            "a\u{e0041}",
            "\u{3164}",
            "a\u{ffff}",
        ] {
            assert_eq!(name(hidden), Err(NameFault::Hidden), "{hidden:?}");
        }
    }

    #[test]
    fn names_have_an_end_and_a_beginning() {
        assert_eq!(name(""), Err(NameFault::Empty));
        assert_eq!(name(" \u{2003} "), Err(NameFault::Empty));
        assert_eq!(name(&"ä".repeat(NAME_MAX)).map(|name| name.chars().count()), Ok(NAME_MAX));
        assert_eq!(name(&"ä".repeat(NAME_MAX + 1)), Err(NameFault::Long));
    }

    /// Each character of the ranges is refused, and they include the standard library's control characters.
    #[test]
    fn the_ranges_hold_what_they_say() {
        for c in FORBIDDEN.iter().chain(&SELECTORS).chain(&JOINERS).flat_map(|&(first, last)| first..=last) {
            assert_eq!(name(&c.to_string()), Err(NameFault::Hidden), "{c:?}");
        }
        for c in '\0'..=char::MAX {
            assert!(!c.is_control() || within(&FORBIDDEN, c), "{c:?}");
            assert!(!c.is_whitespace() || within(&FORBIDDEN, c) != is_space(c), "{c:?}");
        }
    }
}
