//! Credentials of a platform from a file or standard input. No message quotes the input.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

use crate::batch::input;

/// Maximum size of a file with credentials: more than 20 of them at their longest.
const BYTES_MAX: u64 = 128 << 10;

/// Reads credentials by name.
pub(super) fn read(file: &Path) -> Result<Map<String, Value>> {
    parse(&input::read_text(file, BYTES_MAX)?).with_context(|| format!("--credentials: {}", input::place(file)))
}

/// Parses a JSON object, or lines `NAME=VALUE`; empty lines and lines after `#` are skipped.
fn parse(text: &str) -> Result<Map<String, Value>> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        // The parser's message would quote values.
        let Ok(found) = serde_json::from_str(text) else { bail!("this is not a JSON object") };
        return Ok(found);
    }
    let mut found = Map::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { bail!("line {number} must be NAME=VALUE") };
        if found.insert(name.trim().to_owned(), value.trim().into()).is_some() {
            bail!("line {number} names a credential of an earlier line");
        }
    }
    if found.is_empty() {
        bail!("there are no credentials; write a line NAME=VALUE for each");
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_are_lines_or_an_object() {
        let expected = json!({ "url": "https://a.example?b=c", "api_key": "id:secret=" });
        let lines = "\u{feff}# Ghost\nurl = https://a.example?b=c\r\n\napi_key=id:secret=\n";
        assert_eq!(Value::Object(parse(lines).unwrap()), expected);
        assert_eq!(Value::Object(parse(&format!("\n{expected}")).unwrap()), expected);
    }

    #[test]
    fn a_wrong_file_is_not_quoted() {
        for (text, said) in [
            ("url=https://a.example\nhunter2", "line 2 must be NAME=VALUE"),
            ("{\"api_key\": hunter2}", "not a JSON object"),
            ("a=hunter1\na=hunter2", "line 2 names a credential of an earlier line"),
            ("\n# nothing", "there are no credentials"),
        ] {
            assert!(parse(text).unwrap_err().to_string().contains(said), "{text}");
        }
    }
}
