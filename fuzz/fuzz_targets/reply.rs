//! Any bytes in any pieces: the parser never panics, keeps its bounds, and the cut does not change the replies.
//!
//! The first byte of the input is the size of the pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use probity_mail::smtp::reply::{Reply, ReplyError, ReplyParser, TEXT_MAX_BYTES};

fn read(stream: &[u8], piece: usize) -> Vec<Result<Reply, ReplyError>> {
    let mut parser = ReplyParser::new();
    let mut results = Vec::new();
    for mut bytes in stream.chunks(piece) {
        while let Some(result) = parser.next(&mut bytes) {
            results.push(result);
        }
        assert!(bytes.is_empty());
    }
    results
}

fuzz_target!(|input: &[u8]| {
    let Some((size, stream)) = input.split_first() else {
        return;
    };
    let whole = read(stream, usize::MAX);
    assert_eq!(read(stream, usize::from(*size).max(1)), whole);
    for reply in whole.iter().flatten() {
        assert!((200..600).contains(&reply.code));
        assert!(reply.text.len() <= TEXT_MAX_BYTES);
        assert!(!reply.text.chars().any(char::is_control));
    }
});
