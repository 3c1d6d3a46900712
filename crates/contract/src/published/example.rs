//! Composes examples of bodies from the examples of their fields.
//!
//! Only fields have written examples, so no handler has an example of its own that could become outdated. A test validates
//! every example against its schema.

use serde_json::{Map, Value};

/// Maximum nesting depth of an example. Our bodies have 4 levels; the bound ends a schema that contains itself.
pub const DEPTH_MAX: usize = 12;

/// Returns an example for `schema`. References are resolved in `document`.
pub fn of(document: &Value, schema: &Value) -> Value {
    compose(document, schema, DEPTH_MAX)
}

/// Returns the schema that a reference points to, or the schema itself if it is not a reference.
pub fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|reference| document.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(schema)
}

fn compose(document: &Value, schema: &Value, depth: usize) -> Value {
    let schema = resolve(document, schema);
    if let Some(given) = given(schema) {
        return given.clone();
    }
    if depth == 0 {
        return Value::Null;
    }
    let inner = |schema: &Value| compose(document, schema, depth - 1);
    if let Some(parts) = schema["allOf"].as_array() {
        let fields = parts.iter().map(inner).filter_map(|part| part.as_object().cloned());
        return fields.flatten().collect::<Map<_, _>>().into();
    }
    if let Some(ways) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        return ways.iter().find(|way| way["type"] != "null").map_or(Value::Null, inner);
    }
    if let Some(fields) = schema["properties"].as_object() {
        return fields.iter().map(|(name, field)| (name.clone(), inner(field))).collect::<Map<_, _>>().into();
    }
    match kind(schema) {
        "array" => vec![inner(&schema["items"])].into(),
        "object" => Map::new().into(),
        "boolean" => false.into(),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(0.into()),
        "string" => "text".into(),
        _ => Value::Null,
    }
}

fn given(schema: &Value) -> Option<&Value> {
    let listed = schema["examples"].as_array().and_then(|examples| examples.first());
    listed
        .or(schema.get("example"))
        .or(schema.get("default"))
        .or(schema["enum"].as_array().and_then(|names| names.first()))
}

fn kind(schema: &Value) -> &str {
    let kinds = schema["type"].as_array();
    let kind = kinds.and_then(|kinds| kinds.iter().find(|kind| *kind != "null")).unwrap_or(&schema["type"]);
    kind.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_composed_from_its_parts() {
        let document = json!({"components": {"schemas": {
            "Part": {"type": "object", "properties": {"name": {"type": "string", "examples": ["Jo"]}}},
            "Loop": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Loop"}}},
        }}});
        let part = json!({"$ref": "#/components/schemas/Part"});
        for (schema, example) in [
            (part.clone(), json!({"name": "Jo"})),
            (json!({"oneOf": [{"type": "null"}, part]}), json!({"name": "Jo"})),
            (
                json!({"allOf": [part, {"type": "object", "properties": {"age": {"type": "integer"}}}]}),
                json!({"name": "Jo", "age": 0}),
            ),
            (json!({"type": "array", "items": part}), json!([{"name": "Jo"}])),
            (json!({"type": ["integer", "null"], "minimum": 1}), json!(1)),
            (json!({"enum": ["b", "a"]}), json!("b")),
        ] {
            assert_eq!(of(&document, &schema), example, "{schema}");
        }
        let endless = of(&document, &json!({"$ref": "#/components/schemas/Loop"})).to_string();
        assert!(endless.len() < 200, "{endless}");
    }
}
