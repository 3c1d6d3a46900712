//! `text -> Address | AddressError`: the Mailbox of RFC 5321 §4.1.2 with the internationalization of RFC 6531 §3.3.
//!
//! Written by hand, because what is accepted here is what is put on the wire to a stranger's server. The model: an
//! [`Address`] is the *meaning* of the text, a decoded local part in NFC and a [`Domain`] in A-labels. The text that was
//! typed is not kept: [`Address::write_path`] writes the wire form from the parsed one, so nothing that parses can
//! put a control character on the wire, and two spellings of one address are equal.
//!
//! On failure an [`AddressError`] names the first thing that is wrong and the byte at which it stands. Grammar is judged
//! before lengths, and both before policy (names that the grammar allows and the public internet cannot deliver to), so
//! that [`AddressReason::is_policy`] says "well formed, and still refused". Lengths are octets of the local part as it was
//! typed and of the domain in A-labels; what is written to the wire is never longer.
//!
//! The strict grammar is used, not that of message headers (RFC 5322): no comments, no folding, no display names, no
//! obsolete forms. Outer white space is refused as well; callers that take input from people remove it by [`trimmed`], and
//! those that take entries of lists find the address in them by [`bare_address`].

mod dirt;
mod entry;
mod local;
mod reason;

use std::borrow::Cow;
use std::fmt;

pub use dirt::cleaned;
pub(crate) use dirt::without_lead;
pub use entry::{bare_address, is_blank, mail_link, names_one_address, trimmed};
pub use reason::{AddressError, AddressReason};

use crate::domain::{Domain, SpecialUse};

/// The longest local part, in octets (RFC 5321 §4.5.3.1.1).
pub const MAX_LOCAL_BYTES: usize = 64;
/// The longest address, in octets: a path of 256 less its angle brackets (RFC 5321 §4.5.3.1.3, RFC 3696 erratum 1690).
pub const MAX_PATH_BYTES: usize = 254;

/// A parsed mail address.
///
/// Equality is that of the wire form: the domain without regard to case, the local part exactly (RFC 5321 §2.4 leaves
/// its case to the receiver). Use [`Address::normalized`] to find addresses that are the same for people.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    local: Box<str>,
    domain: Domain,
}

impl Address {
    /// Reads an address; special-use domains are refused.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        Self::parse_with(text, &SpecialUse::none_allowed())
    }

    /// Reads an address, letting through the special-use names that `special` allows.
    pub fn parse_with(text: &str, special: &SpecialUse) -> Result<Self, AddressError> {
        let address = Self::read(text)?;
        let start = || text.rfind('@').map_or(0, |at| at + 1);
        address.domain.check_policy(special).map_err(|error| error.shifted(start()))?;
        Ok(address)
    }

    /// Reads an address by grammar and lengths alone: to compare spellings, whatever the policy lets through.
    pub fn read(text: &str) -> Result<Self, AddressError> {
        if text.starts_with(char::is_whitespace) {
            return Err(AddressReason::OuterWhitespace.at(0));
        }
        if let Some(last) = text.char_indices().next_back().filter(|(_, c)| c.is_whitespace()) {
            return Err(AddressReason::OuterWhitespace.at(last.0));
        }
        let local = local::read(text).or_else(|error| {
            let dotted = (error.reason == AddressReason::DotMisplaced).then(|| local::read_dotted(text));
            dotted.flatten().ok_or(error)
        })?;
        let start = local.end + 1;
        let domain = Domain::read(&text[start..]).map_err(|error| error.shifted(start))?;
        let room = room_for_local(&domain);
        if local.end > room {
            return Err(AddressReason::PathTooLong.at(0));
        }
        Ok(Self { local: local::normalized(local.decoded, room), domain })
    }

    /// The local part: unquoted, in the case that was typed, in NFC (unless NFC alone would make it too long).
    pub fn local(&self) -> &str {
        &self.local
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Whether a server must offer SMTPUTF8 to be asked about this address (RFC 6531 §3.1). An internationalized domain
    /// does not need it: it is sent in A-labels.
    pub fn needs_smtputf8(&self) -> bool {
        !self.local.is_ascii()
    }

    /// Appends the wire form without angle brackets, as it stands in `RCPT TO:<...>`.
    ///
    /// The local part is quoted only where it must be (RFC 5321 §4.1.2), the domain is in A-labels. The bytes hold
    /// neither control characters nor DEL, and they parse to an equal address.
    pub fn write_path(&self, out: &mut Vec<u8>) {
        local::write(&self.local, out);
        out.push(b'@');
        out.extend_from_slice(self.domain.ascii().as_bytes());
    }

    /// The same domain with another local part, given decoded as [`Address::local`] returns it.
    ///
    /// Byte positions in the error count within `local`.
    pub fn with_local(&self, local: &str) -> Result<Self, AddressError> {
        local::check_decoded(local)?;
        let room = room_for_local(&self.domain);
        if local::wire_bytes(local) > room {
            return Err(AddressReason::PathTooLong.at(0));
        }
        Ok(Self { local: local::normalized(Cow::Borrowed(local), room), domain: self.domain.clone() })
    }

    /// A key under which spellings of one mailbox fall together: the wire form with the local part in lower case.
    ///
    /// For finding duplicates only: servers may tell `Ann@` from `ann@`, though hardly one does, and so the key is never
    /// what is asked.
    pub fn normalized(&self) -> String {
        let mut key = Vec::with_capacity(self.local.len() + 1 + self.domain.ascii().len());
        if self.local.is_ascii() {
            local::write(&self.local.to_ascii_lowercase(), &mut key);
        } else {
            local::write(&local::nfc(&self.local.to_lowercase()), &mut key);
        }
        key.push(b'@');
        key.extend_from_slice(self.domain.ascii().as_bytes());
        String::from_utf8(key).expect("a local part and a domain are UTF-8")
    }
}

/// How many octets a local part may have beside this domain.
fn room_for_local(domain: &Domain) -> usize {
    MAX_LOCAL_BYTES.min(MAX_PATH_BYTES.saturating_sub(1 + domain.ascii().len()))
}

/// Addresses are personal data and never reach a log: only the length of the local part and the domain are shown.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({} bytes @ {})", self.local.len(), self.domain.ascii())
    }
}
