//! What a server says: bytes to [`Reply`].

/// An enhanced status code (RFC 3463): `class.subject.detail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Enhanced {
    /// 2, 4 or 5.
    pub class: u8,
    /// What the status is about: 1 address, 2 mailbox, 3 system, 4 network, 5 protocol, 6 content, 7 policy.
    pub subject: u16,
    /// The detail within the subject.
    pub detail: u16,
}

/// One complete reply of a server, single-line or multi-line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The three digits, 200 to 599.
    pub code: u16,
    /// The enhanced code of the first line, if it starts with one.
    pub enhanced: Option<Enhanced>,
    /// The text of all lines without codes, joined by one blank, printable, at most 512 bytes.
    pub text: String,
    /// Whether the server broke a rule that we could forgive (bare LF, 8-bit text, ...).
    pub nonconforming: bool,
}
