//! The secret of an organization's batch callbacks: made when it is first needed, rotated when the customer says so.
//!
//! For [`OVERLAP_MS`] after a rotation messages are signed with both secrets, so that a receiver can change over without
//! losing one. A rotation within that time replaces the newer one. In the database they are encrypted.

use probity_mail::time::Millis;
use probity_store::outbox::{self, CallbackSecret};
use probity_store::webhooks::Receiver;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, Tx};

use crate::secrets::{Secrets, Unopened};
use crate::webhooks::sign::{NoSecret, Secret};

/// How long the secret before signs too, in milliseconds: a day.
pub(crate) const OVERLAP_MS: i64 = 24 * 3_600_000;

/// An organization's secrets.
#[derive(Clone, Debug)]
pub struct Known {
    /// The one that counts.
    pub secret: Secret,
    /// The one before, and until when it signs too.
    pub(crate) previous: Option<(Secret, Millis)>,
}

/// Why there is no secret to sign with.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was encrypted with another pepper.
    #[error(transparent)]
    Unopened(#[from] Unopened),
    /// What was encrypted is no secret.
    #[error(transparent)]
    NoSecret(#[from] NoSecret),
    /// The message names a signer that this version does not know.
    #[error("this version of the program does not know the message's signer")]
    UnknownSigner,
}

impl Known {
    /// The secrets by which a message is signed at a time, the one that counts first.
    pub(crate) fn for_signing(self, now: Millis) -> Vec<Secret> {
        let previous = self.previous_at(now).map(|(secret, _)| secret.clone());
        std::iter::once(self.secret).chain(previous).collect()
    }

    /// The secret before, while it signs too.
    pub fn previous_at(&self, now: Millis) -> Option<&(Secret, Millis)> {
        self.previous.as_ref().filter(|(_, until)| *until > now)
    }

    /// The secrets of a webhook.
    pub(super) fn of_webhook(receiver: &Receiver, secrets: &Secrets) -> Result<Self, SecretError> {
        let open = |sealed: &[u8]| -> Result<Secret, SecretError> {
            Ok(Secret::from_bytes(secrets.open_webhook_secret(receiver.id, sealed)?)?)
        };
        let previous =
            receiver.previous.as_ref().map(|(previous, until)| Ok::<_, SecretError>((open(previous)?, *until)));
        Ok(Self { secret: open(&receiver.secret)?, previous: previous.transpose()? })
    }

    fn opened(sealed: CallbackSecret, secrets: &Secrets, org: OrgNo) -> Result<Self, SecretError> {
        let open = |sealed: &[u8]| -> Result<Secret, SecretError> {
            Ok(Secret::from_bytes(secrets.open_callback_secret(org, sealed)?)?)
        };
        let previous = sealed.previous.map(|(previous, until)| Ok::<_, SecretError>((open(&previous)?, until)));
        Ok(Self { secret: open(&sealed.secret)?, previous: previous.transpose()? })
    }
}

/// An organization's secret; where it has none yet, it gets one.
pub async fn of(store: &Store, secrets: &Secrets, org: OrgNo) -> Result<Known, SecretError> {
    let standing = outbox::find_secret(&mut store.read().await?, org).await?;
    let sealed = if let Some(sealed) = standing {
        sealed
    } else {
        let fresh = secrets.seal_callback_secret(org, Secret::fresh().bytes());
        store.write(|tx| outbox::secret_of(tx, org, &fresh).scope_boxed()).await?
    };
    Known::opened(sealed, secrets, org)
}

/// Makes `fresh` the secret, within a transaction, and says until when the one before signs too; none where there was none.
pub async fn rotate(
    tx: &mut Tx,
    secrets: &Secrets,
    org: OrgNo,
    fresh: &Secret,
    now: Millis,
) -> Result<Option<Millis>, StoreError> {
    let sealed = secrets.seal_callback_secret(org, fresh.bytes());
    let rotated = outbox::rotate(tx, org, &sealed, now, now + OVERLAP_MS).await?;
    Ok(rotated.previous.map(|(_, until)| until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sign_while_they_overlap() {
        let [new, old] = [Secret::fresh(), Secret::fresh()];
        let known = Known { secret: new.clone(), previous: Some((old.clone(), Millis(100))) };
        assert_eq!(known.clone().for_signing(Millis(99)), [new.clone(), old]);
        assert_eq!(known.for_signing(Millis(100)), [new]);
    }
}
