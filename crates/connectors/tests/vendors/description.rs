//! Facts of a vendor's interface: the operations that our requests use, trimmed from the vendor's own description.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// Trimmed description in `tests/data/vendors/SLUG.json`.
pub(crate) struct VendorDescription {
    pub slug: String,
    value: Value,
}

/// Operation that a request calls, with the values in its path.
pub(crate) struct CalledOperation<'a> {
    /// Method and path, as in `GET /lists/{id}`.
    pub name: &'a str,
    pub rule: &'a Value,
    pub path: Vec<(String, String)>,
}

impl VendorDescription {
    /// Returns the platform's description, or `None` if it has none.
    pub(crate) fn of(slug: &str) -> Option<Self> {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../connectors/tests/data/vendors/{slug}.json"));
        let text = std::fs::read_to_string(&path).ok()?;
        let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Some(Self { slug: slug.to_owned(), value })
    }

    pub(crate) fn source(&self) -> &Value {
        &self.value["source"]
    }

    /// Returns the schemas of headers that every request must have.
    pub(crate) fn headers(&self) -> Option<&Map<String, Value>> {
        self.value["headers"].as_object()
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = &String> {
        self.value["operations"].as_object().expect("operations").keys()
    }

    pub(crate) fn exceptions(&self) -> &[Value] {
        self.value["exceptions"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the schema of answers with an error, or null.
    pub(crate) fn error(&self) -> &Value {
        &self.value["error"]
    }

    /// Returns the operation of a method and a path. A literal path precedes one with parameters.
    pub(crate) fn operation(&self, method: &str, path: &str) -> Option<CalledOperation<'_>> {
        let path = path.strip_prefix(self.value["base"].as_str().unwrap_or_default())?;
        let operations = self.value["operations"].as_object().expect("operations");
        let mut fitting: Vec<_> = operations
            .iter()
            .filter_map(|(name, rule)| {
                let template = name.strip_prefix(method)?.strip_prefix(' ')?;
                Some(CalledOperation { name, rule, path: fit(template, path)? })
            })
            .collect();
        fitting.sort_by_key(|called| called.path.len());
        fitting.into_iter().next()
    }
}

/// Returns the values of a template's parameters, if the path fits.
fn fit(template: &str, path: &str) -> Option<Vec<(String, String)>> {
    let (wanted, given): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    if wanted.len() != given.len() {
        return None;
    }
    let pairs = wanted.into_iter().zip(given);
    let fitting = pairs
        .map(|(wanted, given)| if wanted.contains('{') { parameter(wanted, given) } else { literal(wanted, given) });
    fitting.collect::<Option<Vec<_>>>().map(|values| values.concat())
}

fn literal(wanted: &str, given: &str) -> Option<Vec<(String, String)>> {
    (wanted == given).then(Vec::new)
}

/// Returns the value of a segment's parameter, as in `{list_id}.json`.
fn parameter(wanted: &str, given: &str) -> Option<Vec<(String, String)>> {
    let (before, rest) = wanted.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    let value = given.strip_prefix(before)?.strip_suffix(after)?;
    let value = percent_decode_str(value).decode_utf8().ok()?.into_owned();
    (!value.is_empty()).then(|| vec![(name.to_owned(), value)])
}
