//! A line for the shell that tries an operation.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use super::super::example::resolve;
use super::{Operation, list, plain, text};

/// What means something else in a path, in a query or to a shell.
const SPECIAL: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'$')
    .add(b'%')
    .add(b'&')
    .add(b'\'')
    .add(b'+')
    .add(b'/')
    .add(b'<')
    .add(b'=')
    .add(b'>')
    .add(b'?')
    .add(b'@')
    .add(b'\\')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// The line, with what the operation requires and nothing else.
pub(super) fn curl(document: &Value, operation: &Operation) -> String {
    let mut line = String::from("curl");
    if operation.method != "GET" {
        line.push_str(&format!(" -X {}", operation.method));
    }
    if list(&operation.value["security"]).next().is_some() {
        line.push_str(" -H \"Authorization: Bearer $PROBITY_KEY\"");
    }
    if let Some(body) = operation.value.pointer("/requestBody/content/application~1json/example") {
        let quoted = body.to_string().replace('\'', r"'\''");
        line.push_str(&format!(" -H 'Content-Type: application/json' -d '{quoted}'"));
    }
    line.push_str(&format!(" \"{}\"", url(document, operation)));
    line
}

fn url(document: &Value, operation: &Operation) -> String {
    // Where nobody has said at which address the service is reached, the reader's shell knows.
    let server = text(&document["servers"][0]["url"]).trim_end_matches('/');
    let base = if server.is_empty() { "$PROBITY_URL" } else { server };
    let mut path = operation.path.to_owned();
    let mut query = Vec::new();
    for parameter in list(&operation.value["parameters"]).map(|one| resolve(document, one)) {
        let name = text(&parameter["name"]);
        let value = plain(&parameter["example"]);
        let value = utf8_percent_encode(&value, SPECIAL).to_string();
        match text(&parameter["in"]) {
            "path" => path = path.replace(&format!("{{{name}}}"), &value),
            "query" if parameter["required"] == true => query.push(format!("{name}={value}")),
            _ => {}
        }
    }
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{base}{path}{mark}{}", query.join("&"))
}
