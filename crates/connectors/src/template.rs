//! Text with placeholders, as in `/contacts/{contact.id}`. There are no expressions: a placeholder is a value and up to 3
//! filters from a closed set.
//!
//! Templates are checked when a file is loaded, so an unknown placeholder or filter never reaches a platform. Which
//! placeholders have a value depends on the place, which the loader checks too (`file/check.rs`).

mod filter;
mod json;

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

pub use filter::Filter;
pub use json::JsonTemplate;

use crate::source::scalar;

/// Maximum length of a template, in bytes.
const TEMPLATE_MAX: usize = 2048;
/// Maximum number of filters per placeholder.
const FILTERS_MAX: usize = 3;

/// Family of placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlaceholderFamily {
    Credential,
    Token,
    List,
    Contact,
    Since,
    Page,
    State,
    Tag,
    Field,
    Verdict,
    Ensured,
    Read,
    Replaced,
    Hook,
}

/// Families with their names. If none are listed, the file defines the names, or the family has no names.
const FAMILIES: &[(&str, PlaceholderFamily, &[&str])] = &[
    ("credential", PlaceholderFamily::Credential, &[]),
    ("token", PlaceholderFamily::Token, &[]),
    ("list", PlaceholderFamily::List, &["id", "name"]),
    ("contact", PlaceholderFamily::Contact, &["id", "email"]),
    ("since", PlaceholderFamily::Since, &[]),
    ("page", PlaceholderFamily::Page, &["offset", "number", "size", "token", "key"]),
    ("state", PlaceholderFamily::State, &[]),
    ("tag", PlaceholderFamily::Tag, &["name"]),
    ("field", PlaceholderFamily::Field, &["name", "value"]),
    ("verdict", PlaceholderFamily::Verdict, &["status", "reason", "suggestion", "at"]),
    ("ensured", PlaceholderFamily::Ensured, &[]),
    ("read", PlaceholderFamily::Read, &[]),
    ("replaced", PlaceholderFamily::Replaced, &[]),
    ("hook", PlaceholderFamily::Hook, &["url", "id", "secret"]),
];

impl PlaceholderFamily {
    /// Returns the family's name in templates.
    pub fn name(self) -> &'static str {
        FAMILIES.iter().find(|(_, family, _)| *family == self).map_or("", |(name, ..)| name)
    }

    /// Returns whether the family has no names, like `{since}`.
    fn is_bare(self) -> bool {
        matches!(self, Self::Token | Self::Since | Self::State | Self::Replaced)
    }

    /// Returns whether third parties choose the value, so that nothing may depend on its content.
    pub(crate) fn is_foreign(self) -> bool {
        matches!(
            self,
            Self::Contact | Self::List | Self::Tag | Self::Field | Self::Verdict | Self::Read | Self::Ensured
        )
    }
}

/// Named value, passed through filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    pub family: PlaceholderFamily,
    /// Name within the family; empty for `{token}`, `{since}`, `{state}` and `{replaced}`.
    pub name: String,
    pub filters: Vec<Filter>,
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.name.is_empty() { "" } else { "." };
        write!(f, "{{{}{dot}{}}}", self.family.name(), self.name)
    }
}

/// Part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Literal(String),
    Placeholder(Placeholder),
}

/// Text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

impl Template {
    /// Parses a template. `{{` and `}}` are literal braces.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > TEMPLATE_MAX {
            return Err(format!("a text with placeholders has at most {TEMPLATE_MAX} bytes"));
        }
        let (mut parts, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                literal.push_str(brace);
                rest = after;
                continue;
            }
            let end = rest.find('}').filter(|_| brace == "{");
            let end = end.ok_or_else(|| {
                format!("{text:?}: a brace has no partner; write {{{{ or }}}} for the character itself")
            })?;
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.push(Part::Placeholder(placeholder(&rest[..end])?));
            rest = &rest[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self { parts })
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns all placeholders.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Literal(_) => None,
        })
    }

    /// Returns the placeholder if the template consists of it alone.
    pub(crate) fn single(&self) -> Option<&Placeholder> {
        match self.parts.as_slice() {
            [Part::Placeholder(placeholder)] => Some(placeholder),
            _ => None,
        }
    }

    /// Returns the literal parts as one text.
    pub(crate) fn literals(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| if let Part::Literal(text) = part { Some(text.as_str()) } else { None })
            .collect()
    }

    /// Returns the text with a letter in place of each placeholder.
    pub(crate) fn outline(&self) -> String {
        let piece = |part: &Part| if let Part::Literal(text) = part { text.clone() } else { "x".to_owned() };
        self.parts.iter().map(piece).collect()
    }

    /// Fills in the placeholders, each passed through `escape`. Returns `None` if a value is missing.
    pub(crate) fn fill(
        &self,
        values: &dyn PlaceholderValues,
        escape: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Option<String>, UnfitValue> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Placeholder(placeholder) => {
                    let Some(value) = placeholder.value(values)? else { return Ok(None) };
                    let value = scalar(&value).ok_or_else(|| placeholder.unfit("cannot be written as text"))?;
                    text.push_str(&escape(&value).map_err(|what| placeholder.unfit(&what))?);
                }
            }
        }
        Ok(Some(text))
    }
}

/// Values of placeholders.
pub(crate) trait PlaceholderValues {
    fn lookup(&self, placeholder: &Placeholder) -> Option<Value>;
}

/// Value that does not fit its place. Never contains the value itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnfitValue {
    pub family: PlaceholderFamily,
    /// Name within the family.
    pub name: String,
    /// Placeholder as it is in the file; empty if no placeholder is at fault.
    pub placeholder: String,
    /// Completes the sentence that the placeholder, or the field of a customer, begins.
    pub what: String,
}

impl UnfitValue {
    /// Returns the sentence for those who know the file.
    pub(crate) fn message(&self) -> String {
        if self.placeholder.is_empty() { self.what.clone() } else { format!("{} {}", self.placeholder, self.what) }
    }
}

impl Placeholder {
    /// Returns the value after its filters; `None` only if its absence has a meaning, as for the token of the first page.
    pub(crate) fn value(&self, values: &dyn PlaceholderValues) -> Result<Option<Value>, UnfitValue> {
        let Some(mut value) = values.lookup(self) else {
            let may_be_absent = self.family == PlaceholderFamily::Page;
            return if may_be_absent { Ok(None) } else { Err(self.unfit("has no value")) };
        };
        for filter in &self.filters {
            value = filter.apply(&value).map_err(|what| self.unfit(&what))?;
        }
        Ok(Some(value))
    }

    pub(crate) fn unfit(&self, what: &str) -> UnfitValue {
        let placeholder = self.to_string();
        UnfitValue { family: self.family, name: self.name.clone(), placeholder, what: what.to_owned() }
    }
}

fn placeholder(text: &str) -> Result<Placeholder, String> {
    let mut pieces = text.split('|');
    let path = pieces.next().unwrap_or_default();
    let (family_name, name) = path.split_once('.').unwrap_or((path, ""));
    let known = FAMILIES.iter().find(|(known, ..)| *known == family_name);
    let Some((_, family, names)) = known else {
        let names: Vec<_> = FAMILIES.iter().map(|(name, ..)| *name).collect();
        return Err(format!("unknown placeholder {{{path}}}: placeholders begin with {}", names.join(", ")));
    };
    if family.is_bare() != name.is_empty() {
        let form = if family.is_bare() { format!("{{{family_name}}}") } else { format!("{{{family_name}.NAME}}") };
        return Err(format!("unknown placeholder {{{path}}}: write {form}"));
    }
    if !names.is_empty() && !names.contains(&name) {
        return Err(format!("unknown placeholder {{{path}}}: of {family_name} there are {}", names.join(", ")));
    }
    let filters = pieces.map(Filter::parse).collect::<Result<Vec<_>, _>>()?;
    if filters.len() > FILTERS_MAX {
        return Err(format!("{{{path}}} has more than {FILTERS_MAX} filters"));
    }
    Ok(Placeholder { family: *family, name: name.to_owned(), filters })
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TemplateVisitor;
        impl de::Visitor<'_> for TemplateVisitor {
            type Value = Template;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, a whole number, true or false")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Template, E> {
                Template::parse(text).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Template, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Template, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_bool<E: de::Error>(self, is: bool) -> Result<Template, E> {
                self.visit_str(if is { "true" } else { "false" })
            }
        }
        deserializer.deserialize_any(TemplateVisitor)
    }
}

#[cfg(test)]
mod tests;
