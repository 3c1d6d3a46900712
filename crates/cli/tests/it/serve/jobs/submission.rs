//! One job from its customer's view: the submission, and everything that was shown.
//!
//! Shown state must not be revoked: verdicts do not change, ended jobs stay ended, counters never decrease.

use std::collections::{BTreeMap, BTreeSet};

use probity_mail::rng::Rng;
use serde_json::{Value, json};

use super::customer::Miss;
use crate::serve::bench::client::Client;

/// Addresses with known reasons.
const KNOWN: [(&str, &str); 16] = [
    ("valid@sandbox.test", "valid"),
    ("nonexistent@sandbox.test", "nonexistent"),
    ("nobody@sandbox.test", "nonexistent"),
    ("deactivated@sandbox.test", "deactivated"),
    ("inbox_full@sandbox.test", "inbox_full"),
    ("failed_exchange@sandbox.test", "failed_exchange"),
    ("info@sandbox.test", "role_based"),
    ("invalid@sandbox.test", "invalid"),
    ("spam@sandbox.test", "spam"),
    ("disposable@sandbox.test", "disposable"),
    ("anybody@catchall.sandbox.test", "accept_all"),
    ("valid@fallback.sandbox.test", "valid"),
    ("valid@null-mx.sandbox.test", "illegitimate"),
    ("valid@nxdomain.sandbox.test", "illegitimate"),
    ("no address", "invalid"),
    (WAITS, "valid"),
];
/// Address whose server takes 1 s, which keeps a chunk in progress for a while.
const WAITS: &str = "valid+delay-1s@sandbox.test";
/// Address whose server asks for a retry after 6 s, so it is deferred. The delay restarts with the process, and an address with too
/// many attempts fails.
const PUT_OFF: &str = "valid@callout.sandbox.test";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Status {
    word: String,
    /// Rows with a verdict: all, then by status.
    processed: u64,
    verdicts: BTreeMap<&'static str, u64>,
}

/// A job from its customer's view.
#[derive(Debug)]
pub(super) struct Submission {
    /// Key of the submission and all its repeats.
    pub(super) idempotency_key: String,
    /// Request body.
    pub(super) body: String,
    emails: Vec<String>,
    /// The job has a callback.
    pub(super) told: bool,
    /// Job ID, once known.
    pub(super) id: Option<String>,
    /// Cancellation was requested.
    pub(super) cancelling: bool,
    /// Response to the cancellation.
    pub(super) cancelled: Option<String>,
    shown: Vec<Option<String>>,
    last: Status,
}

impl Submission {
    /// Draws a random list: usually a few rows with duplicates, sometimes more than a chunk.
    pub(super) fn drawn(dice: &mut Rng, idempotency_key: String, receiver: &str) -> Self {
        let rows = match dice.below(12) {
            0 => 1_000 + dice.below(600),
            _ => 1 + dice.below(80),
        };
        let mut emails: Vec<String> = Vec::with_capacity(rows);
        while emails.len() < rows {
            let email = match dice.below(10) {
                0..3 if !emails.is_empty() => written_otherwise(&emails[dice.below(emails.len())], dice),
                3..5 => KNOWN[dice.below(KNOWN.len())].0.to_owned(),
                _ => format!("u{}@company{}.com", dice.below(1_000_000), dice.below(500)),
            };
            emails.push(email);
        }
        if dice.below(8) == 0 {
            PUT_OFF.clone_into(&mut emails[0]);
        }
        Self::of(emails, idempotency_key, (dice.below(2) == 0).then_some(receiver))
    }

    /// Creates a list of these addresses.
    pub(super) fn of(emails: Vec<String>, idempotency_key: String, receiver: Option<&str>) -> Self {
        let mut body = json!({ "emails": emails });
        if let Some(url) = receiver {
            body["webhook_url"] = url.into();
        }
        Self {
            idempotency_key,
            body: body.to_string(),
            shown: vec![None; emails.len()],
            emails,
            told: receiver.is_some(),
            id: None,
            cancelling: false,
            cancelled: None,
            last: Status::default(),
        }
    }

    /// Records the response to a submission, which must have the same ID every time.
    pub(super) fn accepted(&mut self, told: &Value) {
        let id = told["id"].as_str().unwrap().to_owned();
        assert!(self.id.as_ref().is_none_or(|known| *known == id), "{id} is another job: {self:?}");
        self.id = Some(id);
    }

    pub(super) fn is_over(&self) -> bool {
        is_over(&self.last.word)
    }

    /// Reports whether a request has no response yet.
    pub(super) fn is_unanswered(&self) -> bool {
        self.id.is_none() || self.cancelling && self.cancelled.is_none()
    }

    /// Reads the job's status.
    pub(super) fn glance(&mut self, client: &mut Client) -> Result<(), Miss> {
        let now = self.status(client)?;
        self.went_on(now);
        Ok(())
    }

    /// Reads the whole job and compares it with the submission, with itself and with what was shown before.
    pub(super) fn look(&mut self, client: &mut Client) -> Result<(), Miss> {
        let before = self.status(client)?;
        let rows = self.rows(client)?;
        let after = self.status(client)?;
        self.compare(&rows);
        let mut verdicts = BTreeMap::new();
        for row in rows.iter().filter(|row| row["processed"] == true) {
            *verdicts.entry(name_of_status(&row["status"])).or_default() += 1;
        }
        let processed = verdicts.values().sum();
        let seen = Status { word: after.word.clone(), processed, verdicts };
        assert!((before.processed..=after.processed).contains(&processed), "{before:?} {seen:?} {after:?}");
        if is_over(&before.word) {
            assert_eq!((&before, &seen), (&after, &after), "the counters are the rows'");
        }
        self.went_on(before);
        self.went_on(after);
        Ok(())
    }

    /// Checks the final state; requires a call of `look` first.
    pub(super) fn check_end(&self) {
        let cancelled = match (self.cancelling, self.cancelled.as_deref()) {
            (false, _) | (true, Some("error")) => false,
            (true, Some("success")) => true,
            _ => panic!("not answered: {self:?}"),
        };
        let expected = if cancelled { "cancel" } else { "completed" };
        assert_eq!(self.last.word, expected, "{self:?}");
        assert!(cancelled || self.shown.iter().all(Option::is_some), "rows without a verdict: {self:?}");
    }

    /// Returns the number of distinct addresses that were verified and cost a credit.
    pub(super) fn charged(&self) -> u64 {
        let rows = self.emails.iter().zip(&self.shown);
        let charged = rows.filter(|(_, reason)| reason.as_deref().is_some_and(|reason| !is_free(reason)));
        let distinct: BTreeSet<String> = charged.map(|(email, _)| email.to_ascii_lowercase()).collect();
        u64::try_from(distinct.len()).unwrap()
    }

    /// Returns the first row of each mailbox with a verdict: index and reason.
    pub(super) fn first_verdicts(&self) -> impl Iterator<Item = (u64, &str)> {
        let mut seen = BTreeSet::new();
        let first = move |(index, email): (usize, &String)| {
            let reason = self.shown[index].as_deref();
            reason
                .filter(|_| seen.insert(email.to_ascii_lowercase()))
                .map(|reason| (u64::try_from(index).unwrap(), reason))
        };
        self.emails.iter().enumerate().filter_map(first)
    }

    /// Compares the callback with the job.
    pub(super) fn check_told(&self, job: &Value) {
        let over = if self.last.word == "completed" { "completed" } else { "cancelled" };
        assert_eq!(job["status"], over, "{job} {self:?}");
        if over == "completed" {
            let told = [&job["results"]["total"], &job["results"]["processed"], &job["results"]["passed"]];
            let passed = self.last.verdicts.get("passed").copied().unwrap_or(0);
            assert_eq!(told, [&json!(self.emails.len()), &json!(self.last.processed), &json!(passed)], "{job}");
        }
    }

    fn id(&self) -> &str {
        self.id.as_ref().expect("it was accepted")
    }

    fn status(&self, client: &mut Client) -> Result<Status, Miss> {
        let told = Miss::or_json(&client.get(&format!("/v1/batch-verify/{}/status", self.id()))?)?;
        let number = |name: &str| told.get(name).map_or(0, |value| value.as_u64().unwrap());
        let verdicts = [
            ("passed", number("numPassed")),
            ("undeliverable", number("numUndeliverable")),
            ("risky", number("numRisky")),
            ("unknown", number("numUnknown")),
        ];
        assert_eq!(number("numFailed") + number("numPassed"), number("emailsProcessed"), "{told}");
        Ok(Status {
            word: told["status"].as_str().unwrap().to_owned(),
            processed: number("emailsProcessed"),
            verdicts: verdicts.into_iter().filter(|(_, n)| *n > 0).collect(),
        })
    }

    fn rows(&self, client: &mut Client) -> Result<Vec<Value>, Miss> {
        let path = format!("/v1/batch-verify/{}/results?per_page=1000", self.id());
        let (mut rows, mut next) = (Vec::new(), String::new());
        loop {
            let mut page = Miss::or_json(&client.get(&format!("{path}{next}"))?)?;
            rows.append(page["data"].as_array_mut().unwrap());
            match page["next"].as_str() {
                Some(cursor) => next = format!("&next={cursor}"),
                None => return Ok(rows),
            }
        }
    }

    /// Checks that every row appears once, in order, and that shown verdicts are unchanged.
    fn compare(&mut self, rows: &[Value]) {
        assert_eq!(rows.len(), self.emails.len(), "{self:?}");
        for (index, row) in rows.iter().enumerate() {
            let email = &self.emails[index];
            assert_eq!((&row["index"], &row["email"]), (&json!(index), &json!(email)), "{row}");
            let reason = row["reason"].as_str().map(str::to_owned);
            assert_eq!(row["processed"] == true, reason.is_some(), "{row}");
            let Some(reason) = reason else {
                assert_eq!(self.shown[index], None, "a verdict is gone: {row}");
                continue;
            };
            let known = KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(email));
            assert!(known.is_none_or(|(_, expected)| *expected == reason), "{row}");
            let before = self.shown[index].get_or_insert_with(|| reason.clone());
            assert_eq!(*before, reason, "a verdict has changed: {row}");
        }
    }

    fn went_on(&mut self, now: Status) {
        assert!(now.processed >= self.last.processed, "{now:?} after {:?}", self.last);
        assert!(!self.is_over() || now == self.last, "{now:?} after {:?}", self.last);
        self.last = now;
    }
}

/// Returns the same mailbox, possibly with other letter case in its domain.
fn written_otherwise(email: &str, dice: &mut Rng) -> String {
    match email.split_once('@') {
        Some((local, domain)) if dice.below(2) == 0 => format!("{local}@{}", domain.to_ascii_uppercase()),
        _ => email.to_owned(),
    }
}

fn name_of_status(value: &Value) -> &'static str {
    let names = ["passed", "undeliverable", "risky", "unknown"];
    names.into_iter().find(|name| value == name).unwrap_or_else(|| panic!("{value} is no status"))
}

fn is_over(word: &str) -> bool {
    ["completed", "cancel"].contains(&word)
}

/// Reports whether the contract makes this reason free.
fn is_free(reason: &str) -> bool {
    ["unverified", "failed_exchange"].contains(&reason)
}
