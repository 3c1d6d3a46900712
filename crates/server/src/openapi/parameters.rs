//! Parameters as the document describes them. Handlers name these types in `params(...)`.
//!
//! A query has only text. Clients that build their requests from the document send numbers as they hold them, as a number
//! or as text, so every number is described as both; the patterns say exactly which texts the service takes.

use utoipa::IntoParams;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

/// The most bytes that an address to verify may have.
pub const EMAIL_BYTES_MAX: usize = 1024;
/// The largest page of a list; larger wishes are cut to it.
pub const PER_PAGE_MAX: u32 = 100;

/// Decimal digits that are not all zero, with or without a fraction.
const POSITIVE_DECIMAL: &str = r"^(0*[1-9][0-9]*(\.[0-9]+)?|0+\.0*[1-9][0-9]*)$";
/// Decimal digits that are not all zero.
const POSITIVE_INTEGER: &str = "^0*[1-9][0-9]*$";

/// The query of `GET /v1/verify`.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct VerifyParams {
    /// The address to verify, at most 1,024 bytes. A raw `+` is a plus. Text that is no address gets the verdict `invalid`.
    #[param(schema_with = email, example = "jo@sandbox.test")]
    pub email: String,
    /// How long to wait, in seconds: an integer or a decimal above zero. More than 60 is taken as 60. At the end of that
    /// time the verdict is `unknown`/`unverified`.
    #[param(schema_with = timeout, example = 20)]
    pub timeout: Option<f64>,
    /// Whether to add `evidence`: what the verdict rests on.
    #[param(example = true)]
    pub explain: Option<bool>,
}

/// The query of a list whose pages have 25 resources unless the caller wishes otherwise.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Resources on a page, 1 to 100; more is taken as 100.
    #[param(schema_with = per_page, example = 25)]
    pub per_page: Option<u32>,
    /// Where the page begins: `pagination.next_cursor` of the page before. Left out for the first page.
    #[param(schema_with = cursor, example = "MDFoNDU1dmI0cGV4NXZzaw")]
    pub next: Option<String>,
    /// Another name of `next`, which wins where both are sent.
    #[param(schema_with = cursor, example = "MDFoNDU1dmI0cGV4NXZzaw")]
    pub cursor: Option<String>,
}

/// The query of `GET /v1/check-key`.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CheckKeyParams {
    /// Another key to look at, of the same organization. Without a bearer token it is the key that the call is made with.
    #[param(example = "probity_live_4ZqKf0pX")]
    pub api_key: Option<String>,
    /// Another key to look at, of the same organization: for keys of the widget.
    #[param(example = "probity_pub_4ZqKf0pX")]
    pub public_key: Option<String>,
    /// Accepted for clients that send it; the plan is always shown.
    #[param(example = "true")]
    pub check_plan: Option<String>,
    /// Accepted for clients that send it; the credits are always shown.
    #[param(example = "true")]
    pub check_credits: Option<String>,
    /// Accepted for clients that send it; there is no token.
    #[param(example = "false")]
    pub get_token: Option<String>,
}

/// The path of one key.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct KeyPath {
    /// The key's id, as the list shows it.
    #[param(schema_with = path_id, example = "key_01h455vb4pex5vsknk084sn02q")]
    pub id: String,
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
    OneOfBuilder::new().item(number).item(text(POSITIVE_DECIMAL)).default(Some(20.into())).into()
}

fn per_page() -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    OneOfBuilder::new().item(number).item(text(POSITIVE_INTEGER)).default(Some(25.into())).into()
}

fn cursor() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).into()
}

// Ids are opaque: one that cannot be read is not found, so the schema does not forbid it.
fn path_id() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).into()
}

fn text(pattern: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).into()
}
