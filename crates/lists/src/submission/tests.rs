//! Bodies in and submissions out, cut in every way.

mod csv;
mod json;
mod lines;

use probity_account::block::{AddressBlock, PackedBlock, ROWS_MAX as BLOCK_ROWS};
use proptest::prelude::*;

use super::*;

/// A submission and its addresses, or the fault.
type Outcome = Result<(Submission, Vec<Vec<u8>>), SubmissionFault>;

fn unpack(blocks: &[PackedBlock]) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    for packed in blocks {
        let block = AddressBlock::decode(&packed.bytes).unwrap();
        assert_eq!(block.len(), packed.rows);
        rows.extend(block.iter().map(<[u8]>::to_vec));
    }
    rows
}

fn read<'a>(format: SubmissionFormat, rows_max: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut intake = Intake::new(format, rows_max);
    let mut full = Vec::new();
    for piece in pieces {
        intake.push(piece, &mut full)?;
        assert_eq!(intake.rows() / BLOCK_ROWS, full.len(), "full blocks are given out at once");
    }
    let submission = intake.finish(&mut full)?;
    let rows = unpack(&full);
    assert_eq!(rows.len(), submission.rows);
    Ok((submission, rows))
}

fn whole(format: SubmissionFormat, body: &[u8]) -> Outcome {
    read(format, 1_000, [body])
}

/// The outcome, which must not depend on how the body is cut: in two at any place (at some places if it is long), or byte by byte.
fn cut(format: SubmissionFormat, body: &[u8]) -> Outcome {
    let outcome = whole(format, body);
    for at in (0..=body.len()).step_by(1 + body.len() / 500) {
        let (front, back) = body.split_at(at);
        assert_eq!(read(format, 1_000, [front, back]), outcome, "cut at {at}: {}", body.escape_ascii());
    }
    assert_eq!(read(format, 1_000, body.chunks(1)), outcome, "byte by byte: {}", body.escape_ascii());
    outcome
}

/// The addresses as text.
fn rows(format: SubmissionFormat, body: impl AsRef<[u8]>) -> Vec<String> {
    let body = body.as_ref();
    let (_, rows) = cut(format, body).unwrap_or_else(|fault| panic!("{}: {fault}", body.escape_ascii()));
    rows.into_iter().map(|row| String::from_utf8(row).unwrap()).collect()
}

/// Message to the client.
fn fault(format: SubmissionFormat, body: impl AsRef<[u8]>) -> String {
    let body = body.as_ref();
    cut(format, body).expect_err(&body.escape_ascii().to_string()).to_string()
}

/// A list as UTF-16, as office programs export it.
fn utf16(text: &str, big: bool) -> Vec<u8> {
    text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

#[test]
fn utf_16_is_refused_and_never_read_as_rows_of_nuls() {
    let csv = [
        "email\na@x.com\nb@x.com\n",
        "email\r\na@x.com\r\n",
        "\r\nName\tE-Mail\r\nAnn\ta@x.com\r\n",
        "a@x.com\n",
        "\"email\";\"name\"\r\n\"a@x.com\";\"J\u{f6}rg\"\r\n",
        // The first record reveals nothing if its letters use both bytes.
        "\u{43f}\u{43e}\u{447}\u{442}\u{430}\na@x.com\n",
    ];
    let lines = ["\"a@x.com\"\n\"b@x.com\"\n", "{\"email\": \"a@x.com\"}\r\n"];
    let bodies = csv
        .map(|body| (SubmissionFormat::Csv, body))
        .into_iter()
        .chain(lines.map(|body| (SubmissionFormat::Ndjson, body)));
    for (format, body) in bodies {
        for mark in ["\u{feff}", ""] {
            for big in [false, true] {
                let told = fault(format, utf16(&format!("{mark}{body}"), big));
                assert_eq!(told, "the body must be UTF-8, not UTF-16", "{mark:?} {body:?} {big}");
            }
        }
    }
}

#[test]
fn too_many_addresses_are_a_fault_and_the_most_is_none() {
    let bodies: [(SubmissionFormat, &[u8]); 3] = [
        (SubmissionFormat::Json, br#"{"emails":["a@x.com","b@x.com","c@x.com"]}"#),
        (SubmissionFormat::Csv, b"a@x.com\nb@x.com\nc@x.com\n\n"),
        (SubmissionFormat::Ndjson, b"\"a@x.com\"\n\"b@x.com\"\n\"c@x.com\"\n\n"),
    ];
    for (format, body) in bodies {
        for pieces in [1, 7, body.len()] {
            assert_eq!(read(format, 3, body.chunks(pieces)).unwrap().1.len(), 3);
            let fault = read(format, 2, body.chunks(pieces)).unwrap_err();
            assert_eq!(fault, SubmissionFault::TooMany(2), "{format:?}");
        }
    }
}

#[test]
fn many_addresses_become_blocks_in_order() {
    let addresses: Vec<String> = (0..=2 * BLOCK_ROWS).map(|number| format!("user{number}@example.com")).collect();
    let objects: Vec<String> = addresses.iter().map(|address| format!("{{\"email\": \"{address}\"}}")).collect();
    let bodies = [
        (SubmissionFormat::Json, serde_json::json!({ "emails": addresses }).to_string()),
        (SubmissionFormat::Csv, addresses.join("\r\n")),
        (SubmissionFormat::Ndjson, objects.join("\n")),
    ];
    for (format, body) in bodies {
        let mut intake = Intake::new(format, ROWS_MAX);
        let mut full = Vec::new();
        intake.push(body.as_bytes(), &mut full).unwrap();
        assert_eq!(
            intake.finish(&mut full).unwrap(),
            Submission { webhook_url: None, name: None, rows: addresses.len(), left_out: LeftOut::default() }
        );
        assert_eq!(full.iter().map(|block| block.rows).collect::<Vec<_>>(), [BLOCK_ROWS, BLOCK_ROWS, 1]);
        assert_eq!(unpack(&full), addresses.iter().map(|row| row.clone().into_bytes()).collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn the_cut_of_any_bytes_does_not_matter(
        body in "([a-z@.,;\"\t \r\n{}\\[\\]:\u{e9}\u{feff}]|\"email\"|email|a@x\\.com|\"a@x\\.com\"){0,40}",
        strange in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
        size in 1..20_usize,
    ) {
        let mut body = body.into_bytes();
        if let Some((at, byte)) = strange {
            body.insert(at.index(body.len() + 1), byte);
        }
        for format in [SubmissionFormat::Json, SubmissionFormat::Csv, SubmissionFormat::Ndjson] {
            let outcome = whole(format, &body);
            prop_assert_eq!(&read(format, 1_000, body.chunks(size)), &outcome);
            prop_assert_eq!(&read(format, 1_000, body.chunks(1)), &outcome);
        }
    }
}
