//! Configuration keys and the values that each accepts.
//!
//! Names and defaults come from `default.toml`. This table adds what TOML cannot express: that a text is a duration, a number has
//! bounds, a word is one of a few. A test compares the two. Every message names the key, and says what was found and what is
//! expected.

use toml::Value;

use super::{duration, secret, size};

/// Type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Flag,
    /// An integer with minimum and maximum.
    Whole(i64, i64),
    /// A duration, as text.
    Time,
    /// A duration above 0.
    Deadline,
    Texts,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A size as text, with minimum and maximum in bytes.
    Size(u64, u64),
    /// A text that is never shown.
    Secret,
    /// A URL whose password is never shown.
    Url,
}

/// Maximum rate per minute: a million per second exceeds what one machine serves, and is far from any overflow.
pub(super) const RATE_MAX: i64 = 60_000_000;

/// Every key with its type, in the order of `default.toml`.
pub(crate) const KEYS: &[(&str, Kind)] = &[
    ("probe.mail_from", Kind::Text),
    ("probe.helo", Kind::Text),
    ("probe.profile", Kind::Word(&["polite", "open"])),
    ("probe.port", Kind::Whole(1, 65_535)),
    ("probe.starttls", Kind::Flag),
    ("probe.patience", Kind::Time),
    ("probe.held_back", Kind::Time),
    ("probe.attempts", Kind::Whole(1, 100)),
    ("dns.nameservers", Kind::Texts),
    ("dns.timeout", Kind::Deadline),
    ("dns.attempts", Kind::Whole(1, 10)),
    ("limits.sessions", Kind::Whole(1, 1_000_000)),
    ("limits.domains", Kind::Whole(1, 1_000_000)),
    ("timeouts.live.connect", Kind::Deadline),
    ("timeouts.live.banner", Kind::Deadline),
    ("timeouts.live.command", Kind::Deadline),
    ("timeouts.live.session", Kind::Deadline),
    ("timeouts.batch.connect", Kind::Deadline),
    ("timeouts.batch.banner", Kind::Deadline),
    ("timeouts.batch.command", Kind::Deadline),
    ("timeouts.batch.session", Kind::Deadline),
    ("cache.good", Kind::Time),
    ("cache.bad", Kind::Time),
    ("cache.catch_all_yes", Kind::Time),
    ("cache.catch_all_no", Kind::Time),
    ("cache.accepted", Kind::Time),
    ("cache.verdicts", Kind::Whole(0, 100_000_000)),
    ("allow.networks", Kind::Texts),
    ("allow.special_use", Kind::Texts),
    ("data.directory", Kind::Text),
    ("server.listen", Kind::Texts),
    ("server.roles", Kind::Texts),
    ("server.public_url", Kind::Text),
    ("server.data", Kind::Text),
    ("server.brand", Kind::Text),
    ("server.trusted_proxies", Kind::Texts),
    ("server.connections", Kind::Whole(1, 1_000_000)),
    ("server.body_max", Kind::Size(1 << 10, 1 << 30)),
    ("server.header_timeout", Kind::Deadline),
    ("server.request_timeout", Kind::Deadline),
    ("server.shutdown_grace", Kind::Time),
    ("server.metrics_token", Kind::Secret),
    ("database.url", Kind::Url),
    ("database.pool_max", Kind::Whole(1, 1_000)),
    ("database.acquire_timeout", Kind::Deadline),
    ("database.statement_timeout", Kind::Deadline),
    ("secrets.pepper", Kind::Secret),
    ("secrets.master_key_file", Kind::Text),
    ("rate.key_per_minute", Kind::Whole(1, RATE_MAX)),
    ("rate.organization_per_minute", Kind::Whole(1, RATE_MAX)),
    ("rate.address_per_minute", Kind::Whole(1, RATE_MAX)),
    ("widget.visitor_per_minute", Kind::Whole(1, RATE_MAX)),
    ("widget.key_per_minute", Kind::Whole(1, RATE_MAX)),
    ("widget.daily_cap", Kind::Whole(1, 1_000_000_000)),
    ("batch.rows", Kind::Whole(1, 1_000_000)),
    ("batch.body_max", Kind::Size(1 << 10, 1 << 30)),
    ("batch.lease", Kind::Deadline),
    ("batch.keep_days", Kind::Whole(1, 3_650)),
    ("batch.slots", Kind::Whole(0, 1_000)),
    ("uploads.body_max", Kind::Size(1 << 10, 1 << 30)),
    ("uploads.at_once", Kind::Whole(1, 10_000)),
    ("uploads.keep_days", Kind::Whole(1, 3_650)),
    ("credits.plan", Kind::Text),
    ("credits.initial", Kind::Whole(0, 1_000_000_000)),
    ("webhooks.https_only", Kind::Flag),
    ("webhooks.keep_days", Kind::Whole(1, 365)),
    ("session.idle", Kind::Deadline),
    ("session.absolute", Kind::Deadline),
    ("team.invitation", Kind::Deadline),
    ("mail.relay", Kind::Url),
    ("mail.from", Kind::Text),
    ("admin.key", Kind::Secret),
    ("admin.listen", Kind::Texts),
    ("doctor.probe_domains", Kind::Texts),
    ("doctor.block_lists", Kind::Texts),
    ("log.level", Kind::Word(&["error", "warn", "info", "debug", "trace"])),
    ("log.format", Kind::Word(&["text", "json"])),
];

/// Keys of earlier versions. They have no effect, but do not prevent a start.
const RETIRED: &[&str] = &["credits.hold"];

/// Keys of one `[[source]]`.
pub(crate) const SOURCE_KEYS: &[&str] = &["bind", "public", "helo", "proxy", "in_use_since"];

/// Reports whether keys exist below this name.
pub(crate) fn is_section(name: &str) -> bool {
    KEYS.iter().any(|(key, _)| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// Reports whether only an earlier version had this key.
pub(crate) fn is_retired(key: &str) -> bool {
    RETIRED.contains(&key)
}

/// Explains that a key does not exist.
pub(crate) fn unknown(key: &str) -> String {
    let all = KEYS.iter().map(|(name, _)| *name);
    match nearest(key, all) {
        Some(near) => format!("there is no key `{key}`; did you mean `{near}`?"),
        None => format!("there is no key `{key}`; to list all keys: `probity config`"),
    }
}

/// Returns the candidate most similar to `wrong`, if any is similar.
pub(crate) fn nearest<'a>(wrong: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let score = |candidate: &str| {
        let whole = distance(wrong, candidate);
        // A correct name in the wrong section counts as one edit.
        if last(wrong) == last(candidate) { whole.min(1) } else { whole }
    };
    let best = candidates.map(|candidate| (score(candidate), candidate)).min()?;
    (best.0 <= 1 + wrong.len() / 4).then_some(best.1)
}

/// Returns the Levenshtein distance between two short texts.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

/// Checks a file's value against its key; the error does not name the file.
pub(crate) fn check(key: &str, kind: Kind, value: &Value) -> Result<(), String> {
    let fits = match (kind, value) {
        (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Boolean(_)) => true,
        (Kind::Whole(least, most), Value::Integer(number)) => (least..=most).contains(number),
        (Kind::Time, Value::String(text)) => duration::parse(text).is_some(),
        (Kind::Deadline, Value::String(text)) => duration::parse(text).is_some_and(|ms| ms > 0),
        (Kind::Texts, Value::Array(items)) => items.iter().all(Value::is_str),
        (Kind::Word(words), Value::String(text)) => words.contains(&text.as_str()),
        (Kind::Size(least, most), Value::String(text)) => {
            size::parse(text).is_some_and(|bytes| (least..=most).contains(&bytes))
        }
        (Kind::Secret | Kind::Url, Value::String(text)) => {
            if text.contains(secret::HIDDEN) {
                return Err(format!(
                    "`{key}` is what `probity config` prints in place of a secret; {}",
                    secret::INSTEAD
                ));
            }
            true
        }
        _ => false,
    };
    let found = match kind {
        // Any value may be the secret.
        Kind::Secret | Kind::Url => "something else".to_owned(),
        _ => found(value),
    };
    if fits { Ok(()) } else { Err(format!("`{key}` is {found}, but must be {}", wanted(kind))) }
}

/// Parses a key's value from the environment or a flag.
pub(crate) fn read(key: &str, kind: Kind, text: &str) -> Result<Value, String> {
    let value = match kind {
        Kind::Text | Kind::Time | Kind::Deadline | Kind::Word(_) | Kind::Size(..) | Kind::Secret | Kind::Url => {
            Value::String(text.to_owned())
        }
        Kind::Flag => match text {
            "true" | "1" | "yes" | "on" => Value::Boolean(true),
            "false" | "0" | "no" | "off" => Value::Boolean(false),
            _ => Value::String(text.to_owned()),
        },
        Kind::Whole(..) => text.trim().parse().map_or_else(|_| Value::String(text.to_owned()), Value::Integer),
        Kind::Texts => list(text),
    };
    check(key, kind, &value).map(|()| value)
}

/// Parses a list as printed by `probity config`, or comma-separated items.
fn list(text: &str) -> Value {
    let printed = text.trim_start().starts_with('[').then(|| format!("list = {text}").parse::<toml::Table>().ok());
    if let Some(value @ Value::Array(_)) = printed.flatten().and_then(|mut table| table.remove("list")) {
        return value;
    }
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
}

fn wanted(kind: Kind) -> String {
    match kind {
        Kind::Text | Kind::Secret | Kind::Url => "a text in quotes".into(),
        Kind::Size(least, most) => format!("{}, from {} to {}", size::EXAMPLES, size::show(least), size::show(most)),
        Kind::Flag => "true or false".into(),
        Kind::Whole(least, most) => format!("a whole number from {least} to {most}"),
        Kind::Time => duration::EXAMPLES.into(),
        Kind::Deadline => format!("{}, longer than 0", duration::EXAMPLES),
        Kind::Texts => "a list of texts, such as [\"one\", \"two\"]".into(),
        Kind::Word(words) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            format!("one of {}", quoted.join(", "))
        }
    }
}

fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text {text:?}"),
        Value::Integer(number) => format!("the number {number}"),
        Value::Float(number) => format!("the number {number}"),
        Value::Boolean(flag) => format!("{flag}"),
        Value::Array(items) if items.iter().all(Value::is_str) => "a list".into(),
        Value::Array(_) => "a list with values other than text".into(),
        Value::Table(_) => "a section".into(),
        Value::Datetime(_) => "a date".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(key: &str) -> Option<Kind> {
        KEYS.iter().find(|(name, _)| *name == key).map(|(_, kind)| *kind)
    }

    #[test]
    fn the_table_and_the_default_file_name_the_same_keys() {
        let table: toml::Table = super::super::DEFAULT.parse().unwrap();
        let mut names = Vec::new();
        flatten("", &table, &mut names);
        let mut keys: Vec<String> = KEYS.iter().map(|(key, _)| (*key).to_owned()).collect();
        names.sort();
        keys.sort();
        assert_eq!(names, keys);
    }

    fn flatten(prefix: &str, table: &toml::Table, names: &mut Vec<String>) {
        for (key, value) in table {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                Value::Table(inner) => flatten(&name, inner, names),
                value => {
                    check(&name, kind(&name).unwrap(), value).unwrap();
                    names.push(name);
                }
            }
        }
    }

    #[test]
    fn a_slip_is_answered_with_the_nearest_key() {
        assert!(unknown("probe.mailfrom").contains("`probe.mail_from`"));
        assert!(unknown("dns.nameserver").contains("`dns.nameservers`"));
        assert!(unknown("helo").contains("`probe.helo`"));
        assert!(!unknown("quite.something_else").contains("did you mean"));
    }

    #[test]
    fn a_wrong_value_is_answered_with_what_would_be_right() {
        let wrong = |key: &str, value: Value| check(key, kind(key).unwrap(), &value).unwrap_err();
        assert_eq!(
            wrong("probe.port", Value::String("abc".into())),
            "`probe.port` is the text \"abc\", but must be a whole number from 1 to 65535"
        );
        assert!(wrong("probe.port", Value::Integer(70_000)).contains("70000"));
        assert!(wrong("dns.timeout", Value::Integer(5)).contains("\"20s\""));
        assert!(wrong("timeouts.live.connect", Value::String("0s".into())).contains("longer than 0"));
        assert_eq!(
            wrong("server.body_max", Value::String("1MB".into())),
            "`server.body_max` is the text \"1MB\", but must be a size with a unit, such as \"512KiB\" or \"1MiB\", from 1KiB to 1GiB"
        );
        assert!(wrong("server.body_max", Value::String("1000B".into())).contains("from 1KiB"));
        assert!(!wrong("secrets.pepper", Value::Integer(123_456)).contains("123456"));
        assert!(wrong("database.url", Value::String("postgres://u:(set)@h/d".into())).contains("in place of a secret"));
        assert!(check("probe.patience", Kind::Time, &Value::String("0s".into())).is_ok());
        assert!(wrong("probe.profile", Value::String("rude".into())).contains("\"polite\""));
        assert!(wrong("allow.networks", Value::String("10.0.0.0/8".into())).contains("a list"));
    }

    #[test]
    fn texts_from_the_environment_become_values() {
        let read = |key: &str, text: &str| read(key, kind(key).unwrap(), text);
        assert_eq!(read("probe.starttls", "no").unwrap(), Value::Boolean(false));
        assert_eq!(read("probe.port", "2525").unwrap(), Value::Integer(2525));
        assert_eq!(read("dns.nameservers", "a, b").unwrap().as_array().unwrap().len(), 2);
        let table: [(&str, &[&str]); 7] = [
            ("[\"a\", \"b\"]", &["a", "b"]),
            (" [ 'a' ,\n 'b', ] ", &["a", "b"]),
            ("[\"a,b\"]", &["a,b"]),
            ("[]", &[]),
            ("", &[]),
            ("[::1]:80,127.0.0.1:80", &["[::1]:80", "127.0.0.1:80"]),
            ("[::1]:80", &["[::1]:80"]),
        ];
        for (text, expected) in table {
            let items = read("server.listen", text).unwrap();
            assert_eq!(
                items.as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        }
        assert!(read("server.listen", "[1, 2]").unwrap_err().contains("a list with values other than text"));
        assert!(read("probe.port", "x").unwrap_err().contains("probe.port"));
    }
}
