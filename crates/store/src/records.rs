//! Records from rows: each column as a value of its field's type.

use probity_account::api_key::KeyKind;
use probity_account::connections::{BrakeReason, ContactAction, RuleKind, RunCause};
use probity_account::id::{Id, IdKind};
use probity_account::outcome::{OutcomeClass, OutcomeSource};
use probity_account::plans::EntitlementSet;
use probity_account::reports::ReportKind;
use probity_account::role::MemberRole;
use probity_account::scope::Scopes;
use probity_account::suppression::SuppressionKind;
use probity_mail::time::Millis;
use probity_mail::verdict::{Reason, Status};
use serde::de::DeserializeOwned;
use sqlx::{Any, Decode, Type};

use crate::db::ResultRow;
use crate::db::error::{Result, StoreError};
use crate::number::OrgNo;

/// A value that a column can hold.
pub(crate) trait FromColumn: Sized {
    /// What the database holds.
    type Stored: for<'r> Decode<'r, Any> + Type<Any>;

    /// `None` if it holds something else.
    fn from_stored(stored: Self::Stored) -> Option<Self>;
}

pub(crate) trait ReadColumns {
    /// Reads a value; use `Option<T>` if the column may be NULL.
    fn read<T: FromColumn>(&self, column: &'static str) -> Result<T>;

    /// Reads a JSON text.
    fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T> {
        let text: String = self.read(column)?;
        serde_json::from_str(&text).map_err(|error| StoreError::Corrupt(error.into()))
    }

    /// Reads a text that is stored as bytes.
    fn utf8(&self, column: &'static str) -> Result<Option<String>> {
        let bytes: Option<Vec<u8>> = self.read(column)?;
        bytes.map(String::from_utf8).transpose().map_err(|error| StoreError::Corrupt(error.into()))
    }

    /// Whether the column is not NULL, of a time at which something came about.
    fn is_set(&self, column: &'static str) -> Result<bool> {
        Ok(self.read::<Option<i64>>(column)?.is_some())
    }
}

impl ReadColumns for ResultRow {
    fn read<T: FromColumn>(&self, column: &'static str) -> Result<T> {
        let unread = || StoreError::corrupt(format!("column {column} cannot be read"));
        T::from_stored(self.get(column)?).ok_or_else(unread)
    }
}

/// Builds a record from a row: each field from the column of its name, or of the name behind it. Fields that are not columns come
/// after a semicolon.
macro_rules! record {
    ($row:ident => $type:ident { $($field:ident $(= $column:literal)?),* $(,)? $(; $($other:tt)*)? }) => {{
        use $crate::records::ReadColumns as _;
        $type {
            $($field: $row.read($crate::records::record!(@column $field $($column)?))?,)*
            $($($other)*)?
        }
    }};
    (@column $field:ident) => { stringify!($field) };
    (@column $field:ident $column:literal) => { $column };
}
pub(crate) use record;

impl<T: FromColumn> FromColumn for Option<T> {
    type Stored = Option<T::Stored>;

    fn from_stored(stored: Self::Stored) -> Option<Self> {
        stored.map_or(Some(None), |stored| T::from_stored(stored).map(Some))
    }
}

impl<K: IdKind> FromColumn for Id<K> {
    type Stored = String;

    fn from_stored(stored: String) -> Option<Self> {
        stored.parse().ok()
    }
}

impl<const N: usize> FromColumn for [u8; N] {
    type Stored = Vec<u8>;

    fn from_stored(stored: Vec<u8>) -> Option<Self> {
        stored.try_into().ok()
    }
}

/// Declares types that every value of a column's type can become.
macro_rules! values {
    ($($type:ty = $stored:ty, $make:expr;)+) => {$(
        impl $crate::records::FromColumn for $type {
            type Stored = $stored;

            fn from_stored(stored: $stored) -> Option<Self> {
                Some($make(stored))
            }
        }
    )+};
}
pub(crate) use values;

values! {
    i64 = i64, std::convert::identity;
    String = String, std::convert::identity;
    Vec<u8> = Vec<u8>, std::convert::identity;
    bool = i64, is_one;
    Millis = i64, Millis;
    OrgNo = i64, OrgNo;
    Scopes = i64, Scopes::from_bits;
    EntitlementSet = i64, EntitlementSet::from_bits;
}

fn is_one(stored: i64) -> bool {
    stored == 1
}

/// Declares enumerations that are stored by their names.
macro_rules! names {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::records::FromColumn for $type {
            type Stored = String;

            fn from_stored(stored: String) -> Option<Self> {
                Self::from_name(&stored)
            }
        }
    )+};
}
pub(crate) use names;

names!(BrakeReason, ContactAction, KeyKind, MemberRole, OutcomeClass, OutcomeSource, Reason, ReportKind, RuleKind);
names!(RunCause, Status, SuppressionKind);
