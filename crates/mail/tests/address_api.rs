//! What callers do with an address and a domain once they have it.

use probity_mail::address::{Address, AddressReason};
use probity_mail::domain::{Domain, SpecialUse, public_top_level};

fn address(text: &str) -> Address {
    Address::parse(text).expect("an address")
}

fn path(address: &Address) -> String {
    let mut path = Vec::new();
    address.write_path(&mut path);
    String::from_utf8(path).expect("a path is UTF-8")
}

#[test]
fn parts_are_decoded() {
    let quoted = address("\"a\\\"b\"@M\u{fc}nchen.de");
    assert_eq!(quoted.local(), "a\"b");
    assert_eq!(quoted.domain().ascii(), "xn--mnchen-3ya.de");
    assert_eq!(quoted.domain().unicode(), "m\u{fc}nchen.de");
    assert!(!quoted.needs_smtputf8());
    assert!(address("j\u{f6}rg@firma.com").needs_smtputf8());
}

#[test]
fn public_top_level_domains_are_told_from_private_ones() {
    for (name, top_level) in [
        ("example.com", Some("com")),
        ("a.b.example.co.uk", Some("uk")),
        ("blog.github.io", Some("io")),
        ("x.xn--p1ai", Some("xn--p1ai")),
        ("sandbox.test", None),
        ("mail.corp", None),
        ("", None),
    ] {
        assert_eq!(public_top_level(name), top_level, "{name}");
    }
}

#[test]
fn both_forms_of_a_name_are_equal() {
    assert_eq!(address("anna@m\u{fc}nchen.de"), address("anna@XN--mnchen-3ya.DE"));
    assert_eq!(address("\"anna\"@firma.com"), address("anna@firma.com"));
    assert_ne!(address("Anna@firma.com"), address("anna@firma.com"));
}

#[test]
fn debug_does_not_show_the_local_part() {
    let shown = format!("{:?}", address("very.secret@firma.com"));
    assert_eq!(shown, "Address(11 bytes @ firma.com)");
}

#[test]
fn the_key_folds_case_form_and_quotes() {
    let key = "j\u{f6}rg m@firma.com".replace("j\u{f6}rg m", "\"j\u{f6}rg m\"");
    for text in ["\"J\u{d6}RG M\"@FIRMA.com", "\"jo\u{308}rg\\ m\"@firma.com"] {
        assert_eq!(address(text).normalized(), key);
    }
    // The local part is 63 octets as typed and 126 in NFC: it stays as typed on the wire, and the key is still in NFC.
    let long = address(&format!("{}@firma.com", "\u{fb2c}".repeat(21)));
    assert_eq!(long.local().len(), 63);
    assert!(long.normalized().starts_with("\u{5e9}\u{5bc}\u{5c1}"));
}

#[test]
fn another_local_part_obeys_the_same_rules() {
    let anna = address("anna@firma.com");
    assert_eq!(path(&anna.with_local("maria").expect("a local part")), "maria@firma.com");
    assert_eq!(path(&anna.with_local("a b\"").expect("a local part")), "\"a b\\\"\"@firma.com");
    assert_eq!(path(&anna.with_local(".x").expect("a local part")), "\".x\"@firma.com");
    for (local, reason, at) in [
        ("a\r\nb", AddressReason::ControlCharacter, 1),
        ("a\0", AddressReason::ControlCharacter, 1),
        ("a\u{200b}", AddressReason::FormatCharacter, 1),
        ("\u{301}a", AddressReason::LeadingCombiningMark, 0),
        (&"a".repeat(65), AddressReason::LocalTooLong, 0),
        (&format!("{} ", "a".repeat(62)), AddressReason::LocalTooLong, 0),
    ] {
        let error = anna.with_local(local).expect_err(local);
        assert_eq!((error.reason, error.at), (reason, at), "{local:?}");
    }
    let long = address(&format!("a@{}.com", ["b"; 3].map(|c| c.repeat(60)).join(".")));
    let error = long.with_local(&"a".repeat(64)).map(|_| ());
    assert_eq!(error, Ok(()), "64 + 1 + 186 octets");
    let long = address(&format!("a@{}.info", ["b"; 3].map(|c| c.repeat(62)).join(".")));
    let error = long.with_local(&"a".repeat(64)).expect_err("64 + 1 + 193 octets");
    assert_eq!(error.reason, AddressReason::PathTooLong);
}

#[test]
fn errors_say_what_and_where() {
    let error = Address::parse("an na@firma.com").expect_err("a space");
    assert_eq!(error.to_string(), "A space cannot stand here (at byte 2)");
}

#[test]
fn tokens_are_distinct_and_snake_case() {
    use AddressReason as R;
    let all = [
        R::NoAt,
        R::EmptyLocal,
        R::EmptyDomain,
        R::MultipleAt,
        R::OuterWhitespace,
        R::ControlCharacter,
        R::Whitespace,
        R::UnicodeSpace,
        R::Comment,
        R::DisplayName,
        R::SourceRoute,
        R::BadLocalCharacter,
        R::DotMisplaced,
        R::BadQuotedPair,
        R::UnterminatedQuote,
        R::JunkAfterQuote,
        R::QuoteInside,
        R::FormatCharacter,
        R::PrivateUseCharacter,
        R::UnassignedCharacter,
        R::LeadingCombiningMark,
        R::LocalTooLong,
        R::PathTooLong,
        R::BadDomainCharacter,
        R::EmptyLabel,
        R::TrailingDot,
        R::LabelHyphen,
        R::LabelTooLong,
        R::DomainTooLong,
        R::IdnaDisallowed,
        R::Bidi,
        R::BadAddressLiteral,
        R::AddressLiteral,
        R::SingleLabel,
        R::SpecialUse,
        R::OneCharacterTld,
        R::NumericTld,
    ];
    let mut tokens: Vec<&str> = all.iter().map(|reason| reason.as_str()).collect();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), all.len());
    assert!(tokens.iter().all(|token| token.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')));
}

#[test]
fn special_use_names_can_be_allowed_by_suffix() {
    let sandbox = SpecialUse::allow([".Sandbox.TEST.", "intranet", ""]);
    for allowed in ["a@sandbox.test", "a@x.sandbox.test", "a@intranet", "a@mail.intranet", "a@firma.com"] {
        assert!(Address::parse_with(allowed, &sandbox).is_ok(), "{allowed}");
    }
    for refused in ["a@test.test", "a@notsandbox.test", "a@firma.local", "a@test"] {
        let error = Address::parse_with(refused, &sandbox).expect_err(refused);
        assert!(error.reason.is_policy());
    }
    assert!(!sandbox.refuses("sandbox.test"));
    assert!(SpecialUse::none_allowed().refuses("sandbox.test"));
    assert_eq!(SpecialUse::none_allowed(), SpecialUse::default());
}

#[test]
fn domains_know_what_was_registered() {
    for (text, registrable) in [
        ("firma.de", "firma.de"),
        ("a.b.Firma.co.uk", "firma.co.uk"),
        ("co.uk", "co.uk"),
        ("post.b\u{fc}cher.de", "xn--bcher-kva.de"),
        ("a.\u{98df}\u{72ee}.\u{516c}\u{53f8}.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("a.firma.unknowntld", "firma.unknowntld"),
    ] {
        assert_eq!(Domain::parse(text).expect(text).registrable(), registrable);
    }
}

#[test]
fn domains_are_read_alone_as_within_addresses() {
    assert_eq!(Domain::parse("fir ma.de").map_err(|error| error.at), Err(3));
    assert_eq!(Domain::parse("").map_err(|error| error.reason), Err(AddressReason::EmptyDomain));
    let special = SpecialUse::allow(["onion"]);
    assert_eq!(Domain::parse_with("a.onion", &special).expect("allowed").ascii(), "a.onion");
    assert_eq!(Domain::parse("a.onion").map_err(|error| error.reason), Err(AddressReason::SpecialUse));
}
