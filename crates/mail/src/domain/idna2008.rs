//! What IDNA 2008 allows in a label: the derived property of RFC 5892 and the contextual rules of its appendix A.
//!
//! Labels come here after UTS 46, which has mapped or refused whatever is unstable under case folding and NFKC, unassigned
//! or ignorable, has checked the joiners (appendix A.1 and A.2), a leading mark and hyphens. Left to refuse are symbols,
//! punctuation, old Hangul letters, the exceptions of section 2.6, and characters out of their context.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// Whether every character of a U-label may stand where it stands.
pub(super) fn allows(label: &str) -> bool {
    let characters: Vec<char> = label.chars().collect();
    (0..characters.len()).all(|at| is_allowed(&characters, at))
}

/// The order of the cases is that of RFC 5892 §3.
fn is_allowed(label: &[char], at: usize) -> bool {
    let character = label[at];
    if needs_context(character) {
        return fits_context(label, at);
    }
    is_exception(character)
        || is_join_control(character)
        || (!is_disallowed(character) && is_letter_or_digit(character))
}

/// RFC 5892 §2.6, PVALID although the categories say otherwise, and the hyphen.
fn is_exception(character: char) -> bool {
    matches!(character, '-' | '\u{df}' | '\u{3c2}' | '\u{6fd}' | '\u{6fe}' | '\u{f0b}' | '\u{3007}')
}

/// RFC 5892 §2.8. The mapping has applied appendix A.1 and A.2 to them.
fn is_join_control(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}')
}

/// RFC 5892 §2.6, CONTEXTO.
fn needs_context(character: char) -> bool {
    matches!(character,
        '\u{b7}' | '\u{375}' | '\u{5f3}' | '\u{5f4}' | '\u{30fb}' | '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}')
}

/// Letters and marks that are no part of names all the same.
fn is_disallowed(character: char) -> bool {
    let exception =
        matches!(character, '\u{640}' | '\u{7fa}' | '\u{302e}' | '\u{302f}' | '\u{3031}'..='\u{3035}' | '\u{303b}');
    // RFC 5892 §2.9: the conjoining letters of old Hangul.
    let old_hangul = matches!(character,
        '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{d7b0}'..='\u{d7fb}');
    // RFC 5892 §2.4: the blocks of combining marks for symbols and of musical notation.
    let ignorable_block = matches!(character, '\u{20d0}'..='\u{20ff}' | '\u{1d100}'..='\u{1d24f}');
    exception || old_hangul || ignorable_block
}

/// RFC 5892 §2.1.
pub(crate) fn is_letter_or_digit(character: char) -> bool {
    matches!(
        character.general_category(),
        GeneralCategory::LowercaseLetter
            | GeneralCategory::UppercaseLetter
            | GeneralCategory::OtherLetter
            | GeneralCategory::DecimalNumber
            | GeneralCategory::ModifierLetter
            | GeneralCategory::NonspacingMark
            | GeneralCategory::SpacingMark
    )
}

/// RFC 5892 appendix A.3 to A.9.
fn fits_context(label: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| label[before]);
    let after = label.get(at + 1);
    match label[at] {
        // A.3: the middle dot stands between two l (Catalan).
        '\u{b7}' => before == Some('l') && after == Some(&'l'),
        // A.4: the keraia stands before Greek.
        '\u{375}' => after.is_some_and(|next| next.script() == Script::Greek),
        // A.5 and A.6: geresh and gershayim stand behind Hebrew.
        '\u{5f3}' | '\u{5f4}' => before.is_some_and(|last| last.script() == Script::Hebrew),
        // A.7: the katakana middle dot stands in a label with Japanese letters.
        '\u{30fb}' => {
            label.iter().any(|other| matches!(other.script(), Script::Hiragana | Script::Katakana | Script::Han))
        }
        // A.8 and A.9: the two sets of Arabic digits are not mixed.
        '\u{660}'..='\u{669}' => !label.iter().any(|other| matches!(other, '\u{6f0}'..='\u{6f9}')),
        _ => !label.iter().any(|other| matches!(other, '\u{660}'..='\u{669}')),
    }
}
