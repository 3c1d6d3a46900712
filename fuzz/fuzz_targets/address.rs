//! No text makes the parser panic, and what parses can neither break out of its SMTP command nor change its meaning.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run address`; `corpus/address` holds one seed of each kind.

#![no_main]

use libfuzzer_sys::fuzz_target;
use probity_mail::address::{Address, MAX_PATH_BYTES, bare_address};
use probity_mail::domain::{Domain, SpecialUse};

fuzz_target!(|text: &str| {
    // Special-use names are let through, so that they are read to their end.
    let special = SpecialUse::allow(["test", "local", "arpa"]);
    if let Ok(domain) = Domain::parse_with(text, &special) {
        assert_eq!(
            Domain::parse_with(domain.ascii(), &special).as_ref(),
            Ok(&domain)
        );
        assert!(domain.ascii().ends_with(domain.registrable()));
    }
    let bare = bare_address(text);
    assert!(text.contains(bare));
    match Address::parse_with(text, &special) {
        Ok(address) => {
            assert_eq!(Address::parse_with(bare, &special).as_ref(), Ok(&address));
            check(&address, &special);
        }
        Err(error) => assert!(text.is_char_boundary(error.at)),
    }
});

fn check(address: &Address, special: &SpecialUse) {
    let mut path = Vec::new();
    address.write_path(&mut path);
    assert!(path.len() <= MAX_PATH_BYTES);
    assert!(path.iter().all(|byte| !byte.is_ascii_control()));
    assert_eq!(path.is_ascii(), !address.needs_smtputf8());
    let path = String::from_utf8(path).expect("a path is UTF-8");
    assert_eq!(Address::parse_with(&path, special).as_ref(), Ok(address));
    assert_eq!(address.with_local(address.local()).as_ref(), Ok(address));
    assert!(!address.normalized().contains(char::is_control));
}
