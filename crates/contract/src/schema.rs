//! Schemas that no Rust type describes: names from a frozen list, IDs, scopes, origins.

use std::ops::RangeInclusive;

use probity_account::name;
use probity_account::scope::Scope;
use serde_json::{Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ArrayItems, Object, ObjectBuilder, Schema, SchemaType, Type};

/// Maximum number of origins of a key.
pub const ORIGINS_MAX: usize = 100;

/// Pattern of a text without U+0000, which not every database can store.
pub const WITHOUT_NUL: &str = r"^[^\u0000]*$";

/// Returns the schema of a text with so many characters.
pub fn text(chars: RangeInclusive<usize>, description: &str, example: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(*chars.start()).filter(|least| *least > 0))
        .max_length(Some(*chars.end()))
        .description(Some(description))
        .examples([example])
}

/// Returns the schema of a whole number of at least 1.
pub fn count(most: Option<u32>, description: &str, example: u32) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(most)
        .description(Some(description))
        .examples([example])
}

/// Returns the schema of a list.
pub fn array(items: impl Into<ArrayItems>, description: &str, example: Value) -> ArrayBuilder {
    ArrayBuilder::new().items(items).description(Some(description)).examples([example])
}

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
    text(1..=200, description, example).pattern(Some(name_pattern()))
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

/// Returns a schema that has this example.
pub fn with_example(mut schema: Object, example: impl Into<Value>) -> Object {
    schema.examples = vec![example.into()];
    schema
}

/// Declares schemas that fields name with `schema_with`: objects, unless another type is named.
macro_rules! schemas {
    ($($vis:vis $name:ident $(: $type:ty)? = $schema:expr;)+) => {$(
        $vis fn $name() -> $crate::schema::schemas!(@type $($type)?) {
            $schema
        }
    )+};
    (@type) => { utoipa::openapi::schema::Object };
    (@type $type:ty) => { $type };
}
pub(crate) use schemas;

schemas! {
    pub user_id = id("usr", "Member ID.");
    pub connection_id = id("conn", "Connection ID.");
    pub key_id = id("key", "Key ID.");
    pub job_id = id("job", "Job ID, used in every call for the job.");
    scope = one_of(Scope::ALL.map(Scope::as_str), "Scope of a key.");
    pub scopes: ArrayBuilder =
        array(scope(), "Scopes of the key, in the order of this list.", json!(["verify", "read:jobs"])).unique_items(true);
    pub chosen_scopes: ArrayBuilder =
        array(scope(), "Scopes of an `rk` key, at least 1. Omit for other kinds.", json!(["verify"])).min_items(Some(1));
    pub origins: ArrayBuilder = some_origins("Origins from which a `pub` key can be used, without duplicates; empty for \
        other kinds.", r"^https?://[^\s/?#@]+$").unique_items(true);
    pub chosen_origins: ArrayBuilder = some_origins("Origins from which a `pub` key can be used, at least 1. Omit for \
        other kinds.", &origin_pattern()).min_items(Some(1));
}

fn some_origins(description: &str, pattern: &str) -> ArrayBuilder {
    let origin = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern))
        .description(Some("Scheme, host and, unless it is the default, port."))
        .examples(["https://www.example.com"]);
    array(origin, description, json!(["https://www.example.com"])).max_items(Some(ORIGINS_MAX))
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

/// Implements the schema of a type; in the document, it has its own name or the one after `as`.
macro_rules! describe {
    ($type:ident $(as $name:literal)? = $schema:expr) => {
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $schema.into()
            }
        }

        impl utoipa::ToSchema for $type {
            $(fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            })?
        }
    };
}
pub(crate) use describe;

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
