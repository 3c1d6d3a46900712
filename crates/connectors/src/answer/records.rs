//! Records of a response, in limited number.

use std::borrow::Cow;

use serde_json::Value;

use super::Fault;
use crate::file::RecordForm;
use crate::source::{Found, Source};

/// Maximum number of records per response. The maximum body size keeps whole exports below this.
const RECORDS_MAX: usize = 200_000;

/// Record, with the key under which it is stored if there is one.
#[derive(Clone, Debug)]
pub(crate) struct RawRecord<'a> {
    pub key: Option<&'a str>,
    pub value: Cow<'a, Value>,
}

impl RawRecord<'_> {
    /// Returns the record as a document to search in.
    pub(crate) fn found(&self) -> Found<'_> {
        Found { body: &self.value, headers: &[], key: self.key }
    }
}

/// Extracts the records from a response. `raw` is its body, for forms other than JSON.
pub(crate) fn records<'a>(
    (at, form): (&Source, RecordForm),
    may_be_absent: bool,
    found: Found<'a>,
    raw: &[u8],
) -> Result<Vec<RawRecord<'a>>, Fault> {
    let records = match form {
        RecordForm::Lines if found.body.is_object() || found.body.is_array() => {
            return Err(Fault::unreadable("the response is JSON, and not lines of text"));
        }
        RecordForm::Lines | RecordForm::Ndjson => return lines(form, raw),
        RecordForm::Array | RecordForm::Map => at.within(found),
    };
    let record = |(key, value): (Option<&'a str>, &'a Value)| RawRecord { key, value: Cow::Borrowed(value) };
    let records: Vec<_> = match (records, form) {
        (None, _) if may_be_absent => Vec::new(),
        // PHP encodes a map as an array if it is empty or its keys are 0, 1, 2 and so on.
        (Some(Value::Array(values)), _) => values.iter().map(|value| record((None, value))).collect(),
        (Some(Value::Object(members)), RecordForm::Map) => {
            members.iter().map(|(key, value)| record((Some(key), value))).collect()
        }
        _ => return Err(Fault::unreadable("the response has no records where the connector expects them")),
    };
    if records.len() > RECORDS_MAX {
        return Err(Fault::unreadable(format!("the response has more than {RECORDS_MAX} records")));
    }
    Ok(records)
}

fn lines<'a>(form: RecordForm, raw: &[u8]) -> Result<Vec<RawRecord<'a>>, Fault> {
    let text = std::str::from_utf8(raw).map_err(|_| Fault::unreadable("the response is not UTF-8"))?;
    let mut records = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if records.len() == RECORDS_MAX {
            return Err(Fault::unreadable(format!("the response has more than {RECORDS_MAX} records")));
        }
        let value = match form {
            RecordForm::Ndjson => {
                serde_json::from_str(line).map_err(|_| Fault::unreadable("a line of the response is not JSON"))?
            }
            _ => Value::String(line.to_owned()),
        };
        records.push(RawRecord { key: None, value: Cow::Owned(value) });
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(form: RecordForm, body: &str) -> Result<usize, Fault> {
        let value = super::super::json(body.as_bytes());
        let at = Source::Pointer(if form == RecordForm::Map || form == RecordForm::Array {
            "/r".into()
        } else {
            String::new()
        });
        let found = Found { body: &value, headers: &[], key: None };
        records((&at, form), false, found, body.as_bytes()).map(|records| records.len())
    }

    #[test]
    fn records_are_read_in_every_form() {
        assert_eq!(read(RecordForm::Array, r#"{"r": [1, 2]}"#), Ok(2));
        assert_eq!(read(RecordForm::Map, r#"{"r": {"a": 1, "b": 2}}"#), Ok(2));
        assert_eq!(read(RecordForm::Map, r#"{"r": []}"#), Ok(0));
        assert_eq!(read(RecordForm::Map, r#"{"r": [{"id": 1}]}"#), Ok(1));
        assert_eq!(read(RecordForm::Lines, "a@b.org\n\nc@d.org\r\n"), Ok(2));
        assert_eq!(read(RecordForm::Ndjson, "{\"a\":1}\n{\"a\":2}"), Ok(2));
    }

    #[test]
    fn an_answer_without_records_is_no_empty_page() {
        for (form, body) in
            [(RecordForm::Array, "{}"), (RecordForm::Array, r#"{"r": {}}"#), (RecordForm::Map, r#"{"r": 1}"#)]
        {
            assert!(read(form, body).is_err(), "{body}");
        }
        assert!(read(RecordForm::Ndjson, "{\"a\":1}\n<html>").is_err());
        assert!(read(RecordForm::Lines, r#"{"message": "Internal error"}"#).is_err());
    }
}
