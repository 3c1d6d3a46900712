//! Forms of an address to which rules are compared.

use probity_mail::address::trimmed;
use probity_mail::domain::{Domain, SpecialUse};

pub(super) use crate::overrides::folded;

/// Folded address. A text that is not an address has no domain, and is the local part as a whole.
pub(super) struct AddressForms {
    pub(super) local: String,
    /// Domain in A-labels, if it is valid.
    pub(super) domain: String,
    /// Domain in U-labels, folded.
    pub(super) shown_domain: String,
    pub(super) address: String,
    pub(super) shown_address: String,
}

impl AddressForms {
    pub(super) fn of(address: &str) -> Self {
        let (local, rest) = split(trimmed(address));
        let local = folded(local);
        let (domain, shown_domain) = rest.map(both_forms).unwrap_or_default();
        let joined = |domain: &str| if rest.is_some() { format!("{local}@{domain}") } else { local.clone() };
        let (address, shown_address) = (joined(&domain), joined(&shown_domain));
        Self { local, domain, shown_domain, address, shown_address }
    }
}

/// Returns the form in which exact keywords for domains are compared.
pub(super) fn domain(keyword: &str) -> String {
    both_forms(keyword).0
}

/// Returns the form in which exact keywords for addresses are compared.
pub(super) fn address(keyword: &str) -> String {
    AddressForms::of(keyword).address
}

fn split(text: &str) -> (&str, Option<&str>) {
    text.rsplit_once('@').map_or((text, None), |(local, domain)| (local, Some(domain)))
}

/// Returns a domain in A-labels, and in folded U-labels. Both are the folded text if it is not a domain.
fn both_forms(text: &str) -> (String, String) {
    match Domain::parse_with(text.trim_end_matches('.'), &SpecialUse::all_allowed()) {
        Ok(domain) => (domain.ascii().to_owned(), folded(domain.unicode())),
        Err(_) => (folded(text), folded(text)),
    }
}
