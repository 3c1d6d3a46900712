//! Every way in which an operation can fail, in one place.
//!
//! Handlers declare what they answer when all goes well. What they answer otherwise follows from what they are (does the
//! operation need a key, does it take a body) and from [`OPERATIONS`], which names the codes that only this operation has. An
//! operation without a row is a programming error and stops the start; so a new handler cannot be forgotten here.

use probity_service::error::{ApiError, Code, ErrorBody, ErrorEnvelope};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use crate::openapi::REQUEST_ID;

/// The codes that an operation has of its own, by operation id.
const OPERATIONS: &[(&str, &[Code])] = &[
    ("verify_email", &[Code::InvalidRequest, Code::InsufficientCredits]),
    ("check_key", &[Code::InvalidRequest, Code::NotFound]),
    ("submit_batch", &[Code::InsufficientCredits]),
    ("get_batch_status", &[Code::NotFound]),
    ("get_batch_results", &[Code::InvalidRequest, Code::NotFound]),
    ("get_batch_results_without_index", &[Code::InvalidRequest, Code::NotFound]),
    ("download_batch", &[Code::InvalidRequest, Code::NotFound]),
    ("cancel_batch", &[Code::NotFound]),
    ("list_jobs", &[Code::InvalidRequest]),
    ("get_job", &[Code::NotFound]),
    ("get_timeline", &[Code::InvalidRequest]),
    ("get_organization", &[]),
    ("get_settings", &[]),
    (
        "patch_settings",
        &[Code::InvalidRequest, Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType],
    ),
    ("get_suppressions", &[Code::InvalidRequest, Code::NotFound]),
    ("add_suppressions", &[Code::NotFound]),
    (
        "remove_suppressions",
        &[
            Code::InvalidRequest,
            Code::NotFound,
            Code::RequestTimeout,
            Code::PayloadTooLarge,
            Code::UnsupportedMediaType,
        ],
    ),
    ("get_account", &[]),
    ("patch_account", &[Code::InvalidRequest, Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType]),
    ("list_users", &[Code::InvalidRequest]),
    ("get_user", &[Code::NotFound]),
    ("invite_user", &[Code::Conflict]),
    (
        "patch_user",
        &[
            Code::InvalidRequest,
            Code::NotFound,
            Code::RequestTimeout,
            Code::Conflict,
            Code::PayloadTooLarge,
            Code::UnsupportedMediaType,
        ],
    ),
    ("delete_user", &[Code::NotFound, Code::Conflict]),
    ("list_api_keys", &[Code::InvalidRequest]),
    ("create_api_key", &[]),
    ("delete_api_key", &[Code::NotFound]),
    ("get_usage", &[Code::InvalidRequest, Code::NotFound]),
    ("get_daily_usage", &[Code::InvalidRequest, Code::NotFound]),
    ("get_callback_secret", &[]),
    ("rotate_callback_secret", &[]),
    ("list_webhooks", &[Code::InvalidRequest]),
    ("create_webhook", &[Code::Conflict]),
    ("get_webhook", &[Code::NotFound]),
    (
        "patch_webhook",
        &[
            Code::InvalidRequest,
            Code::NotFound,
            Code::RequestTimeout,
            Code::PayloadTooLarge,
            Code::UnsupportedMediaType,
        ],
    ),
    ("delete_webhook", &[Code::NotFound]),
    ("rotate_webhook_secret", &[Code::NotFound]),
    ("test_webhook", &[Code::NotFound, Code::Conflict]),
    ("list_webhook_deliveries", &[Code::InvalidRequest, Code::NotFound]),
    ("redeliver", &[Code::NotFound, Code::Conflict]),
    ("list_erasures", &[Code::InvalidRequest]),
    ("create_erasure", &[Code::Conflict]),
    ("get_erasure", &[Code::NotFound]),
];

/// What every operation under a key may answer.
const UNDER_A_KEY: [Code; 6] = [
    Code::MissingApiKey,
    Code::InvalidApiKey,
    Code::ForbiddenScope,
    Code::RateLimited,
    Code::ServerError,
    Code::ServiceUnavailable,
];

/// What every POST may answer besides: it can be repeated by key, and may carry a body.
const POST: [Code; 6] = [
    Code::InvalidRequest,
    Code::RequestTimeout,
    Code::IdempotencyInProgress,
    Code::PayloadTooLarge,
    Code::UnsupportedMediaType,
    Code::IdempotencyKeyReused,
];

/// What an operation is, as far as its errors and headers follow from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// It needs a key.
    pub under_a_key: bool,
    /// It is a POST.
    pub post: bool,
}

/// Adds every error that `operation` may answer.
///
/// # Panics
/// When the operation has no row in the table.
pub(super) fn add(operation: &mut Operation, shape: Shape) {
    let id = operation.operation_id.as_deref().unwrap_or_default();
    let own = OPERATIONS.iter().find(|(name, _)| *name == id);
    let (_, own) = own.unwrap_or_else(|| panic!("the operation {id:?} has no row in the table of errors"));
    let mut codes = own.to_vec();
    if shape.under_a_key {
        codes.extend(UNDER_A_KEY);
    }
    if shape.post {
        codes.extend(POST);
    }
    put(operation, &codes);
}

/// Adds these errors, those of one status together.
pub(super) fn put(operation: &mut Operation, codes: &[Code]) {
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

/// The envelope of an example.
fn body(code: Code) -> Value {
    let message = sample(code).message().to_owned().into();
    let error = ErrorBody { code, message, kind: code.kind(), request_id: None };
    let mut body = serde_json::to_value(ErrorEnvelope { error }).expect("texts and names always become JSON");
    body["error"]["request_id"] = REQUEST_ID.into();
    body
}

/// An error of this code, with the message that it has where a field or a size is to blame.
fn sample(code: Code) -> ApiError {
    match code {
        Code::InvalidRequest => ApiError::invalid("email", "must be an address of 1 to 1024 bytes"),
        Code::PayloadTooLarge => ApiError::payload_too_large(1 << 20),
        code => ApiError::of(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_an_error_of_its_code() {
        for code in Code::ALL {
            assert_eq!(sample(*code).code(), *code);
            assert_eq!(body(*code)["error"]["code"], code.as_str());
        }
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
        assert_eq!(statuses("create_api_key", post), "400 401 403 408 409 413 415 422 429 500 503");
    }

    #[test]
    #[should_panic(expected = "has no row in the table of errors")]
    fn a_forgotten_operation_is_noticed() {
        let mut operation = Operation::builder().operation_id(Some("forgotten")).build();
        add(&mut operation, Shape { under_a_key: true, post: false });
    }
}
