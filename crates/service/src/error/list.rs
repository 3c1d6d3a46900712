//! What a list that cannot be read means to a client.

use probity_lists::submission::Fault;

use super::{ApiError, Code};

/// 413 for too many addresses, 400 for all else.
impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let code = match fault {
            Fault::TooMany(_) => Code::PayloadTooLarge,
            _ => Code::InvalidRequest,
        };
        Self::new(code, fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_addresses_are_413_and_all_else_is_400() {
        for (fault, status) in [(Fault::TooMany(2), 413), (Fault::NoRows, 400), (Fault::Utf16, 400)] {
            assert_eq!(ApiError::from(fault).code().status(), status);
        }
    }
}
