//! Parses JSON of bounded depth, with error messages that name the field and its rule.
//!
//! Messages never repeat a value, because it may be an address. Field names of the client are repeated only if they look like
//! field names. Messages that our own types create with `serde::de::Error::custom` are passed on.

use probity_contract::error::ApiError;
use probity_lists::submission::DEPTH_MAX;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::error::Category;

use crate::error::Refusal;

/// Maximum length of a field's path in a message, in characters.
const PATH_CHARS_MAX: usize = 100;
/// Replacement for a field name that a message does not repeat.
const SOME_FIELD: &str = "a field of the body";
/// Beginning of serde's error about a field that the type does not have.
const UNKNOWN: &str = "unknown field `";
/// Beginnings of serde's errors about a field, whose name follows, each with our own wording.
const OF_FIELDS: [(&str, &str); 3] = [
    ("missing field `", "is required"),
    ("duplicate field `", "is given twice; send it once"),
    (UNKNOWN, "is not a known field; remove it"),
];
/// Beginnings of serde's errors about a value, which end with the expected type.
const STANDARD: [&str; 4] = ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant `"];

/// Parses a `T`.
///
/// # Errors
/// Fails with a 400 for the client; also for text with U+0000, which not every database can store.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let fault = |message: &'static str| Err(ApiError::invalid_request(message));
    match scan(bytes) {
        Err(Unfit::TooDeep) => return Ok(fault("the body may nest arrays and objects at most 32 deep")?),
        Err(Unfit::Nul) => return Err(nul(bytes).into()),
        Ok(()) => {}
    }
    let Ok(text) = str::from_utf8(bytes) else { return Ok(fault("the body must be UTF-8")?) };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| explain(&error, text))?;
    deserializer
        .end()
        .map_err(|_| ApiError::invalid_request("the body has more data after its JSON value; send one value"))?;
    Ok(value)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfit {
    TooDeep,
    Nul,
}

/// Checks nesting depth and U+0000, by brackets and strings only. Stops at the first bracket that is too deep, so that a
/// million of them cost nothing. Invalid JSON may pass; the parser rejects it.
fn scan(bytes: &[u8]) -> Result<(), Unfit> {
    let mut depth = 0_usize;
    let (mut in_text, mut nul) = (false, false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => in_text = !in_text,
            b'\\' if in_text => {
                nul |= bytes[at..].starts_with(b"u0000");
                at += 1;
            }
            b'[' | b'{' if !in_text => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(Unfit::TooDeep);
                }
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if nul { Err(Unfit::Nul) } else { Ok(()) }
}

/// Returns an error that names the field with U+0000. The body's depth must have been checked.
fn nul(bytes: &[u8]) -> ApiError {
    let body = match serde_json::from_slice::<Value>(bytes) {
        Ok(body) => body,
        Err(error) => return ApiError::invalid_request(format!("the body is not JSON: {error}")),
    };
    // For a repeated field, the parsed value has only the last one.
    let path = nul_below(&body).map(|path| shown(path.trim_start_matches('.')));
    let field = path.filter(|path| !path.is_empty()).unwrap_or_else(|| SOME_FIELD.to_owned());
    ApiError::invalid(&field, "must not contain the character U+0000")
}

/// Returns the path of the first string or name with U+0000 below a value.
fn nul_below(value: &Value) -> Option<String> {
    let of_member = |(name, value): (&String, &Value)| {
        let rest = if name.contains('\0') { Some(String::new()) } else { nul_below(value) };
        rest.map(|rest| format!(".{name}{rest}"))
    };
    match value {
        Value::String(text) => text.contains('\0').then(String::new),
        Value::Array(elements) => {
            let mut elements = elements.iter().enumerate();
            elements.find_map(|(index, value)| nul_below(value).map(|rest| format!("[{index}]{rest}")))
        }
        Value::Object(members) => members.iter().find_map(of_member),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn explain(error: &serde_path_to_error::Error<serde_json::Error>, body: &str) -> ApiError {
    let inner = error.inner();
    if inner.classify() != Category::Data {
        // `serde_json` reports a syntax error if a value that must be one of several names is not a string.
        if serde_json::from_str::<IgnoredAny>(body).is_ok() {
            return ApiError::invalid(&shown(&error.path().to_string()), "must be a string");
        }
        return ApiError::invalid_request(format!("the body is not JSON: {inner}"));
    }
    let text = inner.to_string();
    // serde_json appends the position, which is less helpful than the path.
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let path = Some(error.path().to_string()).filter(|path| path != ".");
    for (start, what) in OF_FIELDS {
        let Some(field) = text.strip_prefix(start).and_then(|rest| rest.split('`').next()) else { continue };
        // The path of an unknown field already names it.
        let is_named = start == UNKNOWN;
        let parent = path.as_deref().and_then(|path| if is_named { path.strip_suffix(field) } else { Some(path) });
        let parent = parent.map(|path| path.trim_end_matches('.')).filter(|path| !path.is_empty());
        let field = parent.map_or_else(|| field.to_owned(), |parent| format!("{parent}.{field}"));
        return ApiError::invalid(&shown(&field), what);
    }
    let what = if STANDARD.iter().any(|start| text.starts_with(start)) {
        // A value may contain these words too; serde's own come last.
        let expected = text.rsplit_once(", expected ").map_or("something else", |(_, expected)| expected);
        format!("must be {}", in_words(expected))
    } else {
        text.to_owned()
    };
    match path {
        Some(path) => ApiError::invalid(&shown(&path), what),
        None => ApiError::invalid_request(format!("the body {what}")),
    }
}

/// Translates names of Rust types to JSON terms.
fn in_words(expected: &str) -> &str {
    match expected {
        "a sequence" => "an array",
        "a map" => "an object",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        _ if expected.starts_with("struct ") || expected.starts_with("internally tagged enum") => "an object",
        _ => expected,
    }
}

/// Returns a path in a form that is safe in a message. Keys come from the client and may contain anything.
fn shown(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.[]".contains(c);
    if path.chars().count() <= PATH_CHARS_MAX && path.chars().all(plain) {
        path.to_owned()
    } else {
        SOME_FIELD.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct BodyOrder {
        name: String,
        count: u32,
        #[serde(default)]
        share: f64,
        #[serde(default)]
        lines: Vec<BodyLine>,
        #[serde(default)]
        color: Option<Color>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct BodyLine {
        text: String,
        #[serde(default)]
        flag: bool,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Color {
        Red,
        DarkBlue,
    }

    #[derive(Debug, Deserialize)]
    struct EmptyBody {}

    fn complaint(body: &str) -> String {
        parse::<BodyOrder>(body.as_bytes()).unwrap_err().message().to_owned()
    }

    #[test]
    fn messages_name_the_field_and_what_it_must_be() {
        let cases = [
            (r#"{"count":1}"#, "name: is required"),
            (r#"{"name":"a","count":1,"lines":[{"text":"a"},{}]}"#, "lines[1].text: is required"),
            (r#"{"name":7,"count":1}"#, "name: must be a string"),
            (r#"{"name":"a","count":"x, expected y"}"#, "count: must be a whole number that is not negative"),
            (r#"{"name":"a","count":-1}"#, "count: must be a whole number that is not negative"),
            (r#"{"name":"a","count":1,"share":"x"}"#, "share: must be a number"),
            (r#"{"name":"a","count":1,"lines":{}}"#, "lines: must be an array"),
            (r#"{"name":"a","count":1,"lines":[{"text":"a","flag":1}]}"#, "lines[0].flag: must be a boolean"),
            (r#"{"name":"a","count":1,"lines":["bob@example.com"]}"#, "lines[0]: must be an object"),
            (r#"{"name":"a","count":1,"color":"bob@example.com"}"#, "color: must be `red` or `dark_blue`"),
            (r#"{"name":"a","count":1,"color":5}"#, "color: must be a string"),
            (r#"{"name":"a","count":1,"color":[true]}"#, "color: must be a string"),
            (r#"{"name":"a","name":"b","count":1}"#, "name: is given twice; send it once"),
            (r#"{"name":"a","count":1,"size":1}"#, "size: is not a known field; remove it"),
            (
                r#"{"name":"a","count":1,"lines":[{"text":"","bob":1}]}"#,
                "lines[0].bob: is not a known field; remove it",
            ),
            (r#"{"name":"a","count":1,"bob@example.com":1}"#, "a field of the body: is not a known field; remove it"),
            ("7", "the body must be an object"),
            ("{", "the body is not JSON: EOF while parsing an object at line 1 column 1"),
            (r#"{"name":bob}"#, "the body is not JSON: expected value at line 1 column 9"),
            (r#"{"name":"a","count":1} x"#, "the body has more data after its JSON value; send one value"),
        ];
        for (body, message) in cases {
            assert_eq!(complaint(body), message, "{body}");
        }
        assert!(matches!(
            parse::<BodyOrder>(br#"{"name":"a","count":1,"color":"dark_blue"}"#).unwrap().color,
            Some(Color::DarkBlue)
        ));
        assert!(matches!(parse::<Color>(br#""red""#), Ok(Color::Red)));
    }

    #[test]
    fn depth_is_bounded_wherever_it_lies() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse::<Value>(nested(32).as_bytes()).is_ok());
        assert!(parse::<Value>(nested(33).as_bytes()).unwrap_err().message().contains("32 deep"));
        let mixed = format!("{}1{}", r#"{"a":["#.repeat(17), "]}".repeat(17));
        assert!(parse::<Value>(mixed.as_bytes()).unwrap_err().message().contains("32 deep"));
        // Brackets within a string do not count, even after an escaped quote.
        let text = format!(r#"["\"{}"]"#, "[".repeat(100));
        assert!(parse::<Value>(text.as_bytes()).is_ok());
        let wide = format!("[{}[]]", "[],".repeat(1_000));
        assert!(parse::<Value>(wide.as_bytes()).is_ok());
    }

    #[test]
    fn u0000_is_refused_by_the_name_of_its_field_and_its_look_alikes_are_not() {
        let cases = [
            (r#"{"name":"a\u0000b"}"#, "name: must not contain the character U+0000"),
            (
                r#"{"a":1,"lines":[{"text":"a"},{"text":"\u0000"}]}"#,
                "lines[1].text: must not contain the character U+0000",
            ),
            (r#"["a", "b\\\u0000"]"#, "[1]: must not contain the character U+0000"),
            (r#""\u0000""#, "a field of the body: must not contain the character U+0000"),
            (r#"{"\u0000": 1}"#, "a field of the body: must not contain the character U+0000"),
            (r#"{"bob@example.com": "\u0000"}"#, "a field of the body: must not contain the character U+0000"),
            (r#"{"name":"\u0000","name":"b"}"#, "a field of the body: must not contain the character U+0000"),
            (r#"{"name":"\u0000""#, "the body is not JSON: EOF while parsing an object at line 1 column 16"),
        ];
        for (refused, message) in cases {
            assert_eq!(parse::<Value>(refused.as_bytes()).unwrap_err().message(), message, "{refused}");
        }
        let deep = format!(r#"["\u0000",{}{}]"#, "[".repeat(40), "]".repeat(40));
        assert!(parse::<Value>(deep.as_bytes()).unwrap_err().message().contains("32 deep"));
        for taken in [r#""\\u0000""#, r#""\u0001""#, r#""u0000""#, r#""\\\\u0000""#] {
            assert_eq!(scan(taken.as_bytes()), Ok(()), "{taken}");
        }
        assert!(parse::<Value>(b"\"\0\"").is_err());
    }

    #[test]
    fn only_utf8_is_read() {
        assert!(parse::<Value>(b"\"\xff\"").unwrap_err().message().contains("UTF-8"));
        // Also if the value is skipped.
        assert!(parse::<EmptyBody>(b"{\"a\":\"\xff\"}").unwrap_err().message().contains("UTF-8"));
    }

    proptest! {
        #[test]
        fn what_serde_refuses_is_refused_without_repeating_values(text in "[a-z@.\"\\\\,:{}\\[\\] 0-9`]{0,40}") {
            let body = serde_json::json!({"name": {"x": text}, "count": text}).to_string();
            let message = complaint(&body);
            prop_assert!(message == "count: must be a whole number that is not negative" || message == "name: must be a string");
        }

        #[test]
        fn the_scan_agrees_with_the_parser_about_texts(text in any::<String>()) {
            let body = serde_json::to_string(&[&text]).unwrap();
            let expected = if text.contains('\0') { Err(Unfit::Nul) } else { Ok(()) };
            prop_assert_eq!(scan(body.as_bytes()), expected);
        }

        #[test]
        fn what_is_fit_is_read_as_the_parser_reads_it(
            bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), "[\\[\\]{}\",:0-9a-bu\\\\ ]{0,24}".prop_map(String::into_bytes)],
        ) {
            let plainly = serde_json::from_slice::<Value>(&bytes).ok().filter(|_| scan(&bytes).is_ok());
            prop_assert_eq!(parse::<Value>(&bytes).ok(), plainly);
        }
    }
}
