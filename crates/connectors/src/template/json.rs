//! JSON body with placeholders.
//!
//! A text that consists of one placeholder keeps the type of its value; any other text stays text. Values are inserted into
//! the tree, not into its text, so no value can change the structure of a body.

use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use super::{PlaceholderValues, Template, UnfitValue};

/// Maximum depth of a body.
const DEPTH_MAX: usize = 12;

/// JSON value with placeholders in its texts and names.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTemplate {
    Literal(Value),
    Text(Template),
    Array(Vec<Self>),
    Object(Vec<(Template, Self)>),
}

impl JsonTemplate {
    pub(super) fn of(value: toml::Value, depth: usize) -> Result<Self, String> {
        if depth > DEPTH_MAX {
            return Err(format!("a body may be at most {DEPTH_MAX} levels deep"));
        }
        Ok(match value {
            toml::Value::String(text) => Self::Text(Template::parse(&text)?),
            toml::Value::Integer(number) => Self::Literal(number.into()),
            toml::Value::Float(number) => Self::Literal(number.into()),
            toml::Value::Boolean(is) => Self::Literal(is.into()),
            toml::Value::Datetime(_) => return Err("write a date as text, in quotes".to_owned()),
            toml::Value::Array(items) => {
                Self::Array(items.into_iter().map(|item| Self::of(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            toml::Value::Table(members) => {
                let member = |(name, value): (String, toml::Value)| {
                    Ok::<_, String>((Template::parse(&name)?, Self::of(value, depth + 1)?))
                };
                Self::Object(members.into_iter().map(member).collect::<Result<_, _>>()?)
            }
        })
    }

    /// Fills in the placeholders. Members and items without a value are omitted.
    pub(crate) fn fill(&self, values: &dyn PlaceholderValues) -> Result<Option<Value>, UnfitValue> {
        Ok(Some(match self {
            Self::Literal(value) => value.clone(),
            Self::Text(template) => match template.single() {
                Some(placeholder) => return placeholder.value(values),
                None => match template.fill(values, &|text| Ok(text.to_owned()))? {
                    Some(text) => Value::String(text),
                    None => return Ok(None),
                },
            },
            Self::Array(items) => {
                let filled = items.iter().filter_map(|item| item.fill(values).transpose());
                Value::Array(filled.collect::<Result<_, _>>()?)
            }
            Self::Object(members) => Value::Object(object(members, values)?),
        }))
    }

    /// Calls `visit` with every template, including those of names.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&Template)) {
        match self {
            Self::Literal(_) => {}
            Self::Text(template) => visit(template),
            Self::Array(items) => items.iter().for_each(|item| item.visit(visit)),
            Self::Object(members) => {
                for (name, value) in members {
                    visit(name);
                    value.visit(visit);
                }
            }
        }
    }
}

fn object(
    members: &[(Template, JsonTemplate)],
    values: &dyn PlaceholderValues,
) -> Result<Map<String, Value>, UnfitValue> {
    let mut filled = Map::new();
    for (template, value) in members {
        let name = template.fill(values, &|text| Ok(text.to_owned()))?;
        if let (Some(name), Some(value)) = (name, value.fill(values)?)
            && filled.insert(name, value).is_some()
            && let Some(placeholder) = template
                .placeholders()
                .next()
                .or_else(|| members.iter().find_map(|(name, _)| name.placeholders().next()))
        {
            // A field with the name of a fixed member would change the meaning of the request.
            return Err(placeholder.unfit("is the name of another member"));
        }
    }
    Ok(filled)
}

impl<'de> Deserialize<'de> for JsonTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(toml::Value::deserialize(deserializer)?, 0).map_err(de::Error::custom)
    }
}
