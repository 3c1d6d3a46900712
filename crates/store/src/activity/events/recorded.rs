//! Decides which parts of a setting's values an event may keep: unchanged, so that a change can be undone, except identities,
//! locations and credentials.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use serde_json::{Value, json};

/// Replacement of a value that is not kept.
pub const REDACTED: &str = "redacted";

/// Largest value kept unchanged, in bytes of JSON. It keeps a page of events small, and repeated changes of long lists cannot fill
/// the disk faster than other means.
const VALUE_BYTES_MAX: usize = 8_192;

/// Parts of names whose values are credentials.
const CREDENTIALS: [&str; 11] = [
    "secret",
    "token",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "apikey",
    "private",
    "bearer",
    "cookie",
    "signature",
];
/// Words of such names that also occur within many other words.
const CREDENTIAL_WORDS: [&str; 5] = ["key", "keys", "auth", "pin", "otp"];
/// Words of setting names whose values identify or locate a person: only the name is kept.
const PERSONAL_WORDS: [&str; 12] =
    ["account", "email", "emails", "phone", "url", "urls", "uri", "ip", "ips", "origin", "origins", "host"];

/// Returns the parts of a setting's former and new values that an event keeps. Values that identify, locate or give access are
/// replaced with [`REDACTED`]; all others are kept. A list that is too long is reduced to its length and its differences: `removed`
/// in the former value, `added` in the new one.
pub fn recorded(setting: &str, before: &Value, after: &Value) -> (Value, Value) {
    let hidden = |value: &Value| is_confidential(setting) || says_who(value);
    let kept = |value: &Value, other: &Value, name: &str| match value {
        _ if hidden(value) => REDACTED.into(),
        Value::Array(entries) if is_long(value) || is_long(other) => difference(entries, other, name),
        _ if is_long(value) => REDACTED.into(),
        _ => value.clone(),
    };
    (kept(before, after, "removed"), kept(after, before, "added"))
}

fn is_long(value: &Value) -> bool {
    value.to_string().len() > VALUE_BYTES_MAX
}

/// Entries of a list that the other value lacks. If these are too long as well, only their count.
fn difference(entries: &[Value], other: &Value, name: &str) -> Value {
    let others = other.as_array().map_or(&[][..], Vec::as_slice);
    let others: BTreeSet<String> = others.iter().map(Value::to_string).collect();
    let own: Vec<&Value> = entries.iter().filter(|entry| !others.contains(&entry.to_string())).collect();
    let shown = json!({ "entries": entries.len(), name: own });
    if is_long(&shown) { format!("{} entries", entries.len()).into() } else { shown }
}

fn is_confidential(setting: &str) -> bool {
    let name = setting.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    CREDENTIALS.iter().any(|part| name.contains(part))
        || words.any(|word| CREDENTIAL_WORDS.contains(&word) || PERSONAL_WORDS.contains(&word))
}

/// Whether a value holds an email or network address, at any depth. Field names count as values.
fn says_who(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text_says_who(text),
        Value::Array(values) => values.iter().any(says_who),
        Value::Object(fields) => fields.iter().any(|(name, value)| text_says_who(name) || says_who(value)),
    }
}

/// The text may be any word that a customer has banned, so a full-width `@` counts, too.
fn text_says_who(text: &str) -> bool {
    let is_network = |part: &str| {
        let bare = part.trim_matches(['[', ']', '(', ')', '<', '>', '"', '\'', '.']);
        let network = bare.split('/').next().unwrap_or_default();
        part.parse::<SocketAddr>().is_ok() || network.parse::<IpAddr>().is_ok()
    };
    text.contains(['@', '＠', '﹫']) || text.split([' ', ',', ';', '\t', '\n']).any(is_network)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_values_are_kept() {
        for (setting, value) in [
            ("organization.ignored_reasons", json!(["spam", "bounced"])),
            ("organization.banned_words", json!(["casino", "10.5", "größe"])),
            ("organization.retention_days", json!(30)),
            ("organization.retention_days", json!(null)),
            ("connection.checks.disposable", json!(true)),
            ("connection.keywords", json!("monkey")),
        ] {
            assert_eq!(recorded(setting, &Value::Null, &value), (Value::Null, value.clone()), "{setting}");
            assert_eq!(recorded(setting, &value, &Value::Null), (value, Value::Null), "{setting}");
        }
    }

    #[test]
    fn what_opens_something_or_says_who_is_not_kept() {
        for (setting, value) in [
            ("connection.api_key", json!("abc")),
            ("connection.credentials.user", json!("ann")),
            ("connection.accessToken", json!(null)),
            ("webhooks.callback_secret", json!("abc")),
            ("account.name", json!("Ann Lee")),
            ("webhook.url", json!("https://example.com/")),
            ("organization.banned_words", json!(["casino", "ann@example.com"])),
            ("organization.banned_words", json!({"ann@example.com": 1})),
            ("organization.banned_words", json!(["ann＠example.com"])),
            ("organization.banned_words", json!([["see 192.0.2.7"]])),
            ("organization.banned_words", json!(["[2001:db8::1]"])),
            ("organization.banned_words", json!("[2001:db8::1]:25")),
            ("organization.role_words", json!("192.0.2.0/24")),
        ] {
            assert_eq!(recorded(setting, &value, &value), (json!(REDACTED), json!(REDACTED)), "{setting} {value}");
        }
    }

    fn words(numbers: std::ops::Range<usize>) -> Value {
        numbers.map(|number| Value::from(format!("casino-{number}"))).collect()
    }

    #[test]
    fn lists_of_ordinary_length_are_kept_as_they_were() {
        let (before, after) = (words(0..500), words(1..501));
        assert_eq!(recorded("organization.banned_words", &before, &after), (before, after));
    }

    #[test]
    fn of_long_lists_the_difference_is_kept() {
        let kept = |before: &Value, after: &Value| recorded("organization.banned_words", before, after);
        assert_eq!(
            kept(&words(0..1_000), &words(1..1_001)),
            (json!({"entries": 1_000, "removed": ["casino-0"]}), json!({"entries": 1_000, "added": ["casino-1000"]}))
        );
        let (few, many) = (json!(["casino-7", "poker"]), words(0..800));
        assert_eq!(kept(&few, &many), (json!({"entries": 2, "removed": ["poker"]}), json!("800 entries")));
        assert_eq!(kept(&many, &words(1..800)).1, json!({"entries": 799, "added": []}));
        assert_eq!(kept(&Value::Null, &json!("x".repeat(9_000))), (Value::Null, json!(REDACTED)));
        let mut hidden = many.clone();
        hidden.as_array_mut().unwrap().push("ann@example.com".into());
        assert_eq!(kept(&many, &hidden).1, json!(REDACTED));
        assert_eq!(kept(&hidden, &many), (json!(REDACTED), json!({"entries": 800, "added": []})));
    }
}
