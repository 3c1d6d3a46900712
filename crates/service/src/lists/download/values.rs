//! Values of cells, for formats that distinguish numbers from text.

use std::borrow::Cow;

use probity_contract::timestamp::Timestamp;
#[cfg(feature = "xlsx")]
use probity_lists::kinds::{self, ColumnKind};

#[derive(Clone, Debug, PartialEq)]
pub enum CellValue<'a> {
    Blank,
    Text(Cow<'a, str>),
    Number(f64),
    Flag(bool),
    Moment(Timestamp),
}

impl<'a> CellValue<'a> {
    /// Returns the value of a file's cell in a column of this kind.
    #[cfg(feature = "xlsx")]
    pub fn of_kind(kind: ColumnKind, cell: Cow<'a, str>) -> Self {
        match kind {
            ColumnKind::Numbers => kinds::number(&cell).map(Self::Number),
            ColumnKind::Flags => kinds::flag(&cell).map(Self::Flag),
            ColumnKind::Text => None,
        }
        .unwrap_or_else(|| cell.into())
    }

    /// Returns the value as CSV has it.
    pub(super) fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Blank => "".into(),
            Self::Text(text) => text,
            Self::Number(number) => number.to_string().into(),
            Self::Flag(flag) => if flag { "true" } else { "false" }.into(),
            Self::Moment(moment) => moment.to_string().into(),
        }
    }
}

impl<'a> From<&'a str> for CellValue<'a> {
    fn from(text: &'a str) -> Self {
        Cow::Borrowed(text).into()
    }
}

impl<'a> From<Cow<'a, str>> for CellValue<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        if text.is_empty() { Self::Blank } else { Self::Text(text) }
    }
}

impl From<Option<bool>> for CellValue<'_> {
    fn from(flag: Option<bool>) -> Self {
        flag.map_or(Self::Blank, Self::Flag)
    }
}
