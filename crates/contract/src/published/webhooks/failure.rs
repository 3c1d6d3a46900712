//! Causes of delivery attempts without a response.

probity_mail::named! {
    /// Reason why an attempt got no response, for the operator. Customers get [`DeliveryFailure::PUBLIC`] for failures of the
    /// endpoint, because the differences would reveal the operator's network.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum DeliveryFailure {
        /// The guard rejected the address; no connection was attempted.
        Blocked = "blocked",
        /// The host name has no addresses.
        Unresolved = "unresolved",
        /// The connection was refused, or there is no route.
        Refused = "refused",
        /// The connection was not established in time.
        Timeout = "timeout",
        /// The request was sent, but got no response in time.
        Unanswered = "unanswered",
        /// The TLS handshake failed, or the certificate does not match the host.
        Tls = "tls",
        /// The connection broke, or the response was not HTTP or exceeded a limit.
        Broken = "broken",
        /// This machine is at its limits, or the database is unavailable. The failure is not the endpoint's and does not count as
        /// an attempt.
        Local = "local",
        /// The request could not be built or signed, because stored data cannot be read here.
        Unmade = "unmade",
    }
}

impl DeliveryFailure {
    /// Text for customers.
    pub const PUBLIC: &'static str = "the endpoint could not be reached";
    /// Text for customers about [`DeliveryFailure::Unmade`], which reveals nothing about a network.
    pub const PUBLIC_UNMADE: &'static str = "the message could not be created";

    /// Text for customers about an endpoint that redirects.
    pub const REDIRECT: &'static str =
        "the endpoint redirects, and redirects are not followed: enter the target as the URL";

    /// Returns the text for customers about a failure with this name.
    pub fn public(name: &str) -> &'static str {
        if name == Self::Unmade.as_str() { Self::PUBLIC_UNMADE } else { Self::PUBLIC }
    }
}
