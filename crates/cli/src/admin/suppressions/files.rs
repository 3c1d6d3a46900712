//! Files with outcomes: their paths, formats, and contents in bounded batches.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::builder::PossibleValue;
use probity_contract::published::outcomes::report::{OUTCOMES_MAX, OutcomeEvent};
use probity_lists::bounces::{FoundOutcome, MESSAGE_MAX_BYTES, mailbox, message, postfix};
use probity_mail::time::Millis;
use probity_service::outcomes::report::OutcomeReport;

use crate::admin::meaning;

probity_mail::named! {
    /// Form of a file with outcomes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum OutcomeForm {
        Postfix = "postfix",
        Message = "message",
        Mailbox = "mbox",
        Csv = "csv",
        Ndjson = "ndjson",
    }
}

impl OutcomeForm {
    pub(super) fn names() -> [PossibleValue; 5] {
        [
            meaning("postfix", "log of Postfix's SMTP client"),
            meaning("message", "one bounce or complaint"),
            meaning("mbox", "mailbox in one file"),
            meaning("csv", "columns email, outcome, at, reply"),
            meaning("ndjson", "one event per line, as for POST /v1/outcomes"),
        ]
    }
}

/// Bytes by which a form is detected.
const HEAD_BYTES: usize = 4_096;
/// Maximum size of a table, in bytes, because it is read as a whole.
const TABLE_MAX_BYTES: u64 = 256 << 20;
/// Maximum length of a line of a log or of NDJSON, in bytes.
const LINE_MAX_BYTES: u64 = 64 << 10;

/// Outcomes of a part of a file.
pub(super) enum OutcomeBatch {
    Found(Vec<FoundOutcome>),
    Report(OutcomeReport),
}

type OutcomeBatches = Box<dyn Iterator<Item = Result<OutcomeBatch>>>;

/// Returns the files of a path: itself, the messages of a maildir, or the files of a directory, without subdirectories.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let shown = path.display();
    let about = fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
    if !about.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let is_maildir = path.join("cur").is_dir() && path.join("new").is_dir();
    let directories = if is_maildir { vec![path.join("cur"), path.join("new")] } else { vec![path.to_owned()] };
    let mut files = Vec::new();
    for directory in directories {
        for entry in fs::read_dir(&directory).with_context(|| format!("cannot read {shown}"))? {
            let entry = entry.with_context(|| format!("cannot read {shown}"))?;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if !is_hidden && entry.path().is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("{shown} has no files");
    }
    Ok(files)
}

/// Opens a file, and returns its outcomes in batches.
pub(super) fn read_file(path: &Path, form: Option<OutcomeForm>, now: Millis) -> Result<OutcomeBatches> {
    let shown = path.display().to_string();
    let mut from = BufReader::with_capacity(1 << 16, File::open(path).with_context(|| format!("cannot read {shown}"))?);
    let head = from.fill_buf().with_context(|| format!("cannot read {shown}"))?;
    let form = match form {
        Some(form) => form,
        None => detect(&head[..head.len().min(HEAD_BYTES)])
            .ok_or_else(|| anyhow!("{shown} is compressed; unpack it first"))?,
    };
    Ok(match form {
        OutcomeForm::Postfix => logged(from, shown, now),
        OutcomeForm::Message => {
            let mut bytes = Vec::new();
            from.take(u64::try_from(MESSAGE_MAX_BYTES)?)
                .read_to_end(&mut bytes)
                .with_context(|| format!("cannot read {shown}"))?;
            found(message::read(&bytes))
        }
        OutcomeForm::Mailbox => messages(from, shown),
        OutcomeForm::Csv => {
            let mut bytes = Vec::new();
            let read = from.take(TABLE_MAX_BYTES + 1).read_to_end(&mut bytes);
            if read.with_context(|| format!("cannot read {shown}"))? as u64 > TABLE_MAX_BYTES {
                bail!("{shown} has more than {} MiB; split it", TABLE_MAX_BYTES >> 20);
            }
            let report = OutcomeReport::of_csv(&bytes, usize::MAX);
            let report = report.map_err(|error| anyhow!("{shown}: {}", error.message()))?;
            Box::new(std::iter::once(Ok(OutcomeBatch::Report(report))))
        }
        OutcomeForm::Ndjson => events(from, shown),
    })
}

/// Detects the format by the first bytes; `None` for compressed files, which need no detection.
fn detect(head: &[u8]) -> Option<OutcomeForm> {
    if [&b"\x1f\x8b"[..], b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"]
        .iter()
        .any(|sign| head.starts_with(sign))
    {
        return None;
    }
    let text = String::from_utf8_lossy(head);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let lower = first.to_lowercase();
    Some(if mailbox::is_mailbox(head) {
        OutcomeForm::Mailbox
    } else if first.trim_start().starts_with('{') {
        OutcomeForm::Ndjson
    } else if is_header(first) {
        OutcomeForm::Message
    } else if lower.contains("outcome") && lower.contains("mail") && !lower.contains("postfix") {
        OutcomeForm::Csv
    } else {
        OutcomeForm::Postfix
    })
}

/// Returns whether a line is a header of a message: a name of letters, digits and hyphens, and a colon. Timestamps of logs begin
/// with a digit.
fn is_header(line: &str) -> bool {
    let name = line.split_once(':').map_or("", |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn found(outcomes: Vec<FoundOutcome>) -> OutcomeBatches {
    Box::new((!outcomes.is_empty()).then_some(Ok(OutcomeBatch::Found(outcomes))).into_iter())
}

/// Iterates over the lines of a file. The rest of a line that is too long is skipped.
fn lines(mut from: impl BufRead, shown: String) -> impl Iterator<Item = Result<Vec<u8>>> {
    let mut next = move || -> std::io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if from.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") && line.len() as u64 == LINE_MAX_BYTES {
            from.skip_until(b'\n')?;
        }
        Ok(Some(line))
    };
    std::iter::from_fn(move || next().with_context(|| format!("cannot read {shown}")).transpose())
}

/// Groups the outcomes of a file into batches.
fn batches<T: 'static>(
    mut all: impl Iterator<Item = Result<T>> + 'static,
    batch: fn(Vec<T>) -> OutcomeBatch,
) -> OutcomeBatches {
    let mut next = move || -> Result<Option<OutcomeBatch>> {
        let some: Vec<T> = all.by_ref().take(OUTCOMES_MAX).collect::<Result<_>>()?;
        Ok((!some.is_empty()).then(|| batch(some)))
    };
    Box::new(std::iter::from_fn(move || next().transpose()))
}

/// Iterates over outcomes of a log.
fn logged(from: impl BufRead + 'static, shown: String, now: Millis) -> OutcomeBatches {
    let outcome = move |line: Result<Vec<u8>>| Ok(postfix::read_line(&String::from_utf8_lossy(&line?), now));
    batches(lines(from, shown).map(outcome).filter_map(Result::transpose), OutcomeBatch::Found)
}

/// Iterates over outcomes of a mailbox.
fn messages(from: impl BufRead + 'static, shown: String) -> OutcomeBatches {
    let read = move |bytes: std::io::Result<Vec<u8>>| match bytes.with_context(|| format!("cannot read {shown}")) {
        Ok(bytes) => message::read(&bytes).into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    };
    batches(mailbox::MailboxMessages::new(from).flat_map(read), OutcomeBatch::Found)
}

/// Iterates over events of NDJSON.
fn events(from: impl BufRead + 'static, shown: String) -> OutcomeBatches {
    let place = shown.clone();
    let event = move |(number, line): (usize, Result<Vec<u8>>)| {
        let line = line?;
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let event: OutcomeEvent = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(&line))
            .map_err(|error| anyhow!("{place}, line {number}: {}: {}", error.path(), plain(error.inner())))?;
        Ok(Some((number, event)))
    };
    let events = (1..).zip(lines(from, shown)).map(event).filter_map(Result::transpose);
    batches(events, |events| OutcomeBatch::Report(OutcomeReport::of_lines(events)))
}

/// Returns the message of an error without its position, because the line's position is used.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(text, _)| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_detected_by_the_beginning() {
        let table: [(&[u8], Option<OutcomeForm>); 10] = [
            (b"Nov 23 10:00:01 mx postfix/smtp[1]: 4F: to=<a@example.org>", Some(OutcomeForm::Postfix)),
            (b"2026-11-23T10:00:01+01:00 mx postfix/smtp[1]: 4F:", Some(OutcomeForm::Postfix)),
            (b"From MAILER-DAEMON Mon Nov 23\nX: 1", Some(OutcomeForm::Mailbox)),
            (b"Return-Path: <>\nFrom: x", Some(OutcomeForm::Message)),
            (b"\nReceived: by mx", Some(OutcomeForm::Message)),
            (b"{\"email\": \"a\"", Some(OutcomeForm::Ndjson)),
            (b"E-Mail;Outcome\n", Some(OutcomeForm::Csv)),
            (b"\xef\xbb\xbfemail,outcome,at\n", Some(OutcomeForm::Csv)),
            (b"\x1f\x8b\x08", None),
            (b"", Some(OutcomeForm::Postfix)),
        ];
        for (head, form) in table {
            assert_eq!(detect(head), form, "{}", String::from_utf8_lossy(head));
        }
    }
}
