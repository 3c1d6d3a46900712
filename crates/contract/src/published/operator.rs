//! Types of the operator's API, `/admin/v1`, which the command line uses too.

pub mod audit;
pub mod credits;
pub mod deliveries;
pub mod nodes;
pub mod organizations;
pub mod people;
pub mod plans;

use utoipa::openapi::path::Parameter;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

use crate::error::ApiError;
use crate::page::PageQuery;
use crate::parameters::{describe_query, parameter, text};
use crate::query::{FromQuery, Query};

/// Page of an operator's list. It is parsed like every other page; only the description omits the alias `cursor`.
#[derive(Clone, Debug, Default)]
pub struct OperatorPageQuery(pub PageQuery);

impl FromQuery for OperatorPageQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        PageQuery::from_query(query).map(Self)
    }
}

describe_query!(OperatorPageQuery = page_parameters());

fn page_parameters() -> Vec<Parameter> {
    let number = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32)))
        .minimum(Some(1));
    vec![
        parameter("per_page", "Rows per page, 1 to 100, default 25.", number).build(),
        parameter("next", "Cursor: `pagination.next_cursor` of the previous page.", text()).build(),
    ]
}
