//! API keys: `<brand>_<kind>_<secret><checksum>`.
//!
//! The secret is 32 random bytes in 43 characters of base62; the checksum is the CRC-32 of these characters in 6 more, as in
//! the tokens of GitHub. It lets a mistyped key be refused without a look-up, and lets a secret scanner tell a leaked key
//! from a text that only looks like one. Nothing about the customer is in a key.
//!
//! For secret scanners (then verify the checksum as [`check`] does):
//!
//! ```text
//! \b[a-z0-9]{1,16}_(live|rk|test|pub)_[0-9A-Za-z]{49}\b
//! ```
//!
//! Keys that were imported from elsewhere have other forms and no checksum; they are [`Checksum::Foreign`] and must be
//! looked up. So must keys of an earlier brand: no brand is preferred here, and a prefix alone never refuses a key. The one
//! loss is an imported key of exactly our form without our checksum, which is refused as mistyped.
//!
//! The checksum is no protection, because anyone can compute it. A key is protected by its 256 random bits.

/// Base62 in the order of the characters' codes, as GitHub's tokens use it.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters of the secret: 62^43 is the first power above 2^256.
const SECRET_CHARS: usize = 43;

/// Characters of the checksum: 62^6 is the first power above 2^32.
const CHECKSUM_CHARS: usize = 6;

/// The longest text that can be a key, in bytes.
pub const KEY_MAX_BYTES: usize = 255;

/// The longest brand, in bytes.
pub const BRAND_MAX_BYTES: usize = 16;

/// Minimum number of bytes of a key that stay hidden when its ends are shown.
const HIDDEN_MIN_BYTES: usize = 16;

probity_mail::named! {
    /// Permissions of a key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum KeyKind {
        /// All permissions.
        Live = "live",
        /// Permissions given by its scopes.
        Rk = "rk",
        /// All permissions, in the sandbox: no mail server is probed and no credits are spent.
        Test = "test",
        /// Verification by the widget on web pages of allowed origins. Not secret.
        Pub = "pub",
    }
}

/// Returns whether a text is a valid brand: 1 to [`BRAND_MAX_BYTES`] lower-case letters and digits.
pub fn is_brand(text: &str) -> bool {
    is_plain(text) && text.len() <= BRAND_MAX_BYTES
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Returns the text of a new key. The bytes must come from the operating system's generator. `brand` must pass [`is_brand`],
/// which the configuration validates; keys of another brand would be [`Checksum::Foreign`]: valid, but never checked.
pub fn mint(brand: &str, kind: KeyKind, secret: [u8; 32]) -> String {
    let secret: [u8; SECRET_CHARS] = base62(secret);
    let text = [&secret[..], &checksum(&secret)[..]].concat();
    let text = String::from_utf8(text).expect("base62 is ASCII");
    format!("{brand}_{}_{text}", kind.as_str())
}

/// Encodes 32 random bytes as 43 characters of base62, which need no escaping. Used in keys and in single-use links.
pub fn secret_text(secret: [u8; 32]) -> String {
    let text: [u8; SECRET_CHARS] = base62(secret);
    String::from_utf8(text.to_vec()).expect("base62 is ASCII")
}

/// Returns whether a text has the form of a [`secret_text`]. Other texts need no look-up.
pub fn is_secret_text(text: &str) -> bool {
    text.len() == SECRET_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Result of a check of a key's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Our form, and the checksum is right: look it up.
    Good,
    /// Our form with a wrong checksum, or no text that any key can have (empty, longer than [`KEY_MAX_BYTES`], or with
    /// anything but visible ASCII): no look-up will find it.
    Bad,
    /// Another form: look it up.
    Foreign,
}

/// Checks the form of a key, without a look-up.
pub fn check(text: &str) -> Checksum {
    if text.is_empty() || text.len() > KEY_MAX_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Checksum::Bad;
    }
    match own_form(text) {
        None => Checksum::Foreign,
        Some((secret, sum)) if checksum(secret) == sum => Checksum::Good,
        Some(_) => Checksum::Bad,
    }
}

/// Returns the secret and the checksum of a text in our form, whether or not the checksum is right.
fn own_form(text: &str) -> Option<(&[u8], &[u8])> {
    let (brand, rest) = text.split_once('_')?;
    let (kind, secret) = rest.split_once('_')?;
    let is_base62 =
        secret.len() == SECRET_CHARS + CHECKSUM_CHARS && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_ours = is_plain(brand) && KeyKind::from_name(kind).is_some() && is_base62;
    is_ours.then(|| secret.as_bytes().split_at(SECRET_CHARS))
}

/// Parts of a key that may be shown, so that its owner recognizes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visible<'a> {
    /// Text up to and including the second underscore (`probity_live_`); empty if the key has no such prefix.
    pub prefix: &'a str,
    /// Last four characters; empty if the key is too short to reveal them.
    pub last4: &'a str,
}

/// Returns the parts of a key that may be shown.
///
/// Imported keys can be short, and their secrets can contain underscores. So a prefix is two words of lower-case letters and
/// digits, no longer than that of our longest key, and at least 16 bytes of the key stay hidden.
pub fn visible(text: &str) -> Visible<'_> {
    let shown = |bytes: usize| text.is_ascii() && text.len() >= bytes + HIDDEN_MIN_BYTES;
    let last4 = if shown(4) { &text[text.len() - 4..] } else { "" };
    let prefix = prefix(text).filter(|prefix| shown(prefix.len() + 4)).unwrap_or("");
    Visible { prefix, last4 }
}

fn prefix(text: &str) -> Option<&str> {
    let longest = BRAND_MAX_BYTES + "_live_".len();
    let (brand, rest) = text.split_once('_')?;
    let (kind, _) = rest.split_once('_')?;
    let bytes = brand.len() + kind.len() + 2;
    (is_plain(brand) && is_plain(kind) && bytes <= longest).then(|| &text[..bytes])
}

fn checksum(secret: &[u8]) -> [u8; CHECKSUM_CHARS] {
    base62(crc32fast::hash(secret).to_be_bytes())
}

/// Encodes a number, highest byte first, in `CHARS` digits of base62. Both sizes are fixed, so every number has the same length.
fn base62<const BYTES: usize, const CHARS: usize>(mut number: [u8; BYTES]) -> [u8; CHARS] {
    let mut text = [b'0'; CHARS];
    for place in text.iter_mut().rev() {
        // Long division by 62: the remainder is the next digit from the right.
        let mut remainder = 0u16;
        for byte in &mut number {
            let dividend = remainder << 8 | u16::from(*byte);
            *byte = u8::try_from(dividend / 62).expect("the remainder was below 62");
            remainder = dividend % 62;
        }
        *place = ALPHABET[usize::from(remainder)];
    }
    text
}

/// Keys against their published form and checksum, forms that are distinguished, and the parts that may be shown.
#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A key whose secret is the bytes 0, 1, 2 ... 31.
    const KEY: &str = "probity_live_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1Yo7hP";

    fn counting() -> [u8; 32] {
        std::array::from_fn(|place| u8::try_from(place).expect("below 32"))
    }

    #[test]
    fn the_checksum_is_that_of_githubs_tokens() {
        // A published token that has been revoked, without its prefix.
        assert_eq!(&checksum(b"zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ"), b"0mLq17");
    }

    #[test]
    fn keys_have_their_published_form() {
        let cases = [
            ("probity", KeyKind::Live, counting(), KEY),
            ("a", KeyKind::Rk, [0; 32], "a_rk_00000000000000000000000000000000000000000002CZclj"),
            ("x9", KeyKind::Test, [0xff; 32], "x9_test_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp13sRzl1"),
            ("probity", KeyKind::Pub, [0xff; 32], "probity_pub_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp13sRzl1"),
        ];
        for (brand, kind, secret, text) in cases {
            assert_eq!(mint(brand, kind, secret), text);
            assert_eq!(check(text), Checksum::Good, "{text}");
            assert_eq!(text.split('_').next_back().unwrap().split_at(43).0, secret_text(secret));
            assert!(is_secret_text(&secret_text(secret)));
        }
    }

    #[test]
    fn a_secret_has_43_letters_and_digits() {
        for (text, is_secret) in [
            ("x".repeat(43), true),
            ("x".repeat(42), false),
            ("x".repeat(44), false),
            (format!("{}_", "x".repeat(42)), false),
            (format!("{}é", "x".repeat(41)), false),
            (String::new(), false),
        ] {
            assert_eq!(is_secret_text(&text), is_secret, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_a_key_is_told_from_what_may_be_an_imported_one() {
        use Checksum::{Bad, Foreign, Good};
        let swapped = KEY.replace("live", "rk");
        let cases = [
            (KEY.to_owned(), Good),
            // The checksum covers the secret alone; the look-up decides about another brand or kind.
            (swapped, Good),
            (KEY.replace("probity", "earlierbrand"), Good),
            (KEY.replace("7hP", "7hQ"), Bad),
            (KEY.replace("003a", "003b"), Bad),
            (KEY.replace("7hP", "7Ph"), Bad),
            (KEY.replace("_003a", "_00a3"), Bad),
            (KEY.to_uppercase(), Foreign),
            (KEY[..KEY.len() - 1].to_owned(), Foreign),
            (format!("{KEY}0"), Foreign),
            (KEY.replace("probity", ""), Foreign),
            (KEY.replace("probity", "Probity"), Foreign),
            (KEY.replace("probity", "pro-bity"), Foreign),
            (KEY.replace("probity", "pro_bity"), Foreign),
            (KEY.replace("live", "prod"), Foreign),
            (KEY.replace("live", ""), Foreign),
            (KEY.replace("003a", "003-"), Foreign),
            (KEY.replace("003a", "003_"), Foreign),
            ("k".to_owned(), Foreign),
            ("SG.abc-DEF.123~x/+=".to_owned(), Foreign),
            ("a".repeat(255), Foreign),
            ("a".repeat(256), Bad),
            (String::new(), Bad),
            (" ".to_owned(), Bad),
            (format!("{KEY} "), Bad),
            (format!("{KEY}\n"), Bad),
            ("sk_live_\u{7f}".to_owned(), Bad),
            ("cl\u{e9}".to_owned(), Bad),
        ];
        for (text, expected) in cases {
            assert_eq!(check(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_of_kinds_are_read_back() {
        for kind in KeyKind::ALL {
            assert_eq!(KeyKind::from_name(kind.as_str()), Some(kind));
        }
        for unknown in ["", "Live", "live ", "prod"] {
            assert_eq!(KeyKind::from_name(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn brands_are_short_words() {
        let cases = [
            ("probity", true),
            ("p", true),
            ("9mail", true),
            ("sixteencharacter", true),
            ("seventeencharacte", false),
            ("", false),
            ("Probity", false),
            ("pro_bity", false),
            ("pro-bity", false),
            ("pr\u{f6}bity", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_brand(text), expected, "{text:?}");
        }
    }

    #[test]
    fn only_the_harmless_ends_of_a_key_are_shown() {
        let cases = [
            (KEY, "probity_live_", "o7hP"),
            ("sk_test_51Habcdefghijklmnopqrst", "sk_test_", "qrst"),
            ("sixteencharacter_live_0123456789abcdefABCD", "sixteencharacter_live_", "ABCD"),
            // Underscores in the secret do not form a prefix.
            ("AIzaSyD_kq1Zr_8h2LwqNvXo3T5yUe7Rb9", "", "7Rb9"),
            ("0f3c5a9b2d7e4c1f8a6b3d5e_7f9a_1c3e5b7d9f0a2c4e", "", "2c4e"),
            ("seventeencharacte_live_0123456789abcdefABCD", "", "ABCD"),
            ("__0123456789abcdef0123456789", "", "6789"),
            ("key_0123456789abcdef0123456789", "", "6789"),
            ("0123456789abcdef0123456789", "", "6789"),
            // Short keys show only what leaves 16 bytes hidden.
            ("sk_live_0123456789abcdefABCD", "sk_live_", "ABCD"),
            ("sk_live_0123456789abcdeABCD", "", "ABCD"),
            ("0123456789abcdefABCD", "", "ABCD"),
            ("0123456789abcdeABCD", "", ""),
            ("", "", ""),
            ("cl\u{e9}_a_0123456789abcdef0123\u{e9}", "", ""),
        ];
        for (text, prefix, last4) in cases {
            assert_eq!(visible(text), Visible { prefix, last4 }, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_minted_key_is_good_and_shows_little(brand in "[a-z0-9]{1,16}", kind in 0usize..4, secret: [u8; 32]) {
            let text = mint(&brand, KeyKind::ALL[kind], secret);
            prop_assert_eq!(check(&text), Checksum::Good);
            let shown = visible(&text);
            prop_assert_eq!(shown.prefix, format!("{brand}_{}_", KeyKind::ALL[kind].as_str()));
            prop_assert_eq!(shown.last4, &text[text.len() - 4..]);
            prop_assert_eq!(text.len(), shown.prefix.len() + 49);
        }

        #[test]
        fn base62_is_positional(number: u32, secret: [u8; 32]) {
            let value = |text: &[u8]| text.iter().fold(0u64, |value, byte| {
                value * 62 + ALPHABET.iter().position(|letter| letter == byte).expect("base62") as u64
            });
            prop_assert_eq!(value(&base62::<4, 6>(number.to_be_bytes())), u64::from(number));
            // Numbers and their texts have the same order, so different secrets have different texts.
            let mut next = secret;
            next[31] ^= 1;
            prop_assert_eq!(base62::<32, 43>(secret).cmp(&base62::<32, 43>(next)), secret.cmp(&next));
        }

        #[test]
        fn one_wrong_character_is_always_noticed(secret: [u8; 32], place in 0usize..49, letter in 0usize..62) {
            // A CRC-32 detects every burst of up to 32 bits.
            let mut text = mint("probity", KeyKind::Live, secret).into_bytes();
            let at = text.len() - 49 + place;
            prop_assume!(text[at] != ALPHABET[letter]);
            text[at] = ALPHABET[letter];
            prop_assert_eq!(check(str::from_utf8(&text).expect("ASCII")), Checksum::Bad);
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "(probity_live_|[a-z]{0,3}_)?\\PC{0,60}") {
            check(&text);
            let Visible { prefix, last4 } = visible(&text);
            let shown = prefix.len() + last4.len();
            prop_assert!(text.starts_with(prefix) && text.ends_with(last4));
            prop_assert!(shown == 0 || text.len() - shown >= HIDDEN_MIN_BYTES);
        }
    }
}
