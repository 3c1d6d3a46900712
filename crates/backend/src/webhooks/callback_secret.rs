//! Secret of an organization's callbacks: created at its first use, and rotated on request.
//!
//! For [`OVERLAP_MS`] after a rotation, deliveries are signed with both secrets, so that a receiver can switch without losing
//! one. Another rotation within that time replaces the newer secret. The database contains encrypted secrets only.

use probity_access::secrets::{Secrets, Unopened};
use probity_mail::time::Millis;
use probity_store::webhooks::WebhookReceiver;
use probity_store::webhooks::callback_secret;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use crate::webhooks::sign::{NoSecret, Secret};

/// Time for which the previous secret signs as well, in milliseconds: 1 day.
pub const OVERLAP_MS: i64 = 24 * 3_600_000;

/// Secrets of an organization or a webhook.
#[derive(Clone, Debug)]
pub struct SigningSecrets {
    /// Current secret.
    pub secret: Secret,
    /// Previous secret, and the time until which it signs as well.
    pub previous: Option<(Secret, Millis)>,
}

/// Reason why there is no secret to sign with.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The secret was encrypted under another pepper.
    #[error(transparent)]
    Unopened(#[from] Unopened),
    /// The decrypted value is not a secret.
    #[error(transparent)]
    NoSecret(#[from] NoSecret),
    /// The delivery names a signer that this version does not have.
    #[error("this version of the program does not know the message's signer")]
    UnknownSigner,
}

impl SigningSecrets {
    /// Returns the secrets that sign at a time, the current one first.
    pub fn for_signing(self, now: Millis) -> Vec<Secret> {
        let previous = self.previous_at(now).map(|(secret, _)| secret.clone());
        std::iter::once(self.secret).chain(previous).collect()
    }

    /// Returns the previous secret while it still signs.
    pub fn previous_at(&self, now: Millis) -> Option<&(Secret, Millis)> {
        self.previous.as_ref().filter(|(_, until)| *until > now)
    }

    /// Decrypts the secrets of a webhook.
    pub(super) fn of_webhook(receiver: &WebhookReceiver, secrets: &Secrets) -> Result<Self, SecretError> {
        let open = |sealed: &[u8]| secrets.open_webhook_secret(receiver.id, sealed);
        Self::opened(open, &receiver.secret, receiver.previous.as_ref())
    }

    fn opened(
        open: impl Fn(&[u8]) -> Result<Vec<u8>, Unopened>,
        secret: &[u8],
        previous: Option<&(Vec<u8>, Millis)>,
    ) -> Result<Self, SecretError> {
        let open = |sealed: &[u8]| -> Result<Secret, SecretError> { Ok(Secret::from_bytes(open(sealed)?)?) };
        let previous = previous.map(|(previous, until)| Ok::<_, SecretError>((open(previous)?, *until)));
        Ok(Self { secret: open(secret)?, previous: previous.transpose()? })
    }
}

/// Returns an organization's secrets; creates one if there is none.
pub async fn of(store: &Store, secrets: &Secrets, org: OrgNo) -> Result<SigningSecrets, SecretError> {
    let standing = callback_secret::find_secret(&mut store.read().await?, org).await?;
    let sealed = if let Some(sealed) = standing {
        sealed
    } else {
        let fresh = secrets.seal_callback_secret(org, Secret::fresh().bytes());
        store.write(|tx| callback_secret::secret_of(tx, org, &fresh).scope_boxed()).await?
    };
    let open = |secret: &[u8]| secrets.open_callback_secret(org, secret);
    SigningSecrets::opened(open, &sealed.secret, sealed.previous.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sign_while_they_overlap() {
        let [new, old] = [Secret::fresh(), Secret::fresh()];
        let known = SigningSecrets { secret: new.clone(), previous: Some((old.clone(), Millis(100))) };
        assert_eq!(known.clone().for_signing(Millis(99)), [new.clone(), old]);
        assert_eq!(known.for_signing(Millis(100)), [new]);
    }
}
