//! Messages of a mailbox in one file (mbox, RFC 4155), in bounded memory.
//!
//! A message begins with a line `From ` at the beginning or behind a blank line. Only the beginning of a long message is kept.

use std::io::{self, BufRead};

use super::MESSAGE_MAX_BYTES;

/// Longest line that is looked at; the rest of a longer one belongs to its message.
const LINE_MAX_BYTES: u64 = 64 << 10;

/// Whether bytes are the beginning of a mailbox.
pub fn is_mailbox(head: &[u8]) -> bool {
    head.starts_with(b"From ")
}

/// Iterator of messages, each without its `From ` line.
pub struct MailboxMessages<R> {
    from: R,
    line: Vec<u8>,
    /// Whether the line before was blank.
    after_blank: bool,
    /// Whether the line before had its end.
    is_whole: bool,
    /// Whether a `From ` line was read.
    begun: bool,
}

impl<R: BufRead> MailboxMessages<R> {
    pub fn new(from: R) -> Self {
        Self { from, line: Vec::new(), after_blank: true, is_whole: true, begun: false }
    }

    /// Reads up to the next `From ` line or the end. Returns `None` at the end if no message was open.
    fn message(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut message = Vec::new();
        loop {
            self.line.clear();
            let mut limited = io::Read::take(&mut self.from, LINE_MAX_BYTES);
            if limited.read_until(b'\n', &mut self.line)? == 0 {
                let is_open = std::mem::take(&mut self.begun);
                return Ok(is_open.then_some(message));
            }
            let begins_line = std::mem::replace(&mut self.is_whole, self.line.ends_with(b"\n"));
            let after_blank = std::mem::replace(&mut self.after_blank, self.line.trim_ascii().is_empty());
            if begins_line && after_blank && self.line.starts_with(b"From ") {
                if std::mem::replace(&mut self.begun, true) {
                    return Ok(Some(message));
                }
                continue;
            }
            // Lines of the text that begin like that are quoted.
            let quoted = begins_line && self.line.iter().find(|byte| **byte != b'>') == Some(&b'F');
            let line = if quoted { self.line.strip_prefix(b">").unwrap_or(&self.line) } else { &self.line };
            let room = MESSAGE_MAX_BYTES.saturating_sub(message.len()).min(line.len());
            message.extend_from_slice(&line[..room]);
        }
    }
}

impl<R: BufRead> Iterator for MailboxMessages<R> {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.message().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let messages = MailboxMessages::new(text.as_bytes());
        messages.map(|message| String::from_utf8(message.unwrap()).unwrap()).collect()
    }

    #[test]
    fn messages_begin_with_a_line_behind_a_blank_one() {
        let text = "From a Mon\nX: 1\n\nbody\nFrom here on\n>From there\n\nFrom b Tue\nX: 2\n";
        assert_eq!(read(text), ["X: 1\n\nbody\nFrom here on\nFrom there\n\n", "X: 2\n"]);
        assert_eq!(read("From a\n"), [""]);
        assert_eq!(read(""), Vec::<String>::new());
        assert_eq!(read("no mailbox\n"), Vec::<String>::new());
    }

    #[test]
    fn of_a_long_message_the_beginning_is_kept() {
        let long = "x".repeat(3 << 20);
        let text = format!("From a\nX: 1\n\n{long}\n\nFrom b\nX: 2\n");
        let sizes: Vec<usize> = read(&text).iter().map(String::len).collect();
        assert_eq!(sizes, [MESSAGE_MAX_BYTES, 5]);
    }
}
