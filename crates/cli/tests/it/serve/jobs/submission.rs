//! One job as its customer knows it: what was submitted, and what was ever shown of it.
//!
//! Whatever was shown must stand: a row that has its verdict keeps it, a job that is over stays over, counters never go back.

use std::collections::{BTreeMap, BTreeSet};

use probity_mail::rng::Rng;
use serde_json::{Value, json};

use super::customer::Miss;
use crate::serve::client::Client;

/// Addresses whose reason is known beforehand.
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
/// Its server takes a second, so that a chunk is at work for a while.
const WAITS: &str = "valid+delay-1s@sandbox.test";
/// Its server wants to be asked again after 6 s, so that it is put off. It begins anew when the process does, and an address
/// that was asked about too often is given up.
const PUT_OFF: &str = "valid@callout.sandbox.test";

/// Where a job stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Status {
    word: String,
    /// All rows with a verdict, and those of them by status.
    processed: u64,
    verdicts: BTreeMap<&'static str, u64>,
}

/// A job, its customer's view.
#[derive(Debug)]
pub(super) struct Submission {
    /// Under which it is submitted, however often.
    pub(super) idempotency_key: String,
    /// What is sent.
    pub(super) body: String,
    emails: Vec<String>,
    /// Whether its end is to be told.
    pub(super) told: bool,
    /// Its id, once it was answered.
    pub(super) id: Option<String>,
    /// Whether it was asked to be cancelled.
    pub(super) cancelling: bool,
    /// What was answered to that.
    pub(super) cancelled: Option<String>,
    shown: Vec<Option<String>>,
    last: Status,
}

impl Submission {
    /// A list that is drawn at random: a few rows mostly, repeated ones among them, more than a chunk now and then.
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

    /// A list of these addresses.
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

    /// Takes what a submission was answered: the same id every time.
    pub(super) fn accepted(&mut self, told: &Value) {
        let id = told["id"].as_str().unwrap().to_owned();
        assert!(self.id.as_ref().is_none_or(|known| *known == id), "{id} is another job: {self:?}");
        self.id = Some(id);
    }

    /// Whether it is known to be over.
    pub(super) fn is_over(&self) -> bool {
        is_over(&self.last.word)
    }

    /// Whether something was asked that was not answered yet.
    pub(super) fn is_unanswered(&self) -> bool {
        self.id.is_none() || self.cancelling && self.cancelled.is_none()
    }

    /// Reads where it stands.
    pub(super) fn glance(&mut self, client: &mut Client) -> Result<(), Miss> {
        let now = self.status(client)?;
        self.went_on(now);
        Ok(())
    }

    /// Reads all of it, and compares it with what was submitted, with itself and with what was shown before.
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

    /// Whether everything has come out as it was promised; read it whole before.
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

    /// Distinct addresses that were verified and cost a credit.
    pub(super) fn charged(&self) -> u64 {
        let rows = self.emails.iter().zip(&self.shown);
        let charged = rows.filter(|(_, reason)| reason.as_deref().is_some_and(|reason| !is_free(reason)));
        let distinct: BTreeSet<String> = charged.map(|(email, _)| email.to_ascii_lowercase()).collect();
        u64::try_from(distinct.len()).unwrap()
    }

    /// Rows with a verdict, by index, with their reasons: of a repeated address the first.
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

    /// What its end was told with must be what it is.
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

    /// Every row once, in order, and what was shown stands.
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

/// The same mailbox, perhaps with its domain in other letters.
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

/// What the contract says about verdicts that cost nothing.
fn is_free(reason: &str) -> bool {
    ["unverified", "failed_exchange"].contains(&reason)
}
