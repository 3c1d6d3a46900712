//! Normal form of a mailbox, equal for all texts that name it.

use probity_mail::address::{Address, bare_address};

/// Returns a text by which submitted rows are compared and addresses erased, and the domain in A-labels. The text of an address
/// is its normal form ([`Address::normalized`]), with or without a display name. Anything else is returned behind a NUL, without
/// a domain.
pub fn normal_form(email: &str) -> (String, Box<str>) {
    // A verifier may accept special-use names as ordinary ones: those of the sandbox or of a private network. All spellings of such
    // an address are one mailbox, too.
    match Address::read(bare_address(email)) {
        Ok(address) => (address.normalized(), address.domain().ascii().into()),
        Err(_) => (format!("\0{}", email.trim_ascii()), Box::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_before_an_address_makes_no_other_mailbox() {
        let plain = normal_form("ann@example.com");
        for entry in [
            "Ann <ann@example.com>",
            "\"Lee, Ann\" <ANN@Example.com>",
            " <ann@example.com> ;",
            "\u{feff}ann@example.com\u{a0}",
        ] {
            assert_eq!(normal_form(entry), plain, "{entry}");
        }
        assert_eq!(normal_form("Ann <ann@sandbox.test>"), normal_form("ann@sandbox.test"));
        let spellings = ["ann@stra\u{df}e.example", "\"ann\"@xn--strae-oqa.example", "Ann <ANN@STRA\u{df}E.example>"];
        assert!(spellings.iter().all(|text| normal_form(text) == normal_form("ann@xn--strae-oqa.example")));
        for text in ["ann@example.com, bob@example.com", " <<<>>> "] {
            assert_eq!(normal_form(text), (format!("\0{}", text.trim()), "".into()));
        }
    }
}
