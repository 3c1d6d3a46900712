//! Domain names as mail addresses carry them: `Domain{ascii, unicode}`.
//!
//! One type with both forms, so that nobody hands the wrong one on: the A-label form goes to the DNS and onto the wire
//! and is what is compared; the U-label form is shown to people and stored only where it differs.
//!
//! A label that is typed in ASCII is a name of the DNS as it stands: letters, digits and hyphens (RFC 5321 §4.1.2,
//! RFC 1123 §2.1), and underscores, which the DNS holds too. Any other label is mapped and encoded by UTS 46 ([`idna`]). When the
//! name is well formed, policy refuses what mail on the public internet cannot reach: address literals, single labels, numeric and
//! one-character top levels and special-use names ([`SpecialUse`]). [`AddressError::at`] counts bytes of the text that was given.

mod idna;
mod idna2008;
mod literal;
mod special_use;

pub(crate) use idna2008::is_letter_or_digit;
pub use special_use::{SANDBOX, SpecialUse, names_sandbox};

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::address::{AddressError, AddressReason};

/// The longest label, in octets (RFC 1035 §2.3.4).
pub const MAX_LABEL_BYTES: usize = 63;
/// The longest domain, in octets (RFC 5321 §4.5.3.1.2).
pub const MAX_DOMAIN_BYTES: usize = 255;

/// A domain name in both of its forms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain {
    ascii: Box<str>,
    /// A function of `ascii`, so comparing it as well changes nothing.
    unicode: Option<Box<str>>,
}

/// The registrable domain of any name in lower-case A-labels, by the Public Suffix List; the whole name where it is itself a
/// public suffix.
pub fn registrable(ascii: &str) -> &str {
    psl::domain_str(ascii).unwrap_or(ascii)
}

/// The top-level domain of a name in lower-case A-labels where it is one of the public DNS, by the Public Suffix List: every
/// resolver that can see the internet knows it.
pub fn public_top_level(ascii: &str) -> Option<&str> {
    let top_level = ascii.rsplit('.').next()?;
    let suffix = psl::suffix(top_level.as_bytes())?;
    (suffix.typ() == Some(psl::Type::Icann)).then_some(top_level)
}

impl Domain {
    /// Reads a domain; special-use names are refused.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        Self::parse_with(text, &SpecialUse::none_allowed())
    }

    /// Reads a domain, letting through the special-use names that `special` allows.
    pub fn parse_with(text: &str, special: &SpecialUse) -> Result<Self, AddressError> {
        let domain = Self::read(text)?;
        domain.check_policy(special)?;
        Ok(domain)
    }

    /// The form of the DNS and of the wire: A-labels in lower case, without a final dot.
    pub fn ascii(&self) -> &str {
        &self.ascii
    }

    /// The form for people: U-labels. The same as [`Domain::ascii`] unless the name is internationalized.
    pub fn unicode(&self) -> &str {
        self.unicode.as_deref().unwrap_or(&self.ascii)
    }

    /// The domain that somebody registered (`example.co.uk` of `mail.example.co.uk`), in A-labels, by the Public Suffix
    /// List. The whole name where it is itself a public suffix.
    pub fn registrable(&self) -> &str {
        registrable(&self.ascii)
    }

    /// Reads by grammar and length alone.
    pub(crate) fn read(text: &str) -> Result<Self, AddressError> {
        if text.is_empty() {
            return Err(AddressReason::EmptyDomain.at(0));
        }
        if text.starts_with('[') {
            return Err(literal::judge(text).at(0));
        }
        let domain = if is_plain(text)? {
            let mut ascii = Box::<str>::from(text);
            ascii.make_ascii_lowercase();
            Self { ascii, unicode: None }
        } else {
            let (ascii, unicode) = idna::read(text)?;
            Self { ascii: ascii.into(), unicode: unicode.map(String::into_boxed_str) }
        };
        if domain.ascii.len() > MAX_DOMAIN_BYTES {
            return Err(AddressReason::DomainTooLong.at(0));
        }
        Ok(domain)
    }

    /// Refuses well-formed names to which nobody on the public internet can deliver. What an operator allows by name is
    /// not questioned further.
    pub(crate) fn check_policy(&self, special: &SpecialUse) -> Result<(), AddressError> {
        if special.allows(&self.ascii) {
            return Ok(());
        }
        let Some((_, tld)) = self.ascii.rsplit_once('.') else {
            return Err(AddressReason::SingleLabel.at(0));
        };
        // RFC 3696 §2: a top-level domain is not all-numeric, so that names and IPv4 addresses cannot be confused.
        if tld.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(AddressReason::NumericTld.at(0));
        }
        if tld.len() == 1 {
            return Err(AddressReason::OneCharacterTld.at(0));
        }
        if special.refuses(&self.ascii) {
            return Err(AddressReason::SpecialUse.at(0));
        }
        Ok(())
    }
}

crate::named! {
    /// What is unusual about a name, though the DNS can hold it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UnusualName {
        /// No host name has an underscore (RFC 952, RFC 1123 §2.1), but some wildcards take mail for such names.
        Underscore = "underscore",
        /// An A-label that is none of IDNA 2008 (RFC 5891 §5.4).
        NotIdna2008 = "not_idna2008",
    }
}

impl UnusualName {
    /// What is unusual about a name in lower-case A-labels.
    pub fn of(ascii: &str) -> Option<Self> {
        if ascii.contains('_') {
            return Some(Self::Underscore);
        }
        // An A-label that stays one in the form for people encodes no label.
        let domain = Domain::read(ascii).ok()?;
        domain.unicode().split('.').any(has_a_label_prefix).then_some(Self::NotIdna2008)
    }
}

/// Why a character, ASCII or not, is refused wherever it stands in an address: controls, format characters, private use,
/// unassigned code points and every space but the ASCII one.
pub(crate) fn unsafe_character(character: char) -> Option<AddressReason> {
    if character == ' ' {
        return None;
    }
    match character.general_category() {
        GeneralCategory::Control => Some(AddressReason::ControlCharacter),
        GeneralCategory::Format => Some(AddressReason::FormatCharacter),
        GeneralCategory::PrivateUse => Some(AddressReason::PrivateUseCharacter),
        GeneralCategory::Unassigned | GeneralCategory::Surrogate => Some(AddressReason::UnassignedCharacter),
        GeneralCategory::SpaceSeparator | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => {
            Some(AddressReason::UnicodeSpace)
        }
        _ => None,
    }
}

/// Whether the text is a domain of ASCII labels without any A-label; an error when it is ASCII and no domain.
fn is_plain(text: &str) -> Result<bool, AddressError> {
    if !text.is_ascii() {
        return Ok(false);
    }
    let mut plain = true;
    for (at, label) in labels(text, &['.']) {
        let is_last = at + label.len() == text.len();
        check_label(label, !is_last).map_err(|error| place(text, at, error))?;
        plain &= !has_a_label_prefix(label);
    }
    Ok(plain)
}

/// The labels between dots, each with its position.
fn labels<'a>(text: &'a str, dots: &'static [char]) -> impl Iterator<Item = (usize, &'a str)> {
    let mut next = 0;
    text.split(dots).map(move |label| {
        let at = next;
        next += label.len();
        next += text[next..].chars().next().map_or(0, char::len_utf8);
        (at, label)
    })
}

/// Moves an error of the label at `at` to its place in the text. An empty last label is a trailing dot.
fn place(text: &str, at: usize, error: AddressError) -> AddressError {
    if error.reason != AddressReason::EmptyLabel || at < text.len() {
        return error.shifted(at);
    }
    match text.char_indices().next_back() {
        Some((dot, _)) if dot > 0 => AddressReason::TrailingDot.at(dot),
        _ => error.shifted(0),
    }
}

/// RFC 5321 §4.1.2: `sub-domain = Let-dig [Ldh-str]`, at most 63 octets.
fn check_ldh(label: &str) -> Result<(), AddressError> {
    check_label(label, false)
}

/// Checks a label of a name in ASCII. The DNS holds underscores (RFC 2181 §11), and some names below wildcards that take mail
/// have them; no top-level domain has.
fn check_label(label: &str, underscores: bool) -> Result<(), AddressError> {
    if label.is_empty() {
        return Err(AddressReason::EmptyLabel.at(0));
    }
    if let Some(at) = label.bytes().position(|byte| !(is_ldh(byte) || underscores && byte == b'_')) {
        return Err(unexpected(label.as_bytes()[at]).at(at));
    }
    if label.starts_with('-') {
        return Err(AddressReason::LabelHyphen.at(0));
    }
    if label.ends_with('-') {
        return Err(AddressReason::LabelHyphen.at(label.len() - 1));
    }
    if label.len() > MAX_LABEL_BYTES {
        return Err(AddressReason::LabelTooLong.at(0));
    }
    Ok(())
}

/// RFC 5890 §2.3.2.1: the prefix of A-labels, in any case.
fn has_a_label_prefix(label: &str) -> bool {
    label.as_bytes().get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"xn--"))
}

const fn is_ldh(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Names an ASCII character that no domain can hold.
fn unexpected(byte: u8) -> AddressReason {
    match byte {
        b' ' => AddressReason::Whitespace,
        b'@' => AddressReason::MultipleAt,
        b'(' | b')' => AddressReason::Comment,
        byte if byte.is_ascii_control() => AddressReason::ControlCharacter,
        _ => AddressReason::BadDomainCharacter,
    }
}
