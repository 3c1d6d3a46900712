//! OpenAPI document of the operator's API, generated from the code like that of the API ([`crate::openapi`]).

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi, SecurityRequirement, ServerBuilder};

use crate::openapi;
use crate::openapi::errors::{self, Shape};
use crate::openapi::frame;
use crate::operator::described;

/// Name of the security scheme.
const SCHEME: &str = "operator";

/// Tags of operations.
const TAGS: [(&str, &str); 5] = [
    ("Plans", "Configured plans."),
    ("Organizations", "Customers' organizations."),
    ("Holds", "Restrictions of organizations."),
    ("Credits", "Balances and ledgers of organizations."),
    ("People", "Members of organizations."),
];

/// Returns the whole document. `public_url` is the URL at which clients reach the service, if known.
pub fn document(public_url: Option<&str>) -> OpenApi {
    let mut document = described();
    for item in document.paths.paths.values_mut() {
        for (_, operation) in openapi::operations_mut(item) {
            if errors::is_repeatable(operation) {
                frame::make_repeatable(operation);
            }
            operation.security = Some(vec![SecurityRequirement::new(SCHEME, [""; 0])]);
            errors::put(operation, errors::UNDER_A_KEY.into());
            frame::add_headers(operation, Shape::default());
        }
    }
    let components = document.components.get_or_insert_default();
    frame::complete(components);
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
    document.tags = Some(TAGS.into_iter().map(frame::tag).collect());
    openapi::add_examples(&mut document);
    document
}
