//! Query of `GET /v1/batch-verify/{id}/download`: file format, rows and columns.

use probity_account::language::PageLanguage;
use probity_mail::verdict::{Reason, Status};
use serde_json::json;
use utoipa::openapi::path::ParameterStyle;
use utoipa::openapi::schema::ArrayBuilder;

use crate::error::ApiError;
use crate::parameters::{describe_query, flag, matching, names, search_text, text};
use crate::query::{FromQuery, Query};

/// Column sets of a file, the default first.
const COLUMNS: [&str; 2] = ["results", ORIGINAL];
/// Puts the columns of the uploaded file before the results.
const ORIGINAL: &str = "original";

/// File formats by name.
const FORMATS: &[(&str, FileFormat)] = &[
    ("csv", FileFormat::Csv { raw: false }),
    ("raw", FileFormat::Csv { raw: true }),
    ("ndjson", FileFormat::Ndjson),
    #[cfg(feature = "xlsx")]
    ("xlsx", FileFormat::Xlsx),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    Csv {
        /// Whether cells are left unchanged, even formulas.
        raw: bool,
    },
    Ndjson,
    #[cfg(feature = "xlsx")]
    Xlsx,
}

impl FileFormat {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv { .. } => "text/csv; charset=utf-8; header=present",
            Self::Ndjson => "application/x-ndjson",
            #[cfg(feature = "xlsx")]
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        }
    }

    /// Returns the extension of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv { .. } => "csv",
            Self::Ndjson => "ndjson",
            #[cfg(feature = "xlsx")]
            Self::Xlsx => "xlsx",
        }
    }
}

/// Query of a download.
#[derive(Clone, Debug)]
pub struct DownloadQuery {
    pub format: FileFormat,
    /// Statuses to select; empty for all.
    pub statuses: Vec<Status>,
    /// Reason filter.
    pub reason: Option<Reason>,
    /// Mail provider filter: a provider's ID, or `other` for rows of no known provider.
    pub provider: Option<String>,
    /// Part of the address.
    pub q: Option<String>,
    /// Domain of the address.
    pub domain: Option<String>,
    /// Whether the columns of the uploaded file come first.
    pub original: bool,
    /// Language of the summary in a workbook.
    pub language: PageLanguage,
    /// Number of rows for the name of the file.
    pub rows: Option<String>,
}

impl FromQuery for DownloadQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let raw = query.flag("raw")?;
        let names: Vec<&str> = formats().collect();
        let name = query.one_of("format", &names)?;
        let known = |name: &String| FORMATS.iter().find(|(known, _)| known == name).map(|(_, format)| *format);
        let format = match name.as_ref().and_then(known) {
            None | Some(FileFormat::Csv { raw: false }) => FileFormat::Csv { raw },
            Some(other) => other,
        };
        let reasons: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        let reason = query.one_of("reason", &reasons)?;
        let language = query.one_of("language", &PageLanguage::ALL.map(PageLanguage::as_str))?;
        Ok(Self {
            format,
            statuses: statuses(query)?,
            reason: reason.and_then(|name| Reason::from_name(&name)),
            provider: query.filled("provider")?,
            q: query.filled("q")?,
            domain: query.filled("domain")?,
            language: language.and_then(|tag| PageLanguage::from_name(&tag)).unwrap_or_default(),
            rows: rows(query)?,
            original: query.one_of("columns", &COLUMNS)?.as_deref() == Some(ORIGINAL),
        })
    }
}

/// Reads a number of rows, of as many digits as a list can have.
fn rows(query: &Query) -> Result<Option<String>, ApiError> {
    let given = query.filled("rows")?;
    let is_number = |text: &String| text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    let refused = || ApiError::invalid("rows", "must be a whole number of at most 9 digits");
    if given.as_ref().is_none_or(is_number) { Ok(given) } else { Err(refused()) }
}

/// Parses statuses separated by commas.
fn statuses(query: &Query) -> Result<Vec<Status>, ApiError> {
    let given = query.text("status")?.unwrap_or_default();
    let status = |name: &str| {
        let names = Status::ALL.map(Status::as_str).join(", ");
        Status::from_name(name)
            .ok_or_else(|| ApiError::invalid("status", format_args!("must be one or more of {names}")))
    };
    given.split(',').filter(|name| !name.is_empty()).map(status).collect()
}

fn formats() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|(name, _)| *name)
}

describe_query! { DownloadQuery:
    "format" = "File format, default `csv`.", names(formats()).default(Some("csv".into())), "csv";
    "status" (.style(Some(ParameterStyle::Form)).explode(Some(false))) = "Only rows with one of these statuses.",
        ArrayBuilder::new().items(names(Status::ALL.map(Status::as_str))), json!(["passed", "risky"]);
    "reason" = "Only rows with this reason.", names(Reason::ALL.iter().map(|it| it.as_str())), "valid";
    "provider" = "Only rows of this mail provider: an ID from `evidence.domain.provider`, or `other` for rows of no known provider.",
        text(), "google";
    "q" = "Only addresses that contain this text, ignoring case.", search_text(), "ann";
    "domain" = "Only addresses of this domain.", text(), "example.org";
    "raw" = "Whether to leave CSV cells unchanged, even if a spreadsheet would run them as formulas. The same as `format=raw`.",
        flag(), false;
    "language" = "Language of the summary in a workbook, default `en`. The rows are the same in every language.",
        names(PageLanguage::ALL.map(PageLanguage::as_str)).default(Some("en".into())), "en";
    "columns" = "`original`: puts the columns of the file uploaded in the dashboard before the results, without repeating the \
        address. In JSON lines, the fields of the file come first and the result is under `probity`. 404 if the job was not created \
        from a file, or the file is no longer kept.", names(COLUMNS).default(Some("results".into())), "results";
    "rows" = "Number of rows, as you know it, to put in the name of the file. It selects nothing.", matching("^[0-9]{0,9}$"), "1234";
}
