//! Codes of recovery: each takes the place of a code of the second factor, once.

use probity_service::people::totp::base32;

/// How many a person gets.
pub(crate) const CODES: usize = 10;
/// Random bytes of one: with 80 bits nobody guesses, and a keyed hash without stretching is enough.
const BYTES: usize = 10;

/// A new code, in groups of four for people who write it down.
pub(crate) fn new_code() -> String {
    let plain = base32(&probity_service::random::bytes::<BYTES>()).to_ascii_lowercase();
    let groups: Vec<&str> = (0..plain.len()).step_by(4).map(|at| &plain[at..at + 4]).collect();
    groups.join("-")
}

/// A code as it is compared: without its groups and its case.
pub(crate) fn plain(given: &str) -> String {
    given.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_however_they_are_typed() {
        let code = new_code();
        assert_eq!(code.len(), 19, "{code}");
        assert_ne!(code, new_code());
        let typed = code.to_uppercase().replace('-', " ");
        assert_eq!(plain(&typed), plain(&code));
        assert_eq!(plain(&code).len(), 16);
    }
}
