//! Outcomes of addresses outside `sandbox.test`: a stable function of the address, so that an integration can be tried with its own
//! list and gets every kind of verdict, the same each time.
//!
//! The function is public and fixed forever (`docs/sandbox.md`): the first four bytes of SHA-256 over the normalized address, as a
//! big-endian number, modulo 100. Four bytes, because a shell can compute that. Changing a share would change the outcomes of all
//! customers' tests; the table of literal addresses below would then fail.

use probity_mail::verdict::Reason;
use ring::digest::{SHA256, digest};

/// Share of all addresses, with its outcome.
struct Share {
    percent: u32,
    reason: Reason,
    meta: &'static str,
}

const fn share(percent: u32, reason: Reason, meta: &'static str) -> Share {
    Share { percent, reason, meta }
}

/// In the order of the remainders, from 0. A server would lead to the same tokens.
const SHARES: [Share; 7] = [
    share(70, Reason::Valid, ""),
    share(10, Reason::Nonexistent, "smtp_550_5.1.1"),
    share(4, Reason::InboxFull, "smtp_552_5.2.2"),
    share(3, Reason::Deactivated, "smtp_550_5.2.1"),
    share(6, Reason::AcceptAll, "catch_all"),
    share(3, Reason::FailedExchange, "blocked"),
    share(4, Reason::Unverified, "timeout"),
];

/// Outcome of a normalized address ([`probity_mail::address::Address::normalized`]), with its token.
pub fn elsewhere(normalized: &str) -> (Reason, &'static str) {
    of_remainder(remainder(normalized))
}

fn remainder(normalized: &str) -> u32 {
    let hash = digest(&SHA256, normalized.as_bytes());
    let first = hash.as_ref().first_chunk::<4>().expect("SHA-256 has 32 bytes");
    u32::from_be_bytes(*first) % 100
}

fn of_remainder(remainder: u32) -> (Reason, &'static str) {
    let mut end = 0;
    let reached = SHARES.iter().find(|share| {
        end += share.percent;
        remainder < end
    });
    let share = reached.expect("the shares add up to 100");
    (share.reason, share.meta)
}

#[cfg(test)]
mod tests {
    use super::{SHARES, elsewhere, of_remainder, remainder};

    #[test]
    fn the_shares_are_the_published_ones() {
        assert_eq!(SHARES.iter().map(|share| share.percent).sum::<u32>(), 100);
        for (first, last, reason) in [
            (0, 69, "valid"),
            (70, 79, "nonexistent"),
            (80, 83, "inbox_full"),
            (84, 86, "deactivated"),
            (87, 92, "accept_all"),
            (93, 95, "failed_exchange"),
            (96, 99, "unverified"),
        ] {
            assert_eq!(of_remainder(first).0.as_str(), reason, "{first}");
            assert_eq!(of_remainder(last).0.as_str(), reason, "{last}");
        }
    }

    /// Computed with `sha256sum`. Integrations rely on these values: they never change.
    #[test]
    fn literal_addresses_keep_their_outcome_forever() {
        for (address, number, reason, meta) in [
            ("ann.lee@acme-widgets.com", 66, "valid", ""),
            ("bob.lee@acme-widgets.com", 11, "valid", ""),
            ("\"a b\"@gmail.com", 61, "valid", ""),
            ("jürg@xn--bcher-kva.com", 12, "valid", ""),
            ("greta.lee@acme-widgets.com", 75, "nonexistent", "smtp_550_5.1.1"),
            ("mia.lee@acme-widgets.com", 70, "nonexistent", "smtp_550_5.1.1"),
            ("david.lee@acme-widgets.com", 80, "inbox_full", "smtp_552_5.2.2"),
            ("kim.lee@acme-widgets.com", 82, "inbox_full", "smtp_552_5.2.2"),
            ("rosa.lee@acme-widgets.com", 85, "deactivated", "smtp_550_5.2.1"),
            ("noah.lee@acme-widgets.com", 85, "deactivated", "smtp_550_5.2.1"),
            ("otto.lee@acme-widgets.com", 89, "accept_all", "catch_all"),
            ("sven.lee@acme-widgets.com", 90, "accept_all", "catch_all"),
            ("lena.lee@acme-widgets.com", 93, "failed_exchange", "blocked"),
            ("uma.lee@acme-widgets.com", 98, "unverified", "timeout"),
            ("hanna.berg@acme-widgets.com", 99, "unverified", "timeout"),
        ] {
            assert_eq!(remainder(address), number, "{address}");
            assert_eq!((elsewhere(address).0.as_str(), elsewhere(address).1), (reason, meta), "{address}");
        }
    }

    #[test]
    fn many_addresses_fall_as_the_shares_say() {
        let valid = (0..10_000).filter(|n| elsewhere(&format!("user{n}@example.org")).0.as_str() == "valid").count();
        assert!((6_800..7_200).contains(&valid), "{valid}");
    }
}
