//! What of a setting's value may be kept in an event.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

/// What stands in the place of a value that is not kept.
pub const REDACTED: &str = "redacted";

/// The longest value that is kept as it is, in bytes of JSON: a page of events stays small.
const VALUE_BYTES_MAX: usize = 1_000;

/// Parts of names whose values open something.
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
/// Words of names for which the same holds, and which stand within too many other words.
const CREDENTIAL_WORDS: [&str; 5] = ["key", "keys", "auth", "pin", "otp"];
/// Words of names of settings that say who or where somebody is: of them only the name is kept.
const PERSONAL_WORDS: [&str; 12] =
    ["account", "email", "emails", "phone", "url", "urls", "uri", "ip", "ips", "origin", "origins", "host"];

/// The part of a setting's value that an event keeps: the value itself, where it is short and says nothing about who or
/// where somebody is and opens nothing; of a long list how many entries it has; else [`REDACTED`].
pub fn recorded(setting: &str, value: &Value) -> Value {
    if is_confidential(setting) || says_who(value) {
        return REDACTED.into();
    }
    match value {
        _ if value.to_string().len() <= VALUE_BYTES_MAX => value.clone(),
        Value::Array(entries) => format!("{} entries", entries.len()).into(),
        _ => REDACTED.into(),
    }
}

fn is_confidential(setting: &str) -> bool {
    let name = setting.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    CREDENTIALS.iter().any(|part| name.contains(part))
        || words.any(|word| CREDENTIAL_WORDS.contains(&word) || PERSONAL_WORDS.contains(&word))
}

/// Whether a value holds an address of mail or of a network, however deep. Names of fields count as values.
fn says_who(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text_says_who(text),
        Value::Array(values) => values.iter().any(says_who),
        Value::Object(fields) => fields.iter().any(|(name, value)| text_says_who(name) || says_who(value)),
    }
}

/// A text may be any word that a customer has banned: a full-width `@` is one too.
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
            assert_eq!(recorded(setting, &value), value, "{setting}");
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
            assert_eq!(recorded(setting, &value), json!(REDACTED), "{setting} {value}");
        }
    }

    #[test]
    fn of_long_values_the_size_is_kept() {
        let words = |count: usize| Value::from(vec!["casino"; count]);
        assert_eq!(recorded("organization.banned_words", &words(100)), words(100));
        assert_eq!(recorded("organization.banned_words", &words(500)), json!("500 entries"));
        assert_eq!(recorded("organization.banned_words", &json!("x".repeat(2_000))), json!(REDACTED));
        let hidden = Value::from([vec!["casino"; 500], vec!["ann@example.com"]].concat());
        assert_eq!(recorded("organization.banned_words", &hidden), json!(REDACTED));
    }
}
