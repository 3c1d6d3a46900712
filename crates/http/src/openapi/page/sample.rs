//! Sample call of an operation: a command line, and what the page's script needs to write it in other languages.

use maud::{Markup, html};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use probity_contract::published::example::resolve;
use serde_json::Value;

use crate::openapi::page::{Operation, list, plain, text};

/// Characters with a special meaning in a path, in a query or in a shell.
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

/// Renders the call. The attributes are read by `web/docs/samples.js`.
pub(super) fn example(document: &Value, operation: &Operation) -> Markup {
    let body = body(operation).map(Value::to_string);
    html! {
        div class="sample" data-method=(operation.method) data-path=(path(document, operation)) data-body=[body]
            data-base=[base(document)] data-key=[is_under_a_key(operation).then_some("")] data-reply=(reply(operation)) {
            pre { code { (curl(document, operation)) } }
        }
    }
}

/// Returns a curl command with only the required parts of the operation.
fn curl(document: &Value, operation: &Operation) -> String {
    let method = if operation.method == "GET" { String::new() } else { format!(" -X {}", operation.method) };
    // If the service's URL is unknown, the command uses a variable of the reader's shell.
    let base = base(document).unwrap_or("$PROBITY_URL");
    let mut words = vec![format!("curl{method} \"{base}{}\"", path(document, operation))];
    if is_under_a_key(operation) {
        words.push("-H \"Authorization: Bearer $PROBITY_KEY\"".to_owned());
    }
    if let Some(body) = body(operation) {
        let quoted = body.to_string().replace('\'', r"'\''");
        words.extend(["-H 'Content-Type: application/json'".to_owned(), format!("-d '{quoted}'")]);
    }
    words.join(" \\\n  ")
}

fn is_under_a_key(operation: &Operation) -> bool {
    list(&operation.value["security"]).next().is_some()
}

fn body<'a>(operation: &Operation<'a>) -> Option<&'a Value> {
    operation.value.pointer("/requestBody/content/application~1json/example")
}

/// Returns the form of a success: `json`, `text` for a file, or `none`.
fn reply(operation: &Operation) -> &'static str {
    let responses = operation.value["responses"].as_object().into_iter().flatten();
    let mut well = responses.filter(|(status, _)| status.starts_with('2')).map(|(_, response)| &response["content"]);
    match well.next() {
        Some(content) if content.get("application/json").is_some() => "json",
        Some(Value::Object(content)) if !content.is_empty() => "text",
        _ => "none",
    }
}

/// Returns the service's URL, if it is known.
fn base(document: &Value) -> Option<&str> {
    Some(text(&document["servers"][0]["url"]).trim_end_matches('/')).filter(|base| !base.is_empty())
}

/// Returns path and query with the examples of the required parameters.
fn path(document: &Value, operation: &Operation) -> String {
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
    format!("{path}{mark}{}", query.join("&"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_shell_would_read_is_quoted() {
        let document = json!({"servers": [{"url": "https://api.example.com/"}]});
        let id = json!({"name": "id", "in": "path", "required": true, "example": "a/b"});
        let email = json!({"name": "email", "in": "query", "required": true, "example": "jo+`$x`@example.com"});
        let optional = json!({"name": "timeout", "in": "query", "required": false, "example": 20});
        let value = json!({
            "parameters": [id, email, optional],
            "security": [{"bearer": []}],
            "requestBody": {"content": {"application/json": {"example": {"name": "Jo's"}}}}
        });
        let operation = Operation { path: "/v1/things/{id}", method: "POST".into(), value: &value };
        assert_eq!(
            curl(&document, &operation),
            [
                r#"curl -X POST "https://api.example.com/v1/things/a%2Fb?email=jo%2B%60%24x%60%40example.com""#,
                r#"-H "Authorization: Bearer $PROBITY_KEY""#,
                "-H 'Content-Type: application/json'",
                r#"-d '{"name":"Jo'\''s"}'"#,
            ]
            .join(" \\\n  ")
        );
    }

    #[test]
    fn where_the_address_is_not_known_the_shell_is_asked() {
        let operation = Operation { path: "/v1/organization", method: "GET".into(), value: &Value::Null };
        assert_eq!(curl(&json!({"servers": [{"url": "/"}]}), &operation), "curl \"$PROBITY_URL/v1/organization\"");
    }
}
