//! Lower-case hexadecimal, which carries bytes through JSON.

use std::fmt::Write as _;

/// Encodes each byte as two digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
