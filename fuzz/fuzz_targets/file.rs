//! Any bytes as a file: the reader never panics, and no row is lost. Records are the decoded text, byte by byte and line by line;
//! each row is returned, or named as one without an address.

#![no_main]

use std::io::Read as _;

use libfuzzer_sys::fuzz_target;
use probity_lists::encoding::Decoded;
use probity_lists::rows::{RecordKind, TextForm, TextHint, TextRows};
use probity_lists::submission::{Intake, SubmissionFormat};

const CSV: TextHint = TextHint { form: Some(TextForm::Csv), delimiter: None, encoding: None, named: false, by_name: true, pasted: false };

/// Number of rows; `None` if the file is refused. Asserts that records are the whole text.
fn rows_in(bytes: &[u8], hint: TextHint) -> Option<usize> {
    let mut text = Vec::new();
    Decoded::open(bytes).read_to_end(&mut text).expect("memory is readable");
    let mut rows = TextRows::open(bytes, hint).ok()?;
    let (mut again, mut lines, mut count) = (Vec::new(), 0, 0);
    loop {
        let Ok(next) = rows.next_record() else {
            assert!(text.starts_with(&again));
            return None;
        };
        let Some(record) = next else { break };
        assert_eq!(record.raw.line, lines + 1, "no line is passed over");
        lines = record.raw.last_line;
        again.extend_from_slice(rows.records().bytes(&record));
        again.extend_from_slice(record.raw.end.bytes());
        let several = rows.records().recipients(&record).map_or(1, |several| several.len());
        count += if record.kind == RecordKind::Row { several } else { 0 };
    }
    assert_eq!(again, text, "no byte is lost");
    Some(count)
}

/// Number of rows that a reader of cells returns.
fn rows_out(bytes: &[u8], hint: TextHint) -> Option<usize> {
    let mut rows = TextRows::open(bytes, hint).ok()?;
    let mut count = 0;
    while rows.next_row().ok()?.is_some() {
        count += 1;
    }
    Some(count)
}

fuzz_target!(|bytes: &[u8]| {
    for hint in [TextHint::default(), CSV, TextHint { pasted: true, form: Some(TextForm::Lines), ..CSV }] {
        let found = rows_in(bytes, hint);
        // A reader of cells may refuse a row that is too wide for a table.
        if let Some(out) = rows_out(bytes, hint) {
            assert_eq!(found, Some(out));
        }
    }
    let (mut intake, mut blocks) = (Intake::new(SubmissionFormat::Csv, 1_000_000), Vec::new());
    let read = intake.push(bytes, &mut blocks).and_then(|()| intake.finish(&mut blocks));
    if let Ok(submission) = read {
        let named = submission.rows + usize::try_from(submission.without.count).expect("as many as bytes at most");
        let header = rows_in(bytes, CSV).expect("the same reader") - named;
        assert!(header <= 1, "rows in are rows out, rows named and a header");
    }
});
