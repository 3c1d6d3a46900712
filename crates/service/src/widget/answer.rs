//! What a visitor is told of an address: whether it may stay, should be corrected, or will not do. Never the verdict, its
//! reason, or what was found: the widget must not be a cheap way to the API.

use probity_mail::verdict::{Status, Verification};
use serde::Serialize;

/// The answer to a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    result: Outcome,
    /// The address that may have been meant; only where the result is `fix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<String>,
    /// The nonce of the next check; none in the dashboard's preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
}

/// What should become of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing speaks against it. What could not be found out is among these.
    Ok,
    /// It is not known to take mail, and looks like another one misspelt.
    Fix,
    /// It takes no mail.
    Reject,
}

impl Answer {
    pub fn of(verification: &Verification, nonce: Option<String>) -> Self {
        let suggestion = verification.suggestion.as_deref().unwrap_or_default();
        let result = outcome(verification.verdict.reason.status(), !suggestion.is_empty());
        let suggestion = (result == Outcome::Fix).then(|| suggestion.to_owned());
        Self { result, suggestion, nonce }
    }

    pub fn outcome(&self) -> Outcome {
        self.result
    }
}

/// A mailbox that is there is right, whatever it looks like. A flagged one is deliverable, and whether it is wanted is not the
/// visitor's to hear.
fn outcome(status: Status, has_suggestion: bool) -> Outcome {
    match (status, has_suggestion) {
        (Status::Passed, _) | (Status::Risky | Status::Unknown, false) => Outcome::Ok,
        (Status::Risky | Status::Unknown | Status::Undeliverable, true) => Outcome::Fix,
        (Status::Undeliverable, false) => Outcome::Reject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_coarse() {
        let table = [
            (Status::Passed, false, Outcome::Ok),
            (Status::Passed, true, Outcome::Ok),
            (Status::Undeliverable, false, Outcome::Reject),
            (Status::Undeliverable, true, Outcome::Fix),
            (Status::Risky, false, Outcome::Ok),
            (Status::Risky, true, Outcome::Fix),
            (Status::Unknown, false, Outcome::Ok),
            (Status::Unknown, true, Outcome::Fix),
        ];
        for (status, has_suggestion, expected) in table {
            assert_eq!(outcome(status, has_suggestion), expected, "{status:?} {has_suggestion}");
        }
    }
}
