//! Prints the effective configuration: the commented default file with the effective values.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toml::{Table, Value};

use super::schema::Kind;
use super::{DEFAULT, Layers, known, secret};

pub(super) fn print(layers: &Layers) -> String {
    let mut out = String::new();
    let mut section = String::new();
    for line in DEFAULT.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            // In the file, sources precede the section that follows their comment.
            if section == "probe" {
                out.push_str(&sources(&layers.sources));
            }
            if section == "credits" {
                out.push_str(&plans(&layers.plans));
            }
            name.clone_into(&mut section);
        }
        match line.split_once(" = ") {
            Some((key, _)) if !line.starts_with('#') => {
                let (name, kind) = known(&format!("{section}.{key}")).expect("a key of the default file");
                let _ = writeln!(out, "{key} = {}", in_force(kind, layers.value(name).0));
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// Formats a value, hiding secrets.
fn in_force(kind: Kind, value: &Value) -> Value {
    match (kind, value.as_str()) {
        (Kind::Secret, Some(text)) if !text.is_empty() => Value::String(secret::HIDDEN.to_owned()),
        (Kind::Url, Some(text)) => Value::String(secret::without_password(text)),
        _ => value.clone(),
    }
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

fn plans(plans: &BTreeMap<String, Table>) -> String {
    let mut out = String::new();
    for (name, plan) in plans {
        let _ = writeln!(out, "[plans.{name}]");
        for (key, value) in plan {
            let _ = writeln!(out, "{key} = {value}");
        }
        out.push('\n');
    }
    out
}

/// Hides a proxy's password.
fn shown(key: &str, value: &Value) -> Value {
    match (key, value.as_str()) {
        ("proxy", Some(url)) => Value::String(secret::without_password(url)),
        _ => value.clone(),
    }
}
