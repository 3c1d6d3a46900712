//! The effective configuration, written as the commented default file with the values in force.

use std::fmt::Write as _;

use toml::{Table, Value};

use super::{DEFAULT, Layers};

pub(super) fn print(layers: &Layers) -> String {
    let mut out = String::new();
    let mut section = String::new();
    for line in DEFAULT.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            // Sources go before the section that follows their comment in the file.
            if section == "probe" {
                out.push_str(&sources(&layers.sources));
            }
            name.clone_into(&mut section);
        }
        match line.split_once(" = ") {
            Some((key, _)) if !line.starts_with('#') => {
                let (value, _) =
                    layers.values.get(format!("{section}.{key}").as_str()).expect("a key of the default file");
                let _ = writeln!(out, "{key} = {value}");
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

fn sources(sources: &[Table]) -> String {
    let mut out = String::new();
    for source in sources {
        out.push_str("[[source]]\n");
        for (key, value) in source {
            let _ = writeln!(out, "{key} = {}", shown(key, value));
        }
        out.push('\n');
    }
    out
}

/// A proxy's password is never printed.
fn shown(key: &str, value: &Value) -> String {
    match (key, value.as_str()) {
        ("proxy", Some(text)) => {
            let hidden = text.split_once("://").and_then(|(scheme, rest)| {
                let (login, host) = rest.rsplit_once('@')?;
                let user = login.split_once(':').map_or(login, |(user, _)| user);
                Some(format!("{scheme}://{user}:redacted@{host}"))
            });
            Value::String(hidden.unwrap_or_else(|| text.to_owned())).to_string()
        }
        _ => value.to_string(),
    }
}
