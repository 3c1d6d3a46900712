//! Schemas that no Rust type describes: names from a frozen list, IDs, scopes, origins.

use probity_account::name;
use probity_account::scope::Scope;
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, Schema, SchemaType, Type};

/// Maximum number of origins of a key.
pub const ORIGINS_MAX: usize = 100;

/// Returns the schema of a text from a list of names.
pub fn one_of<'a>(names: impl IntoIterator<Item = &'a str>, description: &str) -> Object {
    let names: Vec<&str> = names.into_iter().collect();
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .examples(names.first().copied())
        .enum_values(Some(names))
        .build()
}

/// Returns the schema of an ID in the form `TypeID`: a prefix and a `UUIDv7` in base32.
pub fn id(prefix: &str, description: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .pattern(Some(format!("^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$")))
        .examples([format!("{prefix}_01h455vb4pex5vsknk084sn02q")])
        .build()
}

/// Returns the schema of a line of 1 to 200 characters that follows the rules for names ([`probity_account::name`]).
pub fn line(description: &str, example: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(200))
        .pattern(Some(name_pattern()))
        .description(Some(description))
        .examples([example])
}

/// Returns the schema of [`line()`], or null.
pub fn line_or_null(description: &str, example: &str) -> Object {
    or_null(line(description, example).build())
}

/// Returns the schema of a text, or null.
pub fn or_null(mut schema: Object) -> Object {
    schema.schema_type = SchemaType::from_iter([Type::String, Type::Null]);
    schema.enum_values.iter_mut().for_each(|names| names.push(serde_json::Value::Null));
    schema
}

/// Declares schemas that fields name with `schema_with`.
macro_rules! schemas {
    ($($vis:vis $name:ident = $schema:expr;)+) => {$(
        $vis fn $name() -> utoipa::openapi::schema::Object {
            $schema
        }
    )+};
}
pub(crate) use schemas;

schemas! {
    pub user_id = id("usr", "Member ID.");
    pub connection_id = id("conn", "Connection ID.");
    pub key_id = id("key", "Key ID.");
    pub job_id = id("job", "Job ID, used in every call for the job.");
}

/// Returns the schema of a key's scopes.
pub fn scopes() -> RefOr<Schema> {
    let scope = one_of(Scope::ALL.map(Scope::as_str), "Scope of a key.");
    ArrayBuilder::new()
        .items(scope)
        .unique_items(true)
        .description(Some("Scopes of the key, in the order of this list."))
        .examples([json!(["verify", "read:jobs"])])
        .into()
}

/// Returns the schema of the scopes of a new `rk` key. Duplicates count once.
pub fn chosen_scopes() -> RefOr<Schema> {
    let scope = one_of(Scope::ALL.map(Scope::as_str), "Scope of a key.");
    ArrayBuilder::new()
        .items(scope)
        .min_items(Some(1))
        .description(Some("Scopes of an `rk` key, at least 1. Omit for other kinds."))
        .examples([json!(["verify"])])
        .into()
}

/// Returns the schema of a `pub` key's origins.
pub fn origins() -> RefOr<Schema> {
    let means = "Origins from which a `pub` key can be used, without duplicates; empty for other kinds.";
    some_origins(means, r"^https?://[^\s/?#@]+$").unique_items(true).into()
}

/// Returns the schema of the origins of a new `pub` key. Duplicates count once.
pub fn chosen_origins() -> RefOr<Schema> {
    let means = "Origins from which a `pub` key can be used, at least 1. Omit for other kinds.";
    some_origins(means, &origin_pattern()).min_items(Some(1)).into()
}

fn some_origins(description: &str, pattern: &str) -> ArrayBuilder {
    let origin = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern))
        .description(Some("Scheme, host and, unless it is the default, port."))
        .examples(["https://www.example.com"]);
    ArrayBuilder::new()
        .items(origin)
        .max_items(Some(ORIGINS_MAX))
        .description(Some(description))
        .examples([json!(["https://www.example.com"])])
}

/// Returns the pattern of an origin as browsers write it, for host names and IPv4 addresses.
///
/// The last label of a host name begins with a letter: `1.2` would be an IPv4 address (URL Standard, "ends in a number"). The
/// service also accepts other spellings, such as a trailing `/`, and stores this form.
fn origin_pattern() -> String {
    let label = |first: &str| format!("{first}([a-z0-9-]{{0,61}}[a-z0-9])?");
    let byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    let host = format!("({}\\.){{0,3}}{}|{byte}(\\.{byte}){{3}}", label("[a-z0-9]"), label("[a-z]"));
    let port = "6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}";
    format!("^https?://({host})(:({port}))?$")
}

/// Returns the rules of [`mod@probity_account::name`] as a pattern: visible characters, each optionally with selectors. Between
/// two of them there can be a joiner or white space. Surrounding white space is allowed.
pub fn name_pattern() -> String {
    let class = |ranges: &[(char, char)]| ranges.iter().map(|&(first, last)| range(first, last)).collect::<String>();
    let (space, joiner, selector) = (class(&name::SPACES), class(&name::JOINERS), class(&name::SELECTORS));
    let seen = format!("[^{}{space}{joiner}{selector}][{selector}]*", class(&name::FORBIDDEN));
    format!("^[{space}]*{seen}(([{joiner}]|[{space}]+)?{seen})*[{space}]*$")
}

/// Returns a range of a character class, in a syntax that ECMA-262 and Python share. Characters above U+FFFF are written
/// literally, because the escapes for them differ.
fn range(first: char, last: char) -> String {
    let word = |c: char| {
        let code = u32::from(c);
        if code > 0xffff { c.to_string() } else { format!("\\u{code:04x}") }
    };
    if first == last { word(first) } else { format!("{}-{}", word(first), word(last)) }
}

/// Returns the schema of a flag that is always true.
pub fn always_true() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .description(Some("Always true."))
        .enum_values(Some([true]))
        .examples([true])
        .build()
}

/// Returns the schema of a body that has all fields of `head` and either all or none of those of `part`.
///
/// Client generators do not handle the schema that nested types would generate; here, all fields are at the same level.
pub fn side_by_side(head: RefOr<Schema>, part: RefOr<Schema>, description: &str) -> RefOr<Schema> {
    let (RefOr::T(Schema::Object(mut fields)), RefOr::T(Schema::Object(part))) = (head, part) else {
        unreachable!("structs are described as objects");
    };
    fields.properties.extend(part.properties);
    fields.description = Some(description.to_owned());
    fields.into()
}

/// Implements the schema of a type that serializes as its head and an optional part: [`side_by_side`].
macro_rules! with_optional_part {
    ($name:ident = $head:ident + $part:ident, $description:literal) => {
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $crate::schema::side_by_side($head::schema(), $part::schema(), $description)
            }
        }

        impl utoipa::ToSchema for $name {
            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
                $head::schemas(schemas);
                $part::schemas(schemas);
            }
        }
    };
}
pub(crate) use with_optional_part;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_of_names_is_their_rule() {
        let pattern = json!({ "pattern": name_pattern() });
        let pattern = jsonschema::validator_for(&pattern).unwrap();
        let ranges = [&name::FORBIDDEN[..], &name::SPACES, &name::SELECTORS, &name::JOINERS].concat();
        let beside =
            |c: char| [char::from_u32(u32::from(c).wrapping_sub(1)), Some(c), char::from_u32(u32::from(c) + 1)];
        for c in ranges.into_iter().flat_map(|(first, last)| [first, last]).flat_map(beside).flatten() {
            for text in [
                format!("{c}"),
                format!("a{c}"),
                format!("{c}a"),
                format!("a{c}a"),
                format!("a {c}a"),
                format!("a{c}{c}a"),
            ] {
                assert_eq!(pattern.is_valid(&json!(text)), name::name(&text).is_ok(), "{text:?}");
            }
        }
        assert!(!pattern.is_valid(&json!("")) && pattern.is_valid(&json!(" Sign-up form ")));
    }
}
