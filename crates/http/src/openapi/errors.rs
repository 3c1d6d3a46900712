//! The errors of each operation.
//!
//! An annotation describes the success response, and lists the error codes that only its operation has under `x-errors`. The
//! others follow from the operation's kind: whether it has parameters, needs a key, takes a body, or is a POST.

use probity_contract::error::{ApiError, Code, ErrorBody, ErrorEnvelope};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use crate::openapi::REQUEST_ID;

/// Key of an annotation's `extensions` for codes that do not follow from the operation's kind.
const OWN: &str = "x-errors";

/// Errors of every operation that needs a key, including the operator's.
pub(crate) const UNDER_A_KEY: [Code; 5] =
    [Code::MissingApiKey, Code::InvalidApiKey, Code::RateLimited, Code::ServerError, Code::ServiceUnavailable];

/// Errors of every operation with a body.
const BODY: [Code; 4] = [Code::InvalidRequest, Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType];

/// Errors of every POST: it can be repeated with a key, and a body without one is refused like a malformed body.
const POST: [Code; 2] = [Code::IdempotencyInProgress, Code::IdempotencyKeyReused];

/// Properties of an operation that determine its errors and headers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// Whether the operation needs a key.
    pub under_a_key: bool,
    /// Whether the operation is a POST.
    pub post: bool,
}

/// Adds all errors of `operation`.
///
/// # Panics
/// Panics if the annotation names an unknown code. This is a programming error that the first start reveals.
pub(super) fn add(operation: &mut Operation, shape: Shape) {
    let mut codes = Vec::new();
    if shape.under_a_key {
        codes.extend(UNDER_A_KEY);
        codes.push(Code::ForbiddenScope);
    }
    if shape.post {
        codes.extend(POST);
        codes.extend(BODY);
    }
    put(operation, codes);
}

/// Returns the codes that the annotation lists.
fn own(operation: &Operation) -> Vec<Code> {
    let code_of = |name: &Value| {
        let code = Code::ALL.iter().find(|code| Some(code.as_str()) == name.as_str());
        *code.unwrap_or_else(|| panic!("no error code is called {name}"))
    };
    let names = operation.extensions.as_ref().and_then(|extensions| extensions.get(OWN)?.as_array());
    names.into_iter().flatten().map(code_of).collect()
}

/// Returns whether the annotation allows repeating the operation with an `Idempotency-Key`.
pub(crate) fn is_repeatable(operation: &Operation) -> bool {
    own(operation).contains(&Code::IdempotencyKeyReused)
}

/// Adds these errors, those of the annotation, and those of parameters and body, grouped by status. The annotation's list is
/// removed from the document.
pub(crate) fn put(operation: &mut Operation, mut codes: Vec<Code>) {
    codes.extend(own(operation));
    if let Some(extensions) = operation.extensions.as_mut() {
        extensions.remove(OWN);
    }
    operation.extensions.take_if(|extensions| extensions.is_empty());
    if operation.request_body.is_some() {
        codes.extend(BODY);
    }
    for parameter in operation.parameters.iter().flatten() {
        match parameter {
            // An unreadable path parameter gets 404.
            RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Path => codes.push(Code::NotFound),
            RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => codes.push(Code::InvalidRequest),
            _ => {}
        }
    }
    let in_order: Vec<Code> = Code::ALL.iter().copied().filter(|code| codes.contains(code)).collect();
    for same_status in in_order.chunk_by(|a, b| a.status() == b.status()) {
        let status = same_status[0].status().as_str().to_owned();
        operation.responses.responses.insert(status, RefOr::T(response(same_status)));
    }
}

fn response(codes: &[Code]) -> Response {
    let when: Vec<String> = codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.meaning())).collect();
    let examples = codes.iter().map(|code| (code.as_str(), ExampleBuilder::new().value(Some(body(*code))).build()));
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(ErrorEnvelope::name())))
        .examples_from_iter(examples)
        .build();
    ResponseBuilder::new().description(when.join("\n\n")).content("application/json", content).build()
}

/// Returns an example of the envelope.
fn body(code: Code) -> Value {
    let message = sample(code).message().to_owned().into();
    let error = ErrorBody { code, message, kind: code.kind(), request_id: None };
    let mut body = serde_json::to_value(ErrorEnvelope { error }).expect("texts and names always become JSON");
    body["error"]["request_id"] = REQUEST_ID.into();
    body
}

/// Returns an error of this code. For an invalid field or an oversized body, its message is specific.
fn sample(code: Code) -> ApiError {
    match code {
        Code::InvalidRequest => ApiError::invalid("email", "must be an address of 1 to 1024 bytes"),
        Code::PayloadTooLarge => ApiError::payload_too_large(1 << 20),
        code => ApiError::of(code),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use utoipa::openapi::extensions::Extensions;

    use super::*;

    #[test]
    fn every_example_is_an_error_of_its_code() {
        for code in Code::ALL {
            assert_eq!(sample(*code).code(), *code);
            assert_eq!(body(*code)["error"]["code"], code.as_str());
        }
    }

    fn operation(own: &Value) -> Operation {
        let extensions = Extensions::builder().add(OWN, own.clone()).build();
        Operation::builder().extensions(Some(extensions)).build()
    }

    #[test]
    fn an_operation_has_its_own_codes_and_those_of_its_kind() {
        let statuses = |own: Value, shape| {
            let mut operation = operation(&own);
            add(&mut operation, shape);
            assert!(operation.extensions.is_none(), "the list is not published");
            operation.responses.responses.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        let get = Shape { under_a_key: true, post: false };
        assert_eq!(statuses(json!(["invalid_request", "insufficient_credits"]), get), "400 401 402 403 429 500 503");
        let post = Shape { under_a_key: true, post: true };
        assert_eq!(statuses(json!([]), post), "400 401 403 408 409 413 415 422 429 500 503");
    }

    #[test]
    #[should_panic(expected = "no error code is called \"not_there\"")]
    fn a_misspelled_code_is_noticed() {
        add(&mut operation(&json!(["not_there"])), Shape { under_a_key: true, post: false });
    }
}
