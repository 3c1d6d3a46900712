//! Format of a submission: declared by its media type, never guessed.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmissionFormat {
    /// `application/json`: an object with `emails`.
    Json,
    /// `text/csv`: one address per record.
    Csv,
    /// `application/x-ndjson`: one string or object with `email` per line.
    Ndjson,
}

impl SubmissionFormat {
    /// Format of this media type, including parameters (RFC 9110 §8.3.1); `None` for any other.
    pub fn named(media_type: &str) -> Option<Self> {
        let mut parts = media_type.split(';').map(str::trim);
        let essence = parts.next()?;
        let is = |name: &str| essence.eq_ignore_ascii_case(name);
        // RFC 8259 §11 defines no parameter: the body is UTF-8 regardless. NDJSON is treated alike.
        if is("application/json") {
            Some(Self::Json)
        } else if is("application/x-ndjson") {
            Some(Self::Ndjson)
        } else if is("text/csv") && parts.all(readable) {
            Some(Self::Csv)
        } else {
            None
        }
    }
}

/// RFC 7111 §5.1: `charset` names the encoding of the text; US-ASCII is UTF-8 too. `header` is detected from the text itself.
fn readable(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return true };
    let value = value.trim().trim_matches('"');
    !name.trim().eq_ignore_ascii_case("charset")
        || ["utf-8", "utf8", "us-ascii"].iter().any(|known| value.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_media_type_decides() {
        let table = [
            ("application/json", Some(SubmissionFormat::Json)),
            ("Application/JSON; charset=utf-8", Some(SubmissionFormat::Json)),
            ("application/json;charset=latin1", Some(SubmissionFormat::Json)),
            ("text/csv", Some(SubmissionFormat::Csv)),
            ("TEXT/CSV ; header=present; charset=\"UTF-8\"", Some(SubmissionFormat::Csv)),
            ("text/csv;", Some(SubmissionFormat::Csv)),
            ("text/csv; charset=us-ascii", Some(SubmissionFormat::Csv)),
            ("text/csv; charset=iso-8859-1", None),
            ("application/x-ndjson", Some(SubmissionFormat::Ndjson)),
            ("application/x-ndjson; charset=utf-8", Some(SubmissionFormat::Ndjson)),
            ("", None),
            ("text/plain", None),
            ("application/jsonp", None),
        ];
        for (media_type, format) in table {
            assert_eq!(SubmissionFormat::named(media_type), format, "{media_type:?}");
        }
    }
}
