//! Why a text is no address that mail can be sent to.

use std::fmt;

/// What is wrong. The tokens are stable: they are stored and shown to customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressReason {
    /// There is no `@` that ends a local part.
    NoAt,
    /// Nothing stands before the `@`.
    EmptyLocal,
    /// Nothing stands after the `@`.
    EmptyDomain,
    /// A second `@` outside quotes.
    MultipleAt,
    /// White space before or after the address.
    OuterWhitespace,
    /// A control character (CR, LF and NUL among them).
    ControlCharacter,
    /// A space inside an unquoted local part or inside the domain.
    Whitespace,
    /// A space or separator of Unicode other than the ASCII space.
    UnicodeSpace,
    /// A comment in parentheses, which exists in message headers only.
    Comment,
    /// A display name or angle brackets around the address.
    DisplayName,
    /// A source route (`<@relay:user@host>`), obsolete since RFC 2821.
    SourceRoute,
    /// An ASCII character that an unquoted local part cannot hold.
    BadLocalCharacter,
    /// A dot at the beginning or end of the local part, or two in a row.
    DotMisplaced,
    /// A backslash before a character that cannot be quoted with it.
    BadQuotedPair,
    /// A quoted local part without its closing quote.
    UnterminatedQuote,
    /// Something other than `@` after the closing quote.
    JunkAfterQuote,
    /// A quote inside an unquoted local part.
    QuoteInside,
    /// An invisible format character (zero-width, direction override, soft hyphen).
    FormatCharacter,
    /// A private-use character.
    PrivateUseCharacter,
    /// A code point without a character.
    UnassignedCharacter,
    /// The local part begins with a mark that would combine with what stands before it.
    LeadingCombiningMark,
    /// The local part has more than 64 octets.
    LocalTooLong,
    /// The address has more than 254 octets.
    PathTooLong,
    /// A character that a domain cannot hold.
    BadDomainCharacter,
    /// Two dots in a row, or a dot at the beginning of the domain.
    EmptyLabel,
    /// A dot at the end of the domain.
    TrailingDot,
    /// A label begins or ends with a hyphen.
    LabelHyphen,
    /// A label has more than 63 octets (in its A-label form).
    LabelTooLong,
    /// The domain has more than 255 octets (in A-labels).
    DomainTooLong,
    /// A label holds what IDNA 2008 does not allow in domain names.
    IdnaDisallowed,
    /// Labels of both directions that break the rule of RFC 5893.
    Bidi,
    /// An address literal in brackets that is not well formed.
    BadAddressLiteral,
    /// A well-formed address literal instead of a domain.
    AddressLiteral,
    /// A domain of one label.
    SingleLabel,
    /// A name reserved for special use.
    SpecialUse,
    /// A top-level domain of one character.
    OneCharacterTld,
    /// A top-level domain of digits only.
    NumericTld,
}

impl AddressReason {
    /// This reason at a byte position.
    pub(crate) fn at(self, at: usize) -> AddressError {
        AddressError { reason: self, at }
    }

    /// Whether the grammar allows the address and only our policy refuses it, since nobody on the public internet can
    /// receive mail there.
    pub fn is_policy(self) -> bool {
        matches!(
            self,
            Self::AddressLiteral | Self::SingleLabel | Self::SpecialUse | Self::OneCharacterTld | Self::NumericTld
        )
    }

    /// A short stable name.
    pub fn token(self) -> &'static str {
        match self {
            Self::NoAt => "no_at",
            Self::EmptyLocal => "empty_local",
            Self::EmptyDomain => "empty_domain",
            Self::MultipleAt => "multiple_at",
            Self::OuterWhitespace => "outer_whitespace",
            Self::ControlCharacter => "control_character",
            Self::Whitespace => "whitespace",
            Self::UnicodeSpace => "unicode_space",
            Self::Comment => "comment",
            Self::DisplayName => "display_name",
            Self::SourceRoute => "source_route",
            Self::BadLocalCharacter => "bad_local_character",
            Self::DotMisplaced => "dot_misplaced",
            Self::BadQuotedPair => "bad_quoted_pair",
            Self::UnterminatedQuote => "unterminated_quote",
            Self::JunkAfterQuote => "junk_after_quote",
            Self::QuoteInside => "quote_inside",
            Self::FormatCharacter => "format_character",
            Self::PrivateUseCharacter => "private_use_character",
            Self::UnassignedCharacter => "unassigned_character",
            Self::LeadingCombiningMark => "leading_combining_mark",
            Self::LocalTooLong => "local_too_long",
            Self::PathTooLong => "path_too_long",
            Self::BadDomainCharacter => "bad_domain_character",
            Self::EmptyLabel => "empty_label",
            Self::TrailingDot => "trailing_dot",
            Self::LabelHyphen => "label_hyphen",
            Self::LabelTooLong => "label_too_long",
            Self::DomainTooLong => "domain_too_long",
            Self::IdnaDisallowed => "idna_disallowed",
            Self::Bidi => "bidi",
            Self::BadAddressLiteral => "bad_address_literal",
            Self::AddressLiteral => "address_literal",
            Self::SingleLabel => "single_label",
            Self::SpecialUse => "special_use",
            Self::OneCharacterTld => "one_character_tld",
            Self::NumericTld => "numeric_tld",
        }
    }

    /// A sentence for people, without its final full stop.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoAt => "There is no @ between a local part and a domain",
            Self::EmptyLocal => "Nothing stands before the @",
            Self::EmptyDomain => "Nothing stands after the @",
            Self::MultipleAt => "There is more than one @",
            Self::OuterWhitespace => "White space stands before or after the address",
            Self::ControlCharacter => "A control character cannot be part of an address",
            Self::Whitespace => "A space cannot stand here",
            Self::UnicodeSpace => "A space character of Unicode cannot be part of an address",
            Self::Comment => "Comments in parentheses cannot be sent to a mail server",
            Self::DisplayName => "This is a name with an address, not an address alone",
            Self::SourceRoute => "Source routes are obsolete",
            Self::BadLocalCharacter => "This character needs quotes in a local part",
            Self::DotMisplaced => "The local part begins or ends with a dot or has two in a row",
            Self::BadQuotedPair => "This character cannot follow a backslash",
            Self::UnterminatedQuote => "The closing quote is missing",
            Self::JunkAfterQuote => "Only an @ can follow the closing quote",
            Self::QuoteInside => "A quote can stand only around the whole local part",
            Self::FormatCharacter => "An invisible format character cannot be part of an address",
            Self::PrivateUseCharacter => "A private-use character cannot be part of an address",
            Self::UnassignedCharacter => "This code point is not assigned to a character",
            Self::LeadingCombiningMark => "The local part begins with a combining mark",
            Self::LocalTooLong => "The local part is longer than 64 octets",
            Self::PathTooLong => "The address is longer than 254 octets",
            Self::BadDomainCharacter => "This character cannot be part of a domain",
            Self::EmptyLabel => "The domain has a dot too many",
            Self::TrailingDot => "The domain ends with a dot",
            Self::LabelHyphen => "A part of the domain begins or ends with a hyphen",
            Self::LabelTooLong => "A part of the domain is longer than 63 octets",
            Self::DomainTooLong => "The domain is longer than 255 octets",
            Self::IdnaDisallowed => "A part of the domain is not allowed by IDNA 2008",
            Self::Bidi => "The domain mixes writing directions in a way that is not allowed",
            Self::BadAddressLiteral => "The address literal is not well formed",
            Self::AddressLiteral => "An address literal stands in place of a domain",
            Self::SingleLabel => "The domain has one part only",
            Self::SpecialUse => "The domain is reserved for special use",
            Self::OneCharacterTld => "No top-level domain has one character only",
            Self::NumericTld => "No top-level domain has digits only",
        }
    }
}

/// What is wrong with an address, and where. Holds nothing of the address itself, so it may be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub struct AddressError {
    /// What is wrong.
    pub reason: AddressReason,
    /// Where it stands: the byte offset of the character, label or part that is refused.
    pub at: usize,
}

impl AddressError {
    /// The same error in a text that begins `by` bytes earlier.
    pub(crate) fn shifted(self, by: usize) -> Self {
        self.reason.at(self.at + by)
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.reason.sentence(), self.at)
    }
}
