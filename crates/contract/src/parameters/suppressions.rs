//! Parameters of suppression lists.

use probity_account::suppression::SuppressionKind;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::parameters::path_part_of;

/// Path of a suppression list.
#[derive(Debug)]
pub struct ListPath;

impl IntoParams for ListPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let list = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(SuppressionKind::ALL.map(SuppressionKind::as_str)));
        vec![path_part_of("list", "Name of the list, which is also the reason that it gives.", list, "complained")]
    }
}
