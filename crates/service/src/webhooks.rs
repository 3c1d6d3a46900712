//! Webhooks and the secret of callbacks. The senders are in [`probity_backend::webhooks`].

pub mod acts;
pub mod callback_secret;
pub mod deliveries;
