//! Any body in any pieces: the readers never panic, the cut does not change the outcome, and blocks hold what was read.
//!
//! The first byte of the input is the size of the pieces, the second chooses the format.

#![no_main]

use libfuzzer_sys::fuzz_target;
use probity_account::block::{ADDRESS_MAX_BYTES, AddressBlock};
use probity_lists::submission::{SubmissionFault, SubmissionFormat, Intake, Submission};

fn read(format: SubmissionFormat, body: &[u8], piece: usize) -> Result<(Submission, Vec<Vec<u8>>), SubmissionFault> {
    let mut intake = Intake::new(format, 1_500);
    let mut blocks = Vec::new();
    for bytes in body.chunks(piece) {
        intake.push(bytes, &mut blocks)?;
    }
    let submission = intake.finish(&mut blocks)?;
    let mut rows = Vec::new();
    for packed in &blocks {
        let block = AddressBlock::decode(&packed.bytes).expect("what was packed is unpacked");
        rows.extend(block.iter().map(<[u8]>::to_vec));
    }
    assert_eq!(rows.len(), submission.rows);
    Ok((submission, rows))
}

fuzz_target!(|input: &[u8]| {
    let [size, format, body @ ..] = input else {
        return;
    };
    let format = [SubmissionFormat::Json, SubmissionFormat::Csv, SubmissionFormat::Ndjson][usize::from(format % 3)];
    let whole = read(format, body, usize::MAX);
    assert_eq!(read(format, body, usize::from(*size).max(1)), whole);
    if let Ok((_, rows)) = &whole {
        assert!((1..=1_500).contains(&rows.len()));
        assert!(rows.iter().all(|row| row.len() <= ADDRESS_MAX_BYTES && std::str::from_utf8(row).is_ok()));
    }
    // The body as a stored block that was damaged.
    let _ = AddressBlock::decode(body);
});
