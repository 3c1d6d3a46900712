//! Summary of a batch.

use std::collections::BTreeMap;

use probity_mail::verdict::{Reason, Status};

use crate::config::duration;

/// Counts of rows; a duplicate counts under its answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowTally {
    reasons: BTreeMap<Reason, u64>,
    /// Rows with the mailbox of an earlier row.
    pub duplicates: u64,
}

impl RowTally {
    pub(crate) fn add(&mut self, reason: Reason, duplicate: bool) {
        *self.reasons.entry(reason).or_default() += 1;
        self.duplicates += u64::from(duplicate);
    }

    fn status(&self, status: Status) -> u64 {
        self.reasons.iter().filter(|(reason, _)| reason.status() == status).map(|(_, count)| count).sum()
    }
}

#[derive(Debug)]
pub(crate) struct RunSummary {
    pub tally: RowTally,
    /// All rows, including unreadable ones.
    pub rows: u64,
    pub unreadable: u64,
    /// Different addresses with a verdict, over all runs of the batch.
    pub asked: u64,
    /// Addresses verified by this run.
    pub asked_now: u64,
    /// Replies in this run that matched no rule.
    pub unmatched: u64,
    /// Duration of this run, in milliseconds.
    pub took_ms: i64,
    pub warnings: Vec<String>,
    /// Number of these, from the first, that were shown before the run.
    pub noted: usize,
}

impl RunSummary {
    /// Addresses per second.
    fn rate(&self) -> u64 {
        let ms = u64::try_from(self.took_ms.max(1)).unwrap_or(1);
        self.asked_now.saturating_mul(1_000) / ms
    }

    /// Formats the summary as a table for people.
    pub(crate) fn table(&self) -> String {
        let share = |count: u64| (count * 100).checked_div(self.rows).unwrap_or(0);
        let mut lines = Vec::new();
        for status in Status::ALL {
            let count = self.tally.status(status);
            lines.push(format!("{status:<16}{count:>10} {:>3} %", share(count)));
            for (reason, count) in self.tally.reasons.iter().filter(|(reason, _)| reason.status() == status) {
                lines.push(format!("  {reason:<16}{count:>8}"));
            }
        }
        lines.push(format!("{:<16}{:>10}", "rows", self.rows));
        lines.push(format!("{:<16}{:>10}", "duplicates", self.tally.duplicates));
        lines.push(format!("{:<16}{:>10}", "addresses", self.asked));
        if self.asked_now > 0 {
            let (took, rate) = (duration::show(self.took_ms), self.rate());
            lines.push(format!("this run: {} addresses in {took}, {rate}/s", self.asked_now));
        }
        if self.unmatched > 0 {
            lines.push(format!("note: {} replies matched no rule; to add one, see docs/replies.md", self.unmatched));
        }
        lines.extend(self.warnings.iter().skip(self.noted).map(|warning| format!("note: {warning}")));
        lines.join("\n")
    }

    /// Formats the summary as one JSON object; every status and every reason is always present.
    pub(crate) fn json(&self) -> String {
        let statuses = Status::ALL.map(|status| (status.as_str(), self.tally.status(status)));
        let count = |reason: &Reason| self.tally.reasons.get(reason).copied().unwrap_or(0);
        let reasons: BTreeMap<_, _> = Reason::ALL.iter().map(|reason| (reason.as_str(), count(reason))).collect();
        serde_json::json!({
            "rows": self.rows,
            "statuses": BTreeMap::from(statuses),
            "reasons": reasons,
            "duplicates": self.tally.duplicates,
            "unreadable": self.unreadable,
            "asked": self.asked,
            "asked_now": self.asked_now,
            "unmatched_replies": self.unmatched,
            "took_ms": self.took_ms,
            "per_second": self.rate(),
            "warnings": self.warnings,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_counted_under_one_status() {
        let mut tally = RowTally::default();
        for (reason, duplicate) in [(Reason::Valid, false), (Reason::Valid, true), (Reason::Invalid, false)] {
            tally.add(reason, duplicate);
        }
        let mut summary = RunSummary {
            tally,
            rows: 3,
            unreadable: 1,
            asked: 2,
            asked_now: 2,
            unmatched: 0,
            took_ms: 500,
            warnings: vec!["said before".into(), "odd".into()],
            noted: 1,
        };
        let json: serde_json::Value = serde_json::from_str(&summary.json()).unwrap();
        assert_eq!(json["statuses"], serde_json::json!({"passed": 2, "undeliverable": 1, "risky": 0, "unknown": 0}));
        assert_eq!(json["reasons"].as_object().unwrap().len(), 17);
        assert_eq!((&json["per_second"], &json["unreadable"]), (&4.into(), &1.into()));
        let table = summary.table();
        assert!(table.contains("66 %") && table.contains("note: odd") && table.contains("duplicates"));
        assert!(!table.contains("replies") && !table.contains("said before"), "no note is shown twice");
        assert_eq!(json["warnings"], serde_json::json!(["said before", "odd"]));
        summary.unmatched = 7;
        assert!(summary.table().contains("note: 7 replies") && summary.table().contains("docs/replies.md"));
        let json: serde_json::Value = serde_json::from_str(&summary.json()).unwrap();
        assert_eq!(json["unmatched_replies"], 7);
    }
}
