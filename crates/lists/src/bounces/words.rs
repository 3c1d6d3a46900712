//! Bounces in words, as Exim, qmail and older programs write them: a line that is an address, and below it what the server said.
//!
//! ```text
//! The following address(es) failed:            <bob@example.org>:
//!                                              192.0.2.7 does not like recipient.
//!   ann@example.org                            Remote host said: 550 User unknown
//!     host mx.example.org: 550 User unknown    Giving up on 192.0.2.7.
//! ```

use super::{FoundOutcome, RECIPIENTS_MAX, address, class_of_bounce};

/// Beginnings of lines, in lower case, behind which the returned message follows.
const COPY: [&str; 8] = [
    "--- below this line is a copy",
    "------ this is a copy of",
    "----- original message",
    "-----original message",
    "--- original message",
    "--- the header of the original",
    "return-path:",
    "received:",
];
/// Lines of a text that are read.
const LINES_MAX: usize = 2_000;

/// Reads the text of a bounce. `failed` is the value of `X-Failed-Recipients`, which counts if the text names nobody.
pub(super) fn read(text: &str, failed: &str) -> Vec<FoundOutcome> {
    let mut blocks: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().take(LINES_MAX) {
        let line = line.trim();
        if COPY.iter().any(|begin| line.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin))) {
            break;
        }
        if let Some(email) = address(line) {
            if blocks.len() == RECIPIENTS_MAX {
                break;
            }
            blocks.push((email, Vec::new()));
        } else if let Some((_, said)) = blocks.last_mut() {
            said.push(line);
        }
    }
    if blocks.is_empty() {
        let whole: Vec<&str> = text.lines().take(LINES_MAX).collect();
        let named: Vec<&str> = failed.split(',').filter_map(address).collect();
        // Of several recipients, the text may be about any.
        if let [only] = named[..] {
            blocks.push((only, whole));
        }
    }
    let outcome = |(email, said): (&str, Vec<&str>)| {
        let text = said.join(" ");
        let class = class_of_bounce(email, None, reply_in(&text), None);
        FoundOutcome { email: email.to_owned(), class, at: None }
    };
    blocks.into_iter().filter(|(_, said)| said.iter().any(|line| !line.is_empty())).map(outcome).collect()
}

/// The server's reply in a text: from the first code on, else all.
fn reply_in(text: &str) -> &str {
    let begins = |at: &usize| {
        let rest = &text.as_bytes()[*at..];
        let is_first = *at == 0 || text.as_bytes()[at - 1].is_ascii_whitespace() || text.as_bytes()[at - 1] == b'(';
        let is_code = rest.len() > 3 && matches!(rest[0], b'4' | b'5') && rest[1..3].iter().all(u8::is_ascii_digit);
        is_first && is_code && matches!(rest[3], b' ' | b'-')
    };
    (0..text.len()).find(begins).and_then(|at| text.get(at..)).unwrap_or(text)
}
