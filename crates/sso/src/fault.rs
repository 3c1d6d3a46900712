//! What can be wrong with a provider or what it says.

/// Reason why a provider cannot be used, or its answer is not believed. No variant has words of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SsoFault {
    #[error("must be an https URL without user name, query or fragment, as the provider names its issuer")]
    Issuer,
    #[error("connections to the provider's host are not allowed; the operator can allow them")]
    Blocked,
    #[error("the provider's host was not found, or accepts no connection")]
    Unreachable,
    #[error("the provider did not answer in time")]
    TimedOut,
    #[error("the provider has no discovery document there, or no keys")]
    Status,
    #[error("the provider's answer is too large")]
    TooLarge,
    #[error("the discovery document cannot be read")]
    Document,
    #[error("the discovery document names another issuer; enter that one")]
    IssuerDiffers,
    #[error("the discovery document lacks an endpoint, or names one without https or in the operator's own network")]
    Endpoint,
    #[error("the provider does not support the authorization code flow")]
    NoCode,
    #[error("the provider signs with no algorithm that is accepted here")]
    NoAlgorithm,
    #[error("the provider's keys cannot be read")]
    Keys,
    #[error("the provider refuses the client; check client ID, secret and redirect URI")]
    Client,
    #[error("the provider refuses the code, which may be used or old")]
    Code,
    #[error("the provider's answer has no ID token that can be read")]
    Malformed,
    #[error("the ID token has an algorithm that is not accepted")]
    Algorithm,
    #[error("the ID token's key is not one of the provider's")]
    KeyUnknown,
    #[error("the ID token's signature is wrong")]
    Signature,
    #[error("the ID token is of another issuer")]
    TokenIssuer,
    #[error("the ID token is for another client")]
    Audience,
    #[error("the ID token has expired, or is not valid yet")]
    Expired,
    #[error("the ID token answers another request")]
    Nonce,
    #[error("the provider gives no email address")]
    NoEmail,
    #[error("the provider does not say that the email address is verified")]
    Unverified,
    #[error("the account at the provider is a personal one")]
    Personal,
}

impl SsoFault {
    /// The word by which pages know what is wrong. Faults that need the same remedy share one.
    pub fn word(self) -> &'static str {
        match self {
            Self::Issuer => "issuer",
            Self::Blocked => "blocked",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed_out",
            Self::Status => "no_document",
            Self::TooLarge | Self::Document => "document",
            Self::IssuerDiffers => "issuer_differs",
            Self::Endpoint => "endpoint",
            Self::NoCode => "no_code",
            Self::NoAlgorithm => "no_algorithm",
            Self::Keys => "keys",
            Self::Client => "client",
            Self::Code | Self::Expired | Self::Nonce => "stale",
            Self::Malformed
            | Self::Algorithm
            | Self::KeyUnknown
            | Self::Signature
            | Self::TokenIssuer
            | Self::Audience => "token",
            Self::NoEmail => "no_email",
            Self::Unverified => "unverified",
            Self::Personal => "domain",
        }
    }
}
