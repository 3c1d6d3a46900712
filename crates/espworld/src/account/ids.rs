//! Contact IDs in the forms of the platforms, derived from numbers.

use super::contact::mixed;

/// Salt of the second half of IDs, which makes consecutive IDs differ visibly.
const SALT: u64 = 0x0005_eed0_f1d5;

/// Returns 24 hexadecimal digits, like a `MongoDB` ID.
pub(crate) fn object_id(number: u32) -> String {
    format!("{:08x}{:016x}", 0x65a0_0000_u32.wrapping_add(number), mixed(SALT, u64::from(number)))
}

/// Parses such an ID.
pub(crate) fn of_object_id(id: &str) -> Option<u32> {
    let number = u32::from_str_radix(id.get(..8)?, 16).ok()?.wrapping_sub(0x65a0_0000);
    (object_id(number) == id).then_some(number)
}

/// Returns 32 hexadecimal digits for a pair of numbers.
pub(crate) fn hex32(number: u32, list: u32) -> String {
    format!("{number:08x}{list:08x}{:016x}", mixed(SALT, u64::from(number) << 32 | u64::from(list)))
}

/// Formats the first 32 of some hexadecimal digits as a UUID.
pub(crate) fn uuid(hex: &str) -> String {
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32])
}

/// Parses such an ID.
pub(crate) fn of_hex32(id: &str) -> Option<(u32, u32)> {
    let number = u32::from_str_radix(id.get(..8)?, 16).ok()?;
    let list = u32::from_str_radix(id.get(8..16)?, 16).ok()?;
    (hex32(number, list) == id).then_some((number, list))
}

/// Returns 26 characters, like a ULID.
pub(crate) fn ulid(number: u32) -> String {
    format!("01H{number:010}{:013}", mixed(SALT, u64::from(number)) % 10_000_000_000_000)
}

/// Parses such an ID.
pub(crate) fn of_ulid(id: &str) -> Option<u32> {
    let number = id.get(3..13)?.parse().ok()?;
    (ulid(number) == id).then_some(number)
}

/// Returns a decimal number above `base`.
pub(crate) fn decimal(base: u64, number: u32) -> u64 {
    base + u64::from(number)
}

/// Parses such a number.
pub(crate) fn of_decimal(base: u64, id: &str) -> Option<u32> {
    let number = id.parse::<u64>().ok()?.checked_sub(base)?;
    u32::try_from(number).ok().filter(|number| decimal(base, *number).to_string() == id)
}

/// Returns the MD5 hash of a text in lower case, as hexadecimal digits.
pub(crate) fn md5_lower(text: &str) -> String {
    use md5::Digest as _;
    hex(&md5::Md5::digest(text.to_lowercase().as_bytes()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_back_and_others_are_not() {
        for number in [0, 1, 77, 1_000_000, u32::MAX] {
            assert_eq!(of_object_id(&object_id(number)), Some(number));
            assert_eq!(of_hex32(&hex32(number, 3)), Some((number, 3)));
            assert_eq!(of_ulid(&ulid(number)), Some(number));
            assert_eq!(of_decimal(31_000, &decimal(31_000, number).to_string()), Some(number));
        }
        for other in ["", "x", "65a000000000000000000000", "é23456789012345678901234"] {
            assert_eq!(of_object_id(other), None);
            assert_eq!(of_hex32(other), None);
            assert_eq!(of_ulid(other), None);
            assert_eq!(of_decimal(7, other), None);
        }
        assert_eq!(md5_lower("Ann@Example.org"), md5_lower("ann@example.org"));
    }
}
