//! Loads a connector from text and checks it.

use toml::de::{DeTable, DeValue};

use super::check;
use super::{ConnectorFault, ConnectorFile, Origin};

/// Maximum size of a file, in bytes.
pub(crate) const FILE_MAX: usize = 256 << 10;

impl ConnectorFile {
    /// Parses and checks a file. Faults contain `name`.
    pub fn parse(name: &str, text: &str, origin: Origin) -> Result<Self, Vec<ConnectorFault>> {
        let fault = |path: String, line, what: String| vec![ConnectorFault { file: name.to_owned(), path, line, what }];
        if text.len() > FILE_MAX {
            return Err(fault(String::new(), None, format!("a file may have at most {FILE_MAX} bytes")));
        }
        let line_of =
            |span: std::ops::Range<usize>| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1;
        let deserializer = toml::Deserializer::parse(text)
            .map_err(|error| fault(String::new(), error.span().map(line_of), error.message().trim_end().to_owned()))?;
        let mut file: Self = serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let path = error.path().to_string();
            let inner = error.into_inner();
            let what = inner.message().trim_end().to_owned();
            fault(if path == "." { String::new() } else { path }, inner.span().map(line_of), what)
        })?;
        file.origin = origin;
        let mut faults = check::faults(&file, name);
        for fault in &mut faults {
            fault.line = begin_of(text, &fault.path).map(|begin| line_of(begin..begin));
        }
        if faults.is_empty() { Ok(file) } else { Err(faults) }
    }
}

/// Returns the offset of a key's value, or of the longest part of the key that the text has. Repeatable tables are found by
/// their `name`.
fn begin_of(text: &str, path: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut parts = path.split('.');
    let (key, mut value) = table.get_ref().get_key_value(parts.next()?)?;
    let mut begin = key.span().start;
    for part in parts {
        let next = match value.get_ref() {
            DeValue::Table(table) => table.get_key_value(part).map(|(key, value)| (key.span().start, value)),
            DeValue::Array(items) => {
                let mut items = items.iter();
                let named = items
                    .find(|item| item.get_ref().get("name").is_some_and(|name| name.get_ref().as_str() == Some(part)));
                named.map(|item| (item.span().start, item))
            }
            _ => None,
        };
        let Some((at, inner)) = next else { break };
        (begin, value) = (at, inner);
    }
    Some(begin)
}
