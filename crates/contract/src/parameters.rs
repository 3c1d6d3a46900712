//! Parameters in the OpenAPI document. Handlers name these types in `params(...)`.
//!
//! Query values are text, but clients generated from the document may send a number either as a number or as text. Every number
//! is therefore described as both; the patterns match exactly the texts that the service accepts.

use std::iter;

use probity_account::connections::RuleKind;
use probity_account::suppression::SuppressionKind;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{RefOr, Required};

/// Maximum length of an address to verify, in bytes.
pub const EMAIL_BYTES_MAX: usize = 1024;
/// Maximum length of a part of addresses to search for, in characters.
pub const SEARCH_TEXT_MAX: usize = 320;

/// Positive decimal number, with or without a fraction.
pub const POSITIVE_DECIMAL: &str = r"^(0*[1-9][0-9]*(\.[0-9]+)?|0+\.0*[1-9][0-9]*)$";
/// Positive whole number.
pub const POSITIVE_INTEGER: &str = "^0*[1-9][0-9]*$";

/// Declares paths by their last parameter: its name, what it means, its schema and an example. The parameters of the path before it
/// come first.
macro_rules! paths {
    ($($path:ident $(after $before:ident)? = $name:literal, $means:literal, $schema:expr, $example:literal;)+) => {$(
        #[derive(Debug)]
        pub struct $path;

        impl IntoParams for $path {
            fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
                let last = path_part_of($name, $means, $schema, $example);
                iter::empty()$(.chain($before::into_params(|| None)))?.chain([last]).collect()
            }
        }
    )+};
}

// IDs are opaque: an unreadable one gets 404, so their schema does not restrict them.
paths! {
    KeyPath = "id", "Key ID, as listed.", not_empty(), "key_01h455vb4pex5vsknk084sn02q";
    UserPath = "id", "Member ID, as listed.", not_empty(), "usr_01h455vb4pex5vsknk084sn02q";
    JobPath = "id", "Job ID, as returned by the submission.", not_empty(), "job_01h455vb4pex5vsknk084sn02q";
    ListPath = "list", "Name of the list, which is also the reason that it gives.",
        one_of(&SuppressionKind::ALL.map(SuppressionKind::as_str)), "complained";
    WebhookPath = "id", "Webhook ID, as listed.", not_empty(), "whk_01h455vb4pex5vsknk084sn02q";
    DeliveryPath = "delivery_id", "Delivery ID, as listed.", not_empty(), "dlv_01h455vb4pex5vsknk084sn02q";
    ErasurePath = "id", "Erasure ID, as returned by the request.", not_empty(), "era_01h455vb4pex5vsknk084sn02q";
    OutcomeSourcePath = "id", "Source ID, as listed.", not_empty(), "osr_01h455vb4pex5vsknk084sn02q";
    IntegrationPath = "type", "Platform, by its name in the API or an alias, as in `kit`.", not_empty(), "mailchimp";
    ConnectionPath after IntegrationPath = "id", "Connection ID, as listed.", not_empty(), "conn_01h455vb4pex5vsknk084sn02q";
    RunPath after ConnectionPath = "run_id", "Run ID, as listed.", not_empty(), "job_01h455vb4pex5vsknk084sn02q";
    KeywordPath after ConnectionPath = "kind",
        "`blacklist`: contacts to act upon, whatever their verdict. `whitelist`: contacts never to act upon.",
        one_of(&RuleKind::ALL.map(RuleKind::as_str)), "whitelist";
    RulePath after KeywordPath = "rule_id", "Rule ID, as listed.", not_empty(), "rule_01h455vb4pex5vsknk084sn02q";
}

/// Describes the parameters of a query, in the document's order: the name, perhaps calls on its [`ParameterBuilder`], what it means,
/// its schema and an example.
macro_rules! describe_query {
    ($type:ident: $($name:literal $(($($call:tt)+))? = $means:expr, $schema:expr, $example:expr;)+) => {
        $crate::parameters::describe_query!(
            $type = vec![$($crate::parameters::query($name, $means, $schema, $example)$($($call)+)?.build()),+]
        );
    };
    ($type:ident = $parameters:expr) => {
        impl utoipa::IntoParams for $type {
            fn into_params(
                _: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
            ) -> Vec<utoipa::openapi::path::Parameter> {
                $parameters
            }
        }
    };
}
pub(crate) use describe_query;

fn one_of(names: &[&str]) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names.iter().copied())).into()
}

fn path_part_of(name: &str, description: &str, schema: RefOr<Schema>, example: &str) -> Parameter {
    let part = query(name, description, schema, example);
    part.parameter_in(ParameterIn::Path).required(Required::True).build()
}

/// Describes an optional parameter of a query.
pub fn parameter(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> ParameterBuilder {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
}

/// Describes an optional parameter of a query, with an example.
pub fn query(
    name: &str,
    description: &str,
    schema: impl Into<RefOr<Schema>>,
    example: impl Into<Value>,
) -> ParameterBuilder {
    parameter(name, description, schema).example(Some(example.into()))
}

pub fn email() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(EMAIL_BYTES_MAX))
        // White space alone counts as empty.
        .pattern(Some(r"[^\t\n\f\r ]"))
        .into()
}

/// Returns the schema of a flag that is false by default.
pub fn flag() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Boolean).default(Some(false.into()))
}

pub fn timeout() -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Number).exclusive_minimum(Some(0));
    OneOfBuilder::new().item(number).item(matching(POSITIVE_DECIMAL)).default(Some(20.into())).into()
}

pub fn per_page(usual: u32) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    OneOfBuilder::new().item(number).item(matching(POSITIVE_INTEGER)).default(Some(usual.into())).into()
}

pub fn not_empty() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).into()
}

pub fn text() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).into()
}

/// Returns the schema of a part of addresses to search for.
pub fn search_text() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).max_length(Some(SEARCH_TEXT_MAX)).into()
}

pub fn matching(pattern: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).into()
}

/// Returns the schema of one of the names, or an empty text, which counts as omitted.
pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names.into_iter().chain([""])))
}

/// Returns the schema of a number within the bounds (minimum, default, maximum), as a number or as text matching the pattern.
pub fn bounded((least, usual, most): (i64, i64, i64), pattern: &str) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least)).maximum(Some(most));
    OneOfBuilder::new().item(number).item(matching(pattern)).default(Some(usual.into())).into()
}
