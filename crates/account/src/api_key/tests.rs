//! Keys against their published form and checksum, what is told from what, and that no more of a key is shown than its ends.
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
    }
}

#[test]
fn what_cannot_be_a_key_is_told_from_what_may_be_an_imported_one() {
    use Checksum::{Bad, Foreign, Good};
    let swapped = KEY.replace("live", "rk");
    let cases = [
        (KEY.to_owned(), Good),
        // The checksum is of the secret alone: a brand or kind of another day is found or not found by the look-up.
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
        // Underscores in the secret make no prefix.
        ("AIzaSyD_kq1Zr_8h2LwqNvXo3T5yUe7Rb9", "", "7Rb9"),
        ("0f3c5a9b2d7e4c1f8a6b3d5e_7f9a_1c3e5b7d9f0a2c4e", "", "2c4e"),
        ("seventeencharacte_live_0123456789abcdefABCD", "", "ABCD"),
        ("__0123456789abcdef0123456789", "", "6789"),
        ("key_0123456789abcdef0123456789", "", "6789"),
        ("0123456789abcdef0123456789", "", "6789"),
        // Short keys show as much as leaves 16 bytes.
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
        // The order of numbers is that of their texts, so different secrets have different texts.
        let mut next = secret;
        next[31] ^= 1;
        prop_assert_eq!(base62::<32, 43>(secret).cmp(&base62::<32, 43>(next)), secret.cmp(&next));
    }

    #[test]
    fn one_wrong_character_is_always_noticed(secret: [u8; 32], place in 0usize..49, letter in 0usize..62) {
        // A CRC-32 notices every burst of up to 32 bits.
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
