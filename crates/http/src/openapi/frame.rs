//! Parts of the document that are common to all operations: information, tags, authentication, headers.

use probity_contract::error::ErrorEnvelope;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ArrayItems, Object, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{Components, Info, InfoBuilder, LicenseBuilder, Ref, RefOr, Required, SecurityRequirement};

use crate::openapi::REQUEST_ID;
use crate::openapi::errors::Shape;

/// Security scheme: the header `Authorization: Bearer <key>`.
const BEARER: &str = "bearer";
/// Security scheme: the query parameter `api_key`.
const API_KEY: &str = "api_key";
const LICENSE: &str = env!("CARGO_PKG_LICENSE");
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Tags of operations, in the order of the page.
const TAGS: [(&str, &str); 7] = [
    ("Verification", "Verify one address, or a list as a job."),
    ("Account", "Keys, credits, settings and activity of the account."),
    ("Team", "Members of the organization and their seats."),
    ("Reports", "Usage reports."),
    ("Integrations", "Connections to email platforms, and their keyword rules."),
    ("Webhooks", "Events sent to your endpoints."),
    ("Privacy", "Erasure of personal data."),
];

pub(super) fn info() -> Info {
    let about = "Verifies whether email addresses are deliverable, from DNS and the replies of their MX hosts.\n\n\
        Bodies are JSON. Times are ISO 8601 in UTC. Every response has `X-Request-Id`. Every error has the same body; \
        branch on `error.code`.\n\n\
        Authenticate with `Authorization: Bearer <key>`. Keys are secrets: use them only on servers.";
    InfoBuilder::new()
        .title("Probity API")
        .version("1.0.0")
        .description(Some(about))
        .license(Some(LicenseBuilder::new().name(LICENSE).identifier(Some(LICENSE)).build()))
        .build()
}

/// Returns the tags that are in use, in their order.
pub(super) fn tags(in_use: impl Fn(&str) -> bool) -> Vec<Tag> {
    TAGS.into_iter().filter(|(name, _)| in_use(name)).map(tag).collect()
}

pub(crate) fn tag((name, about): (&str, &str)) -> Tag {
    TagBuilder::new().name(name).description(Some(about)).build()
}

/// Adds the components that operations refer to: security schemes, the error envelope, headers. Names the rows of lists.
pub(crate) fn complete(components: &mut Components) {
    name_rows(components);
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("probity_live_…")
        .description(Some(
            "Key in the header `Authorization: Bearer <key>`. It takes precedence over a key in the query.",
        ))
        .build();
    let in_query = ApiKeyValue::with_description(
        "api_key",
        "Key in the query. Deprecated until its removal on 1 June 2027, because proxies log it. Responses have \
         `Deprecation` and `Sunset`.",
    );
    components.add_security_scheme(BEARER, SecurityScheme::Http(bearer));
    components.add_security_scheme(API_KEY, SecurityScheme::ApiKey(ApiKey::Query(in_query)));
    let mut schemas = Vec::new();
    ErrorEnvelope::schemas(&mut schemas);
    schemas.push((ErrorEnvelope::name().into_owned(), <ErrorEnvelope as utoipa::PartialSchema>::schema()));
    components.schemas.extend(schemas);
    components.headers.extend(headers().map(|(name, header)| (name.to_owned(), RefOr::T(header))));
    components.parameters.insert(IDEMPOTENCY_KEY.to_owned(), RefOr::T(idempotency_key()));
}

/// Makes lists refer to the schema of their rows. By default, utoipa repeats the schema in the list's own. Generated clients
/// would then have two types for the same rows.
fn name_rows(components: &mut Components) {
    let known: Vec<String> = components.schemas.keys().cloned().collect();
    for (name, list) in &mut components.schemas {
        let row = name.strip_prefix("List_").filter(|row| known.iter().any(|name| name == row));
        if let (Some(row), RefOr::T(Schema::Object(list))) = (row, list)
            && let Some(RefOr::T(Schema::Array(rows))) = list.properties.get_mut("data")
        {
            rows.items = ArrayItems::RefOrSchema(Box::new(RefOr::Ref(Ref::from_schema_name(row))));
        }
    }
}

fn headers() -> [(&'static str, Header); 9] {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let count = |least: u32| ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least)).build();
    let yes = || text().enum_values(Some(["true"])).build();
    [
        ("X-Request-Id", header(text().build(), "Request ID; include it when you report a problem.", REQUEST_ID)),
        ("X-RateLimit-Limit", header(count(1), "Requests allowed per minute.", 10_000)),
        ("X-RateLimit-Remaining", header(count(0), "Requests available now.", 9_999)),
        (
            "X-RateLimit-Reset",
            header(count(0), "Time at which all requests are available again, in Unix seconds.", 1_795_251_600),
        ),
        ("Retry-After", header(count(1), "Seconds to wait before retrying.", 1)),
        ("WWW-Authenticate", header(text().build(), "Authentication scheme of keys.", "Bearer")),
        ("Deprecation", header(yes(), "The key was sent in the query, which is deprecated.", "true")),
        (
            "Sunset",
            header(text().build(), "Date on which keys in the query stop working.", "Tue, 01 Jun 2027 00:00:00 GMT"),
        ),
        (
            "Idempotent-Replayed",
            header(
                yes(),
                "The response is the stored one of an earlier request with the same `Idempotency-Key`.",
                "true",
            ),
        ),
    ]
}

fn header(schema: Object, description: &str, example: impl Into<Value>) -> Header {
    let mut header = HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build();
    header.example = Some(example.into());
    header
}

fn idempotency_key() -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(255))
        .pattern(Some("^[!-~]([ -~]*[!-~])?$"));
    ParameterBuilder::new()
        .name(IDEMPOTENCY_KEY)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Idempotency key of your choice: 1 to 255 printable ASCII characters. Repeating a request with the same \
             key and body within 24 hours returns the first response without running the request again.",
        ))
        .schema(Some(schema))
        .example(Some("5f0c4c1e-6c1f-4b8e-9f52-2f6a5d0a7d11".into()))
        .build()
}

/// Completes an operation's security: wherever a key is accepted in the header, it is also accepted in the query. Returns
/// whether the operation needs a key.
pub(super) fn secure(operation: &mut Operation) -> bool {
    let bearer = || vec![SecurityRequirement::new(BEARER, [""; 0])];
    let ways = operation.security.get_or_insert_with(bearer);
    // `security(())` in a handler's annotation is the empty requirement: no key is needed.
    if ways.iter().all(|way| *way == SecurityRequirement::default()) {
        ways.clear();
        return false;
    }
    let scopes = scopes(&ways[0]);
    *ways = vec![SecurityRequirement::new(BEARER, scopes.clone()), SecurityRequirement::new(API_KEY, scopes)];
    true
}

/// Returns the scopes that a requirement names. utoipa keeps them private but serializes them.
pub(super) fn scopes(requirement: &SecurityRequirement) -> Vec<String> {
    let written = serde_json::to_value(requirement).unwrap_or_default();
    let lists = written.as_object().into_iter().flat_map(serde_json::Map::values).filter_map(Value::as_array);
    lists.flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Adds the `Idempotency-Key` header, which every POST supports.
pub(crate) fn make_repeatable(operation: &mut Operation) {
    let parameter = Ref::new(format!("#/components/parameters/{IDEMPOTENCY_KEY}"));
    operation.parameters.get_or_insert_default().push(RefOr::Ref(parameter));
}

/// Adds the response headers of an operation.
pub(crate) fn add_headers(operation: &mut Operation, shape: Shape) {
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        let well = status.starts_with('2');
        let known_caller = shape.under_a_key && status != "401";
        let names = [
            ("X-Request-Id", true),
            ("X-RateLimit-Limit", known_caller),
            ("X-RateLimit-Remaining", known_caller),
            ("X-RateLimit-Reset", known_caller),
            ("WWW-Authenticate", status == "401"),
            ("Deprecation", shape.under_a_key),
            ("Sunset", shape.under_a_key),
            ("Retry-After", status == "429" || status == "503"),
            ("Idempotent-Replayed", well && shape.post),
        ];
        for (name, _) in names.into_iter().filter(|(_, applies)| *applies) {
            let reference = Ref::new(format!("#/components/headers/{name}"));
            response.headers.insert(name.to_owned(), RefOr::Ref(reference));
        }
    }
}
