//! A list from a file: uploaded, then verified or forecast.

use std::io::Read;

use anyhow::Result;
use bytes::Bytes;
use probity_contract::error::ApiError;
use probity_service::callers::incoming::IncomingBody;
use probity_service::uploads::adding::{FileAddition, add_file, forecast_file};
use probity_service::uploads::receive::UploadQuery;
use serde_json::Value;

use super::PROGRESS;
use crate::admin::LocalOperator;
use crate::args::NewListArgs;
use crate::batch::input;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, field, made, time};

/// Bytes of a file that are read at a time.
const PIECE: usize = 64 << 10;

/// Adds a file, or forecasts its cost.
pub(super) async fn add(operator: &LocalOperator<'_>, args: &NewListArgs) -> Result<Printout> {
    let is_input = args.file.as_os_str() == "-";
    let (file, place) = (input::open(&args.file)?, input::place(&args.file));
    let caller = operator.act_for(&args.org).await?;
    let addition = read_addition(args, is_input);
    let body = |most| Ok(FileBody { place, file: Some(file), read: 0, most });
    if args.forecast {
        let forecast = forecast_file(operator.app, &caller, addition, body).await?;
        return Printout::one(forecast, FORECAST);
    }
    Printout::one(add_file(operator.app, &caller, addition, body).await?, PROGRESS)
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
            encoding: None,
        },
        column: args.column.clone(),
        no_header: args.no_header,
        reference: args.reference.clone(),
    }
}

/// A file on its way to the service.
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
        // Reading may take as long as somebody types.
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

/// A forecast for people.
pub(in crate::admin) const FORECAST: AnswerView =
    AnswerView::Text(|of| format!("{}\n{}", table::fields(COST, of), table::rows_at(PROVIDERS, of, "/providers")));
