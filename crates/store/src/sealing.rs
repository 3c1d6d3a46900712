//! Bodies that hold addresses, sealed where the installation has a master key.
//!
//! A sealed body opens only in the row that it was written to: organization, table and key columns are its context. Each
//! organization has a data key of its own, which lies in `org_key`, wrapped under the master key, and is made when the first of
//! its bodies is sealed. The cipher is not the store's ([`Sealing`]).
//!
//! ```text
//! stored = plain                             ; where it does not begin with the mark
//!        / mark %x00 plain                   ; where it does
//!        / mark %x01 sealed                  ; as [`DataKey::seal`] made it
//! mark   = %xFF %xFF %xFF %xFF               ; no body of ours begins so
//! ```
//!
//! So what was written before there was a master key stays readable until it is sealed too ([`earlier`]), and without one nothing is
//! copied. The reverse does not
//! hold: what is sealed cannot be read without its key, and that is an error, never an empty body.

pub mod earlier;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::db::{Conn, Statement, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::instance;
use crate::number::OrgNo;

/// The name of the master key's fingerprint among the installation's texts.
const FINGERPRINT: &str = "master_key";
const MARK: [u8; 4] = [0xff; 4];
const PLAIN: u8 = 0;
const SEALED: u8 = 1;
/// Data keys that are remembered; when there are more, all are forgotten.
const KEYS_KEPT: usize = 10_000;
/// Data keys that are read at a time.
const KEYS_AT_ONCE: i64 = 1_000;

statements! {
    KEY = "SELECT wrapped FROM org_key WHERE org_no = $1";
    ADD_KEY = "INSERT INTO org_key (org_no, wrapped) VALUES ($1, $2) ON CONFLICT (org_no) DO NOTHING";
    KEYS = "SELECT org_no, wrapped FROM org_key WHERE org_no > $1 ORDER BY org_no LIMIT $2 {for_update}";
    REWRAP = "UPDATE org_key SET wrapped = $2 WHERE org_no = $1";
}

/// The statements of sealing, those of its parts included.
pub(crate) fn all_statements() -> Vec<&'static Statement> {
    [STATEMENTS, earlier::STATEMENTS].concat()
}

/// A master key: what makes and unwraps data keys.
pub trait Sealing: fmt::Debug + Send + Sync {
    /// What tells this master key from another; it gives nothing away.
    fn fingerprint(&self) -> &str;
    /// A new data key for an organization, wrapped.
    fn new_key(&self, org: OrgNo) -> Vec<u8>;
    /// The data key that was wrapped for an organization; none where another master key has wrapped it, or for another.
    fn data_key(&self, org: OrgNo, wrapped: &[u8]) -> Option<Arc<dyn DataKey>>;
}

/// The key of one organization's bodies.
pub trait DataKey: fmt::Debug + Send + Sync {
    /// Appends what it makes of a body; another each time.
    fn seal(&self, context: &[u8], plain: &[u8], into: &mut Vec<u8>);
    /// The body; none where the context or the key is another, or a bit was changed.
    fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>>;
}

/// The column and row in which a body lies, beside its organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    column: &'static str,
    first: i64,
    second: i64,
    id: &'a str,
}

impl<'a> Place<'a> {
    /// In a row that two numbers name; the column as `table.column`.
    pub fn numbered(column: &'static str, first: i64, second: i64) -> Self {
        Self { column, first, second, id: "" }
    }

    /// In a row that an id names.
    pub fn named(column: &'static str, id: &'a str) -> Self {
        Self { column, first: 0, second: 0, id }
    }

    /// In a row that an id and a number name.
    pub fn named_and_numbered(column: &'static str, id: &'a str, number: i64) -> Self {
        Self { column, first: number, second: 0, id }
    }

    /// No two places have the same: a column's name has no NUL, and numbers have a fixed length.
    fn context(&self, org: OrgNo) -> Vec<u8> {
        let mut context = Vec::with_capacity(self.column.len() + self.id.len() + 25);
        context.extend(self.column.as_bytes());
        context.push(0);
        for number in [org.0, self.first, self.second] {
            context.extend(number.to_be_bytes());
        }
        context.extend(self.id.as_bytes());
        context
    }
}

/// A master key, and the data keys that it has unwrapped lately.
#[derive(Debug)]
pub(crate) struct Keys {
    sealing: Arc<dyn Sealing>,
    kept: Mutex<HashMap<OrgNo, Arc<dyn DataKey>>>,
}

impl Keys {
    pub(crate) fn new(sealing: Arc<dyn Sealing>) -> Self {
        Self { sealing, kept: Mutex::default() }
    }

    pub(crate) fn fingerprint(&self) -> &str {
        self.sealing.fingerprint()
    }

    fn kept<T>(&self, look: impl FnOnce(&mut HashMap<OrgNo, Arc<dyn DataKey>>) -> T) -> T {
        look(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers a key that is committed: one of a transaction that is undone would seal what nobody opens again.
    fn keep(&self, org: OrgNo, key: &Arc<dyn DataKey>) {
        self.kept(|kept| {
            if kept.len() >= KEYS_KEPT {
                kept.clear();
            }
            kept.insert(org, key.clone());
        });
    }

    fn unwrapped(&self, org: OrgNo, wrapped: &[u8]) -> Result<Arc<dyn DataKey>> {
        let key = self.sealing.data_key(org, wrapped);
        key.ok_or_else(|| StoreError::corrupt("an organization's data key is wrapped under another master key"))
    }
}

/// The keys that a connection can use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    keys: Option<Arc<Keys>>,
    /// Made by this transaction and not committed.
    made: Vec<(OrgNo, Arc<dyn DataKey>)>,
}

impl Ring {
    pub(crate) fn of(keys: Option<&Arc<Keys>>) -> Self {
        Self { keys: keys.cloned(), made: Vec::new() }
    }

    fn remembered(&self, keys: &Keys, org: OrgNo) -> Option<Arc<dyn DataKey>> {
        let made = self.made.iter().find(|(of, _)| *of == org).map(|(_, key)| key.clone());
        made.or_else(|| keys.kept(|kept| kept.get(&org).cloned()))
    }
}

impl Tx {
    /// A body as it is stored in a place.
    pub async fn seal<'p>(&mut self, org: OrgNo, place: Place<'_>, plain: &'p [u8]) -> Result<Cow<'p, [u8]>> {
        let Some(keys) = self.ring().keys.clone() else { return Ok(framed(plain)) };
        let key = match self.key(&keys, org).await? {
            Some(key) => key,
            None => self.make_key(&keys, org).await?,
        };
        let mut stored = Vec::with_capacity(plain.len() + 64);
        stored.extend(MARK);
        stored.push(SEALED);
        key.seal(&place.context(org), plain, &mut stored);
        Ok(stored.into())
    }

    async fn make_key(&mut self, keys: &Keys, org: OrgNo) -> Result<Arc<dyn DataKey>> {
        // A process that runs on while the data keys are wrapped anew would wrap with what nobody has any more. The master key is
        // held as it is until this key is committed: who wraps all anew either sees it or has changed the master key before.
        if instance::shared(self, FINGERPRINT).await?.as_deref() != Some(keys.fingerprint()) {
            return Err(StoreError::corrupt(
                "the installation has another master key by now; start this process again",
            ));
        }
        let wrapped = keys.sealing.new_key(org);
        if self.execute(&ADD_KEY, args![org, wrapped.as_slice()]).await? == 1 {
            let key = keys.unwrapped(org, &wrapped)?;
            self.ring().made.push((org, key.clone()));
            return Ok(key);
        }
        self.key(keys, org).await?.ok_or_else(|| StoreError::corrupt("a data key was removed while it was read"))
    }
}

impl Conn {
    /// The body that is stored in a place.
    pub async fn open_sealed(&mut self, org: OrgNo, place: Place<'_>, mut stored: Vec<u8>) -> Result<Vec<u8>> {
        let Some(rest) = stored.strip_prefix(&MARK) else { return Ok(stored) };
        match rest.split_first() {
            Some((&PLAIN, _)) => {
                stored.drain(..=MARK.len());
                Ok(stored)
            }
            Some((&SEALED, sealed)) => {
                let opened = match self.ring().keys.clone() {
                    None => return Err(StoreError::corrupt("a body is sealed, but there is no master key")),
                    Some(keys) => self.key(&keys, org).await?.and_then(|key| key.open(&place.context(org), sealed)),
                };
                opened
                    .ok_or_else(|| StoreError::corrupt(format!("what is sealed in {} cannot be opened", place.column)))
            }
            _ => Err(StoreError::corrupt(format!("{} has a form of a later version", place.column))),
        }
    }

    async fn key(&mut self, keys: &Keys, org: OrgNo) -> Result<Option<Arc<dyn DataKey>>> {
        if let Some(key) = self.ring().remembered(keys, org) {
            return Ok(Some(key));
        }
        let Some(row) = self.first(&KEY, args![org]).await? else { return Ok(None) };
        let key = keys.unwrapped(org, &row.get::<Vec<u8>>("wrapped")?)?;
        keys.keep(org, &key);
        Ok(Some(key))
    }
}

fn framed(plain: &[u8]) -> Cow<'_, [u8]> {
    if plain.starts_with(&MARK) {
        return [&MARK[..], &[PLAIN], plain].concat().into();
    }
    plain.into()
}

/// The fingerprint of the master key that this installation has, if it has one.
pub async fn fingerprint(conn: &mut Conn) -> Result<Option<String>> {
    instance::value(conn, FINGERPRINT).await
}

/// Takes note of the installation's first master key; gives the fingerprint of the one that stands.
pub async fn set_fingerprint(tx: &mut Tx, fingerprint: &str) -> Result<String> {
    instance::set_once(tx, FINGERPRINT, fingerprint).await
}

/// Makes of an organization's wrapped data key one that another master key has wrapped; nothing where it cannot be unwrapped.
pub type Rewrapping<'a> = dyn Fn(OrgNo, &[u8]) -> Option<Vec<u8>> + Sync + 'a;

/// Wraps every data key anew; says how many there are. Bodies stay as they are. What runs on with the old master key cannot
/// make a key afterwards.
pub async fn rewrap(tx: &mut Tx, to: &dyn Sealing, anew: &Rewrapping<'_>) -> Result<u64> {
    // First, so that no key is being made meanwhile ([`Tx::make_key`]).
    instance::lock(tx, FINGERPRINT).await?;
    let (mut last, mut count) = (i64::MIN, 0);
    loop {
        let rows = tx.rows(&KEYS, args![last, KEYS_AT_ONCE]).await?;
        for row in &rows {
            last = row.get("org_no")?;
            let wrapped = anew(OrgNo(last), &row.get::<Vec<u8>>("wrapped")?);
            let wrapped =
                wrapped.ok_or_else(|| StoreError::corrupt("a data key is wrapped under another master key"))?;
            tx.execute(&REWRAP, args![last, wrapped]).await?;
            count += 1;
        }
        if i64::try_from(rows.len()).is_ok_and(|read| read < KEYS_AT_ONCE) {
            instance::set(tx, FINGERPRINT, to.fingerprint()).await?;
            return Ok(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What [`Conn::open_sealed`] makes of bodies that are not sealed.
    fn unframed(stored: &[u8]) -> Option<&[u8]> {
        match stored.strip_prefix(&MARK) {
            None => Some(stored),
            Some([PLAIN, plain @ ..]) => Some(plain),
            Some(_) => None,
        }
    }

    proptest! {
        #[test]
        fn bodies_without_a_key_are_what_they_are(marks in 0..3_usize, rest in prop::collection::vec(any::<u8>(), 0..20)) {
            let plain = [MARK.repeat(marks), rest].concat();
            let stored = framed(&plain);
            prop_assert_eq!(unframed(&stored), Some(plain.as_slice()));
            prop_assert_eq!(matches!(stored, Cow::Borrowed(_)), !plain.starts_with(&MARK), "the usual body is not copied");
        }
    }

    #[test]
    fn no_two_places_share_a_context() {
        let places = [
            (OrgNo(1), Place::numbered("chunk.body", 1, 2)),
            (OrgNo(2), Place::numbered("chunk.body", 1, 2)),
            (OrgNo(1), Place::numbered("chunk.body", 2, 1)),
            (OrgNo(1), Place::numbered("chunk.body", 1, 3)),
            (OrgNo(1), Place::numbered("job_block.body", 1, 2)),
            (OrgNo(1), Place::named("outbox.last_answer", "dlv_1")),
            (OrgNo(1), Place::named("outbox.last_answer", "dlv_2")),
            (OrgNo(1), Place::named_and_numbered("outbox_attempt.answer", "dlv_1", 1)),
            (OrgNo(1), Place::named_and_numbered("outbox_attempt.answer", "dlv_1", 2)),
        ];
        let contexts: std::collections::BTreeSet<_> = places.iter().map(|(org, place)| place.context(*org)).collect();
        assert_eq!(contexts.len(), places.len());
    }
}
