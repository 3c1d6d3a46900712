//! Compares a request, or an answer, with a vendor's description. What is not described is a fault.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use jsonschema::error::ValidationErrorKind;
use probity_connectors::Request;
use serde_json::{Map, Value, json};
use url::Url;

use super::description::{CalledOperation, VendorDescription};

/// Difference between a request or an answer and the description.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VendorFault {
    pub operation: String,
    /// Place, as in `query limit`, `path id`, `header revision`, `body /data/0` or `answer /data`.
    pub place: String,
    pub what: String,
    /// Value at the place, for exceptions that restrict it.
    pub value: Value,
}

struct Faults<'a> {
    description: &'a VendorDescription,
    operation: String,
    found: Vec<VendorFault>,
}

impl Faults<'_> {
    fn add(&mut self, place: String, what: impl Into<String>, value: Value) {
        self.found.push(VendorFault { operation: self.operation.clone(), place, what: what.into(), value });
    }

    /// Compares a text from a path, a query or a header with its schema.
    fn text(&mut self, place: String, schema: &Value, texts: &[String]) {
        let value = typed(texts, schema);
        let validator = validator(schema, false);
        if let Err(error) = validator.validate(&value) {
            self.add(place, error.to_string(), value.clone());
        }
    }

    /// Compares a body with its schema. Members that the schema does not name are faults.
    fn json(&mut self, part: &str, schema: &Value, value: &Value) {
        let validator = validator(schema, true);
        for error in validator.iter_errors(value) {
            let at = error.instance_path().as_str();
            let found = value.pointer(at).unwrap_or(&Value::Null);
            match error.kind() {
                ValidationErrorKind::AdditionalProperties { unexpected } => {
                    for name in unexpected {
                        self.add(format!("{part} {at}/{name}"), "unknown field", found[name].clone());
                    }
                }
                _ => self.add(format!("{part} {at}"), error.to_string(), found.clone()),
            }
        }
    }
}

thread_local! {
    /// Validators by schema, because making one takes longer than all its comparisons.
    static VALIDATORS: RefCell<BTreeMap<(String, bool), Rc<jsonschema::Validator>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the validator of a schema, which refuses fields that it does not name if it is sealed.
fn validator(schema: &Value, is_sealed: bool) -> Rc<jsonschema::Validator> {
    let key = (schema.to_string(), is_sealed);
    let make = || {
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        let whole = if is_sealed { sealed(schema) } else { schema.clone() };
        Rc::new(options.build(&whole).unwrap_or_else(|error| panic!("{error}: {schema}")))
    };
    VALIDATORS.with_borrow_mut(|known| Rc::clone(known.entry(key).or_insert_with(make)))
}

/// Returns the faults of a request, which has the form of golden files.
pub(crate) fn judge_request(description: &VendorDescription, request: &Value) -> Vec<VendorFault> {
    let (method, url) = split_line(request);
    let Some(called) = description.operation(&method, url.path()) else {
        let operation = format!("{method} {}", url.path());
        let what = "no such operation".to_owned();
        return vec![VendorFault { operation, place: "path".into(), what, value: Value::Null }];
    };
    let mut faults = Faults { description, operation: called.name.to_owned(), found: Vec::new() };
    judge_path(&mut faults, &called);
    judge_query(&mut faults, &called, &url);
    judge_headers(&mut faults, request);
    judge_body(&mut faults, &called, request);
    faults.found
}

/// Returns the faults of an answer. Answers in golden files are excerpts, so descriptions require nothing in them.
pub(crate) fn judge_answer(description: &VendorDescription, request: &Value, answer: &Value) -> Vec<VendorFault> {
    let (method, url) = split_line(request);
    let Some(called) = description.operation(&method, url.path()) else { return Vec::new() };
    let schema = match answer["status"].as_u64() {
        Some(200..300) => &called.rule["answer"],
        Some(400..500) => description.error(),
        // What an outage answers is nobody's interface.
        _ => return Vec::new(),
    };
    if schema.is_null() || answer["json"].is_null() {
        return Vec::new();
    }
    let mut faults = Faults { description, operation: called.name.to_owned(), found: Vec::new() };
    faults.json("answer", schema, &answer["json"]);
    faults.found
}

/// Returns the name of the operation that a request calls.
pub(crate) fn operation_name(description: &VendorDescription, request: &Value) -> Option<String> {
    let (method, url) = split_line(request);
    Some(description.operation(&method, url.path())?.name.to_owned())
}

/// Writes a request as golden files show it.
pub(crate) fn written(request: &Request) -> Value {
    let headers: BTreeMap<_, _> = request.headers.iter().cloned().collect();
    let mut shown = json!({"line": format!("{} {}", request.method.name(), request.url), "headers": headers});
    if let Some(body) = &request.body {
        let text = String::from_utf8(body.clone()).expect("UTF-8");
        let json = serde_json::from_str::<Value>(&text).ok();
        let name = if json.is_some() { "json" } else { "form" };
        shown[name] = json.unwrap_or(Value::String(text));
    }
    shown
}

/// Returns the exception that excuses a fault: same operation and place, and a value that the exception allows.
pub(crate) fn exception<'a>(description: &'a VendorDescription, fault: &VendorFault) -> Option<&'a Value> {
    description.exceptions().iter().find(|exception| {
        let operations = exception["operations"].as_array().expect("operations");
        let is_there = operations.iter().any(|name| name == fault.operation.as_str());
        let places = exception["places"].as_array().expect("places");
        let is_place = places.iter().filter_map(Value::as_str).any(|place| is_within(place, &fault.place));
        is_there && is_place && jsonschema::is_valid(&exception["value"], &fault.value)
    })
}

/// Returns whether a fault's place is one that an exception names; `*` stands for any member or item.
fn is_within(place: &str, fault: &str) -> bool {
    let (place, fault): (Vec<_>, Vec<_>) = (place.split('/').collect(), fault.split('/').collect());
    place.len() == fault.len() && place.iter().zip(&fault).all(|(place, fault)| *place == "*" || place == fault)
}

/// Returns the faults that no exception excuses, as text.
pub(crate) fn unexcused(description: &VendorDescription, faults: Vec<VendorFault>) -> Vec<String> {
    let faults = faults.into_iter().filter(|fault| exception(description, fault).is_none());
    faults.map(|fault| format!("{}: {}: {}: {}", description.slug, fault.operation, fault.place, fault.what)).collect()
}

fn split_line(request: &Value) -> (String, Url) {
    let line = request["line"].as_str().expect("a line");
    let (method, url) = line.split_once(' ').expect("a method and a URL");
    (method.to_owned(), Url::parse(url).expect("a URL"))
}

fn judge_path(faults: &mut Faults<'_>, called: &CalledOperation<'_>) {
    for (name, value) in &called.path {
        let schema = &called.rule["path"][name];
        if !schema.is_null() {
            faults.text(format!("path {name}"), schema, std::slice::from_ref(value));
        }
    }
}

fn judge_query(faults: &mut Faults<'_>, called: &CalledOperation<'_>, url: &Url) {
    let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in url.query_pairs() {
        given.entry(name.into_owned()).or_default().push(value.into_owned());
    }
    let rules = &called.rule["query"];
    for (name, values) in &given {
        match rules.get(name) {
            Some(schema) => faults.text(format!("query {name}"), schema, values),
            None => faults.add(format!("query {name}"), "unknown parameter", json!(values[0])),
        }
    }
    for name in called.rule["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !given.contains_key(name) {
            faults.add(format!("query {name}"), "required parameter is missing", Value::Null);
        }
    }
}

fn judge_headers(faults: &mut Faults<'_>, request: &Value) {
    let given = request["headers"].as_object();
    let value = |name: &str| {
        let found = given.into_iter().flatten().find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.as_str().map(str::to_owned))
    };
    for (name, schema) in faults.description.headers().into_iter().flatten() {
        match value(name) {
            Some(text) => faults.text(format!("header {name}"), schema, &[text]),
            None => faults.add(format!("header {name}"), "required header is missing", Value::Null),
        }
    }
    if !request["json"].is_null() && value("Content-Type").as_deref() != Some("application/json") {
        faults.add("header Content-Type".into(), "must be application/json", Value::Null);
    }
}

fn judge_body(faults: &mut Faults<'_>, called: &CalledOperation<'_>, request: &Value) {
    judge_form(faults, called, request);
    let schema = &called.rule["body"];
    match (schema.is_null(), request["json"].is_null()) {
        (true, true) => {}
        (true, false) => faults.add("body".into(), "no body is described", request["json"].clone()),
        (false, true) if called.rule["body_optional"] == true => {}
        (false, true) => faults.add("body".into(), "required body is missing", Value::Null),
        (false, false) => faults.json("body", schema, &request["json"]),
    }
}

fn judge_form(faults: &mut Faults<'_>, called: &CalledOperation<'_>, request: &Value) {
    let schema = &called.rule["form"];
    match (schema.is_null(), request["form"].as_str()) {
        (true, None) => {}
        (true, Some(text)) => faults.add("body".into(), "must be JSON", json!(text)),
        (false, None) => faults.add("form".into(), "required form is missing", Value::Null),
        (false, Some(text)) => {
            let fields = url::form_urlencoded::parse(text.as_bytes()).into_owned();
            let fields = fields.map(|(name, value)| (name, Value::String(value))).collect();
            faults.json("form", schema, &Value::Object(fields));
        }
    }
}

/// Returns a schema that refuses fields which it does not name.
fn sealed(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let is_object = members.get("properties").is_some_and(Value::is_object);
            let is_literal = |name: &str| matches!(name, "enum" | "const");
            let part = |(name, value): (&String, &Value)| {
                (name.clone(), if is_literal(name) { value.clone() } else { sealed(value) })
            };
            let mut parts: Map<_, _> = members.iter().map(part).collect();
            if is_object {
                parts.entry("additionalProperties").or_insert(Value::Bool(false));
            }
            Value::Object(parts)
        }
        Value::Array(items) => Value::Array(items.iter().map(sealed).collect()),
        other => other.clone(),
    }
}

/// Returns the value that texts stand for, by the type of their schema.
fn typed(texts: &[String], schema: &Value) -> Value {
    let has = |name: &str| match &schema["type"] {
        Value::String(is) => is == name,
        Value::Array(all) => all.iter().any(|is| is == name),
        _ => false,
    };
    if has("array") {
        let parts: Vec<&str> = match texts {
            [one] => one.split(',').collect(),
            many => many.iter().map(String::as_str).collect(),
        };
        return parts.into_iter().map(|part| typed(&[part.to_owned()], &schema["items"])).collect();
    }
    let [text] = texts else { return json!(texts) };
    if (has("integer") || has("number"))
        && let Ok(number) = text.parse::<i64>()
    {
        return json!(number);
    }
    match text.as_str() {
        "true" if has("boolean") => json!(true),
        "false" if has("boolean") => json!(false),
        _ => json!(text),
    }
}
