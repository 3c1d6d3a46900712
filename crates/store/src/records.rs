//! Column values: records from rows, and arguments of statements.

use std::borrow::Cow;

use probity_account::api_key::KeyKind;
use probity_account::connections::{BrakeReason, ContactAction, RuleKind, RunCause};
use probity_account::credits::Split;
use probity_account::id::{Id, IdKind};
use probity_account::language::PageLanguage;
use probity_account::outcome::{OutcomeClass, OutcomeSource};
use probity_account::plans::EntitlementSet;
use probity_account::reports::ReportKind;
use probity_account::role::MemberRole;
use probity_account::scope::Scopes;
use probity_account::suppression::SuppressionKind;
use probity_mail::time::Millis;
use probity_mail::verdict::{Reason, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{Any, Decode, Encode, Type};

use crate::db::error::{ErrorSource, Result, StoreError};
use crate::db::{Conn, ResultRow, Statement, StatementArgs};
use crate::number::OrgNo;

/// A value that a column can hold.
pub(crate) trait FromColumn: Sized {
    /// Database type.
    type Stored: for<'r> Decode<'r, Any> + Type<Any>;

    /// Returns the value; `None` if the column contains something else.
    fn from_stored(stored: Self::Stored) -> Option<Self>;
}

/// A value that a statement takes as an argument.
pub(crate) trait IntoColumn {
    /// Database type.
    type Stored: for<'q> Encode<'q, Any> + Type<Any> + 'static;

    fn stored(value: Self) -> Self::Stored;
}

/// Value read from a row.
pub(crate) trait FromRow: Sized {
    fn from_row(row: &ResultRow) -> Result<Self>;
}

/// Statements that return typed rows.
pub(crate) trait TypedStatements {
    fn conn(&mut self) -> &mut Conn;

    /// Returns all rows.
    async fn all<C: FromIterator<T>, T: FromRow>(
        &mut self,
        text: &'static Statement,
        args: StatementArgs,
    ) -> Result<C> {
        self.conn().rows(text, args).await?.into_iter().map(|row| T::from_row(&row)).collect()
    }

    /// Returns the first row, if any.
    async fn find<T: FromRow>(&mut self, text: &'static Statement, args: StatementArgs) -> Result<Option<T>> {
        self.conn().first(text, args).await?.as_ref().map(T::from_row).transpose()
    }

    /// Returns the first row; [`StoreError::NotFound`] if there is none.
    async fn one<T: FromRow>(&mut self, text: &'static Statement, args: StatementArgs) -> Result<T> {
        self.conn().first(text, args).await?.as_ref().map_or(Err(StoreError::NotFound), T::from_row)
    }

    /// Returns whether there is a row.
    async fn has(&mut self, text: &'static Statement, args: StatementArgs) -> Result<bool> {
        Ok(self.conn().first(text, args).await?.is_some())
    }

    /// Changes rows; fails with this error if there is none to change.
    async fn change(&mut self, text: &'static Statement, args: StatementArgs, otherwise: StoreError) -> Result<()> {
        if self.conn().execute(text, args).await? == 0 { Err(otherwise) } else { Ok(()) }
    }
}

impl TypedStatements for Conn {
    fn conn(&mut self) -> &mut Conn {
        self
    }
}

/// Columns of a row by their names.
pub(crate) trait ReadColumns {
    /// Reads a value; use `Option<T>` if the column may be NULL.
    fn read<T: FromColumn>(&self, column: &'static str) -> Result<T>;

    /// Reads a record by the names of its columns; a value or a tuple by their order.
    fn record<T: FromRow>(&self) -> Result<T>;

    /// Reads a JSON text.
    fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T> {
        let text: String = self.read(column)?;
        serde_json::from_str(&text).map_err(damaged)
    }

    /// Reads a text stored as bytes.
    fn utf8(&self, column: &'static str) -> Result<Option<String>> {
        let bytes: Option<Vec<u8>> = self.read(column)?;
        bytes.map(String::from_utf8).transpose().map_err(damaged)
    }

    /// As [`ReadColumns::utf8`], of a column that is not NULL.
    fn text(&self, column: &'static str) -> Result<String> {
        String::from_utf8(self.read(column)?).map_err(damaged)
    }

    /// Reads a user's language; `None` if it is unknown, or not supported by this version.
    fn language(&self) -> Result<Option<PageLanguage>> {
        let name: Option<String> = self.read("language")?;
        Ok(name.as_deref().and_then(PageLanguage::from_name))
    }

    /// Returns whether a column with the time of an event is not NULL.
    fn is_set(&self, column: &'static str) -> Result<bool> {
        Ok(self.read::<Option<i64>>(column)?.is_some())
    }
}

impl ReadColumns for ResultRow {
    fn read<T: FromColumn>(&self, column: &'static str) -> Result<T> {
        let unread = || StoreError::corrupt(format!("column {column} cannot be read"));
        T::from_stored(self.get(column)?).ok_or_else(unread)
    }

    fn record<T: FromRow>(&self) -> Result<T> {
        T::from_row(self)
    }
}

/// Stored data that cannot be read.
pub(crate) fn damaged(error: impl Into<ErrorSource>) -> StoreError {
    StoreError::Corrupt(error.into())
}

/// Encodes values as a JSON list for `{each:..}`, each as an array of one.
pub(crate) fn listed<T: Serialize>(values: impl IntoIterator<Item = T>) -> String {
    serde_json::json!(values.into_iter().map(|value| [value]).collect::<Vec<_>>()).to_string()
}

/// Builds the arguments of a statement, in the order of `$1`, `$2`, ...: values, or fields of a record and then values.
macro_rules! args {
    ($record:ident => $($field:ident),+ $(,)? $(; $($value:expr),+ $(,)?)?) => {
        $crate::records::args![$(&$record.$field,)+ $($($value),+)?]
    };
    ($($value:expr),* $(,)?) => {
        $crate::db::StatementArgs::default()$(.with($crate::records::IntoColumn::stored($value)))*
    };
}
pub(crate) use args;

/// Builds a record from a row: each field from the column of its name, or of the name after it. Fields that are not columns come
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

/// Declares how a [`record!`] is read from a statement's rows.
macro_rules! records {
    ($row:ident => $type:ident $fields:tt) => {
        impl $crate::records::FromRow for $type {
            fn from_row($row: &$crate::db::ResultRow) -> $crate::db::error::Result<Self> {
                Ok($crate::records::record!($row => $type $fields))
            }
        }
    };
}
pub(crate) use records;

impl<T: FromColumn> FromRow for T {
    fn from_row(row: &ResultRow) -> Result<Self> {
        column(row, 0)
    }
}

fn column<T: FromColumn>(row: &ResultRow, place: usize) -> Result<T> {
    let unread = || StoreError::corrupt(format!("column {} cannot be read", row.name_at(place)));
    T::from_stored(row.at(place)?).ok_or_else(unread)
}

macro_rules! tuples {
    ($(($($part:ident $place:literal),+))+) => {$(
        impl<$($part: FromColumn),+> FromRow for ($($part),+) {
            /// Reads the first columns, in the order of the statement.
            fn from_row(row: &ResultRow) -> Result<Self> {
                Ok(($(column::<$part>(row, $place)?),+))
            }
        }
    )+};
}
tuples! { (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }

records!(row => Split { subscription, prepaid });

impl<T: FromColumn> FromColumn for Option<T> {
    type Stored = Option<T::Stored>;

    fn from_stored(stored: Self::Stored) -> Option<Self> {
        stored.map_or(Some(None), |stored| T::from_stored(stored).map(Some))
    }
}

impl<T: IntoColumn> IntoColumn for Option<T> {
    type Stored = Option<T::Stored>;

    fn stored(value: Self) -> Self::Stored {
        value.map(T::stored)
    }
}

impl<T: IntoColumn + Clone> IntoColumn for &T {
    type Stored = T::Stored;

    fn stored(value: Self) -> T::Stored {
        T::stored(value.clone())
    }
}

/// Declares types by the type of their columns, with both conversions, of which reading may fail.
macro_rules! values {
    (@impl [$($of:tt)*] $trait:ident $type:ty, { $($body:tt)* }) => {
        impl $($of)* $crate::records::$trait for $type { $($body)* }
    };
    ($($of:tt $type:ty = $stored:ty, |$value:ident| $into:expr $(, |$found:ident| $from:expr)?;)+) => {$(
        $crate::records::values!(@impl $of IntoColumn $type, {
            type Stored = $stored;

            fn stored($value: Self) -> $stored {
                $into
            }
        });
        $($crate::records::values!(@impl $of FromColumn $type, {
            type Stored = $stored;

            fn from_stored($found: $stored) -> Option<Self> {
                $from
            }
        });)?
    )+};
}
pub(crate) use values;

values! {
    [] i64 = i64, |value| value, |stored| Some(stored);
    [] String = String, |value| value, |stored| Some(stored);
    [] Vec<u8> = Vec<u8>, |value| value, |stored| Some(stored);
    [] &str = String, |value| value.to_owned();
    [] &[u8] = Vec<u8>, |value| value.to_vec();
    [] Cow<'_, [u8]> = Vec<u8>, |value| value.into_owned();
    [<const N: usize>] [u8; N] = Vec<u8>, |value| value.to_vec(), |stored| stored.try_into().ok();
    [] u32 = i64, |value| i64::from(value), |stored| stored.try_into().ok();
    [] bool = i64, |value| i64::from(value), |stored| Some(stored == 1);
    [] Millis = i64, |value| value.0, |stored| Some(Millis(stored));
    [] OrgNo = i64, |value| value.0, |stored| Some(OrgNo(stored));
    [] Scopes = i64, |value| value.bits(), |stored| Some(Scopes::from_bits(stored));
    [] EntitlementSet = i64, |value| value.bits(), |stored| Some(EntitlementSet::from_bits(stored));
    [<K: IdKind>] Id<K> = String, |value| value.to_string(), |stored| stored.parse().ok();
    [] PageLanguage = String, |value| value.as_str().to_owned();
}

/// Declares enumerations that are stored by name.
macro_rules! names {
    ($($type:ty),+ $(,)?) => {
        $crate::records::values! {
            $([] $type = String, |value| value.as_str().to_owned(), |stored| Self::from_name(&stored);)+
        }
    };
}
pub(crate) use names;

names!(BrakeReason, ContactAction, KeyKind, MemberRole, OutcomeClass, OutcomeSource, Reason, ReportKind, RuleKind);
names!(RunCause, Status, SuppressionKind);
