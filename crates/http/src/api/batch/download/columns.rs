//! The columns of files: those of a job, behind those of the file that it was made of where they are asked for.

use std::borrow::Cow;

use probity_lists::json;
use probity_service::error::ApiError;
use probity_service::published::batch::{BatchRow, RowDone};
use probity_service::uploads::About;
use probity_service::uploads::cells;
use probity_store::Conn;
use probity_store::uploads::{self, Upload};
use serde_json::value::RawValue;

use crate::error::Refusal;

/// The names of a job's columns, in order.
pub(super) const HEADER: [&str; 9] =
    ["email", "domain", "processed", "passed", "status", "reason", "suggestion", "completed_at", "index"];

/// A row of a file.
#[derive(Clone)]
pub(super) struct FileRow {
    pub(super) row: BatchRow,
    /// The row of the uploaded file that it was made of.
    pub(super) own: Option<cells::Row>,
}

/// What a file shows of each row.
pub(super) struct Columns {
    /// The uploaded file whose columns come first.
    own: Option<Own>,
}

struct Own {
    upload: Upload,
    about: About,
    /// What our names end with, so that none of the file's has them.
    suffix: String,
}

impl Columns {
    /// The job's alone.
    pub(super) fn of_job() -> Self {
        Self { own: None }
    }

    /// Those of the uploaded file, then the job's. The address stands among the file's already.
    pub(super) fn with(upload: Upload) -> Result<Self, Refusal> {
        let about = About::of(&upload.about)?;
        let names: Vec<String> =
            about.columns(upload.choice.header).iter().map(|name| name.to_ascii_lowercase()).collect();
        let taken = |suffix: &str| HEADER[1..].iter().any(|name| names.contains(&format!("{name}{suffix}")));
        let suffixes = std::iter::once(String::new()).chain((2..).map(|number| format!("_{number}")));
        let suffix = suffixes.into_iter().find(|suffix| !taken(suffix)).unwrap_or_default();
        Ok(Self { own: Some(Own { upload, about, suffix }) })
    }

    /// The names, in order.
    pub(super) fn header(&self) -> Vec<String> {
        match &self.own {
            None => HEADER.iter().map(ToString::to_string).collect(),
            Some(own) => {
                let ours = HEADER[1..].iter().map(|name| format!("{name}{}", own.suffix));
                own.about.columns(own.upload.choice.header).into_iter().chain(ours).collect()
            }
        }
    }

    /// The cells of a row, in the order of the columns; what is not known is empty.
    pub(super) fn cells<'a>(&self, row: &'a FileRow) -> Vec<Cow<'a, str>> {
        let ours = job_cells(&row.row);
        let (Some(own), Some(theirs)) = (&self.own, &row.own) else { return ours.into() };
        let theirs = cells::cells(&own.about, theirs.clone()).into_iter().map(Cow::Owned);
        theirs.chain(ours.into_iter().skip(1)).collect()
    }

    /// A row as a line of JSON: the file's columns with what was found under `probity`, or the job's alone.
    pub(super) fn line(&self, row: &FileRow, out: &mut Vec<u8>) {
        let ours = |out: &mut Vec<u8>| serde_json::to_writer(out, &row.row).expect("rows are plain JSON");
        let (Some(own), Some(theirs)) = (&self.own, &row.own) else {
            ours(out);
            out.push(b'\n');
            return;
        };
        let members = members(own, theirs);
        let taken = |name: &str| members.iter().any(|(member, _)| member == name);
        let name = [json::ANSWER_KEY.to_owned()].into_iter().chain((2..).map(|n| format!("{}_{n}", json::ANSWER_KEY)));
        let name = name.into_iter().find(|name| !taken(name)).unwrap_or_default();
        out.push(b'{');
        for (member, value) in &members {
            text(out, member);
            out.push(b':');
            out.extend(value.get().bytes());
            out.push(b',');
        }
        text(out, &name);
        out.push(b':');
        ours(out);
        out.extend(b"}\n");
    }

    /// The rows of the uploaded file that those of a job from `from` to `to` were made of: all, or the first of them where
    /// they are long.
    pub(super) async fn own_rows(
        &self,
        conn: &mut Conn,
        from: i64,
        to: i64,
    ) -> Result<Option<Vec<cells::Row>>, Refusal> {
        let Some(own) = &self.own else { return Ok(None) };
        let header = i64::from(own.upload.choice.header);
        let rows = cells::rows(conn, &own.upload, from + header, to + header).await?;
        if rows.is_empty() {
            return Err(ApiError::server_error("a file has fewer rows than the job created from it").into());
        }
        Ok(Some(rows))
    }
}

/// A line's members as they were; of a row of cells, one for each column, whose names are made different.
fn members(own: &Own, row: &cells::Row) -> Vec<(String, Box<RawValue>)> {
    if let Some(members) = own.about.is_json().then(|| row.first().and_then(|line| json::members(line).ok())) {
        return members.unwrap_or_default();
    }
    let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
    let names = own.about.columns(own.upload.choice.header);
    for (name, cell) in names.into_iter().zip(cells::cells(&own.about, row.clone())) {
        let same = members.iter().filter(|(member, _)| *member == name).count();
        let name = if same == 0 { name } else { format!("{name}_{}", same + 1) };
        members.push((name, serde_json::value::to_raw_value(&cell).expect("a text is plain JSON")));
    }
    members
}

fn text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a text is plain JSON");
}

fn job_cells(row: &BatchRow) -> [Cow<'_, str>; 9] {
    let flag = |flag: bool| if flag { "true" } else { "false" };
    let index = row.head.index.map(|index| index.to_string()).unwrap_or_default();
    let (outcome, whole) = (row.done.as_ref().map(RowDone::outcome), row.done.as_ref().and_then(RowDone::whole));
    let completed_at = whole.map(|done| done.completed_at.to_string()).unwrap_or_default();
    let [status, reason] = outcome.map_or([""; 2], |outcome| [outcome.status, outcome.reason]);
    let [domain, passed, suggestion] =
        whole.map_or([""; 3], |done| [&done.domain, flag(done.passed), &done.suggestion]);
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

/// The uploaded file that a job was made of.
///
/// # Errors
/// 404: it was made of none, or the file is no longer kept.
pub(super) async fn upload_of(conn: &mut Conn, job: &probity_store::jobs::Job) -> Result<Upload, Refusal> {
    let gone = "the job was not created from a file, or the file is no longer kept; omit columns=original";
    let found = uploads::of_job(conn, job.org, job.no).await?;
    Ok(found.ok_or_else(|| ApiError::new(probity_service::error::Code::NotFound, gone))?)
}
