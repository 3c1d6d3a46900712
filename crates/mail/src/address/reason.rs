//! Why a text is no address that mail can be sent to.

use std::fmt;

crate::named! {
    /// What is wrong. The tokens are stable: they are stored and shown to customers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum AddressReason {
        /// There is no `@` that ends a local part.
        NoAt = "no_at",
        /// Nothing stands before the `@`.
        EmptyLocal = "empty_local",
        /// Nothing stands after the `@`.
        EmptyDomain = "empty_domain",
        /// A second `@` outside quotes.
        MultipleAt = "multiple_at",
        /// White space before or after the address.
        OuterWhitespace = "outer_whitespace",
        /// A control character (CR, LF and NUL among them).
        ControlCharacter = "control_character",
        /// A space inside an unquoted local part or inside the domain.
        Whitespace = "whitespace",
        /// A space or separator of Unicode other than the ASCII space.
        UnicodeSpace = "unicode_space",
        /// A comment in parentheses, which exists in message headers only.
        Comment = "comment",
        /// A display name or angle brackets around the address.
        DisplayName = "display_name",
        /// A source route (`<@relay:user@host>`), obsolete since RFC 2821.
        SourceRoute = "source_route",
        /// An ASCII character that an unquoted local part cannot hold.
        BadLocalCharacter = "bad_local_character",
        /// A dot at the beginning or end of the local part, or two in a row.
        DotMisplaced = "dot_misplaced",
        /// A backslash before a character that cannot be quoted with it.
        BadQuotedPair = "bad_quoted_pair",
        /// A quoted local part without its closing quote.
        UnterminatedQuote = "unterminated_quote",
        /// Something other than `@` after the closing quote.
        JunkAfterQuote = "junk_after_quote",
        /// A quote inside an unquoted local part.
        QuoteInside = "quote_inside",
        /// An invisible format character (zero-width, direction override, soft hyphen).
        FormatCharacter = "format_character",
        /// A private-use character.
        PrivateUseCharacter = "private_use_character",
        /// A code point without a character.
        UnassignedCharacter = "unassigned_character",
        /// The local part begins with a mark that would combine with what stands before it.
        LeadingCombiningMark = "leading_combining_mark",
        /// The local part has more than 64 octets.
        LocalTooLong = "local_too_long",
        /// The address has more than 254 octets.
        PathTooLong = "path_too_long",
        /// A character that a domain cannot hold.
        BadDomainCharacter = "bad_domain_character",
        /// Two dots in a row, or a dot at the beginning of the domain.
        EmptyLabel = "empty_label",
        /// A dot at the end of the domain.
        TrailingDot = "trailing_dot",
        /// A label begins or ends with a hyphen.
        LabelHyphen = "label_hyphen",
        /// A label has more than 63 octets (in its A-label form).
        LabelTooLong = "label_too_long",
        /// The domain has more than 255 octets (in A-labels).
        DomainTooLong = "domain_too_long",
        /// A label holds what IDNA 2008 does not allow in domain names.
        IdnaDisallowed = "idna_disallowed",
        /// Labels of both directions that break the rule of RFC 5893.
        Bidi = "bidi",
        /// An address literal in brackets that is not well formed.
        BadAddressLiteral = "bad_address_literal",
        /// A well-formed address literal instead of a domain.
        AddressLiteral = "address_literal",
        /// A domain of one label.
        SingleLabel = "single_label",
        /// A name reserved for special use.
        SpecialUse = "special_use",
        /// A top-level domain of one character.
        OneCharacterTld = "one_character_tld",
        /// A top-level domain of digits only.
        NumericTld = "numeric_tld",
    }
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
