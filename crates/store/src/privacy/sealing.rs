//! Encrypts bodies that hold addresses, if the installation has a master key.
//!
//! An encrypted body opens only in the row that it was written to: organization, table and key columns are its context. Each
//! organization has its own data key, stored in `org_key`, wrapped under the master key, and created for the first of its bodies.
//! The caller supplies the cipher ([`Sealing`]).
//!
//! ```text
//! stored = plain                             ; if it does not begin with the mark
//!        / mark %x00 plain                   ; if it does
//!        / mark %x01 sealed                  ; output of [`DataKey::seal`]
//! mark   = %xFF %xFF %xFF %xFF               ; no plain body of Probity begins so
//! ```
//!
//! So bodies written before there was a master key stay readable until they are encrypted, too ([`earlier`]), and without a
//! master key nothing is copied. The reverse does not hold: an encrypted body cannot be read without its key, and that is an
//! error, never an empty body.

pub mod earlier;
mod keys;

use std::borrow::Cow;
use std::sync::Arc;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Store, Tx, args, statements};
use crate::nodes::instance;
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

use keys::MadeKeys;
pub(crate) use keys::MasterKeys;
pub use keys::{DataKey, Sealing};

/// Name of the master key's fingerprint among the installation's texts.
const FINGERPRINT: &str = "master_key";
const MARK: [u8; 4] = [0xff; 4];
const PLAIN: u8 = 0;
const SEALED: u8 = 1;
/// Data keys read at a time.
const KEYS_AT_ONCE: i64 = 1_000;

statements! {
    KEY = "SELECT wrapped FROM org_key WHERE org_no = $1";
    ADD_KEY = "INSERT INTO org_key (org_no, wrapped) VALUES ($1, $2) ON CONFLICT (org_no) DO NOTHING";
    KEYS = "SELECT org_no, wrapped FROM org_key WHERE org_no > $1 ORDER BY org_no LIMIT $2 {for_update}";
    REWRAP = "UPDATE org_key SET wrapped = $2 WHERE org_no = $1";
    [earlier]
}

/// Column and row of a body within its organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedField<'a> {
    column: &'static str,
    first: i64,
    second: i64,
    id: &'a str,
}

impl<'a> SealedField<'a> {
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

/// Fingerprint of the master key that this store encrypts with, if any.
pub fn sealed_by(store: &Store) -> Option<&str> {
    store.attached::<Arc<MasterKeys>>().map(|keys| keys.fingerprint())
}

/// Encodes a body for storage in a place.
pub async fn seal<'p>(tx: &mut Tx, org: OrgNo, place: SealedField<'_>, plain: &'p [u8]) -> Result<Cow<'p, [u8]>> {
    let Some(keys) = tx.attached::<Arc<MasterKeys>>().cloned() else { return Ok(framed(plain)) };
    let key = match data_key(tx, &keys, org).await? {
        Some(key) => key,
        None => make_key(tx, &keys, org).await?,
    };
    let mut stored = Vec::with_capacity(plain.len() + 64);
    stored.extend(MARK);
    stored.push(SEALED);
    key.seal(&place.context(org), plain, &mut stored);
    Ok(stored.into())
}

async fn make_key(tx: &mut Tx, keys: &MasterKeys, org: OrgNo) -> Result<Arc<dyn DataKey>> {
    // A process still running while the data keys are rewrapped would wrap under an abandoned master key. The shared lock on
    // the master key lasts until this key is committed: a rewrap either sees the key, or has changed the master key before.
    if instance::shared(tx, FINGERPRINT).await?.as_deref() != Some(keys.fingerprint()) {
        return Err(StoreError::corrupt("the master key was replaced; restart this process"));
    }
    let wrapped = keys.new_key(org);
    if tx.execute(&ADD_KEY, args![org, wrapped.as_slice()]).await? == 1 {
        let key = keys.unwrapped(org, &wrapped)?;
        tx.own::<MadeKeys>().add(org, key.clone());
        return Ok(key);
    }
    data_key(tx, keys, org).await?.ok_or_else(|| StoreError::corrupt("a data key was removed while it was read"))
}

/// Decodes the body stored in a place.
pub async fn unseal(conn: &mut Conn, org: OrgNo, place: SealedField<'_>, mut stored: Vec<u8>) -> Result<Vec<u8>> {
    let Some(rest) = stored.strip_prefix(&MARK) else { return Ok(stored) };
    match rest.split_first() {
        Some((&PLAIN, _)) => {
            stored.drain(..=MARK.len());
            Ok(stored)
        }
        Some((&SEALED, sealed)) => {
            let opened = match conn.attached::<Arc<MasterKeys>>().cloned() {
                None => return Err(StoreError::corrupt("stored data is encrypted, but there is no master key")),
                Some(keys) => data_key(conn, &keys, org).await?.and_then(|key| key.open(&place.context(org), sealed)),
            };
            opened.ok_or_else(|| StoreError::corrupt(format!("cannot decrypt the data in {}", place.column)))
        }
        _ => Err(StoreError::corrupt(format!("{} has a form of a later version", place.column))),
    }
}

async fn data_key(conn: &mut Conn, keys: &MasterKeys, org: OrgNo) -> Result<Option<Arc<dyn DataKey>>> {
    let made = conn.own::<MadeKeys>().of(org);
    if let Some(key) = made.or_else(|| keys.cached(org)) {
        return Ok(Some(key));
    }
    let Some(wrapped) = conn.find::<Vec<u8>>(&KEY, args![org]).await? else { return Ok(None) };
    let key = keys.unwrapped(org, &wrapped)?;
    keys.keep(org, &key);
    Ok(Some(key))
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
pub type RewrapKey<'a> = dyn Fn(OrgNo, &[u8]) -> Option<Vec<u8>> + Sync + 'a;

/// Rewraps every data key; returns their number. Bodies stay unchanged. Processes that still use the old master key cannot create
/// keys afterwards.
pub async fn rewrap(tx: &mut Tx, to: &dyn Sealing, rewrap_key: &RewrapKey<'_>) -> Result<u64> {
    // Comes first, so that no key is created meanwhile ([`make_key`]).
    instance::lock(tx, FINGERPRINT).await?;
    let (mut last, mut count) = (OrgNo(i64::MIN), 0);
    loop {
        let keys: Vec<(OrgNo, Vec<u8>)> = tx.all(&KEYS, args![last, KEYS_AT_ONCE]).await?;
        for (org, wrapped) in &keys {
            let wrapped = rewrap_key(*org, wrapped);
            let wrapped =
                wrapped.ok_or_else(|| StoreError::corrupt("a data key is wrapped under another master key"))?;
            tx.execute(&REWRAP, args![org, wrapped]).await?;
            (last, count) = (*org, count + 1);
        }
        if i64::try_from(keys.len()).is_ok_and(|read| read < KEYS_AT_ONCE) {
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
            (OrgNo(1), SealedField::numbered("chunk.body", 1, 2)),
            (OrgNo(2), SealedField::numbered("chunk.body", 1, 2)),
            (OrgNo(1), SealedField::numbered("chunk.body", 2, 1)),
            (OrgNo(1), SealedField::numbered("chunk.body", 1, 3)),
            (OrgNo(1), SealedField::numbered("job_block.body", 1, 2)),
            (OrgNo(1), SealedField::named("outbox.last_answer", "dlv_1")),
            (OrgNo(1), SealedField::named("outbox.last_answer", "dlv_2")),
            (OrgNo(1), SealedField::named_and_numbered("outbox_attempt.answer", "dlv_1", 1)),
            (OrgNo(1), SealedField::named_and_numbered("outbox_attempt.answer", "dlv_1", 2)),
        ];
        let contexts: std::collections::BTreeSet<_> = places.iter().map(|(org, place)| place.context(*org)).collect();
        assert_eq!(contexts.len(), places.len());
    }
}
