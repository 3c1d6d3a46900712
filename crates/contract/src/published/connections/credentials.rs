//! Credentials as a customer enters them.

use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

use crate::schema::describe;

/// Maximum length of a credential, in characters.
const VALUE_MAX: usize = 4_096;
/// Maximum number of credentials.
const COUNT_MAX: usize = 20;

/// Credentials by name. Without `Debug` and `Serialize`: they are never shown.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct EnteredCredentials(pub BTreeMap<String, String>);

describe!(
    EnteredCredentials = {
        let value = ObjectBuilder::new().schema_type(Type::String).max_length(Some(VALUE_MAX));
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .additional_properties(Some(RefOr::T(Schema::from(value))))
            .max_properties(Some(COUNT_MAX))
            .description(Some(
                "Credentials by name, as in the platform's `credentials`. Stored encrypted, never returned.",
            ))
            .examples([serde_json::json!({"api_key": "0123456789abcdef0123456789abcdef-us19"})])
    }
);
