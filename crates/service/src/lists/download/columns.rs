//! Columns of downloads: those of the job, after those of the uploaded file if requested.

use std::borrow::Cow;

use probity_backend::uploads::FileFacts;
use probity_backend::uploads::cells;
use probity_backend::uploads::without::RowsWithout;
use probity_contract::error::{ApiError, Code};
use probity_contract::published::jobs::batch::{BatchRow, RowDone, RowHead, RowVerdict};
use probity_lists::json;
use probity_lists::rows::separator;
use probity_lists::split::{Dialect, fields, unquote};
use probity_store::Conn;
use probity_store::jobs::Job;
use probity_store::uploads::{self, Upload};
use serde_json::value::RawValue;

use crate::lists::download::csv::CsvShape;
use crate::lists::download::values::CellValue;

/// Names of a job's columns, in order.
pub(super) const HEADER: [&str; 9] =
    ["email", "domain", "processed", "passed", "status", "reason", "suggestion", "completed_at", "index"];

/// Columns for runs, after the others: the actions on each contact.
pub(super) const RUN_HEADER: [&str; 5] = ["fixed", "deleted", "unsubscribed", "updated", "tagged"];

/// Prefix of our column names after those of a file.
const PREFIX: &str = "probity_";

#[derive(Clone)]
pub(super) struct OriginalRow {
    pub(super) row: BatchRow,
    /// Row of the uploaded file that has this address.
    pub(super) own: Option<cells::FileRow>,
}

impl OriginalRow {
    /// Returns the result of a row without an address: none.
    pub(super) fn without_address() -> BatchRow {
        BatchRow { head: RowHead { email: String::new(), processed: false, index: None }, done: None }
    }
}

/// Columns of a download.
pub(super) struct FileColumns {
    /// Uploaded file whose columns come first.
    own: Option<UploadColumns>,
    /// Whether the job is a run of a connection.
    is_run: bool,
}

struct UploadColumns {
    upload: Upload,
    about: FileFacts,
    /// Rows that are not in the job.
    without: RowsWithout,
    /// Keys of its columns in a line of JSON.
    keys: Vec<String>,
    /// Suffix that makes our column names differ from the file's.
    suffix: String,
}

impl FileColumns {
    /// Returns the job's columns only.
    pub(super) fn of_job() -> Self {
        Self { own: None, is_run: false }
    }

    /// Returns the job's columns with those of a run.
    pub(super) fn of_run() -> Self {
        Self { own: None, is_run: true }
    }

    /// Returns the columns of the uploaded file, then those of the job, without the address, which the file has already.
    pub(super) async fn with(conn: &mut Conn, upload: Upload) -> Result<Self, ApiError> {
        let without = RowsWithout::of(uploads::skipped(conn, upload.org, upload.no).await?);
        let about = FileFacts::of(&upload.about)?;
        let columns = about.columns(upload.choice.header);
        let names: Vec<String> = columns.iter().map(|name| name.to_ascii_lowercase()).collect();
        let taken = |suffix: &str| HEADER[1..].iter().any(|name| names.contains(&format!("{PREFIX}{name}{suffix}")));
        let suffixes = std::iter::once(String::new()).chain((2..).map(|number| format!("_{number}")));
        let suffix = suffixes.into_iter().find(|suffix| !taken(suffix)).unwrap_or_default();
        Ok(Self {
            own: Some(UploadColumns { upload, about, without, keys: json::keys(columns, &[]), suffix }),
            is_run: false,
        })
    }

    /// Returns the names, in order.
    pub(super) fn header(&self) -> Vec<String> {
        match &self.own {
            None => {
                let of_run = RUN_HEADER.iter().filter(|_| self.is_run);
                HEADER.iter().chain(of_run).map(ToString::to_string).collect()
            }
            Some(own) => {
                let ours = HEADER[1..].iter().map(|name| format!("{PREFIX}{name}{}", own.suffix));
                own.about.columns(own.upload.choice.header).into_iter().chain(ours).collect()
            }
        }
    }

    /// Returns separator, line ends and mark of a text: those of the uploaded file, if it is a text itself.
    pub(super) fn shape(&self) -> CsvShape {
        let Some(about) = self.own.as_ref().map(|own| &own.about) else { return CsvShape::default() };
        let usual = CsvShape::default();
        CsvShape {
            separator: about.delimiter.unwrap_or(usual.separator),
            line_end: match () {
                () if about.line_feeds => "\n",
                () if about.returns => "\r",
                () => usual.line_end,
            },
            mark: about.wants_bom(),
            is_quoted: about.is_quoted,
        }
    }

    /// Returns the records above the header of the uploaded file, without their ends.
    pub(super) fn above(&self) -> &[String] {
        self.own.as_ref().map_or(&[], |own| &own.about.above)
    }

    /// Returns the cells of a record above the header; none for the line that declares the separator.
    pub(super) fn cells_above(&self, record: &str) -> Vec<String> {
        if separator(record.as_bytes()).is_some() {
            return Vec::new();
        }
        let dialect = Dialect::separated(u8::try_from(self.shape().separator).unwrap_or(b','));
        let text = |field: &[u8]| String::from_utf8_lossy(&unquote(field, dialect)).into_owned();
        fields(record.as_bytes(), dialect).map(text).collect()
    }

    /// Returns how many rows the uploaded file has apart from the header.
    #[cfg(feature = "xlsx")]
    pub(super) fn file_rows(&self) -> i64 {
        let titles = i64::try_from(self.above().len()).unwrap_or_default();
        self.own.as_ref().map_or(0, |own| own.upload.rows + titles - self.first_own())
    }

    /// Returns how many of the columns are the file's.
    pub(super) fn own_width(&self) -> usize {
        self.own.as_ref().map_or(0, |own| own.about.width)
    }

    /// Returns the cells of a row, in column order; unknown values are empty.
    pub(super) fn cells<'a>(&self, row: &'a OriginalRow) -> Vec<Cow<'a, str>> {
        let ours = self.values_of_ours(row).into_iter().map(CellValue::into_text);
        let (Some(own), Some(theirs)) = (&self.own, &row.own) else { return ours.collect() };
        cells::cells(&own.about, theirs.clone()).into_iter().map(Cow::Owned).chain(ours).collect()
    }

    /// Returns the values of a row, in column order, with numbers as numbers.
    #[cfg(feature = "xlsx")]
    pub(super) fn values<'a>(&self, row: &'a OriginalRow) -> Vec<CellValue<'a>> {
        let ours = self.values_of_ours(row).into_iter();
        let (Some(own), Some(theirs)) = (&self.own, &row.own) else { return ours.collect() };
        let value = |(column, cell): (usize, String)| CellValue::of_kind(own.about.kind_of(column), cell.into());
        cells::cells(&own.about, theirs.clone()).into_iter().enumerate().map(value).chain(ours).collect()
    }

    /// Returns the values of our own columns.
    fn values_of_ours<'a>(&self, row: &'a OriginalRow) -> Vec<CellValue<'a>> {
        let has_own = self.own.is_some() && row.own.is_some();
        let of_run = run_values(&row.row).into_iter().filter(|_| self.is_run && !has_own);
        job_values(&row.row).into_iter().skip(usize::from(has_own)).chain(of_run).collect()
    }

    /// Writes a row as a line of JSON: the file's columns with the result under `probity`, or the job's columns only.
    pub(super) fn line(&self, row: &OriginalRow, out: &mut Vec<u8>) {
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

    /// Returns the uploaded file's first row behind the header.
    pub(super) fn first_own(&self) -> i64 {
        self.own.as_ref().map_or(0, |own| i64::from(own.upload.choice.header))
    }

    /// Returns up to `count` rows of the uploaded file, if its columns are included, each with whether it is in the job; fewer if
    /// they are long, none after the last.
    pub(super) async fn own_rows(
        &self,
        conn: &mut Conn,
        from: i64,
        count: i64,
    ) -> Result<Option<Vec<(cells::FileRow, bool)>>, ApiError> {
        let Some(own) = &self.own else { return Ok(None) };
        let rows = cells::rows(conn, &own.upload, from, from.saturating_add(count)).await?;
        if rows.is_empty() && from < own.upload.rows {
            return Err(ApiError::server_error("rows of an upload are missing"));
        }
        Ok(Some((from..).zip(rows).map(|(at, row)| (row, !own.without.has(at))).collect()))
    }
}

/// Returns the members of a row: unchanged for a line of JSON, or one per column, with distinct names.
fn members(own: &UploadColumns, row: &cells::FileRow) -> Vec<(String, Box<RawValue>)> {
    if let Some(members) = own.about.is_json().then(|| row.first().and_then(|line| json::members(line).ok())) {
        return members.unwrap_or_default();
    }
    let value = |cell: &String| serde_json::value::to_raw_value(cell).expect("a text is plain JSON");
    own.keys.iter().cloned().zip(cells::cells(&own.about, row.clone()).iter().map(value)).collect()
}

fn text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a text is plain JSON");
}

fn job_values(row: &BatchRow) -> [CellValue<'_>; 9] {
    let (outcome, whole) = (row.done.as_ref().map(RowDone::outcome), row.done.as_ref().and_then(RowDone::whole));
    let [status, reason] = outcome.map_or([""; 2], |outcome| [outcome.status, outcome.reason]);
    let [domain, suggestion] = whole.map_or([""; 2], |done| [&done.domain, &done.suggestion]);
    #[expect(clippy::cast_precision_loss, reason = "a list has millions of rows at most")]
    let index = row.head.index.map_or(CellValue::Blank, |index| CellValue::Number(index as f64));
    [
        row.head.email.as_str().into(),
        domain.into(),
        CellValue::Flag(row.head.processed),
        whole.map(|done| done.passed).into(),
        status.into(),
        reason.into(),
        suggestion.into(),
        whole.map_or(CellValue::Blank, |done| CellValue::Moment(done.completed_at)),
        index,
    ]
}

fn run_values(row: &BatchRow) -> [CellValue<'_>; 5] {
    let flags = row.done.as_ref().and_then(RowDone::whole).map(RowVerdict::flags);
    flags.map_or([None; 5], |flags| flags.map(Some)).map(Into::into)
}

/// Returns the uploaded file from which a job was created.
///
/// # Errors
/// 404 if the job has no uploaded file, or the file is no longer stored.
pub(super) async fn upload_of(conn: &mut Conn, job: &Job) -> Result<Upload, ApiError> {
    let gone = "the job has no uploaded file, or the file is no longer stored";
    let found = uploads::of_job(conn, job.org, job.no).await?;
    found.ok_or_else(|| ApiError::about_field(Code::NotFound, "columns", gone))
}
