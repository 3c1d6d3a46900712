//! Every way in which an operation can fail, in one place.
//!
//! Handlers declare what they answer when all goes well. What they answer otherwise follows from what they are (does the
//! operation need a key, does it take a body) and from [`OPERATIONS`], which names the codes that only this operation has. An
//! operation without a row is a programming error and stops the start; so a new handler cannot be forgotten here.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::Object;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use super::schema::one_of;

/// One code of the frozen list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// The HTTP status.
    pub status: u16,
    /// `error.code`.
    pub code: &'static str,
    /// When it is answered.
    pub when: &'static str,
    /// A message as a client may see it.
    pub message: &'static str,
}

/// The frozen list, by status.
#[rustfmt::skip]
pub const CODES: [ErrorCode; 16] = [
    code(400, "invalid_request", "A parameter of the query, of a header or of the body is missing or malformed.", "timeout must be a number of seconds above zero"),
    code(401, "missing_api_key", "No key was supplied.", "an API key is needed: Authorization: Bearer <key>"),
    code(401, "invalid_api_key", "The key is malformed, unknown, expired or revoked.", "the API key is not valid"),
    code(402, "insufficient_credits", "There are not enough credits for this request.", "there are not enough credits for this request"),
    code(403, "forbidden_scope", "The key lacks the scope, or the account is suspended, paused or banned.", "the API key lacks the scope that this request needs"),
    code(403, "domain_not_authorized", "The widget was used from an origin that its key does not allow.", "this origin is not allowed for the key"),
    code(404, "not_found", "There is no such resource, or it belongs to another organization.", "there is no such resource"),
    code(405, "method_not_allowed", "The path exists, the method does not.", "this path does not take this method"),
    code(409, "conflict", "The resource's state does not allow it.", "the resource's state does not allow this"),
    code(409, "idempotency_in_progress", "A request with the same Idempotency-Key is still in flight.", "a request with this Idempotency-Key is still in flight"),
    code(413, "payload_too_large", "The body is larger than the service takes.", "the body is larger than 1048576 bytes"),
    code(415, "unsupported_media_type", "The body is not declared as JSON.", "Content-Type must be application/json"),
    code(422, "idempotency_key_reused", "The Idempotency-Key was used before, with another body.", "this Idempotency-Key was used with another body"),
    code(429, "rate_limited", "Too many requests. Wait for as long as `Retry-After` says.", "too many requests; see Retry-After"),
    code(500, "server_error", "An unexpected error, or a timeout.", "something went wrong on our side"),
    code(503, "service_unavailable", "Temporarily unavailable, or something that the service needs is unreachable.", "the service is temporarily unavailable"),
];

/// What every operation under a key may answer.
const UNDER_A_KEY: [&str; 6] =
    ["missing_api_key", "invalid_api_key", "forbidden_scope", "rate_limited", "server_error", "service_unavailable"];
/// What every POST may answer besides: it is repeatable by key and may carry a body.
const POST: [&str; 5] = [
    "invalid_request",
    "idempotency_in_progress",
    "payload_too_large",
    "unsupported_media_type",
    "idempotency_key_reused",
];

/// The codes that an operation has of its own, by operation id.
const OPERATIONS: &[(&str, &[&str])] = &[
    ("verify_email", &["invalid_request", "insufficient_credits"]),
    ("check_key", &["not_found"]),
    ("get_organization", &[]),
    ("list_api_keys", &["invalid_request"]),
    ("create_api_key", &[]),
    ("delete_api_key", &["not_found"]),
];

const fn code(status: u16, code: &'static str, when: &'static str, message: &'static str) -> ErrorCode {
    ErrorCode { status, code, when, message }
}

impl ErrorCode {
    /// `error.type`: a function of the status alone.
    pub const fn kind(&self) -> &'static str {
        kind_of(self.status)
    }

    fn body(&self) -> Value {
        let Self { code, message, .. } = self;
        let request_id = "req_01h455vb4pex5vsknk084sn02q";
        json!({"error": {"code": code, "message": message, "type": self.kind(), "request_id": request_id}})
    }
}

/// All types of errors.
const KINDS: [&str; 7] = [
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "not_found_error",
    "conflict_error",
    "rate_limit_error",
    "api_error",
];

const fn kind_of(status: u16) -> &'static str {
    match status {
        401 | 403 => "authentication_error",
        402 => "billing_error",
        404 => "not_found_error",
        409 => "conflict_error",
        429 => "rate_limit_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    }
}

/// What every answer other than 2xx carries.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorEnvelope {
    /// What went wrong.
    pub error: ErrorBody,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// The stable code; branch on it.
    #[schema(schema_with = code_name)]
    pub code: String,
    /// For people. Its wording may change.
    pub message: String,
    /// The category, a function of the HTTP status.
    #[schema(rename = "type", schema_with = kind_name)]
    #[serde(rename = "type")]
    pub kind: String,
    /// The same as the header `X-Request-Id`.
    #[schema(required, examples("req_01h455vb4pex5vsknk084sn02q"))]
    pub request_id: Option<String>,
}

fn code_name() -> Object {
    one_of(CODES.iter().map(|code| code.code), "The stable code; branch on it.")
}

fn kind_name() -> Object {
    one_of(KINDS, "The category, a function of the HTTP status.")
}

/// Adds every error that `operation` may answer.
///
/// # Panics
/// When the operation has no row in the table, or names a code that is not on the list.
pub(super) fn add(operation: &mut Operation, shape: Shape) {
    let id = operation.operation_id.as_deref().unwrap_or_default();
    let own = OPERATIONS.iter().find(|(name, _)| *name == id);
    let (_, own) = own.unwrap_or_else(|| panic!("the operation {id:?} has no row in the table of errors"));
    let mut names = own.to_vec();
    if shape.under_a_key {
        names.extend(UNDER_A_KEY);
    }
    if shape.post {
        names.extend(POST);
    }
    assert!(names.iter().all(|name| CODES.iter().any(|code| code.code == *name)), "{id} names an unknown code");
    let codes: Vec<&ErrorCode> = CODES.iter().filter(|code| names.contains(&code.code)).collect();
    for same_status in codes.chunk_by(|a, b| a.status == b.status) {
        let status = same_status[0].status.to_string();
        operation.responses.responses.insert(status, RefOr::T(response(same_status)));
    }
}

/// What an operation is, as far as its errors and headers follow from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// It needs a key.
    pub under_a_key: bool,
    /// It is a POST.
    pub post: bool,
}

fn response(codes: &[&ErrorCode]) -> Response {
    let when: Vec<String> = codes.iter().map(|code| format!("`{}`: {}", code.code, code.when)).collect();
    let examples = codes.iter().map(|code| (code.code, ExampleBuilder::new().value(Some(code.body())).build()));
    let content =
        ContentBuilder::new().schema(Some(Ref::from_schema_name("Error"))).examples_from_iter(examples).build();
    ResponseBuilder::new().description(when.join("\n\n")).content("application/json", content).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_stands_once_and_has_a_type_of_the_list() {
        for (index, code) in CODES.iter().enumerate() {
            assert!(CODES[..index].iter().all(|other| other.code != code.code), "{} stands twice", code.code);
            assert!(KINDS.contains(&code.kind()), "{}", code.code);
        }
        assert!(CODES.is_sorted_by_key(|code| code.status));
        let used = |kind| CODES.iter().any(|code| code.kind() == kind);
        assert!(KINDS.iter().all(|kind| used(*kind)));
    }

    #[test]
    fn an_operation_has_its_own_codes_and_those_of_its_kind() {
        let statuses = |id: &str, shape| {
            let mut operation = Operation::builder().operation_id(Some(id)).build();
            add(&mut operation, shape);
            operation.responses.responses.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        let get = Shape { under_a_key: true, post: false };
        assert_eq!(statuses("verify_email", get), "400 401 402 403 429 500 503");
        let post = Shape { under_a_key: true, post: true };
        assert_eq!(statuses("create_api_key", post), "400 401 403 409 413 415 422 429 500 503");
    }

    #[test]
    #[should_panic(expected = "has no row in the table of errors")]
    fn a_forgotten_operation_is_noticed() {
        let mut operation = Operation::builder().operation_id(Some("forgotten")).build();
        add(&mut operation, Shape { under_a_key: true, post: false });
    }
}
