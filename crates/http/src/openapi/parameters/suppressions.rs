//! Parameters of suppression lists.

use probity_account::suppression::List;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::openapi::parameters::{EMAIL_BYTES_MAX, names, path_part_of, query};

/// The path of one list.
#[derive(Debug)]
pub struct ListPath;

impl IntoParams for ListPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let list = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(List::ALL.map(List::as_str)));
        vec![path_part_of("list", "Name of the list, which is also the reason that it gives.", list, "complained")]
    }
}

/// The query of a look at a list.
#[derive(Debug)]
pub struct SuppressionParams;

impl IntoParams for SuppressionParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let means = "Address to look up on the list, at most 1,024 bytes.";
        let email = ObjectBuilder::new().schema_type(Type::String).max_length(Some(EMAIL_BYTES_MAX));
        vec![query("email", means, email, "ann@example.org").build()]
    }
}

/// The query of a removal.
#[derive(Debug)]
pub struct RemovalParams;

impl IntoParams for RemovalParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let all = names(["true", "false"]).default(Some("false".into()));
        vec![query("all", "Whether to remove all addresses; then send no body.", all, "false").build()]
    }
}
