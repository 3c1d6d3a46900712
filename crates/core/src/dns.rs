//! What the DNS says about a domain's mail.

use std::net::IpAddr;

/// What is asked of the DNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Mail exchangers.
    Mx,
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Texts (SPF; only the doctor asks).
    Txt,
    /// Names of an address (only the doctor asks).
    Ptr,
}

/// One record of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Record {
    /// A mail exchanger; the host is an absolute name in lower-case A-labels without the last dot (`""` is the root).
    Mx {
        /// Lower is asked first.
        preference: u16,
        /// The exchanger's name.
        host: String,
    },
    /// An address.
    Address(IpAddr),
    /// A text, its strings joined.
    Txt(String),
    /// A name.
    Ptr(String),
}

/// Why an answer is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DnsFailure {
    /// No answer in time.
    TimedOut,
    /// SERVFAIL.
    ServFail,
    /// REFUSED or another code that says nothing about the name.
    Refused,
    /// An answer that cannot be read, a CNAME loop or a chain that is too long.
    Malformed,
    /// Our own limit (a zone's query budget, too many queries in flight).
    Overload,
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// At least one record of the kind that was asked for.
    Records(Vec<Record>),
    /// The name exists and has no such record (NODATA).
    Empty,
    /// The name does not exist (NXDOMAIN).
    NoName,
    /// It could not be found out.
    Failed(DnsFailure),
}

/// An answer with the time for which it may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// What was answered.
    pub answer: Answer,
    /// The lifetime in milliseconds, negative answers included; 0 for failures.
    pub ttl_ms: i64,
}
