//! Parameters as the document describes them. Handlers name these types in `params(...)`.
//!
//! A query has only text. Clients that build their requests from the document send numbers as they hold them, as a number
//! or as text, so every number is described as both; the patterns say exactly which texts the service takes.

mod jobs;
mod reports;
mod suppressions;
mod webhooks;

use probity_lists::submission::WEBHOOK_URL_MAX_BYTES;
use probity_service::page::PerPage;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{RefOr, Required};

pub use jobs::{DownloadParams, JobPath, JobsParams, ResultsParams, TimelineParams};
pub use reports::{DailyUsageParams, UsageParams};
pub use suppressions::{ListPath, RemovalParams, SuppressionParams};
pub use webhooks::{DeliveriesParams, DeliveryPath, ErasurePath, WebhookPath};

/// The most bytes that an address to verify may have.
pub const EMAIL_BYTES_MAX: usize = 1024;

/// Decimal digits that are not all zero, with or without a fraction.
const POSITIVE_DECIMAL: &str = r"^(0*[1-9][0-9]*(\.[0-9]+)?|0+\.0*[1-9][0-9]*)$";
/// Decimal digits that are not all zero.
const POSITIVE_INTEGER: &str = "^0*[1-9][0-9]*$";

/// The query of `GET /v1/verify`.
#[derive(Debug)]
pub struct VerifyParams;

impl IntoParams for VerifyParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let email_means = "Address to verify, at most 1,024 bytes. A raw `+` is a plus, and surrounding white space \
            is removed. Text that is not an address gets the verdict `invalid`.";
        let timeout_means = "Seconds to wait: an integer or a decimal above 0, default 20; values above 60 count as \
            60. After that time, the verdict is `unknown`/`unverified`.";
        let explain_means = "Whether to add `evidence` to the verdict.";
        let flag = ObjectBuilder::new().schema_type(Type::Boolean).default(Some(false.into()));
        let email = query("email", email_means, email(), "jo@sandbox.test").required(Required::True);
        vec![
            email.build(),
            query("timeout", timeout_means, timeout(), 20).build(),
            query("explain", explain_means, flag, true).build(),
        ]
    }
}

/// The query of a list whose pages have 25 resources unless the caller wishes otherwise.
#[derive(Debug)]
pub struct PageParams;

impl IntoParams for PageParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let PerPage { default, max } = PerPage::USUAL;
        let per_page_means =
            format!("Resources per page, 1 to {max}, default {default}; higher values count as {max}.");
        let next_means = "Cursor: `pagination.next_cursor` of the previous page. Omit it, or leave it empty, for \
            the first page.";
        let cursor_means = "Alias of `next`, which takes precedence.";
        let cursor = "MDFoNDU1dmI0cGV4NXZzaw";
        vec![
            query("per_page", &per_page_means, per_page(), default).build(),
            query("next", next_means, text(), cursor).build(),
            query("cursor", cursor_means, text(), cursor).build(),
        ]
    }
}

/// The query of `POST /v1/batch-verify`.
#[derive(Debug)]
pub struct SubmitParams;

impl IntoParams for SubmitParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let means = "Callback URL for bodies that are not JSON: receives the finished job as a POST. In JSON, the body's \
             field takes precedence.";
        let url =
            ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(WEBHOOK_URL_MAX_BYTES));
        vec![query("webhook_url", means, url, "https://www.example.com/finished").build()]
    }
}

/// The query of `GET /v1/check-key`.
#[derive(Debug)]
pub struct CheckKeyParams;

impl IntoParams for CheckKeyParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let api_key_means = "Another key of the same organization to look up. Without a bearer token, the key that \
            authenticates the call.";
        let public_key_means = "Another key of the same organization to look up, such as a `pub` key.";
        let flag_means = "Accepted for compatibility; the plan is always shown.";
        let credits_means = "Accepted for compatibility; the credits are always shown.";
        let token_means = "Accepted for compatibility; no token is returned.";
        vec![
            query("api_key", api_key_means, text(), "probity_live_4ZqKf0pX").build(),
            query("public_key", public_key_means, text(), "probity_pub_4ZqKf0pX").build(),
            query("check_plan", flag_means, text(), "true").build(),
            query("check_credits", credits_means, text(), "true").build(),
            query("get_token", token_means, text(), "false").build(),
        ]
    }
}

/// The path of one key.
#[derive(Debug)]
pub struct KeyPath;

impl IntoParams for KeyPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("Key ID, as listed.", "key_01h455vb4pex5vsknk084sn02q")]
    }
}

/// The path of one member.
#[derive(Debug)]
pub struct UserPath;

impl IntoParams for UserPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("Member ID, as listed.", "usr_01h455vb4pex5vsknk084sn02q")]
    }
}

/// The id in a path. Ids are opaque: one that cannot be read is not found, so the schema does not forbid it.
fn path_id(description: &str, example: &str) -> Parameter {
    path_part("id", description, example)
}

fn path_part(name: &str, description: &str, example: &str) -> Parameter {
    path_part_of(name, description, not_empty(), example)
}

fn path_part_of(name: &str, description: &str, schema: impl Into<RefOr<Schema>>, example: &str) -> Parameter {
    let part = query(name, description, schema, example);
    part.parameter_in(ParameterIn::Path).required(Required::True).build()
}

fn query(
    name: &str,
    description: &str,
    schema: impl Into<RefOr<Schema>>,
    example: impl Into<Value>,
) -> ParameterBuilder {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .example(Some(example.into()))
}

fn email() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(EMAIL_BYTES_MAX))
        // White space alone is as good as nothing.
        .pattern(Some(r"[^\t\n\f\r ]"))
        .into()
}

fn timeout() -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Number).exclusive_minimum(Some(0));
    OneOfBuilder::new().item(number).item(matching(POSITIVE_DECIMAL)).default(Some(20.into())).into()
}

fn per_page() -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    OneOfBuilder::new().item(number).item(matching(POSITIVE_INTEGER)).default(Some(25.into())).into()
}

fn not_empty() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).into()
}

fn text() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).into()
}

fn matching(pattern: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).into()
}

/// One of the names, or an empty text, which counts as left out.
fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names.into_iter().chain([""])))
}

/// A number within bounds, as itself or as text that the pattern takes.
fn bounded((least, usual, most): (i64, i64, i64), pattern: &str) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least)).maximum(Some(most));
    OneOfBuilder::new().item(number).item(matching(pattern)).default(Some(usual.into())).into()
}
