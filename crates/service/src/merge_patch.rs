//! JSON merge patches (RFC 7396): what is left out stays, `null` clears.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, de};

/// What a merge patch says of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Said<T> {
    /// Nothing: the field is left out.
    #[default]
    Nothing,
    /// It is null.
    Cleared,
    /// It has a value.
    Given(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Said<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(from)?.map_or(Self::Cleared, Self::Given))
    }
}

impl<T> Said<Vec<T>> {
    /// The new list; none where the one before stays.
    pub fn list(self) -> Option<Vec<T>> {
        match self {
            Self::Nothing => None,
            Self::Cleared => Some(Vec::new()),
            Self::Given(list) => Some(list),
        }
    }
}

impl<T> Said<T> {
    /// The value after the patch.
    pub fn over(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Nothing => before,
            Self::Cleared => None,
            Self::Given(value) => Some(value),
        }
    }
}

impl Said<bool> {
    /// The flag after the patch; `null` is what it is from the start.
    pub(crate) fn flag(self, before: bool, usual: bool) -> bool {
        match self {
            Self::Nothing => before,
            Self::Cleared => usual,
            Self::Given(flag) => flag,
        }
    }
}

/// A field that may be left out, but not be null: the schema has no null either.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Fields within a field: an object and nothing else. A plain struct is read from an array of its values, too.
#[derive(Clone, Copy, Debug)]
pub struct Nested<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Nested<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields))
            }
        }

        from.deserialize_map(Fields(PhantomData)).map(Self)
    }
}
