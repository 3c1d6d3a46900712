//! Notifications of new contacts: registration, body and proof of origin.

use serde::Deserialize;

use super::contacts::{ContactScope, RecordForm};
use super::http::{RequestRule, WaitForm, span};
use crate::source::Source;

/// Form of a notification's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookBody {
    Json,
    /// `application/x-www-form-urlencoded`; a name is one step of a pointer, as in `/contact[id]`.
    Form,
}

/// Places of a contact in a notification.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookContact {
    #[serde(default)]
    pub id: Option<Source>,
    #[serde(default)]
    pub email: Option<Source>,
    #[serde(default)]
    pub list: Option<Source>,
}

/// Notifications that are about new contacts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookEvent {
    pub at: Source,
    pub is: Vec<String>,
}

/// Hash function of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookHash {
    Sha256,
    Sha1,
}

/// Encoding of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureForm {
    Hex,
    Base64,
}

/// Proof that the platform sent a notification, in addition to the secret in the path.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum HookProof {
    /// Secret in the path only.
    Path {},
    /// Signature over the raw bytes.
    Hmac {
        header: String,
        hash: HookHash,
        form: SignatureForm,
        /// Name of the signature in a header like `t=1, v1=abc`; if missing, the header is the signature.
        #[serde(default)]
        part: Option<String>,
        /// Name of the time in such a header.
        #[serde(default)]
        time_part: Option<String>,
        #[serde(default)]
        time_header: Option<String>,
        #[serde(default = "epoch")]
        time_form: WaitForm,
        /// Signed text, from `{body}`, `{t}` and literal text.
        signed: String,
        #[serde(default = "five_minutes", deserialize_with = "span")]
        tolerance: i64,
    },
    /// Our secret as a bearer token in `Authorization`.
    Bearer {},
    /// Header that the platform sends while a registration is pending, and that the response must repeat.
    Echo { header: String },
    /// No proof; the platform cannot send to a path with a secret.
    None {},
}

fn epoch() -> WaitForm {
    WaitForm::Epoch
}

fn five_minutes() -> i64 {
    300_000
}

/// Registration of our endpoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookRegister {
    pub request: RequestRule,
    pub id: Source,
    /// Place of the signing secret, if the platform chooses it.
    #[serde(default)]
    pub secret: Option<Source>,
    /// Calls after the registration.
    #[serde(default)]
    pub then: Vec<RequestRule>,
}

/// Rules for notifications of new contacts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookRule {
    /// Whether registrations are per list or per account.
    pub scope: ContactScope,
    pub register: HookRegister,
    pub remove: RequestRule,
    /// Call whose answer has our URL while the registration stands.
    #[serde(default)]
    pub look: Option<RequestRule>,
    pub body: HookBody,
    /// Place of the events in a call; if missing, the body is one event.
    #[serde(default)]
    pub records: Option<Source>,
    #[serde(default)]
    pub form: RecordForm,
    #[serde(default)]
    pub event: Option<HookEvent>,
    pub contact: HookContact,
    pub proof: HookProof,
    /// Whether the contact is read before any action, because the notification proves nothing.
    pub confirm: bool,
    /// Changes without a notification, which daily reading must find.
    #[serde(default)]
    pub silent: Vec<String>,
}
