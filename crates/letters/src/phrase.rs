//! Texts in all languages, with places for values.

use probity_account::language::PageLanguage;

use crate::written::number;

/// A text in English, German, French and Spanish: the order of [`PageLanguage`].
pub(crate) type Wording = [&'static str; PageLanguage::ALL.len()];

/// Returns the text in a language.
pub(crate) fn text(language: PageLanguage, phrase: Wording) -> &'static str {
    phrase[language as usize]
}

/// Returns the text with its `{names}` filled in. Values are one line each: no name forges another line.
pub(crate) fn filled(language: PageLanguage, phrase: Wording, values: &[(&str, &str)]) -> String {
    let mut rest = text(language, phrase);
    let mut whole = String::with_capacity(rest.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        whole.push_str(before);
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            whole.push_str(&line(value));
        }
        rest = after;
    }
    whole + rest
}

/// Returns a value as one line.
pub(crate) fn line(value: &str) -> String {
    let mut words = String::with_capacity(value.len());
    for char in value.chars() {
        words.push(if breaks_or_turns(char) { ' ' } else { char });
    }
    words
}

/// Returns whether a character ends a line, or changes the direction of the text that follows the value.
fn breaks_or_turns(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text that depends on a number, its `{n}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// For one thing; in French also for none.
    pub(crate) one: Wording,
    pub(crate) other: Wording,
    /// Before what is counted, French and Spanish put this word after whole millions: `1 000 000 de contacts`.
    pub(crate) of: Wording,
}

/// The word that follows whole millions.
pub(crate) const OF: Wording = ["", "", "de ", "de "];
/// The same where the French word for what is counted begins with a vowel.
pub(crate) const OF_VOWEL: Wording = ["", "", "d’", "de "];

/// Returns the text for a number, which it contains as the language writes it.
pub(crate) fn counted(language: PageLanguage, phrase: Counted, n: i64, values: &[(&str, &str)]) -> String {
    let is_one = n == 1 || (n == 0 && language == PageLanguage::Fr);
    let form = if is_one { phrase.one } else { phrase.other };
    let is_many = n != 0 && n % 1_000_000 == 0;
    let of = if is_many { text(language, phrase.of) } else { "" };
    let mut all = vec![("n", number(language, n)), ("of", of.to_owned())];
    all.extend(values.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let all: Vec<(&str, &str)> = all.iter().map(|(name, value)| (*name, value.as_str())).collect();
    filled(language, form, &all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_once_and_are_one_line() {
        let phrase = ["{a} and {b}", "{a} und {b}", "{a} et {b}", "{a} y {b}"];
        let said = |language| filled(language, phrase, &[("a", "{b}\r\nBcc: x"), ("b", "2")]);
        assert_eq!(said(PageLanguage::En), "{b}  Bcc: x and 2");
        assert_eq!(said(PageLanguage::De), "{b}  Bcc: x und 2");
        assert_eq!(line("a\u{2028}b\u{2029}c\u{202a}d\u{202e}e\u{2066}f\u{2069}g\u{202f}h"), "a b c d e f g\u{202f}h");
    }

    #[test]
    fn numbers_choose_the_form_of_their_language() {
        let phrase = Counted {
            one: ["{n} contact", "{n} Kontakt", "{n} {of}contact", "{n} {of}contacto"],
            other: ["{n} contacts", "{n} Kontakte", "{n} {of}contacts", "{n} {of}contactos"],
            of: OF,
        };
        let said = |n| PageLanguage::ALL.map(|language| counted(language, phrase, n, &[]));
        assert_eq!(said(0), ["0 contacts", "0 Kontakte", "0 contact", "0 contactos"]);
        assert_eq!(said(1), ["1 contact", "1 Kontakt", "1 contact", "1 contacto"]);
        assert_eq!(said(2), ["2 contacts", "2 Kontakte", "2 contacts", "2 contactos"]);
        assert_eq!(said(2_000_000)[2..], ["2\u{202f}000\u{202f}000 de contacts", "2.000.000 de contactos"]);
        let actions = counted(PageLanguage::Fr, crate::words::ACTIONS_WAIT, 1_000_000, &[]);
        assert_eq!(actions, "1\u{202f}000\u{202f}000 d’actions attendent votre accord");
    }
}
