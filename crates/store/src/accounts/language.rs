//! Languages in which people are written to, as rows have them.

use probity_account::language::PageLanguage;

use crate::db::ResultRow;
use crate::db::error::Result;

/// Reads the column `language`: `None` if it is not known, or not spoken by this version.
pub(crate) fn of(row: &ResultRow) -> Result<Option<PageLanguage>> {
    Ok(row.get::<Option<String>>("language")?.as_deref().and_then(PageLanguage::from_name))
}
