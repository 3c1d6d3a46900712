//! Schemas that no Rust type says by itself: names from a frozen list, ids, scopes, origins.

use probity_core::scope::Scope;
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, Schema, Type};

/// The most origins that a key may be bound to.
pub const ORIGINS_MAX: usize = 100;

/// A text that is one of a list.
pub fn one_of<'a>(names: impl IntoIterator<Item = &'a str>, description: &str) -> Object {
    let names: Vec<&str> = names.into_iter().collect();
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .examples(names.first().copied())
        .enum_values(Some(names))
        .build()
}

/// An id in the form `TypeID`: a prefix and a `UUIDv7` in base32.
pub fn id(prefix: &str, description: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .pattern(Some(format!("^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$")))
        .examples([format!("{prefix}_01h455vb4pex5vsknk084sn02q")])
        .build()
}

/// The id of a key.
pub fn key_id() -> Object {
    id("key", "The key's id.")
}

/// All the scopes that a key may have.
pub fn scopes() -> RefOr<Schema> {
    let scope = one_of(Scope::ALL.iter().map(|scope| scope.as_str()), "What a key may do.");
    ArrayBuilder::new()
        .items(scope)
        .unique_items(true)
        .description(Some("What the key may do, in the order of this list."))
        .examples([json!(["verify", "read:jobs"])])
        .into()
}

/// A job's id.
pub fn job_id() -> Object {
    id("job", "The job's id, by which it is asked about everywhere.")
}

/// The scopes that a new `rk` key is given.
pub fn chosen_scopes() -> RefOr<Schema> {
    let scope = one_of(Scope::ALL.iter().map(|scope| scope.as_str()), "What a key may do.");
    ArrayBuilder::new()
        .items(scope)
        .unique_items(true)
        .min_items(Some(1))
        .description(Some("What the key may do: for `rk` at least one scope; other kinds leave it out."))
        .examples([json!(["verify"])])
        .into()
}

/// The origins of a `pub` key.
pub fn origins() -> RefOr<Schema> {
    let origin = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^https?://[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(:[1-9][0-9]{0,4})?$"))
        .description(Some("Scheme, host and, where it is not the usual one, port."))
        .examples(["https://www.example.com"]);
    ArrayBuilder::new()
        .items(origin)
        .unique_items(true)
        .max_items(Some(ORIGINS_MAX))
        .description(Some("The origins from which the key may be used; for `pub` only."))
        .examples([json!(["https://www.example.com"])])
        .into()
}

/// A flag that has one value.
pub fn always_true() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .description(Some("Always true."))
        .enum_values(Some([true]))
        .examples([true])
        .build()
}
