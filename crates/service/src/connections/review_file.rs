//! Planned actions as a file: CSV, written while it is sent.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use probity_contract::error::{ApiError, Detail};
use probity_contract::published::connections::PlannedAction;
use probity_store::connections::actions;
use probity_store::connections::connection::StoredConnection;
use probity_store::jobs::JobNo;

use super::review::reviewed;
use super::{ConnectionPlace, visible};
use crate::app::App;
use crate::callers::caller::Caller;
use crate::lists::download::csv::{CsvRows, CsvShape};
use crate::lists::download::{FileContent, interrupted};

/// Actions of one part.
const PART_ROWS: i64 = 1_000;

const HEADER: [&str; 13] = [
    "email",
    "action",
    "suggestion",
    "status",
    "reason",
    "host",
    "reply",
    "held_by",
    "doubt",
    "verified_at",
    "contact_id",
    "run_id",
    "index",
];

/// File of which nothing is written yet.
pub struct ReviewFile {
    app: Arc<App>,
    of: StoredConnection,
    /// Last action that was written.
    after: Option<(JobNo, i64)>,
    begun: bool,
    is_over: bool,
}

/// Finds the planned actions of a connection's runs that wait for review, as a file.
pub async fn find_review_file(
    app: &Arc<App>,
    caller: &Caller,
    place: &ConnectionPlace,
) -> Result<ReviewFile, ApiError> {
    let (_, of) = visible(&mut app.store.read().await?, app, caller, place).await?;
    Ok(ReviewFile { app: app.clone(), of, after: None, begun: false, is_over: false })
}

impl ReviewFile {
    pub fn file_name(&self) -> String {
        format!("{}.planned.csv", self.of.id)
    }

    /// Starts to write the file, part by part.
    pub fn write(self) -> FileContent {
        FileContent { bytes: None, parts: Box::pin(stream::try_unfold(self, Self::part)) }
    }

    /// Returns the next part and what follows it.
    async fn part(mut self) -> Result<Option<(Bytes, Self)>, Detail> {
        if self.is_over {
            return Ok(None);
        }
        let rows = self.rows().await.map_err(|error| interrupted(&error))?;
        let (csv, mut text) = (CsvRows { raw: false, shape: CsvShape::default() }, Vec::new());
        if !self.begun {
            csv.record(&mut text, &HEADER, 0);
        }
        for row in &rows {
            csv.record(&mut text, &cells(row), 0);
        }
        self.begun = true;
        Ok(Some((text.into(), self)))
    }

    async fn rows(&mut self) -> Result<Vec<PlannedAction>, ApiError> {
        let mut conn = self.app.store.read().await?;
        let found = actions::page(&mut conn, self.of.org, self.of.id, self.after, PART_ROWS).await?;
        match found.last() {
            Some(last) => self.after = Some((last.job, last.action.idx)),
            None => self.is_over = true,
        }
        reviewed(&mut conn, &self.of, &found).await
    }
}

fn cells(of: &PlannedAction) -> [String; HEADER.len()] {
    let text = |optional: &Option<String>| optional.clone().unwrap_or_default();
    [
        of.email.clone(),
        of.action.to_owned(),
        text(&of.suggestion),
        of.status.to_owned(),
        of.reason.to_owned(),
        text(&of.host),
        text(&of.reply),
        of.held_by.unwrap_or_default().to_owned(),
        text(&of.doubt),
        of.verified_at.to_string(),
        of.contact_id.clone(),
        of.run_id.to_string(),
        of.index.to_string(),
    ]
}

/// Returns the example file of the API description.
pub fn example() -> serde_json::Value {
    let row = "nobody@sandbox.test,delete,,undeliverable,nonexistent,mx.sandbox.test,550 5.1.1,first_run,,\
               2026-11-21T09:00:00.000Z,8812,job_01h455vb4pex5vsknk084sn02q,7";
    format!("{}\r\n{row}\r\n", HEADER.join(",")).into()
}
