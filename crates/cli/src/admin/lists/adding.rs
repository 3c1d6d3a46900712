//! A list from a file: uploaded, then verified or forecast.

use std::io::Read;
use std::path::PathBuf;

use anyhow::Result;
use bytes::Bytes;
use clap::Args;
use probity_contract::error::ApiError;
use probity_lists::encoding::TextEncoding;
use probity_service::app::App;
use probity_service::callers::incoming::IncomingBody;
use probity_service::uploads::adding::{FileAddition, add_file, forecast_file};
use probity_service::uploads::receive::UploadQuery;
use serde_json::Value;

use super::progress;
use crate::admin::OrgFlag;
use crate::admin::operator::act_for;
use crate::batch::input;
use crate::batch::request::encoding;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, field, made, time};

/// Maximum length of a reference, in bytes.
const REFERENCE_MAX: usize = 255;

#[derive(Debug, Args)]
pub(crate) struct NewListArgs {
    /// File to verify; `-` is standard input
    #[arg(id = "name", value_name = "FILE")]
    pub file: PathBuf,
    /// Column with the addresses, by name or by number from 1; default: detected by name, then by content
    #[arg(long, value_name = "NAME|N")]
    pub column: Option<String>,
    /// Treat the first row as data
    #[arg(id = "header", long = "no-header")]
    pub no_header: bool,
    /// Sheet of a workbook; default: the first with content
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// Encoding of lines that are not UTF-8, such as windows-1252; default: detected by their text
    #[arg(long, value_name = "NAME", value_parser = encoding)]
    pub encoding: Option<TextEncoding>,
    /// Print only a forecast (credits, time, unknown addresses); spend nothing, and do not keep the file
    #[arg(long)]
    pub forecast: bool,
    /// Your reference, such as the name of an export; repeating the command within a day shows the existing list
    #[arg(long, value_name = "TEXT", value_parser = reference)]
    pub reference: Option<String>,
    #[command(flatten)]
    pub org: OrgFlag,
}

/// Checks a text as the API checks an `Idempotency-Key`.
fn reference(text: &str) -> Result<String, String> {
    let fits = (1..=REFERENCE_MAX).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if fits { Ok(text.to_owned()) } else { Err(format!("must be 1 to {REFERENCE_MAX} printable ASCII characters")) }
}

/// Number of bytes read from a file at a time.
const PIECE: usize = 64 << 10;

/// Adds a file, or forecasts its cost.
pub(super) async fn add(app: &App, args: &NewListArgs) -> Result<Printout> {
    let is_input = args.file.as_os_str() == "-";
    let (file, place) = (input::open(&args.file)?, input::place(&args.file));
    let caller = act_for(app, &args.org).await?;
    let addition = read_addition(args, is_input);
    let body = |most| Ok(FileBody { place, file: Some(file), read: 0, most });
    if args.forecast {
        let forecast = forecast_file(app, &caller, addition, body).await?;
        return Printout::one(forecast, FORECAST);
    }
    Printout::one(add_file(app, &caller, addition, body).await?, ADDED)
}

fn read_addition(args: &NewListArgs, is_input: bool) -> FileAddition {
    let name = args.file.file_name().filter(|_| !is_input).map(|name| name.to_string_lossy().into_owned());
    let source = if is_input { "input" } else { "csv" };
    FileAddition {
        upload: UploadQuery {
            name: name.unwrap_or_default(),
            source,
            replaces: None,
            sheet: args.sheet.clone(),
            encoding: args.encoding,
        },
        column: args.column.clone(),
        no_header: args.no_header,
        reference: args.reference.clone(),
    }
}

/// File that is being sent to the service.
struct FileBody {
    /// Name of the file in messages.
    place: String,
    /// `None` at the end.
    file: Option<Box<dyn Read + Send>>,
    /// Bytes read so far, and their maximum.
    read: usize,
    most: usize,
}

impl IncomingBody for FileBody {
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let Some(mut file) = self.file.take() else { return Ok(None) };
        // Reading may take as long as a user types.
        let reading = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; PIECE];
            let read = file.read(&mut piece)?;
            piece.truncate(read);
            Ok::<_, std::io::Error>((file, piece))
        });
        let unread = |error| ApiError::server_error(format!("cannot read {}: {error}", self.place));
        let (file, piece) = reading.await.map_err(ApiError::server_error)?.map_err(unread)?;
        self.read += piece.len();
        if self.read > self.most {
            return Err(ApiError::payload_too_large(self.most));
        }
        if piece.is_empty() {
            return Ok(None);
        }
        self.file = Some(file);
        Ok(Some(Bytes::from(piece)))
    }
}

const COST: &[AnswerColumn] = &[
    at("addresses", "/counts/addresses"),
    at("distinct", "/counts/distinct"),
    at("duplicates", "/counts/duplicates"),
    at("empty rows", "/counts/empty"),
    at("invalid", "/counts/invalid"),
    at("catch-all", "/accept_all"),
    made("expected unknown", |of| range(of, "/unknown/low", "/unknown/high")),
    at("credits to hold", "/credits/held"),
    made("cost in credits", |of| range(of, "/credits/low", "/credits/high")),
    made("available credits", |of| {
        let enough = if of["credits"]["enough"] == true { "enough" } else { "not enough" };
        format!("{}: {enough}", field(of, "/credits/available"))
    }),
    made("time in seconds", |of| range(of, "/time/low_s", "/time/high_s")),
    at("slowest provider", "/time/slowest"),
];

const PROVIDERS: &[AnswerColumn] =
    &[at("PROVIDER", "/id"), at("NAME", "/name"), at("ADDRESSES", "/addresses"), time("HELD UNTIL", "/held_until")];

fn range(of: &Value, from: &str, to: &str) -> String {
    match (field(of, from), field(of, to)) {
        (from, to) if from == to => from,
        (from, to) if to.is_empty() => format!("{from} to not known"),
        (from, to) => format!("{from} to {to}"),
    }
}

/// View of a new list: its progress, and addresses left out.
const ADDED: AnswerView = AnswerView::Text(|of| {
    let others = of["other_columns"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = others.iter().map(|other| {
        let column = other["column"].as_u64().map_or(0, |index| index + 1);
        format!("note: {} addresses in column {column} are not verified\n", field(other, "/addresses"))
    });
    progress(of) + &shown.collect::<String>()
});

/// View of a forecast.
pub(in crate::admin) const FORECAST: AnswerView =
    AnswerView::Text(|of| format!("{}\n{}", table::fields(COST, of), table::rows_at(PROVIDERS, of, "/providers")));

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_list_says_what_it_leaves_out() {
        let AnswerView::Text(view) = ADDED else { panic!("a text") };
        let shown = view(&json!({ "id": "j", "other_columns": [{ "column": 2, "addresses": 3 }] }));
        assert!(shown.ends_with("\nnote: 3 addresses in column 3 are not verified\n"), "{shown}");
        assert!(!view(&json!({ "id": "j", "other_columns": [] })).contains("note"));
    }
}
