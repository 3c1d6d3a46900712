//! Reads outcomes of mail from what mail servers write: Postfix logs, bounce messages and complaints, in files and mailboxes.
//!
//! ```text
//! line of a log          -> postfix   final attempts of the SMTP client
//! mailbox (mbox)         -> mailbox   messages
//! message                -> message   reports (RFC 3464, RFC 5965), else words
//! bounce without report  -> words     addresses, and the text below each
//! ```
//!
//! Nothing is guessed: a text that names no recipient, or is not final, has no outcome. Whether a bounce is hard is decided by the
//! rules for SMTP replies ([`probity_mail::bounce`]).

pub mod mailbox;
pub mod message;
pub mod postfix;
mod words;

use probity_account::outcome::OutcomeClass;
use probity_mail::bounce::{self, BounceText};
use probity_mail::classify::Rules;

pub use crate::outcomes::FoundOutcome;
use crate::submission::ADDRESS_MAX_BYTES;

/// Longest beginning of a message that is read, in bytes. Reports are at the beginning, the returned message behind them.
pub const MESSAGE_MAX_BYTES: usize = 1 << 20;
/// Most recipients that one message reports about.
const RECIPIENTS_MAX: usize = 1_000;

/// Class of a bounce with this text, and this enhanced code beside it. If mail to the recipient went on to another address, the
/// bounce is about that one.
fn class_of_bounce(recipient: &str, last: Option<&str>, text: &str, status: Option<&str>) -> OutcomeClass {
    let reading = bounce::read(Rules::embedded(), &BounceText { text, status, recipient });
    if reading.is_hard && last.is_none_or(|last| last.eq_ignore_ascii_case(recipient)) {
        OutcomeClass::HardBounce
    } else {
        OutcomeClass::SoftBounce
    }
}

/// The address in a text such as `<ann@example.org>:`; `None` if there is something else.
fn address(text: &str) -> Option<&str> {
    let text = text.trim().trim_end_matches(':');
    let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap_or(text);
    let (local, domain) = inner.rsplit_once('@')?;
    let is_plain = |c: char| !c.is_whitespace() && !"<>()[],;:\"".contains(c);
    let fits = inner.len() <= ADDRESS_MAX_BYTES
        && !local.is_empty()
        && domain.contains('.')
        && inner.chars().all(is_plain)
        && !local.contains('@');
    fits.then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounce_of_another_mailbox_is_soft() {
        let class = |last| class_of_bounce("team@example.org", last, "550 5.1.1 User unknown", None);
        assert_eq!(class(Some("bob@example.org")), OutcomeClass::SoftBounce);
        assert_eq!(class(Some("Team@example.org")), OutcomeClass::HardBounce);
        assert_eq!(class(None), OutcomeClass::HardBounce);
    }

    #[test]
    fn an_address_stands_alone() {
        assert_eq!(address(&format!("{}@example.org", "a".repeat(ADDRESS_MAX_BYTES))), None);
        for text in ["ann@example.org", " <ann@example.org>: ", "<ann@example.org>"] {
            assert_eq!(address(text), Some("ann@example.org"), "{text}");
        }
        for text in ["", "ann", "to ann@example.org", "<a@b.c> x", "@example.org", "ann@localhost", "a@b@c.d"] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
