//! What stands in the columns of a file that has columns.

use std::borrow::Cow;

use crate::api::batch::view::BatchRow;

/// How many there are.
pub(super) const COLUMNS: usize = 9;

/// Their names, in order.
pub(super) const HEADER: [&str; COLUMNS] =
    ["email", "domain", "processed", "passed", "status", "reason", "suggestion", "completed_at", "index"];

/// The cells of a row, in the order of the columns; what is not known is empty.
pub(super) fn cells(row: &BatchRow) -> [Cow<'_, str>; COLUMNS] {
    let flag = |flag: bool| if flag { "true" } else { "false" };
    let index = row.head.index.map(|index| index.to_string()).unwrap_or_default();
    let completed_at = row.done.as_ref().map(|done| done.completed_at.to_string()).unwrap_or_default();
    let [domain, passed, status, reason, suggestion] = row
        .done
        .as_ref()
        .map_or([""; 5], |done| [&done.domain, flag(done.passed), done.status, done.reason, &done.suggestion]);
    [
        row.head.email.as_str().into(),
        domain.into(),
        flag(row.head.processed).into(),
        passed.into(),
        status.into(),
        reason.into(),
        suggestion.into(),
        completed_at.into(),
        index.into(),
    ]
}
