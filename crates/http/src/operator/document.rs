//! The description of the operator's API, made from the code as that of the API is ([`crate::openapi`]).

use probity_contract::error::Code;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{InfoBuilder, OpenApi, SecurityRequirement, ServerBuilder};

use crate::openapi;
use crate::operator::described;

/// The way to authenticate.
const SCHEME: &str = "operator";

/// The groups of operations.
const TAGS: [(&str, &str); 5] = [
    ("Plans", "Configured plans."),
    ("Organizations", "Customers' organizations."),
    ("Holds", "Restrictions of organizations."),
    ("Credits", "Balances and ledgers of organizations."),
    ("People", "Members of organizations."),
];

/// What every operation may answer when it is not well.
const ALWAYS: [Code; 5] =
    [Code::MissingApiKey, Code::InvalidApiKey, Code::RateLimited, Code::ServerError, Code::ServiceUnavailable];
/// What those with a body may answer besides.
const WITH_BODY: [Code; 4] =
    [Code::InvalidRequest, Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType];

/// The whole document. `public_url` is where clients reach the service, where that is known.
pub fn document(public_url: Option<&str>) -> OpenApi {
    let mut document = described();
    for item in document.paths.paths.values_mut() {
        for (_, operation) in openapi::operations_mut(item) {
            let mut codes = openapi::take_own_errors(operation);
            codes.extend(ALWAYS);
            if operation.request_body.is_some() {
                codes.extend(WITH_BODY);
            }
            if codes.contains(&Code::IdempotencyKeyReused) {
                openapi::make_repeatable(operation);
            }
            if operation.parameters.iter().flatten().any(openapi::is_in_query) {
                codes.push(Code::InvalidRequest);
            }
            operation.security = Some(vec![SecurityRequirement::new(SCHEME, [""; 0])]);
            openapi::add_failures(operation, &codes);
        }
    }
    let components = document.components.get_or_insert_default();
    openapi::complete_components(components);
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("`admin.key` of the configuration, as `Authorization: Bearer <key>`."))
        .build();
    components.security_schemes.clear();
    components.add_security_scheme(SCHEME, SecurityScheme::Http(scheme));
    let about = "Manage customers, plans, credits, restrictions and members from the operator's programs. Bodies, \
        times, lists and errors have the form of the public API. The customer's timeline records each act with the \
        actor `staff`.";
    document.info = InfoBuilder::new().title("Probity operator API").version("1.0.0").description(Some(about)).build();
    document.servers = Some(vec![ServerBuilder::new().url(public_url.unwrap_or("/")).build()]);
    let tag = |(name, about): (&str, &str)| TagBuilder::new().name(name).description(Some(about)).build();
    document.tags = Some(TAGS.into_iter().map(tag).collect());
    openapi::add_examples(&mut document);
    document
}
