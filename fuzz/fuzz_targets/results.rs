//! Any bytes as a stored block of results, as they are and as the content of a block that unpacks: reading never panics, takes no
//! more than its bounds, and what was read is written and read again as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use probity_account::block::results::ResultBlock;
use probity_account::block::{ADDRESS_MAX_BYTES, ROWS_MAX};

/// The longest input that is taken as content.
const CONTENT_MAX: usize = 1 << 16;

/// A block with this content, as literals of one LZ4 sequence (the format's description, "Block format").
fn packed(content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len()).expect("the content is short");
    let mut bytes = vec![1];
    bytes.extend(size.to_le_bytes());
    let mut left = content.len();
    if left < 15 {
        bytes.push(u8::try_from(left << 4).expect("below 240"));
    } else {
        bytes.push(0xf0);
        left -= 15;
        while left >= 255 {
            bytes.push(255);
            left -= 255;
        }
        bytes.push(u8::try_from(left).expect("below 255"));
    }
    bytes.extend(content);
    bytes
}

fn read(bytes: &[u8]) {
    let Ok(block) = ResultBlock::decode(bytes) else { return };
    assert!(block.rows.len() <= ROWS_MAX && block.kinds.len() <= ROWS_MAX);
    for outcome in block.rows.iter().flatten() {
        assert!(outcome.kind < block.kinds.len() && outcome.suggestion.len() <= ADDRESS_MAX_BYTES);
    }
    // A time over 63 bits is not written as it is.
    if block.rows.iter().flatten().all(|outcome| outcome.at <= u64::MAX >> 1) {
        let again = block.encode().expect("what was read fits");
        assert_eq!(ResultBlock::decode(&again), Ok(block));
    }
}

fuzz_target!(|input: &[u8]| {
    read(input);
    if input.len() <= CONTENT_MAX {
        read(&packed(input));
    }
});
