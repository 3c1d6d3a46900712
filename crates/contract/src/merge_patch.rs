//! JSON merge patches (RFC 7396): an omitted field stays, `null` clears it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, de};

/// Field of a merge patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchField<T> {
    /// The field is omitted.
    #[default]
    Nothing,
    /// The field is null.
    Cleared,
    /// The field has a value.
    Given(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PatchField<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(from)?.map_or(Self::Cleared, Self::Given))
    }
}

impl<T> PatchField<Vec<T>> {
    /// Returns the new list, or `None` to keep the current one.
    pub fn list(self) -> Option<Vec<T>> {
        match self {
            Self::Nothing => None,
            Self::Cleared => Some(Vec::new()),
            Self::Given(list) => Some(list),
        }
    }
}

impl<T> PatchField<T> {
    /// Returns the value after the patch.
    pub fn over(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Nothing => before,
            Self::Cleared => None,
            Self::Given(value) => Some(value),
        }
    }

    /// Converts the value, if one is given.
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> PatchField<U> {
        match self {
            Self::Nothing => PatchField::Nothing,
            Self::Cleared => PatchField::Cleared,
            Self::Given(value) => PatchField::Given(to(value)),
        }
    }

    /// Converts the value, if one is given, or returns the error.
    pub fn try_map<U, E>(self, to: impl FnOnce(T) -> Result<U, E>) -> Result<PatchField<U>, E> {
        Ok(match self {
            Self::Nothing => PatchField::Nothing,
            Self::Cleared => PatchField::Cleared,
            Self::Given(value) => PatchField::Given(to(value)?),
        })
    }
}

impl PatchField<bool> {
    /// Returns the flag after the patch; `null` restores the default, `usual`.
    pub fn flag(self, before: bool, usual: bool) -> bool {
        match self {
            Self::Nothing => before,
            Self::Cleared => usual,
            Self::Given(flag) => flag,
        }
    }
}

/// Deserializes a field that may be omitted but not null, as in the schema.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Nested fields, which must be an object. A plain struct would also accept an array of its values.
#[derive(Clone, Copy, Debug)]
pub struct Nested<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Nested<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct PatchFields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for PatchFields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields))
            }
        }

        from.deserialize_map(PatchFields(PhantomData)).map(Self)
    }
}
