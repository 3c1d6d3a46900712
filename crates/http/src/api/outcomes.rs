//! `/v1/outcomes`: outcomes of mail that the customer sent.

pub(crate) mod hook;
pub(crate) mod sources;

use axum::extract::{FromRequest as _, Request};
use probity_contract::error::ApiError;
use probity_contract::published::outcomes::report::{OUTCOMES_MAX, OutcomesReported, ReportOutcomes};
use probity_lists::submission::SubmissionFormat;
use probity_service::outcomes::report::{self, OutcomeReport};

use crate::handler::{Answer, Call, JsonBody, Refusal, RunOnce, answer};
use crate::request::body::{RawBody, parse};
use crate::request::submission::format_of;

/// Report outcomes
///
/// Stores what became of 1 to 10,000 messages that you sent, to any address, as keyed hashes. An address counts once per outcome
/// and day (UTC). New hard bounces put addresses on the suppression list `bounced`, new complaints on `complained`; events of test
/// keys do not. Also accepts `text/csv` (columns `email`, `outcome`, `at`, `reply`) and `application/x-ndjson` (one event per
/// line). If one event is wrong, none is stored.
#[utoipa::path(
    post,
    path = "/v1/outcomes",
    tag = "Account",
    request_body(content = ReportOutcomes, description = "Events to report."),
    security(("bearer" = ["write:account"])),
    responses((status = 200, description = "The events are stored.", body = OutcomesReported))
)]
pub(crate) async fn report_outcomes(
    Call(app, caller): Call,
    RunOnce(once): RunOnce,
    request: Request,
) -> Answer<OutcomesReported> {
    let (format, request) = format_of(request).await?;
    let events = match format {
        SubmissionFormat::Json => {
            let JsonBody(report) = JsonBody::<ReportOutcomes>::from_request(request, &()).await?;
            OutcomeReport::of_list(report.outcomes)
        }
        SubmissionFormat::Csv => {
            let RawBody(bytes) = RawBody::from_request(request, &()).await?;
            OutcomeReport::of_csv(&bytes, OUTCOMES_MAX)?
        }
        SubmissionFormat::Ndjson => {
            let RawBody(bytes) = RawBody::from_request(request, &()).await?;
            of_lines(&bytes)?
        }
    };
    answer(report::report_outcomes(&app, &caller, &once, events).await)
}

/// Reads one event per line; blank lines are skipped.
fn of_lines(bytes: &[u8]) -> Result<OutcomeReport, Refusal> {
    let mut events = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        if events.len() == OUTCOMES_MAX {
            let message = format!("at most {OUTCOMES_MAX} outcomes may be reported at once");
            return Err(ApiError::invalid_request(message).into());
        }
        let number = index + 1;
        // Serde would also accept an array.
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(ApiError::invalid_request(format!("line {number}: must be a JSON object")).into());
        }
        let fault = |Refusal(error): Refusal| {
            ApiError::invalid_request(format!("line {number}: {}", error.message().replace("the body", "the line")))
        };
        events.push((number, parse(line).map_err(fault)?));
    }
    Ok(OutcomeReport::of_lines(events))
}
