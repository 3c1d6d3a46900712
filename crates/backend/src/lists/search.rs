//! Search text for addresses: a part, a whole address, or a domain.
//!
//! A whole address matches each of its spellings, as duplicates do in an import. Nearly all addresses are plain text. Only the
//! others (quoted or not ASCII) have to be parsed for the comparison.

use probity_contract::error::ApiError;
use probity_contract::parameters::SEARCH_TEXT_MAX;
use probity_contract::query::Query;
use probity_mail::address::{Address, bare_address, trimmed};
use probity_mail::domain::{Domain, SpecialUse};

/// Parsed search text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchText {
    /// Addresses that contain this text, ignoring case.
    Part(String),
    /// Address with this normal form.
    Whole(String),
    /// Addresses of this domain, in A-labels.
    Domain(String),
}

impl SearchText {
    /// Parses the parameter `q` as a part of addresses; `None` if it is missing or empty.
    pub fn part(query: &Query) -> Result<Option<Self>, ApiError> {
        Ok(given(query)?.map(|text| Self::Part(folded(&text))))
    }

    /// Parses a part of addresses; `None` if it is empty.
    pub fn part_of(text: &str) -> Result<Option<Self>, ApiError> {
        Ok(short(text)?.map(|text| Self::Part(folded(&text))))
    }

    pub fn domain(name: &str) -> Result<Self, ApiError> {
        ascii(name.trim()).map(Self::Domain).ok_or_else(|| ApiError::invalid("domain", "must be a domain"))
    }

    /// Parses the parameter `q` as a part of addresses. An address or a domain, with or without a leading `@`, matches its other
    /// spellings, too.
    pub fn anywhere(query: &Query) -> Result<Vec<Self>, ApiError> {
        let refused = || ApiError::invalid("q", "must be an address, a part of one, or a domain");
        let text = given(query)?.ok_or_else(refused)?;
        let part = Self::Part(folded(&text));
        Ok(Self::whole(&text).into_iter().chain([part]).collect())
    }

    fn whole(text: &str) -> Option<Self> {
        let domain = text.strip_prefix('@').unwrap_or(text);
        if domain.contains('@') { normalized(text).map(Self::Whole) } else { ascii(domain).map(Self::Domain) }
    }

    /// Whether a submitted address matches.
    pub fn is_in(&self, email: &str) -> bool {
        match self {
            Self::Part(part) if email.is_ascii() => contains(email.as_bytes(), part.as_bytes()),
            Self::Part(part) => folded(email).contains(part.as_str()),
            Self::Whole(whole) => {
                let email = bare_address(email);
                email.eq_ignore_ascii_case(whole) || (!is_plain(email) && normalized(email).as_ref() == Some(whole))
            }
            Self::Domain(domain) => {
                let Some((_, of)) = bare_address(email).rsplit_once('@') else { return false };
                of.eq_ignore_ascii_case(domain) || (!is_plain(of) && ascii(of).as_ref() == Some(domain))
            }
        }
    }
}

fn given(query: &Query) -> Result<Option<String>, ApiError> {
    let Some(text) = query.text("q")? else { return Ok(None) };
    short(&text)
}

fn short(text: &str) -> Result<Option<String>, ApiError> {
    if text.chars().count() > SEARCH_TEXT_MAX {
        return Err(ApiError::invalid("q", format_args!("may have at most {SEARCH_TEXT_MAX} characters")));
    }
    Ok(Some(trimmed(text).to_owned()).filter(|text| !text.is_empty()))
}

fn folded(text: &str) -> String {
    text.to_lowercase()
}

/// Whether a text contains `part`, which must be in lower case.
fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// Whether a text is its own normal form, apart from case.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'(' | b')'))
        && !text.ends_with('.')
}

/// Returns the normal form of an address; `None` for other text. Special-use names are accepted, because a list may contain any
/// name that was verified.
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
            assert_eq!(SearchText::part(&query(part)).unwrap().unwrap().is_in(email), found, "{part} in {email}");
        }
        assert_eq!(SearchText::part(&query("  ")).unwrap(), None);
        assert!(SearchText::part(&query(&"ü".repeat(SEARCH_TEXT_MAX))).is_ok());
        assert!(SearchText::part(&query(&"x".repeat(SEARCH_TEXT_MAX + 1))).is_err());
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
            assert_eq!(SearchText::whole(whole).unwrap().is_in(email), found, "{whole} in {email}");
        }
        for nothing in ["", "@", "ann@", "a b", "ann@exa mple.org"] {
            assert_eq!(SearchText::whole(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_text_is_found_anywhere_in_an_address_and_in_its_other_spellings() {
        let is_found =
            |text: &str, email: &str| SearchText::anywhere(&query(text)).unwrap().iter().any(|text| text.is_in(email));
        let cases = [
            ("nn@exam", "ann@EXAMPLE.org", true),
            ("ann@example.org", "jo.ann@example.org", true),
            ("ann@bücher.example.com", "ann@xn--bcher-kva.example.com", true),
            ("example.org", "jo@mail.example.org", true),
            ("@example.org", "jo@mail.example.org", false),
            ("bücher.example.com", "jo@xn--bcher-kva.example.com", true),
            ("a b", "\"a b\"@example.org", true),
            ("bob", "ann@example.org", false),
        ];
        for (text, email, found) in cases {
            assert_eq!(is_found(text, email), found, "{text} in {email}");
        }
        assert!(SearchText::anywhere(&query("  ")).is_err());
    }
}
