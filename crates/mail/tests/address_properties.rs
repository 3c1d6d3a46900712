//! What holds for every text whatsoever: nothing that parses can break out of its SMTP command, and its wire form means
//! the same address.

use probity_mail::address::{Address, MAX_PATH_BYTES, bare_address};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Addresses of every shape, from which mutations start.
const SEEDS: &[&str] = &[
    "anna@firma.com",
    "anna.maria+news@post.firma-nord.de",
    "\"anna maria\"@firma.com",
    "\"a\\\"b\\\\c\"@firma.com",
    "\"\"@firma.com",
    "jo\u{308}rg@mu\u{308}nchen.de",
    "\"\u{592a}\u{90ce} x\"@\u{5c71}\u{7530}.jp",
    "a\u{37e}\u{fb2c}@xn--mnchen-3ya.de",
    "anna@\u{5d0}\u{5d1}.com",
    "anna@\u{915}\u{94d}\u{200d}\u{937}.in",
    "anna@\u{915}.d\u{94d}\u{200d}.in",
    "anna@[192.0.2.7]",
    "<@relay.com:anna@firma.com>",
];

/// Pieces that mean something to a parser of addresses, of headers or of SMTP.
const PIECES: &[&str] = &[
    "\r\n",
    "\n",
    "\r",
    "\0",
    "\t",
    "\u{7f}",
    "\u{85}",
    " ",
    "@",
    ".",
    "..",
    "\"",
    "\\",
    "<",
    ">",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    ";",
    "-",
    "--",
    "_",
    "xn--",
    "a",
    "Z",
    "0",
    "\u{e9}",
    "\u{308}",
    "\u{338}",
    "\u{37e}",
    "\u{fb2c}",
    "\u{200b}",
    "\u{200d}",
    "\u{202e}",
    "\u{3002}",
    "\u{ff0e}",
    "\u{ff20}",
    "\u{5d0}",
    "\u{661}",
    "\u{1f600}",
    "\u{e000}",
    "\u{a0}",
    "\u{ffff}",
    "\u{b7}",
    ".com",
    "@firma.com",
    ">\r\nDATA\r\n",
];

/// One edit: where, how many characters go, and what comes instead.
type Edit = (Index, usize, &'static str);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<Index>(), 0..3_usize, select(PIECES)), 0..5)
}

fn mutated(seed: &str, edits: &[Edit]) -> String {
    let mut text: Vec<char> = seed.chars().collect();
    for (place, removed, inserted) in edits {
        let from = place.index(text.len() + 1);
        let to = text.len().min(from + removed);
        text.splice(from..to, inserted.chars());
    }
    text.into_iter().collect()
}

fn path(address: &Address) -> Vec<u8> {
    let mut path = Vec::new();
    address.write_path(&mut path);
    path
}

/// Whether a byte that ends or splits a command's argument stands outside quotes.
fn breaks_out(path: &[u8]) -> bool {
    let (mut quoted, mut escaped) = (false, false);
    for &byte in path {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'<' | b'>' | b' ' | b'(' | b',' if !quoted => return true,
            _ => {}
        }
    }
    quoted || escaped
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let address = match Address::parse(text) {
        Ok(address) => address,
        Err(error) => {
            prop_assert!(text.is_char_boundary(error.at), "{error} is inside a character");
            return Ok(());
        }
    };
    prop_assert_eq!(&Address::parse(bare_address(text)), &Ok(address.clone()), "{}", bare_address(text));
    let path = path(&address);
    prop_assert!(path.iter().all(|byte| !byte.is_ascii_control()), "{path:?}");
    prop_assert!(!breaks_out(&path), "{path:?}");
    prop_assert!(path.len() <= MAX_PATH_BYTES);
    prop_assert_eq!(path.is_ascii(), !address.needs_smtputf8());
    let path = String::from_utf8(path).expect("a path is UTF-8");
    prop_assert_eq!(&Address::parse(&path), &Ok(address.clone()), "{}", path);
    prop_assert_eq!(&address.with_local(address.local()), &Ok(address.clone()));
    prop_assert!(!address.normalized().contains(char::is_control));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_safely(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_local_part_is_read_safely(local in any::<String>(), quoted in any::<bool>()) {
        check(&if quoted { format!("\"{local}\"@firma.com") } else { format!("{local}@firma.com") })?;
    }

    #[test]
    fn any_domain_is_read_safely(domain in any::<String>()) {
        check(&format!("anna@{domain}"))?;
        check(&format!("anna@{domain}.com"))?;
    }

    #[test]
    fn mutated_addresses_are_read_safely(seed in select(SEEDS), edits in edits()) {
        check(&mutated(seed, &edits))?;
    }

    #[test]
    fn any_other_local_part_is_written_safely(local in any::<String>(), edits in edits()) {
        let address = Address::parse("anna@firma.com").expect("an address");
        for local in [local, mutated("anna maria", &edits)] {
            if let Ok(other) = address.with_local(&local) {
                check(&String::from_utf8(path(&other)).expect("a path is UTF-8"))?;
            }
        }
    }

    #[test]
    fn case_and_needless_quotes_do_not_change_the_key(local in "[a-z0-9]{1,20}", name in "[a-z]{1,20}") {
        let key = format!("{local}@{name}.com");
        for text in [key.clone(), key.to_uppercase(), format!("\"{}\"@{name}.COM", local.to_uppercase())] {
            prop_assert_eq!(Address::parse(&text).expect("an address").normalized(), key.clone());
        }
    }
}

/// The properties are about addresses, so some mutations must still be addresses.
#[test]
fn the_seeds_are_addresses() {
    let read = SEEDS.iter().filter(|seed| Address::parse(seed).is_ok()).count();
    assert_eq!(read, SEEDS.len() - 2, "all but the literal and the source route");
}
