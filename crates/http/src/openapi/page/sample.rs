//! A line for the shell that tries an operation.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use probity_service::published::example::resolve;
use serde_json::Value;

use crate::openapi::page::{Operation, list, plain, text};

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
    let method = if operation.method == "GET" { String::new() } else { format!(" -X {}", operation.method) };
    let mut words = vec![format!("curl{method} \"{}\"", url(document, operation))];
    if list(&operation.value["security"]).next().is_some() {
        words.push("-H \"Authorization: Bearer $PROBITY_KEY\"".to_owned());
    }
    if let Some(body) = operation.value.pointer("/requestBody/content/application~1json/example") {
        let quoted = body.to_string().replace('\'', r"'\''");
        words.extend(["-H 'Content-Type: application/json'".to_owned(), format!("-d '{quoted}'")]);
    }
    words.join(" \\\n  ")
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
