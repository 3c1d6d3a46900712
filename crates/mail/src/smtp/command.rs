//! What is said to a server: the only place where bytes of a command are put together.
//!
//! Nothing that came from outside reaches a command unless it is a [`Recipient`] or has passed [`check_word`]; both refuse
//! every byte that could end the command, start another one or add a parameter. There is no command that sends or
//! confirms anything: VRFY, EXPN and DATA cannot be written.

/// The longest command in bytes, its line end included (RFC 5321 §4.5.3.1.4).
const COMMAND_MAX_BYTES: usize = 512;
/// The longest path between `<` and `>`: what `RCPT TO:<` and `>` and the line end leave of a command.
const PATH_MAX_BYTES: usize = COMMAND_MAX_BYTES - b"RCPT TO:<>\r\n".len();
/// The longest name or MAIL FROM of ours: what `MAIL FROM:<> SMTPUTF8` and the line end leave of a command.
const WORD_MAX_BYTES: usize = COMMAND_MAX_BYTES - b"MAIL FROM:<> SMTPUTF8\r\n".len();

/// Why something cannot be said to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum EncodeError {
    /// Nothing to say.
    #[error("an empty path")]
    Empty,
    /// The command would be longer than 512 bytes.
    #[error("the command would be too long")]
    TooLong,
    /// A control, or a byte above 0x7E that was not announced or is not UTF-8.
    #[error("a byte that a command cannot carry")]
    Byte,
    /// A bracket, blank or route outside of quotes, or a quote without its end: the path would end early.
    #[error("a path that would not end where it should")]
    Framing,
}

/// A recipient as it is written between `<` and `>` of a RCPT command.
///
/// The type is the proof that these bytes are one path and nothing else, whatever created them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recipient {
    path: Box<[u8]>,
    utf8: bool,
}

impl Recipient {
    /// Checks `path` (a mailbox as RFC 5321 §4.1.2 writes it, without the angle brackets).
    ///
    /// `utf8` says that the path may hold UTF-8, so that it is asked only of a server that offers SMTPUTF8.
    pub fn new(path: &[u8], utf8: bool) -> Result<Self, EncodeError> {
        if path.is_empty() {
            return Err(EncodeError::Empty);
        }
        if path.len() > PATH_MAX_BYTES {
            return Err(EncodeError::TooLong);
        }
        if !path.iter().all(|byte| matches!(byte, b' '..=b'~') || (utf8 && *byte > 0x7f)) {
            return Err(EncodeError::Byte);
        }
        let text = std::str::from_utf8(path).map_err(|_| EncodeError::Byte)?;
        // The controls of U+0080 to U+009F are made of bytes that look harmless.
        if text.chars().any(char::is_control) {
            return Err(EncodeError::Byte);
        }
        check_framing(path)?;
        Ok(Self { path: path.into(), utf8 })
    }

    /// Whether the server must offer SMTPUTF8 (RFC 6531) to be asked.
    pub fn needs_smtp_utf8(&self) -> bool {
        self.utf8
    }

    /// The path, as it goes between `<` and `>`.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The bytes after the last `@`.
    pub(super) fn domain(&self) -> &[u8] {
        self.path.rsplit(|byte| *byte == b'@').next().unwrap_or_default()
    }
}

/// Outside of a quoted string no bracket and no blank may stand, and a path that starts with `@` is a source route
/// (RFC 5321 §4.1.1.3), which would have the server ask another one.
fn check_framing(path: &[u8]) -> Result<(), EncodeError> {
    let (mut quoted, mut escaped) = (false, false);
    for byte in path {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'<' | b'>' | b' ' if !quoted => return Err(EncodeError::Framing),
            _ => {}
        }
    }
    if quoted || path.starts_with(b"@") {
        return Err(EncodeError::Framing);
    }
    Ok(())
}

/// Checks a word of ours (the HELO name, the MAIL FROM path): printable ASCII that cannot end a word or a path.
pub(super) fn check_word(word: &str) -> Result<(), EncodeError> {
    if word.len() > WORD_MAX_BYTES {
        return Err(EncodeError::TooLong);
    }
    match word.bytes().find(|byte| !byte.is_ascii_graphic() || matches!(byte, b'<' | b'>')) {
        Some(b'<' | b'>' | b' ') => Err(EncodeError::Framing),
        Some(_) => Err(EncodeError::Byte),
        None => Ok(()),
    }
}

/// A command without an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bare {
    StartTls,
    Rset,
    Quit,
}

pub(super) fn bare(out: &mut Vec<u8>, command: Bare) {
    let word: &[u8] = match command {
        Bare::StartTls => b"STARTTLS\r\n",
        Bare::Rset => b"RSET\r\n",
        Bare::Quit => b"QUIT\r\n",
    };
    out.extend_from_slice(word);
}

/// `EHLO name`; the name has passed [`check_word`].
pub(super) fn ehlo(out: &mut Vec<u8>, name: &str) {
    put(out, &[b"EHLO ", name.as_bytes(), b"\r\n"]);
}

/// `HELO name`; the name has passed [`check_word`].
pub(super) fn helo(out: &mut Vec<u8>, name: &str) {
    put(out, &[b"HELO ", name.as_bytes(), b"\r\n"]);
}

/// `MAIL FROM:<path>`; the path has passed [`check_word`]. RFC 6531 §3.4: the parameter announces UTF-8 paths.
pub(super) fn mail(out: &mut Vec<u8>, from: &str, utf8: bool) {
    let end: &[u8] = if utf8 { b"> SMTPUTF8\r\n" } else { b">\r\n" };
    put(out, &[b"MAIL FROM:<", from.as_bytes(), end]);
}

/// `RCPT TO:<path>`.
pub(super) fn rcpt(out: &mut Vec<u8>, recipient: &Recipient) {
    put(out, &[b"RCPT TO:<", &recipient.path, b">\r\n"]);
}

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    let start = out.len();
    for part in parts {
        out.extend_from_slice(part);
    }
    let command = &out[start..];
    debug_assert!(command.len() <= COMMAND_MAX_BYTES, "a command is too long");
    debug_assert!(
        command[..command.len() - 2].iter().all(|byte| *byte >= b' ' && *byte != 0x7f),
        "a control inside a command"
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::address::Address;

    #[test]
    fn honest_paths_pass() {
        for path in
            ["a@b", "a.b+c@example.org", "\"a b\"@x.org", "\"a\\\"<>b\"@x.org", "a@[192.0.2.1]", "a@[IPv6:2001:db8::1]"]
        {
            assert!(Recipient::new(path.as_bytes(), false).is_ok(), "{path}");
        }
        assert!(Recipient::new("jürgen@straße.example".as_bytes(), true).is_ok());
    }

    #[test]
    fn whatever_could_leave_the_path_is_refused() {
        for (path, utf8, error) in [
            ("", false, EncodeError::Empty),
            ("a@b\r\nDATA", false, EncodeError::Byte),
            ("\"a\r\nb\"@x", false, EncodeError::Byte),
            ("a\0@x", false, EncodeError::Byte),
            ("a\u{7f}@x", false, EncodeError::Byte),
            ("a\u{7f}@x", true, EncodeError::Byte),
            ("a\u{85}@x", true, EncodeError::Byte),
            ("jürgen@x", false, EncodeError::Byte),
            ("a@b>SIZE=1", false, EncodeError::Framing),
            ("a@b> SIZE=1", false, EncodeError::Framing),
            ("<@x:y@z>", false, EncodeError::Framing),
            ("@x:y@z", false, EncodeError::Framing),
            ("a b@x", false, EncodeError::Framing),
            ("\"a@x", false, EncodeError::Framing),
            ("\"a\\\"@x> NOTIFY=NEVER", false, EncodeError::Framing),
        ] {
            assert_eq!(Recipient::new(path.as_bytes(), utf8), Err(error), "{path:?}");
        }
        assert_eq!(Recipient::new(b"a\xff@x", true), Err(EncodeError::Byte));
        assert_eq!(Recipient::new(&[b'a'; PATH_MAX_BYTES + 1], false), Err(EncodeError::TooLong));
    }

    #[test]
    fn our_own_words_are_checked_too() {
        for word in ["mx.example", "[192.0.2.1]", "probe@example.org", ""] {
            assert_eq!(check_word(word), Ok(()), "{word}");
        }
        for word in ["a b", "a\r\nRSET", "a>", "<a", "ä"] {
            assert!(check_word(word).is_err(), "{word:?}");
        }
        assert_eq!(check_word(&"a".repeat(WORD_MAX_BYTES + 1)), Err(EncodeError::TooLong));
    }

    proptest! {
        #[test]
        fn every_parsed_address_can_be_asked(
            local in prop_oneof!["[a-z.+\"\\\\ <>@:]{1,12}", "\"[ -~]{0,12}\"", "\\PC{1,10}", "[\u{80}-\u{ff}]{1,5}"],
            domain in prop_oneof!["[a-z]{1,8}\\.(com|org)", Just("straße.example.org".to_owned()), Just("[192.0.2.1]".to_owned())],
        ) {
            if let Ok(address) = Address::parse(&format!("{local}@{domain}")) {
                let mut path = Vec::new();
                address.write_path(&mut path);
                prop_assert!(Recipient::new(&path, address.needs_smtputf8()).is_ok(), "{:?}", path);
            }
        }

        #[test]
        fn one_recipient_is_one_line(path in proptest::collection::vec(any::<u8>(), 0..600), utf8: bool) {
            if let Ok(recipient) = Recipient::new(&path, utf8) {
                let mut out = Vec::new();
                rcpt(&mut out, &recipient);
                prop_assert!(out.len() <= COMMAND_MAX_BYTES);
                prop_assert!(out.ends_with(b">\r\n"));
                prop_assert_eq!(out.iter().filter(|byte| **byte < b' ').count(), 2);
            }
        }
    }
}
