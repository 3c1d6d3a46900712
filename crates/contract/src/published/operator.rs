//! Types of the operator's API, `/admin/v1`, which the command line uses too.

pub mod audit;
pub mod credits;
pub mod deliveries;
pub mod nodes;
pub mod organizations;
pub mod people;
pub mod plans;

use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Required};

use crate::error::ApiError;
use crate::page::PageQuery;
use crate::query::{FromQuery, Query};

/// Page of an operator's list. It is parsed like every other page; only the description omits the alias `cursor`.
#[derive(Clone, Debug, Default)]
pub struct OperatorPageQuery(pub PageQuery);

impl FromQuery for OperatorPageQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        PageQuery::from_query(query).map(Self)
    }
}

impl IntoParams for OperatorPageQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let number = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32)))
            .minimum(Some(1));
        vec![
            parameter("per_page", "Rows per page, 1 to 100, default 25.", number),
            parameter("next", "Cursor: `pagination.next_cursor` of the previous page.", text()),
        ]
    }
}

fn parameter(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}
