//! Errors for lists that cannot be read.

use probity_lists::submission::SubmissionFault;

use super::{ApiError, Code};

/// Uses 413 for too many addresses, and 400 for everything else.
impl From<SubmissionFault> for ApiError {
    fn from(fault: SubmissionFault) -> Self {
        let code = match fault {
            SubmissionFault::TooMany(_) => Code::PayloadTooLarge,
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
        for (fault, status) in
            [(SubmissionFault::TooMany(2), 413), (SubmissionFault::NoRows, 400), (SubmissionFault::Utf16, 400)]
        {
            assert_eq!(ApiError::from(fault).code().status(), status);
        }
    }
}
