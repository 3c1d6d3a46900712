//! Encrypts bodies that hold addresses, if the installation has a master key.
//!
//! An encrypted body opens only in the row that it was written to: organization, table and key columns are its context. Each
//! organization has its own data key, stored in `org_key`, wrapped under the master key, and created for the first of
//! its bodies. The caller supplies the cipher ([`Sealing`]).
//!
//! ```text
//! stored = plain                             ; if it does not begin with the mark
//!        / mark %x00 plain                   ; if it does
//!        / mark %x01 sealed                  ; as [`DataKey::seal`] made it
//! mark   = %xFF %xFF %xFF %xFF               ; no plain body of Probity begins so
//! ```
//!
//! So bodies written before there was a master key stay readable until they are encrypted, too ([`earlier`]), and without a
//! master key nothing is copied. The reverse does not hold: an encrypted body cannot be read without its key, and that is an
//! error, never an empty body.

pub mod earlier;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::db::{Conn, Statement, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::instance;
use crate::number::OrgNo;

/// Name of the master key's fingerprint among the installation's texts.
const FINGERPRINT: &str = "master_key";
const MARK: [u8; 4] = [0xff; 4];
const PLAIN: u8 = 0;
const SEALED: u8 = 1;
/// Maximum data keys cached; beyond it, the whole cache is dropped.
const KEYS_KEPT: usize = 10_000;
/// Data keys read at a time.
const KEYS_AT_ONCE: i64 = 1_000;

statements! {
    KEY = "SELECT wrapped FROM org_key WHERE org_no = $1";
    ADD_KEY = "INSERT INTO org_key (org_no, wrapped) VALUES ($1, $2) ON CONFLICT (org_no) DO NOTHING";
    KEYS = "SELECT org_no, wrapped FROM org_key WHERE org_no > $1 ORDER BY org_no LIMIT $2 {for_update}";
    REWRAP = "UPDATE org_key SET wrapped = $2 WHERE org_no = $1";
}

/// All statements of encryption, including submodules.
pub(crate) fn all_statements() -> Vec<&'static Statement> {
    [STATEMENTS, earlier::STATEMENTS].concat()
}

/// Master key: creates and unwraps data keys.
pub trait Sealing: fmt::Debug + Send + Sync {
    /// Identifies the master key without revealing anything about it.
    fn fingerprint(&self) -> &str;
    /// Creates a data key for an organization, wrapped.
    fn new_key(&self, org: OrgNo) -> Vec<u8>;
    /// Unwraps an organization's data key; `None` if it was wrapped under another master key, or for another organization.
    fn data_key(&self, org: OrgNo, wrapped: &[u8]) -> Option<Arc<dyn DataKey>>;
}

/// Key of one organization's bodies.
pub trait DataKey: fmt::Debug + Send + Sync {
    /// Appends the encrypted body; the result differs each time.
    fn seal(&self, context: &[u8], plain: &[u8], into: &mut Vec<u8>);
    /// Decrypts a body; `None` if the context or the key differs, or a bit was changed.
    fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>>;
}

/// Column and row of a body within its organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    column: &'static str,
    first: i64,
    second: i64,
    id: &'a str,
}

impl<'a> Place<'a> {
    /// A row identified by two numbers; the column as `table.column`.
    pub fn numbered(column: &'static str, first: i64, second: i64) -> Self {
        Self { column, first, second, id: "" }
    }

    /// A row identified by an id.
    pub fn named(column: &'static str, id: &'a str) -> Self {
        Self { column, first: 0, second: 0, id }
    }

    /// A row identified by an id and a number.
    pub fn named_and_numbered(column: &'static str, id: &'a str, number: i64) -> Self {
        Self { column, first: number, second: 0, id }
    }

    /// Unique to each place: a column's name has no NUL, and numbers have a fixed length.
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

/// Master key, with a cache of its unwrapped data keys.
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

    /// Caches a committed key: the key of a rolled-back transaction would encrypt what nobody can open again.
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

/// Keys available to a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    keys: Option<Arc<Keys>>,
    /// Created by this transaction and not committed.
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
    /// Encodes a body for storage in a place.
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
        // A process still running while the data keys are rewrapped would wrap under an abandoned master key. The shared lock on
        // the master key lasts until this key is committed: a rewrap either sees the key, or has changed the master key before.
        if instance::shared(self, FINGERPRINT).await?.as_deref() != Some(keys.fingerprint()) {
            return Err(StoreError::corrupt("the master key was replaced; restart this process"));
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
    /// Decodes the body stored in a place.
    pub async fn open_sealed(&mut self, org: OrgNo, place: Place<'_>, mut stored: Vec<u8>) -> Result<Vec<u8>> {
        let Some(rest) = stored.strip_prefix(&MARK) else { return Ok(stored) };
        match rest.split_first() {
            Some((&PLAIN, _)) => {
                stored.drain(..=MARK.len());
                Ok(stored)
            }
            Some((&SEALED, sealed)) => {
                let opened = match self.ring().keys.clone() {
                    None => return Err(StoreError::corrupt("stored data is encrypted, but there is no master key")),
                    Some(keys) => self.key(&keys, org).await?.and_then(|key| key.open(&place.context(org), sealed)),
                };
                opened.ok_or_else(|| StoreError::corrupt(format!("cannot decrypt the data in {}", place.column)))
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

/// Fingerprint of this installation's master key, if it has one.
pub async fn fingerprint(conn: &mut Conn) -> Result<Option<String>> {
    instance::value(conn, FINGERPRINT).await
}

/// Records the installation's first master key; returns the stored fingerprint.
pub async fn set_fingerprint(tx: &mut Tx, fingerprint: &str) -> Result<String> {
    instance::set_once(tx, FINGERPRINT, fingerprint).await
}

/// Rewraps an organization's data key under another master key; `None` if it cannot be unwrapped.
pub type Rewrapping<'a> = dyn Fn(OrgNo, &[u8]) -> Option<Vec<u8>> + Sync + 'a;

/// Rewraps every data key; returns their number. Bodies stay unchanged. Processes that still use the old master key cannot create
/// keys afterwards.
pub async fn rewrap(tx: &mut Tx, to: &dyn Sealing, anew: &Rewrapping<'_>) -> Result<u64> {
    // Comes first, so that no key is created meanwhile ([`Tx::make_key`]).
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

    /// Decodes bodies that are not encrypted, for [`Conn::open_sealed`].
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
