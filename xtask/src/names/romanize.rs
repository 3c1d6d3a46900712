//! Names in Latin letters without accents, as people write them in addresses.

use unicode_normalization::UnicodeNormalization as _;

/// Returns the usual spellings of a name: none for a script without a letter-by-letter spelling, two if umlauts are written out.
pub(crate) fn latin(name: &str) -> Vec<String> {
    let lower = name.trim().to_lowercase();
    let mut spellings = Vec::new();
    for written_out in [false, true] {
        let Some(spelt) = spell(&lower, written_out) else {
            continue;
        };
        for word in spelt.split([' ', '\'', '’', 'ʻ', 'ʼ', '`', '-', '.']) {
            if word.len() >= 2 && !spellings.iter().any(|s| s == word) {
                spellings.push(word.to_owned());
            }
        }
    }
    spellings
}

fn spell(name: &str, written_out: bool) -> Option<String> {
    let mut spelt = String::new();
    for c in name.chars() {
        match c {
            'ä' if written_out => spelt.push_str("ae"),
            'ö' | 'ø' if written_out => spelt.push_str("oe"),
            'ü' if written_out => spelt.push_str("ue"),
            'å' if written_out => spelt.push_str("aa"),
            c => spell_one(c, &mut spelt)?,
        }
    }
    Some(spelt)
}

fn spell_one(c: char, spelt: &mut String) -> Option<()> {
    if let Some(letters) = letter(c) {
        spelt.push_str(letters);
        return Some(());
    }
    for part in std::iter::once(c).nfd() {
        if unicode_normalization::char::is_combining_mark(part) {
            continue;
        }
        match letter(part) {
            Some(letters) => spelt.push_str(letters),
            None if part.is_ascii_lowercase() || " '-.".contains(part) => spelt.push(part),
            None if "’ʻʼ`".contains(part) => spelt.push('\''),
            None => return None,
        }
    }
    Some(())
}

/// Maps letters that no decomposition makes Latin: Cyrillic, Greek, Georgian, Armenian, and some Latin ones.
fn letter(c: char) -> Option<&'static str> {
    LETTERS.iter().find(|(from, _)| *from == c).map(|(_, to)| *to)
}

#[rustfmt::skip]
const LETTERS: [(char, &str); 158] = [
    ('ł', "l"), ('đ', "d"), ('ð', "d"), ('ø', "o"), ('œ', "oe"), ('ß', "ss"), ('æ', "ae"), ('ı', "i"), ('þ', "th"),
    ('ħ', "h"), ('ŋ', "n"), ('ə', "e"), ('ɖ', "d"), ('ɛ', "e"), ('ɔ', "o"), ('ɓ', "b"), ('ɗ', "d"), ('ƙ', "k"), ('ƴ', "y"),
    ('а', "a"), ('б', "b"), ('в', "v"), ('г', "g"), ('ґ', "g"), ('д', "d"), ('е', "e"), ('ё', "yo"), ('є', "ye"), ('ж', "zh"),
    ('з', "z"), ('и', "i"), ('і', "i"), ('ї', "yi"), ('й', "y"), ('к', "k"), ('л', "l"), ('м', "m"), ('н', "n"), ('о', "o"),
    ('п', "p"), ('р', "r"), ('с', "s"), ('т', "t"), ('у', "u"), ('ф', "f"), ('х', "kh"), ('ц', "ts"), ('ч', "ch"), ('ш', "sh"),
    ('щ', "shch"), ('ъ', "a"), ('ы', "y"), ('ь', ""), ('э', "e"), ('ю', "yu"), ('я', "ya"), ('ј', "j"), ('љ', "lj"), ('њ', "nj"),
    ('ќ', "kj"), ('ѓ', "gj"), ('џ', "dz"), ('ѕ', "dz"), ('ђ', "dj"), ('ћ', "c"),
    ('α', "a"), ('β', "v"), ('γ', "g"), ('δ', "d"), ('ε', "e"), ('ζ', "z"), ('η', "i"), ('θ', "th"), ('ι', "i"), ('κ', "k"),
    ('λ', "l"), ('μ', "m"), ('ν', "n"), ('ξ', "x"), ('ο', "o"), ('π', "p"), ('ρ', "r"), ('σ', "s"), ('ς', "s"), ('τ', "t"),
    ('υ', "y"), ('φ', "f"), ('χ', "ch"), ('ψ', "ps"), ('ω', "o"),
    ('ა', "a"), ('ბ', "b"), ('გ', "g"), ('დ', "d"), ('ე', "e"), ('ვ', "v"), ('ზ', "z"), ('თ', "t"), ('ი', "i"), ('კ', "k"),
    ('ლ', "l"), ('მ', "m"), ('ნ', "n"), ('ო', "o"), ('პ', "p"), ('ჟ', "zh"), ('რ', "r"), ('ს', "s"), ('ტ', "t"), ('უ', "u"),
    ('ფ', "p"), ('ქ', "k"), ('ღ', "gh"), ('ყ', "q"), ('შ', "sh"), ('ჩ', "ch"), ('ც', "ts"), ('ძ', "dz"), ('წ', "ts"),
    ('ჭ', "ch"), ('ხ', "kh"), ('ჯ', "j"), ('ჰ', "h"),
    ('ա', "a"), ('բ', "b"), ('գ', "g"), ('դ', "d"), ('ե', "e"), ('զ', "z"), ('է', "e"), ('ը', "y"), ('թ', "t"), ('ժ', "zh"),
    ('ի', "i"), ('լ', "l"), ('խ', "kh"), ('ծ', "ts"), ('կ', "k"), ('հ', "h"), ('ձ', "dz"), ('ղ', "gh"), ('ճ', "ch"), ('մ', "m"),
    ('յ', "y"), ('ն', "n"), ('շ', "sh"), ('ո', "o"), ('չ', "ch"), ('պ', "p"), ('ջ', "j"), ('ռ', "r"), ('ս', "s"), ('վ', "v"),
    ('տ', "t"), ('ր', "r"), ('ց', "ts"), ('ւ', "u"), ('փ', "p"),
];
