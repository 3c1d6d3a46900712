//! Schemas that no Rust type says by itself: names from a frozen list, ids, scopes, origins.

use probity_account::name;
use probity_account::scope::Scope;
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, Schema, SchemaType, Type};

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

/// A line of text of 1 to 200 characters, as names are ([`probity_account::name`]).
pub fn line(description: &str, example: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(200))
        .pattern(Some(name_pattern()))
        .description(Some(description))
        .examples([example])
}

/// The same, or null.
pub fn line_or_null(description: &str, example: &str) -> Object {
    line(description, example).schema_type(SchemaType::from_iter([Type::String, Type::Null])).build()
}

/// The id of a person.
pub fn user_id() -> Object {
    id("usr", "Member ID.")
}

/// The id of a key.
pub fn key_id() -> Object {
    id("key", "Key ID.")
}

/// All the scopes that a key may have.
pub fn scopes() -> RefOr<Schema> {
    let scope = one_of(Scope::ALL.iter().map(|scope| scope.as_str()), "Scope of a key.");
    ArrayBuilder::new()
        .items(scope)
        .unique_items(true)
        .description(Some("Scopes of the key, in the order of this list."))
        .examples([json!(["verify", "read:jobs"])])
        .into()
}

/// A job's id.
pub fn job_id() -> Object {
    id("job", "Job ID, used in every call for the job.")
}

/// The scopes that a new `rk` key is given. One that is named twice counts once.
pub fn chosen_scopes() -> RefOr<Schema> {
    let scope = one_of(Scope::ALL.iter().map(|scope| scope.as_str()), "Scope of a key.");
    ArrayBuilder::new()
        .items(scope)
        .min_items(Some(1))
        .description(Some("Scopes of an `rk` key, at least 1. Omit for other kinds."))
        .examples([json!(["verify"])])
        .into()
}

/// The origins of a `pub` key.
pub fn origins() -> RefOr<Schema> {
    let means = "Origins from which a `pub` key can be used, without duplicates; empty for other kinds.";
    some_origins(means, r"^https?://[^\s/?#@]+$").unique_items(true).into()
}

/// The origins that a new `pub` key is given. One that is named twice counts once.
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

/// Origins as browsers write them, of names and of IPv4 addresses. A name's last label begins with a letter: `1.2` would be an
/// address (URL Standard, "ends in a number"). The service reads more, such as a `/` at the end, and keeps it in this form.
fn origin_pattern() -> String {
    let label = |first: &str| format!("{first}([a-z0-9-]{{0,61}}[a-z0-9])?");
    let byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    let host = format!("({}\\.){{0,3}}{}|{byte}(\\.{byte}){{3}}", label("[a-z0-9]"), label("[a-z]"));
    let port = "6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}";
    format!("^https?://({host})(:({port}))?$")
}

/// Names as [`mod@probity_account::name`] takes them, as a pattern: characters that can be seen, each perhaps with selectors;
/// between two
/// of them a joiner, white space, or nothing; white space around all.
pub fn name_pattern() -> String {
    let class = |ranges: &[(char, char)]| ranges.iter().map(|&(first, last)| range(first, last)).collect::<String>();
    let (space, joiner, selector) = (class(&name::SPACES), class(&name::JOINERS), class(&name::SELECTORS));
    let seen = format!("[^{}{space}{joiner}{selector}][{selector}]*", class(&name::FORBIDDEN));
    format!("^[{space}]*{seen}(([{joiner}]|[{space}]+)?{seen})*[{space}]*$")
}

/// A range of a class, in the words that ECMA-262 and Python share: those beyond four hexadecimal digits stand for themselves.
fn range(first: char, last: char) -> String {
    let word = |c: char| {
        let code = u32::from(c);
        if code > 0xffff { c.to_string() } else { format!("\\u{code:04x}") }
    };
    if first == last { word(first) } else { format!("{}-{}", word(first), word(last)) }
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

/// The fields of a body that always has those of `head` and has those of `part` all or not at all. What a schema generated from
/// nested types says of that, generators of clients do not understand; here the fields stand side by side.
pub fn side_by_side(head: RefOr<Schema>, part: RefOr<Schema>, description: &str) -> RefOr<Schema> {
    let (RefOr::T(Schema::Object(mut fields)), RefOr::T(Schema::Object(part))) = (head, part) else {
        unreachable!("structs are described as objects");
    };
    fields.properties.extend(part.properties);
    fields.description = Some(description.to_owned());
    fields.into()
}

/// Describes a type that is written as its head and, perhaps, a part: [`side_by_side`].
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
