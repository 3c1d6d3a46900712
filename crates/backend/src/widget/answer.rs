//! Response to a widget's visitor: the address may stay, should be corrected, or is rejected. Verdict, reason and evidence are
//! left out, so that the widget is not a cheap substitute for the API.

use probity_mail::verdict::{Status, Verification};
use serde::Serialize;

/// Response to a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WidgetAnswer {
    result: WidgetVerdict,
    /// Address that may have been meant; only if the result is `fix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<String>,
    /// Nonce of the next check; missing in the dashboard's preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
}

/// Decision about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WidgetVerdict {
    /// Nothing speaks against the address; also for inconclusive verdicts.
    Ok,
    /// The address is not known to accept mail, and looks like a misspelling of another one.
    Fix,
    /// The address accepts no mail.
    Reject,
}

impl WidgetAnswer {
    pub fn of(verification: &Verification, nonce: Option<String>) -> Self {
        let suggestion = verification.suggestion.as_deref().unwrap_or_default();
        let result = outcome(verification.verdict.reason.status(), !suggestion.is_empty());
        let suggestion = (result == WidgetVerdict::Fix).then(|| suggestion.to_owned());
        Self { result, suggestion, nonce }
    }

    pub fn outcome(&self) -> WidgetVerdict {
        self.result
    }
}

/// Decides by status. An existing mailbox is right, even if it looks misspelled. A risky one is deliverable, and the visitor need
/// not learn whether it is wanted.
fn outcome(status: Status, has_suggestion: bool) -> WidgetVerdict {
    match (status, has_suggestion) {
        (Status::Passed, _) | (Status::Risky | Status::Unknown, false) => WidgetVerdict::Ok,
        (Status::Risky | Status::Unknown | Status::Undeliverable, true) => WidgetVerdict::Fix,
        (Status::Undeliverable, false) => WidgetVerdict::Reject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_coarse() {
        let table = [
            (Status::Passed, false, WidgetVerdict::Ok),
            (Status::Passed, true, WidgetVerdict::Ok),
            (Status::Undeliverable, false, WidgetVerdict::Reject),
            (Status::Undeliverable, true, WidgetVerdict::Fix),
            (Status::Risky, false, WidgetVerdict::Ok),
            (Status::Risky, true, WidgetVerdict::Fix),
            (Status::Unknown, false, WidgetVerdict::Ok),
            (Status::Unknown, true, WidgetVerdict::Fix),
        ];
        for (status, has_suggestion, expected) in table {
            assert_eq!(outcome(status, has_suggestion), expected, "{status:?} {has_suggestion}");
        }
    }
}
