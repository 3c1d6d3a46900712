//! Renders the fields of a body as one table. Nested fields have dotted names, so that readers need not follow references.

use maud::{Markup, html};
use probity_contract::published::example::{DEPTH_MAX, resolve};
use serde_json::Value;

use crate::openapi::page::{list, plain, prose, text};

struct Field<'a> {
    name: String,
    schema: &'a Value,
    required: bool,
    about: &'a str,
}

/// Renders the fields of a body; one table for each of its forms if there are several.
pub(super) fn field_tables(document: &Value, schema: &Value) -> Markup {
    let schema = resolve(document, schema);
    let forms: Vec<&Value> = list(&schema["oneOf"]).collect();
    if forms.len() < 2 {
        return field_table(document, schema);
    }
    html! {
        @for (index, form) in forms.into_iter().enumerate() {
            p class="form" { @if index == 0 { "Either" } @else { "Or" } }
            (field_table(document, form))
        }
    }
}

fn field_table(document: &Value, schema: &Value) -> Markup {
    let mut fields = Vec::new();
    collect(document, schema, "", DEPTH_MAX, &mut fields);
    html! {
        @if !fields.is_empty() {
            div class="table" {
                table {
                    thead { tr { th { "Field" } th { "Type" } th { "Description" } } }
                    tbody {
                        @for field in &fields {
                            tr {
                                td { code { (field.name) } @if !field.required { span class="optional" { " optional" } } }
                                td { (type_of(document, field.schema)) }
                                td { (prose(field.about)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn collect<'a>(document: &'a Value, schema: &'a Value, prefix: &str, depth: usize, into: &mut Vec<Field<'a>>) {
    let schema = resolve(document, schema);
    if depth == 0 {
        return;
    }
    for part in list(&schema["allOf"]).chain(list(&schema["oneOf"])).chain(list(&schema["anyOf"])) {
        collect(document, part, prefix, depth - 1, into);
    }
    if schema["items"].is_object() {
        collect(document, &schema["items"], &format!("{}[].", prefix.trim_end_matches('.')), depth - 1, into);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let required = list(&schema["required"]).any(|required| required == name);
        let name = format!("{prefix}{name}");
        let inner = format!("{name}.");
        into.push(Field { name, schema: field, required, about: about(document, field) });
        collect(document, field, &inner, depth - 1, into);
    }
}

/// Returns the description of a field: its own, else that of one of its alternatives, else that of its type.
fn about<'a>(document: &'a Value, field: &'a Value) -> &'a str {
    let candidates = std::iter::once(field).chain(list(&field["oneOf"])).chain([resolve(document, field)]);
    candidates.map(|one| text(&one["description"])).find(|words| !words.is_empty()).unwrap_or_default()
}

/// Renders the type of a schema in words: `integer, at least 1, or text`.
pub(super) fn type_of(document: &Value, schema: &Value) -> Markup {
    let schema = resolve(document, schema);
    let ways: Vec<&Value> = list(&schema["oneOf"]).chain(list(&schema["anyOf"])).collect();
    let names: Vec<&Value> = list(&schema["enum"]).filter(|name| !name.is_null() && *name != "").collect();
    html! {
        @if ways.is_empty() { (words(document, schema)) }
        @for (index, way) in ways.iter().enumerate() {
            @if index > 0 { " or " }
            (type_of(document, way))
        }
        @if !names.is_empty() {
            ": "
            @for (index, name) in names.iter().enumerate() { @if index > 0 { ", " } code { (plain(name)) } }
        }
        @if let Some(pattern) = schema["pattern"].as_str() { " matching " code class="pattern" { (pattern) } }
    }
}

fn words(document: &Value, schema: &Value) -> Markup {
    let single = std::slice::from_ref(&schema["type"]);
    let kinds = schema["type"].as_array().map_or(single, Vec::as_slice).iter().filter_map(Value::as_str);
    let bounds = [
        ("minimum", "at least ", ""),
        ("exclusiveMinimum", "above ", ""),
        ("maximum", "at most ", ""),
        ("minLength", "at least ", " characters"),
        ("maxLength", "at most ", " characters"),
        ("minItems", "at least ", " elements"),
        ("maxItems", "at most ", " elements"),
    ];
    html! {
        @for (index, kind) in kinds.enumerate() { @if index > 0 { " or " } (kind) }
        @if schema["items"].is_object() { " of " (type_of(document, &schema["items"])) }
        @if let Some(format) = schema["format"].as_str().filter(|format| !format.starts_with("int")) { " (" (format) ")" }
        @for (key, before, after) in bounds {
            @if let Some(bound) = schema.get(key) { ", " (before) (bound.to_string()) (after.strip_suffix('s').filter(|_| bound == 1).unwrap_or(after)) }
        }
    }
}
