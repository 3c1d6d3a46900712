//! Rows of a job with their contents: addresses from the submitted blocks, verdicts from the results.
//!
//! A page reads the blocks and results of its own indexes only, so it costs the same at any depth. While a job runs, a row
//! shows its verdict as soon as its part is settled.

use std::collections::BTreeMap;

use probity_account::block::{AddressBlock, ERASED, ROWS_MAX};
use probity_contract::error::{ApiError, Code};
use probity_contract::published::jobs::WIDGET;
use probity_contract::published::jobs::batch::{BatchRow, RowDone, RowHead, RowVerdict};
use probity_mail::address::bare_address;
use probity_mail::domain::{Domain, SpecialUse};
use probity_mail::verdict::Reason;
use probity_store::Conn;
use probity_store::connections::actions::{self, RowAction};
use probity_store::jobs::{self, Job, SettledResult};

/// Shown in place of an erased address.
pub const ERASED_EMAIL: &str = "erased";

/// Filter value for domains of no known mail provider.
pub const OTHER_PROVIDERS: &str = "other";

/// Fails if the rows of a job were removed at the end of their retention.
pub fn readable(job: &Job) -> Result<(), ApiError> {
    let gone = match job.source.as_str() {
        WIDGET => "this job is a daily summary of the widget; its rows are not stored",
        _ => "the rows of this job are no longer stored; their retention has ended",
    };
    if job.purged_at.is_none() { Ok(()) } else { Err(ApiError::new(Code::NotFound, gone)) }
}

/// Returns the rows within `from..to`, which must be in the job.
pub async fn rows(conn: &mut Conn, job: &Job, from: i64, to: i64) -> Result<Vec<BatchRow>, ApiError> {
    Ok(wanted(conn, job, from, to, |_, _| true).await?.into_iter().flatten().collect())
}

/// Like [`rows`], with `None` for each row whose address and result `takes` rejects.
pub async fn wanted(
    conn: &mut Conn,
    job: &Job,
    from: i64,
    to: i64,
    takes: impl Fn(Option<&str>, Option<&SettledResult>) -> bool,
) -> Result<Vec<Option<BatchRow>>, ApiError> {
    let emails = emails(conn, job, from, to).await?;
    let mut standing = jobs::outcomes(conn, job.org, job.no, from, to).await?.into_iter().peekable();
    let acted = actions(conn, job, from, to).await?;
    let mut rows = Vec::with_capacity(emails.len());
    for (index, email) in (from..).zip(emails) {
        let done = standing.next_if(|(at, _)| *at == index).map(|(_, standing)| standing);
        rows.push(takes(email.as_deref(), done.as_ref()).then(|| row(index, email, done.as_ref(), acted.get(&index))));
    }
    Ok(rows)
}

/// Returns the actions on the contacts of the rows within `from..to`. Empty unless the job is a run.
pub async fn actions(conn: &mut Conn, job: &Job, from: i64, to: i64) -> Result<BTreeMap<i64, RowAction>, ApiError> {
    if job.integration.is_none() {
        return Ok(BTreeMap::new());
    }
    let found = actions::standing(conn, job.org, job.no, from, to).await?;
    Ok(found.into_iter().map(|action| (action.idx, action)).collect())
}

/// Returns the rows of these results in their order, wherever they are in the job.
/// Blocks of addresses are read one by one, so that only one is in memory at a time.
pub async fn of(conn: &mut Conn, job: &Job, standing: Vec<(i64, SettledResult)>) -> Result<Vec<BatchRow>, ApiError> {
    let of_block = i64::try_from(ROWS_MAX).expect("a block is small");
    let mut rows = Vec::with_capacity(standing.len());
    for same_block in standing.chunk_by(|(a, _), (b, _)| a / of_block == b / of_block) {
        let (first, last) = (same_block[0].0, same_block[same_block.len() - 1].0);
        let emails = emails(conn, job, first, last + 1).await?;
        let acted = actions(conn, job, first, last + 1).await?;
        for (index, standing) in same_block {
            let email = usize::try_from(index - first).ok().and_then(|at| emails.get(at));
            let email = email.ok_or_else(|| ApiError::server_error("an address is missing"))?;
            rows.push(row(*index, email.clone(), Some(standing), acted.get(index)));
        }
    }
    Ok(rows)
}

/// Builds a row from its address, its result and the action on its contact.
pub fn row(index: i64, email: Option<String>, done: Option<&SettledResult>, acted: Option<&RowAction>) -> BatchRow {
    let done = done.map(|standing| match &email {
        Some(email) => {
            let verdict = RowVerdict::of(standing, domain(email, standing.result.kind.raw_reason()));
            RowDone::Whole(match acted {
                Some(acted) => verdict.after(acted),
                None => verdict,
            })
        }
        None => RowDone::Erased(standing.result.kind.reason.into()),
    });
    let email = email.unwrap_or_else(|| ERASED_EMAIL.to_owned());
    BatchRow { head: RowHead { email, processed: done.is_some(), index: Some(index) }, done }
}

/// Returns the addresses of the rows within `from..to`, as submitted; `None` for each that was erased.
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
        let block = AddressBlock::decode(&body).map_err(|error| damaged().because(error))?;
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

/// Returns the domain of a verified address, as in a live verdict. It is empty for text that is not an address.
fn domain(email: &str, found: Reason) -> String {
    let text = bare_address(email).rsplit_once('@').filter(|_| found != Reason::Invalid).map(|(_, domain)| domain);
    let Some(text) = text else { return String::new() };
    if is_plain(text) {
        return text.to_owned();
    }
    // Special-use names may have been verified: those that the operator allows, and those of the sandbox.
    Domain::parse_with(text, &SpecialUse::allow([text]))
        .map_or_else(|_| String::new(), |domain| domain.ascii().to_owned())
}

/// Returns whether a verified name is certainly its own lowercase form in A-labels, as are nearly all names of a page.
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
