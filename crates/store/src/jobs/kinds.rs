//! Kinds of outcomes: what many results of a job have in common, stored once and numbered.
//!
//! Of a million results most differ in nothing but their row: so a result keeps the number of its kind, and its row is a few
//! bytes long. Numbers are given within the settling transaction, which has the job's row locked, so no two holders give one
//! twice. [`Kinds`] remembers what is committed; it learns by reading only, so what a failed transaction has inserted is never
//! believed. A job with more kinds than [`KINDS_MAX`] (each row another exchanger) has the rest in the rows themselves.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use probity_core::verdict::Reason;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::JobNo;
use crate::db::{Conn, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// Kinds of one job that are numbered: they are kept in memory while the job is worked on, at about 200 bytes each.
const KINDS_MAX: i64 = 20_000;

/// Everything about an outcome but its row, its time and what was perhaps meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// After the organization's overrides.
    pub reason: Reason,
    /// What was found before the overrides, in the order of [`Reason::ALL`]; nothing where the address is valid.
    pub findings: Vec<Reason>,
    /// What decided, as a short token; empty where the verdict is `valid`.
    pub meta: String,
    /// The rule that decided.
    pub rule: String,
    /// The code of the deciding reply.
    pub smtp_code: Option<u16>,
    /// Its enhanced code (RFC 3463), as `5.1.1`.
    pub enhanced: Option<String>,
    /// The exchanger that was asked.
    pub host: Option<String>,
    /// Where the deciding facts came from, as `explain` names it.
    pub source: String,
    /// Bits, as the server reads them: role, disposable, free, relay, gibberish.
    pub flags: i64,
    /// Whether it costs a credit.
    pub charged: bool,
}

/// The stored form: texts for what has names, so that a later version with more of them reads the same.
#[derive(Serialize, Deserialize)]
struct Stored(String, Vec<String>, String, String, Option<u16>, Option<String>, Option<String>, String, i64, bool);

impl Kind {
    /// The reason before the overrides.
    pub fn raw_reason(&self) -> Reason {
        self.findings.first().copied().unwrap_or(Reason::Valid)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let name = |reason: &Reason| reason.as_str().to_owned();
        let stored = Stored(
            name(&self.reason),
            self.findings.iter().map(name).collect(),
            self.meta.clone(),
            self.rule.clone(),
            self.smtp_code,
            self.enhanced.clone(),
            self.host.clone(),
            self.source.clone(),
            self.flags,
            self.charged,
        );
        serde_json::to_vec(&stored).expect("a kind is plain JSON")
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stored = serde_json::from_slice(bytes).map_err(|error| StoreError::Corrupt(error.into()))?;
        let Stored(reason, findings, meta, rule, smtp_code, enhanced, host, source, flags, charged) = stored;
        let known = |name: &String| Reason::from_name(name).ok_or_else(|| StoreError::corrupt("a result's reason"));
        Ok(Self {
            reason: known(&reason)?,
            findings: findings.iter().map(known).collect::<Result<_>>()?,
            meta,
            rule,
            smtp_code,
            enhanced,
            host,
            source,
            flags,
            charged,
        })
    }
}

statements! {
    SINCE = "SELECT kind_no, body FROM job_kind WHERE org_no = $1 AND job_no = $2 AND kind_no > $3 ORDER BY kind_no";
    NUMBERED = "SELECT kind_no, body FROM job_kind WHERE org_no = $1 AND job_no = $2 AND kind_no IN \
                (SELECT CAST(each.value ->> 'k' AS BIGINT) FROM {each:$3})";
    ADD = "INSERT INTO job_kind (org_no, job_no, kind_no, body) SELECT $2, $3, CAST(each.value ->> 'k' AS BIGINT), \
           {unhex:each.value ->> 'b'} FROM {each:$1}";
}

/// The kinds of one job that a node knows. Share one among the workers on a job's chunks, and drop it with the last of them.
#[derive(Debug)]
pub struct Kinds {
    most: i64,
    known: Mutex<Known>,
}

impl Default for Kinds {
    fn default() -> Self {
        Self::at_most(KINDS_MAX)
    }
}

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<Vec<u8>, i64>,
    last: i64,
}

impl Kinds {
    /// Numbers no more than so many kinds.
    pub fn at_most(most: i64) -> Self {
        Self { most, known: Mutex::default() }
    }

    /// Numbers for these kinds, in their order; none where the job has too many. Call with the job's row locked.
    pub(super) async fn number(
        &self,
        tx: &mut Tx,
        org: OrgNo,
        job: JobNo,
        kinds: &[Vec<u8>],
    ) -> Result<Vec<Option<i64>>> {
        if !self.knows(kinds) {
            let last = self.known(|known| known.last);
            let rows = tx.rows(&SINCE, args![org, job, last]).await?;
            let news = rows.iter().map(|row| Ok((row.get("kind_no")?, row.get("body")?)));
            self.learn(news.collect::<Result<_>>()?);
        }
        let (mut numbers, mut next) = self.known(|known| {
            let numbers: Vec<Option<i64>> = kinds.iter().map(|kind| known.numbers.get(kind).copied()).collect();
            (numbers, known.last + 1)
        });
        let mut new: HashMap<&[u8], i64> = HashMap::new();
        let mut rows = Vec::new();
        for (kind, number) in kinds.iter().zip(&mut numbers) {
            if number.is_some() {
                continue;
            }
            if let Some(given) = new.get(kind.as_slice()) {
                *number = Some(*given);
            } else if next <= self.most {
                rows.push(json!({ "k": next, "b": super::code::hex(kind) }));
                new.insert(kind, next);
                *number = Some(next);
                next += 1;
            }
        }
        if !rows.is_empty() {
            tx.execute(&ADD, args![json!(rows).to_string(), org, job]).await?;
        }
        Ok(numbers)
    }

    fn knows(&self, kinds: &[Vec<u8>]) -> bool {
        self.known(|known| kinds.iter().all(|kind| known.numbers.contains_key(kind)))
    }

    fn learn(&self, news: Vec<(i64, Vec<u8>)>) {
        self.known(|known| {
            for (number, body) in news {
                known.last = known.last.max(number);
                known.numbers.insert(body, number);
            }
        });
    }

    fn known<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The kinds of these numbers.
pub(super) async fn numbered(
    conn: &mut Conn,
    org: OrgNo,
    job: JobNo,
    numbers: BTreeSet<i64>,
) -> Result<HashMap<i64, Kind>> {
    let bodies = bodies(conn, org, job, numbers).await?;
    bodies.into_iter().map(|(number, body)| Ok((number, Kind::from_bytes(&body)?))).collect()
}

/// The kinds of these numbers as they are stored.
pub(super) async fn bodies(
    conn: &mut Conn,
    org: OrgNo,
    job: JobNo,
    numbers: BTreeSet<i64>,
) -> Result<HashMap<i64, Vec<u8>>> {
    if numbers.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted: Vec<_> = numbers.into_iter().map(|number| json!({ "k": number })).collect();
    let rows = conn.rows(&NUMBERED, args![org, job, json!(wanted).to_string()]).await?;
    rows.iter().map(|row| Ok((row.get("kind_no")?, row.get("body")?))).collect()
}
