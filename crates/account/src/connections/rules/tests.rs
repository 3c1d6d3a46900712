use proptest::prelude::*;

use super::*;

const LOCAL: KeywordParts = KeywordParts { localpart: true, domain: false, email: false };
const DOMAIN: KeywordParts = KeywordParts { localpart: false, domain: true, email: false };
const EMAIL: KeywordParts = KeywordParts { localpart: false, domain: false, email: true };

fn rule(keyword: &str, how: KeywordMatch, parts: KeywordParts) -> KeywordRule {
    KeywordRule::new(keyword, how, parts).unwrap()
}

fn names(keyword: &str, how: KeywordMatch, parts: KeywordParts, address: &str) -> bool {
    let rule = rule(keyword, how, parts);
    let judgment = RuleSet::new([(RuleKind::Blacklist, &rule)]).judge(address);
    assert_eq!(rule.matches(address), judgment.is_some(), "alone as in a set");
    judgment == Some(RuleKind::Blacklist)
}

#[test]
fn exact_keywords_equal_their_part() {
    let table = [
        ("ann", LOCAL, "ann@example.org", true),
        (" ANN ", LOCAL, "Ann@example.org", true),
        ("\u{200b}ann\u{ad}", LOCAL, "ann@example.org", true),
        ("\u{feff} example.org\u{200f}", DOMAIN, "ann@example.org", true),
        ("ann", LOCAL, "anna@example.org", false),
        ("ann", LOCAL, "bob@ann", false),
        ("ＡＮＮ", LOCAL, "ann@example.org", true),
        ("example.org", DOMAIN, "ann@EXAMPLE.org", true),
        ("example.org.", DOMAIN, "ann@example.org", true),
        ("example.org", DOMAIN, "ann@mail.example.org", false),
        ("example.org", DOMAIN, "example.org", false),
        ("münchen.de", DOMAIN, "ann@xn--mnchen-3ya.de", true),
        ("MÜNCHEN.DE", DOMAIN, "ann@münchen.de", true),
        ("xn--mnchen-3ya.de", DOMAIN, "ann@München.de", true),
        ("straße.de", DOMAIN, "ann@strasse.de", false),
        ("localhost", DOMAIN, "ann@LOCALHOST", true),
        ("ann@example.org", EMAIL, " Ann@Example.Org ", true),
        ("ann@münchen.de", EMAIL, "ANN@xn--mnchen-3ya.de", true),
        ("ann@example.org", EMAIL, "ann@example.org.uk", false),
        ("ann@example.org", DOMAIN, "ann@example.org", false),
        ("not an address", EMAIL, "Not an address", true),
        ("a@b", LOCAL, "a@b@example.org", true),
    ];
    for (keyword, parts, address, expected) in table {
        assert_eq!(names(keyword, KeywordMatch::Exact, parts, address), expected, "{keyword} {parts:?} {address}");
    }
}

#[test]
fn contained_keywords_are_anywhere_in_their_part() {
    let table = [
        ("sale", LOCAL, "Presales@example.org", true),
        ("\u{feff}sale\u{200b} ", LOCAL, "Presales@example.org", true),
        ("sale", LOCAL, "ann@sales.example", false),
        ("example", DOMAIN, "ann@mail.example.org", true),
        ("example", DOMAIN, "example@host.org", false),
        ("münch", DOMAIN, "ann@xn--mnchen-3ya.de", true),
        ("MÜNCH", DOMAIN, "ann@münchen.de", true),
        ("xn--mnchen", DOMAIN, "ann@münchen.de", true),
        (".de", DOMAIN, "ann@münchen.de", true),
        ("@example.", EMAIL, "ann@example.org", true),
        ("n@münchen", EMAIL, "ann@xn--mnchen-3ya.de", true),
        ("n@xn--mnchen", EMAIL, "ann@münchen.de", true),
        ("@example.", LOCAL, "ann@example.org", false),
        ("@example.", DOMAIN, "ann@example.org", false),
    ];
    for (keyword, parts, address, expected) in table {
        assert_eq!(names(keyword, KeywordMatch::Contains, parts, address), expected, "{keyword} {parts:?} {address}");
    }
}

#[test]
fn a_rule_for_several_parts_needs_one_of_them() {
    for address in ["ann@example.org", "bob@ann.example", "ann"] {
        assert!(names("ann", KeywordMatch::Contains, KeywordParts::ALL, address), "{address}");
    }
    assert!(names("example.org", KeywordMatch::Exact, KeywordParts::ALL, "ann@example.org"));
    assert!(!names("example.org", KeywordMatch::Exact, KeywordParts::ALL, "ann@mail.example.org"));
}

#[test]
fn a_whitelisted_contact_is_not_blacklisted() {
    let (black, white) = (rule("example.org", KeywordMatch::Exact, DOMAIN), rule("ann", KeywordMatch::Contains, LOCAL));
    let set = RuleSet::new([(RuleKind::Blacklist, &black), (RuleKind::Whitelist, &white)]);
    assert_eq!(set.judge("joanna@example.org"), Some(RuleKind::Whitelist));
    assert_eq!(set.judge("bob@example.org"), Some(RuleKind::Blacklist));
    assert_eq!(set.judge("bob@example.com"), None);
    assert_eq!(RuleSet::new([]).judge("bob@example.com"), None);
}

#[test]
fn senseless_rules_are_refused() {
    let none = KeywordParts { localpart: false, domain: false, email: false };
    let refused = |keyword: &str, parts| KeywordRule::new(keyword, KeywordMatch::Exact, parts).err();
    for blank in ["", " \t", "\u{200b}", "\u{feff} \u{ad}\u{200e}"] {
        assert_eq!(refused(blank, EMAIL), Some(KeywordFault::Empty), "{blank:?}");
    }
    assert_eq!(refused(&"x".repeat(KEYWORD_CHARS_MAX + 1), EMAIL), Some(KeywordFault::TooLong));
    assert_eq!(refused(&"ö".repeat(KEYWORD_CHARS_MAX), EMAIL), None);
    assert_eq!(refused("a\u{0}b", EMAIL), Some(KeywordFault::Control));
    assert_eq!(refused("a", none), Some(KeywordFault::NoPart));
}

#[test]
fn rules_that_match_the_same_are_the_same() {
    let one = rule("Ann@Example.org ", KeywordMatch::Exact, EMAIL);
    assert_eq!(one.identity(), rule("ann@example.ORG", KeywordMatch::Exact, EMAIL).identity());
    assert_ne!(one.identity(), rule("ann@example.org", KeywordMatch::Contains, EMAIL).identity());
    assert_ne!(one.identity(), rule("ann@example.org", KeywordMatch::Exact, KeywordParts::ALL).identity());
    let is_same = |a: &str, b: &str, how, parts| rule(a, how, parts).identity() == rule(b, how, parts).identity();
    let (exact, contains) = (KeywordMatch::Exact, KeywordMatch::Contains);
    let both = KeywordParts { localpart: false, ..KeywordParts::ALL };
    for (a, b, how, parts, expected) in [
        ("m\u{fc}nchen.de", "xn--mnchen-3ya.de", exact, DOMAIN, true),
        ("M\u{dc}NCHEN.DE.", "xn--mnchen-3ya.de", exact, DOMAIN, true),
        ("Ann@m\u{fc}nchen.de", "ann@xn--mnchen-3ya.de", exact, EMAIL, true),
        ("m\u{fc}nchen.de", "xn--mnchen-3ya.de", exact, LOCAL, false),
        ("m\u{fc}nchen.de", "xn--mnchen-3ya.de", exact, KeywordParts::ALL, false),
        ("m\u{fc}nchen.de", "xn--mnchen-3ya.de", exact, both, false),
        ("m\u{fc}nchen.de", "xn--mnchen-3ya.de", contains, DOMAIN, false),
        ("example.org", "example.org.", exact, DOMAIN, true),
        ("example.org", "example.org.", contains, DOMAIN, false),
    ] {
        assert_eq!(is_same(a, b, how, parts), expected, "{a} {b} {how:?} {parts:?}");
    }
}

#[test]
fn rules_are_stored_with_the_names_of_the_contract() {
    let stored = serde_json::to_value(rule("ann", KeywordMatch::Contains, LOCAL)).unwrap();
    let applies_to = serde_json::json!({"localpart": true, "domain": false, "email": false});
    assert_eq!(stored, serde_json::json!({"keyword": "ann", "match": "contains", "applies_to": applies_to}));
    for kind in RuleKind::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
    }
}

proptest! {
    #[test]
    fn an_address_is_named_by_itself(address in "\\PC{0,20}@\\PC{1,20}") {
        prop_assume!(!address.trim().is_empty() && !address.chars().any(char::is_control));
        let exact = rule(&address, KeywordMatch::Exact, EMAIL);
        let contained = rule(&address, KeywordMatch::Contains, EMAIL);
        prop_assert!(RuleSet::new([(RuleKind::Whitelist, &exact)]).judge(&address).is_some());
        // A keyword whose domain is mapped (such as from other digits) is contained in neither form.
        let _ = RuleSet::new([(RuleKind::Whitelist, &contained)]).judge(&address);
    }
}
