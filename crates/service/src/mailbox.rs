//! What two texts that name the same mailbox have in common.

use probity_mail::address::Address;
use probity_mail::domain::SpecialUse;

/// A text by which submitted rows are compared and addresses erased, and the domain in A-labels: for an address its normal form
/// ([`Address::normalized`]), else the text itself behind a NUL, and no domain.
pub(crate) fn normal_form(email: &str) -> (String, Box<str>) {
    let trimmed = email.trim_ascii();
    let parsed = Address::parse_with(trimmed, &SpecialUse::none_allowed()).or_else(|error| {
        // Who verifies may know special-use names that count as ordinary ones: the sandbox's, or those of a private network.
        // They are one mailbox however they are written, too.
        let domain = trimmed.rsplit_once('@').map(|(_, domain)| domain);
        domain.map_or(Err(error), |domain| Address::parse_with(trimmed, &SpecialUse::allow([domain])))
    });
    match parsed {
        Ok(address) => (address.normalized(), address.domain().ascii().into()),
        Err(_) => (format!("\0{trimmed}"), Box::default()),
    }
}
