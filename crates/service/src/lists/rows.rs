//! Rows of a job with what stands in them: addresses from the blocks as they were submitted, verdicts from the results.
//!
//! Costs the same at any depth: a page reads the blocks and the results of its own indexes. While a job runs, a row shows its
//! verdict as soon as its part is settled.

use probity_account::block::{Block, ERASED, ROWS_MAX};
use probity_mail::domain::{Domain, SpecialUse};
use probity_mail::verdict::Reason;
use probity_store::Conn;
use probity_store::jobs::{self, Job, Standing};

use crate::error::{ApiError, Code};
use crate::published::batch::{BatchRow, RowDone, RowHead, RowVerdict};
use crate::published::jobs::WIDGET;

/// What is shown in the place of an address that was erased.
const ERASED_EMAIL: &str = "erased";

/// Refuses to read a job whose rows were removed because they were old.
pub fn readable(job: &Job) -> Result<(), ApiError> {
    let gone = match job.source.as_str() {
        WIDGET => "this job is a daily summary of the widget; its rows are not stored",
        _ => "the rows of this job are no longer stored; their retention has ended",
    };
    if job.purged_at.is_none() { Ok(()) } else { Err(ApiError::new(Code::NotFound, gone)) }
}

/// The rows within `from..to`, which lie in the job.
pub async fn rows(conn: &mut Conn, job: &Job, from: i64, to: i64) -> Result<Vec<BatchRow>, ApiError> {
    Ok(wanted(conn, job, from, to, |_| true).await?.into_iter().flatten().collect())
}

/// The same, with none in the place of each that is not wanted by what stands in it.
pub async fn wanted(
    conn: &mut Conn,
    job: &Job,
    from: i64,
    to: i64,
    takes: impl Fn(Option<&Standing>) -> bool,
) -> Result<Vec<Option<BatchRow>>, ApiError> {
    let emails = emails(conn, job, from, to).await?;
    let mut standing = jobs::outcomes(conn, job.org, job.no, from, to).await?.into_iter().peekable();
    let mut rows = Vec::with_capacity(emails.len());
    for (index, email) in (from..).zip(emails) {
        let done = standing.next_if(|(at, _)| *at == index).map(|(_, standing)| standing);
        rows.push(takes(done.as_ref()).then(|| row(index, email, done.as_ref())));
    }
    Ok(rows)
}

/// The rows of these results, wherever in the job they lie: the first rows with their addresses, in their order. Blocks of
/// addresses are read one by one, so one is in memory at a time.
pub(crate) async fn of(conn: &mut Conn, job: &Job, standing: Vec<(i64, Standing)>) -> Result<Vec<BatchRow>, ApiError> {
    let of_block = i64::try_from(ROWS_MAX).expect("a block is small");
    let mut rows = Vec::with_capacity(standing.len());
    for same_block in standing.chunk_by(|(a, _), (b, _)| a / of_block == b / of_block) {
        let (first, last) = (same_block[0].0, same_block[same_block.len() - 1].0);
        let emails = emails(conn, job, first, last + 1).await?;
        for (index, standing) in same_block {
            let email = usize::try_from(index - first).ok().and_then(|at| emails.get(at));
            let email = email.ok_or_else(|| ApiError::server_error("an address is missing"))?;
            rows.push(row(*index, email.clone(), Some(standing)));
        }
    }
    Ok(rows)
}

/// A row, with what stands in it.
pub fn row(index: i64, email: Option<String>, done: Option<&Standing>) -> BatchRow {
    let done = done.map(|standing| match &email {
        Some(email) => RowDone::Whole(RowVerdict::of(standing, domain(email, standing.result.kind.raw_reason()))),
        None => RowDone::Erased(standing.result.kind.reason.into()),
    });
    let email = email.unwrap_or_else(|| ERASED_EMAIL.to_owned());
    BatchRow { head: RowHead { email, processed: done.is_some(), index: Some(index) }, done }
}

/// The addresses of the rows within `from..to`, as they were submitted; none for each that was erased.
pub async fn emails(conn: &mut Conn, job: &Job, from: i64, to: i64) -> Result<Vec<Option<String>>, ApiError> {
    let damaged = || ApiError::server_error(format!("addresses of job {} are missing or damaged", job.id));
    let of_block = i64::try_from(ROWS_MAX).expect("a block is small");
    // Every block but the last is full.
    let first = from - from % of_block;
    let blocks = jobs::blocks(conn, job.org, job.no, first, (to - first + of_block - 1) / of_block).await?;
    let wanted = usize::try_from(to - from).map_err(ApiError::server_error)?;
    let before = usize::try_from(from - first).map_err(ApiError::server_error)?;
    let mut emails = Vec::with_capacity(before + wanted);
    for (expected, (at, body)) in (first..).step_by(ROWS_MAX).zip(blocks) {
        let block = Block::decode(&body).map_err(|error| damaged().because(error))?;
        if at != expected {
            return Err(damaged());
        }
        let text = |email: &[u8]| (email != ERASED).then(|| String::from_utf8_lossy(email).into_owned());
        emails.extend(block.iter().map(text));
    }
    if emails.len() < before + wanted {
        return Err(damaged());
    }
    emails.truncate(before + wanted);
    emails.drain(..before);
    Ok(emails)
}

/// The domain of an address that was verified, as a live verdict shows it: text that is no address has none.
fn domain(email: &str, found: Reason) -> String {
    let text = email.trim_ascii().rsplit_once('@').filter(|_| found != Reason::Invalid).map(|(_, domain)| domain);
    let Some(text) = text else { return String::new() };
    if is_plain(text) {
        return text.to_owned();
    }
    // Whatever was verified may stand here: special-use names that the operator allows, and those of the sandbox.
    Domain::parse_with(text, &SpecialUse::allow([text]))
        .map_or_else(|_| String::new(), |domain| domain.ascii().to_owned())
}

/// Whether a name that was verified is certainly its own lower-case form in A-labels; nearly all of a page's are.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    name.bytes().all(plain) && !name.ends_with('.') && !name.contains("xn--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_those_of_live_verdicts() {
        let cases = [
            (" Jo@Example.ORG ", Reason::Valid, "example.org"),
            ("jo@xn--bcher-kva.example.com", Reason::Valid, "xn--bcher-kva.example.com"),
            ("jo@bücher.example.com", Reason::Nonexistent, "xn--bcher-kva.example.com"),
            ("\"a@b\"@example.org", Reason::Valid, "example.org"),
            ("valid@sandbox.test", Reason::Valid, "sandbox.test"),
            ("valid@sandbox.test", Reason::Invalid, ""),
            ("no address", Reason::Invalid, ""),
        ];
        for (email, reason, expected) in cases {
            assert_eq!(domain(email, reason), expected, "{email}");
        }
    }
}
