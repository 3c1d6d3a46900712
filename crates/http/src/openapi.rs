//! Generates the OpenAPI 3.1 document of the API from the code.
//!
//! A handler's annotation (`#[utoipa::path]`) has only its own path, parameters, body and success response; the router collects
//! them. [`of_service`] adds what follows from rules: errors ([`errors`]), authentication, headers, `Idempotency-Key` and
//! general information. [`routes`] serves the result as `/v1/openapi.json` and as an HTML page at `/docs`.
//!
//! Tests compare the document with the committed `crates/http/openapi.json`, so that the contract never changes by accident.
//! `UPDATE_OPENAPI=1 cargo test -p probity-http openapi` rewrites that file.

pub mod batch;
pub(crate) mod errors;
pub(crate) mod frame;
mod page;
mod publish;

use errors::Shape;
use probity_contract::published::example;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{Content, OpenApi, RefOr, ServerBuilder};

use crate::router;

pub use publish::routes;

/// Request ID of all examples.
const REQUEST_ID: &str = "req_01h455vb4pex5vsknk084sn02q";

/// Returns the document of the service. `public_url` is the URL at which clients reach it, if known.
pub fn of_service(public_url: Option<&str>) -> OpenApi {
    document(router::described(), public_url.unwrap_or("/"))
}

/// Completes the document that the router collected. `base_url` is the URL at which clients reach the service.
///
/// # Panics
/// Panics if an annotation names an unknown error. This is a programming error that a test reveals.
fn document(mut collected: OpenApi, base_url: &str) -> OpenApi {
    for item in collected.paths.paths.values_mut() {
        for (method, operation) in operations_mut(item) {
            complete(operation, method);
        }
    }
    let components = collected.components.get_or_insert_default();
    frame::complete(components);
    collected.info = frame::info();
    collected.servers = Some(vec![ServerBuilder::new().url(base_url).build()]);
    let tags = frame::tags(|name| operations(&collected).any(|(_, _, operation)| tag(operation) == Some(name)));
    collected.tags = Some(tags);
    add_examples(&mut collected);
    collected
}

fn complete(operation: &mut Operation, method: &str) {
    let shape = Shape { under_a_key: frame::secure(operation), post: method == "POST" };
    if shape.post {
        frame::make_repeatable(operation);
    }
    errors::add(operation, shape);
    frame::add_headers(operation, shape);
}

/// Adds an example to every body that has none, composed from its schema.
pub(crate) fn add_examples(document: &mut OpenApi) {
    let json = serde_json::to_value(&*document).expect("a document is plain JSON");
    let fill = |content: &mut Content| {
        if content.example.is_none() && content.examples.is_empty() {
            let schema = serde_json::to_value(&content.schema).expect("a schema is plain JSON");
            content.example = Some(example::of(&json, &schema));
        }
    };
    for item in document.paths.paths.values_mut() {
        for (_, operation) in operations_mut(item) {
            let body = operation.request_body.iter_mut().filter_map(inline).flat_map(|body| body.content.values_mut());
            body.filter_map(inline).for_each(fill);
            let responses = operation.responses.responses.values_mut().filter_map(inline);
            responses.flat_map(|response| response.content.values_mut()).filter_map(inline).for_each(fill);
        }
    }
}

/// Returns the part if it is inline, or `None` if it is a reference.
fn inline<T>(part: &mut RefOr<T>) -> Option<&mut T> {
    match part {
        RefOr::T(part) => Some(part),
        RefOr::Ref(_) => None,
    }
}

/// Returns every operation with its path and method, in the document's order.
pub fn operations(document: &OpenApi) -> impl Iterator<Item = (&str, &'static str, &Operation)> {
    let paths = document.paths.paths.iter();
    paths.flat_map(|(path, item)| methods(item).map(move |(method, operation)| (path.as_str(), method, operation)))
}

/// Returns the operations of a path with their methods.
pub(crate) fn methods(item: &PathItem) -> impl Iterator<Item = (&'static str, &Operation)> {
    let methods = [
        ("GET", &item.get),
        ("POST", &item.post),
        ("PUT", &item.put),
        ("PATCH", &item.patch),
        ("DELETE", &item.delete),
    ];
    methods.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

/// Returns the scope that an operation requires; `None` if any key suffices.
pub(crate) fn scope(operation: &Operation) -> Option<String> {
    frame::scopes(operation.security.as_ref()?.first()?).into_iter().next()
}

pub(crate) fn operations_mut(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let methods = [
        ("GET", &mut item.get),
        ("POST", &mut item.post),
        ("PUT", &mut item.put),
        ("PATCH", &mut item.patch),
        ("DELETE", &mut item.delete),
    ];
    methods.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn tag(operation: &Operation) -> Option<&str> {
    operation.tags.as_deref()?.first().map(String::as_str)
}
