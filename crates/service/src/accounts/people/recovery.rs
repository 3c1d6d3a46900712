//! Recovery codes: each replaces one code for two-factor authentication, once.

use probity_access::people::totp::base32;

/// Number of codes per user.
pub(crate) const CODES: usize = 10;
/// Random bytes of a code. 80 bits cannot be guessed, so a keyed hash without stretching is enough.
const BYTES: usize = 10;

/// Creates a code, in groups of four characters for writing down.
pub(crate) fn new_code() -> String {
    let plain = base32(&probity_access::secrets::random::bytes::<BYTES>()).to_ascii_lowercase();
    let groups: Vec<&str> = (0..plain.len()).step_by(4).map(|at| &plain[at..at + 4]).collect();
    groups.join("-")
}

/// Normalizes a code for comparison: removes groups and case.
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
