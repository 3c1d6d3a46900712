//! What is looked for among addresses: a part of them, a whole one, or a domain.
//!
//! A whole address is found in each spelling of it, as repeated ones are when a list is sorted: nearly all are plain text, and
//! only what is not (quoted, in other letters than ASCII) has to be parsed to be compared.

use probity_mail::address::Address;
use probity_mail::domain::{Domain, SpecialUse};

use crate::error::ApiError;
use crate::query::Query;

/// The longest text that is looked for, in bytes.
const TEXT_MAX: usize = 320;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// Addresses with this in them, whatever the case of its letters.
    Part(String),
    /// The address with this normal form.
    Whole(String),
    /// Addresses of the domain, in A-labels.
    Domain(String),
}

impl Text {
    /// The parameter `q` as a part of addresses; none without.
    pub fn part(query: &Query) -> Result<Option<Self>, ApiError> {
        Ok(given(query)?.map(|text| Self::Part(folded(&text))))
    }

    /// The parameter `q` as a whole address, or as a domain, with or without an `@` before it.
    pub fn whole(query: &Query) -> Result<Self, ApiError> {
        let refused = || ApiError::invalid("q", "must be an address or a domain");
        let text = given(query)?.ok_or_else(refused)?;
        let domain = text.strip_prefix('@').unwrap_or(&text);
        if domain.contains('@') {
            return normalized(&text).map(Self::Whole).ok_or_else(refused);
        }
        let parsed = Domain::parse_with(domain, &SpecialUse::allow([domain]));
        parsed.map(|domain| Self::Domain(domain.ascii().to_owned())).map_err(|_| refused())
    }

    /// Whether it is in an address, as that was submitted.
    pub fn is_in(&self, email: &str) -> bool {
        match self {
            Self::Part(part) if email.is_ascii() => contains(email.as_bytes(), part.as_bytes()),
            Self::Part(part) => folded(email).contains(part.as_str()),
            Self::Whole(whole) => {
                let email = email.trim_ascii();
                email.eq_ignore_ascii_case(whole) || (!is_plain(email) && normalized(email).as_ref() == Some(whole))
            }
            Self::Domain(domain) => {
                let Some((_, of)) = email.trim_ascii().rsplit_once('@') else { return false };
                of.eq_ignore_ascii_case(domain) || (!is_plain(of) && ascii(of).as_ref() == Some(domain))
            }
        }
    }
}

fn given(query: &Query) -> Result<Option<String>, ApiError> {
    let Some(text) = query.text("q")? else { return Ok(None) };
    let text = text.trim();
    if text.len() > TEXT_MAX {
        return Err(ApiError::invalid("q", format_args!("must have at most {TEXT_MAX} bytes")));
    }
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

fn folded(text: &str) -> String {
    text.to_lowercase()
}

/// `part` is in lower case.
fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// Whether text is its own normal form but for the case of its letters.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'(' | b')'))
        && !text.ends_with('.')
}

/// The normal form of an address; none of what is no address. Special-use names are let through: whatever was verified may stand
/// in a list.
fn normalized(email: &str) -> Option<String> {
    let (_, domain) = email.rsplit_once('@')?;
    Address::parse_with(email, &SpecialUse::allow([domain])).ok().map(|address| address.normalized())
}

fn ascii(domain: &str) -> Option<String> {
    Domain::parse_with(domain, &SpecialUse::allow([domain])).ok().map(|domain| domain.ascii().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        let encoded = percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
        Query::of(&format!("/app/lookup?q={encoded}").parse().unwrap())
    }

    #[test]
    fn a_part_is_found_whatever_its_case() {
        let cases = [
            ("ANN", "joANNa@example.org", true),
            ("ann@e", "ann@EXAMPLE.org", true),
            ("müller", "Hans.MÜLLER@example.org", true),
            ("%", "a_b@example.org", false),
            ("anna", "ann@example.org", false),
            ("x", "", false),
        ];
        for (part, email, found) in cases {
            assert_eq!(Text::part(&query(part)).unwrap().unwrap().is_in(email), found, "{part} in {email}");
        }
        assert_eq!(Text::part(&query("  ")).unwrap(), None);
        assert!(Text::part(&query(&"x".repeat(TEXT_MAX + 1))).is_err());
    }

    #[test]
    fn an_address_is_found_in_each_of_its_spellings_and_a_domain_too() {
        let cases = [
            ("Ann@Example.org", "  ann@EXAMPLE.ORG", true),
            ("ann@example.org", "\"ann\"@example.org", true),
            ("ann@bücher.example.com", "ann@XN--BCHER-KVA.example.com", true),
            ("ann@example.org", "jo.ann@example.org", false),
            ("ann@example.org", "ann@example.org.uk", false),
            ("valid@sandbox.test", "VALID@sandbox.test", true),
            ("@example.org", "jo@Example.ORG", true),
            ("example.org", "jo@mail.example.org", false),
            ("bücher.example.com", "jo@bücher.example.com", true),
            ("bücher.example.com", "jo@xn--bcher-kva.example.com", true),
            ("example.org", "example.org", false),
        ];
        for (whole, email, found) in cases {
            assert_eq!(Text::whole(&query(whole)).unwrap().is_in(email), found, "{whole} in {email}");
        }
        for nothing in ["", "@", "ann@", "a b", "ann@exa mple.org"] {
            assert!(Text::whole(&query(nothing)).is_err(), "{nothing:?}");
        }
    }
}
