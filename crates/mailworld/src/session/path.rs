//! Arguments of MAIL and RCPT (RFC 5321 section 4.1.1.2 and 4.1.1.3).

/// A path with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path<'a> {
    /// Content of the angle brackets without a source route; empty for `<>`.
    pub mailbox: &'a [u8],
    parameters: &'a [u8],
}

impl<'a> Path<'a> {
    /// Parses `FROM:<a@b> SIZE=1`; a blank after the colon is allowed, as in most servers.
    pub(super) fn parse(rest: &'a [u8], keyword: &[u8]) -> Option<Self> {
        let head = rest.get(..keyword.len())?;
        if !head.eq_ignore_ascii_case(keyword) {
            return None;
        }
        let path = rest[keyword.len()..].trim_ascii_start().strip_prefix(b"<")?;
        let end = closing_bracket(path)?;
        let (mailbox, parameters) = (&path[..end], &path[end + 1..]);
        if !parameters.is_empty() && !parameters.starts_with(b" ") {
            return None;
        }
        let mailbox = match mailbox {
            // A source route is accepted and ignored (RFC 5321 appendix C).
            [b'@', ..] => &mailbox[mailbox.iter().position(|b| *b == b':')? + 1..],
            _ => mailbox,
        };
        Some(Self { mailbox, parameters: parameters.trim_ascii() })
    }

    pub(super) fn split(&self) -> Option<(&'a str, &'a str)> {
        let text = std::str::from_utf8(self.mailbox).ok()?;
        let (local, domain) = text.rsplit_once('@')?;
        (!local.is_empty() && !domain.is_empty()).then_some((local, domain))
    }

    /// Checks MAIL's parameters; returns whether SMTPUTF8 is among them.
    pub(super) fn mail_parameters(&self) -> Result<bool, ()> {
        let mut utf8 = false;
        for parameter in self.parameters.split(|b| *b == b' ').filter(|p| !p.is_empty()) {
            let name = parameter.split(|b| *b == b'=').next().unwrap_or_default().to_ascii_uppercase();
            match name.as_slice() {
                b"SMTPUTF8" => utf8 = true,
                b"SIZE" | b"BODY" => {}
                _ => return Err(()),
            }
        }
        Ok(utf8)
    }

    /// Whether there are parameters: RCPT allows none here.
    pub(super) fn has_parameters(&self) -> bool {
        !self.parameters.is_empty()
    }
}

/// Position of the path's end; `>` may occur inside a quoted local part.
fn closing_bracket(path: &[u8]) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    path.iter().position(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'>' if !quoted => return true,
            _ => {}
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn paths() {
        let parse = |text: &'static str| Path::parse(text.as_bytes(), b"TO:").and_then(|path| path.split());
        assert_eq!(parse("TO:<anna@a.test>"), Some(("anna", "a.test")));
        assert_eq!(parse("to: <anna@a.test>"), Some(("anna", "a.test")));
        assert_eq!(parse("TO:<\"a>@b\"@a.test>"), Some(("\"a>@b\"", "a.test")));
        assert_eq!(parse("TO:<@x.test,@y.test:anna@a.test>"), Some(("anna", "a.test")));
        for wrong in
            ["", "TO:", "TO:anna@a.test", "TO:<anna>", "TO:<anna@a.test", "TO:<@a.test>", "TO:<a@b>x", "FROM:<a@b>"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn mail_parameters() {
        let check = |text: &'static str| Path::parse(text.as_bytes(), b"FROM:").map(|path| path.mail_parameters());
        assert_eq!(check("FROM:<>"), Some(Ok(false)));
        assert_eq!(check("FROM:<a@b> SIZE=10 body=8BITMIME smtputf8"), Some(Ok(true)));
        assert_eq!(check("FROM:<a@b> XTRA=1"), Some(Err(())));
    }
}
