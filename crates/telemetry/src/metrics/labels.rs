//! Closed sets of labels, and counters for each of them.

use std::marker::PhantomData;

use probity_mail::verdict::{Reason, Status};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Value of a closed set, which labels a series.
pub(super) trait Label: Copy + PartialEq + 'static {
    const ALL: &'static [Self];
    /// Returns the text of the label.
    fn text(self) -> &'static str;
    /// Returns the position in [`Label::ALL`].
    fn index(self) -> usize {
        Self::ALL.iter().position(|one| *one == self).expect("all values are listed")
    }
}

impl Label for Reason {
    const ALL: &'static [Self] = Reason::ALL;
    fn text(self) -> &'static str {
        self.as_str()
    }
}

impl Label for Status {
    const ALL: &'static [Self] = &Status::ALL;
    fn text(self) -> &'static str {
        self.as_str()
    }
}

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $text:literal,)* })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl Label for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];
            fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    )+};
}
pub(crate) use labels;

labels! {
    /// Kind of request that got a verdict.
    Origin {
        /// Live call.
        Live "live",
        /// Call or job of a test key.
        Sandbox "sandbox",
        /// Job of a live key.
        Batch "batch",
    }

    /// Fate of the credits for live calls.
    CreditMove {
        /// Charged for a verdict.
        Captured "captured",
        /// Needed, but not available.
        Refused "refused",
    }

    /// Outcome of a request with an Idempotency-Key.
    Idempotent {
        /// The request ran, and its response was stored.
        Kept "kept",
        /// The request failed; the key can be used again.
        Freed "freed",
        /// An earlier response was repeated.
        Replayed "replayed",
        /// The same request was in progress (409).
        InProgress "in_progress",
        /// The key had been used with another body (422).
        Reused "reused",
        /// The key was malformed (400).
        Malformed "malformed",
    }

    /// Outcome of a delivery attempt.
    Delivered {
        /// The endpoint accepted the delivery.
        Delivered "delivered",
        /// The delivery will be retried.
        Failed "failed",
        /// The delivery will not be retried.
        Exhausted "exhausted",
    }

    /// Outcome of an attempt to hand an email to the relay.
    Mailed {
        /// The relay accepted the email.
        Sent "sent",
        /// The email will be retried.
        Failed "failed",
        /// The email will not be retried.
        Exhausted "exhausted",
    }

    /// Outcome of a call to an email platform.
    PlatformOutcome {
        Ok "ok",
        /// The platform has had too many requests, or a quota is used up.
        Throttled "throttled",
        /// The platform refuses the credentials.
        Credential "credential",
        /// The platform refuses the request, or its subject is gone.
        Refused "refused",
        /// The platform failed, or the answer is not one of it.
        Failed "failed",
        /// The request was sent, and no whole answer came.
        Unanswered "unanswered",
        /// There was no connection.
        Unreached "unreached",
        /// The rate limits left no room; nothing was sent.
        Later "later",
    }

    /// Outcome of a platform's call at a webhook of a connection.
    PlatformEvent {
        /// A poll was made due.
        Accepted "accepted",
        /// A poll that an earlier event has made due covers it.
        Covered "covered",
        /// A handshake, or news of something else than new contacts.
        Other "other",
        /// Unknown connection, wrong path or wrong proof.
        Refused "refused",
    }

    /// Rate limit that was exceeded.
    LimitedBy {
        /// Limit of a key or a session.
        Key "key",
        /// Limit of an organization.
        Organization "organization",
        /// Limit of an IP address without a valid key, or of attempts to sign in.
        Address "address",
        /// Limit of a widget's visitor.
        Visitor "visitor",
    }

    /// Outcome of a widget check.
    WidgetOutcome {
        /// The address may be used.
        Ok "ok",
        /// Another address was suggested.
        Fix "fix",
        /// The address accepts no mail.
        Reject "reject",
        /// The nonce was used before, has expired, or belongs to another visitor.
        Stale "stale",
        /// A rate limit, the key's daily cap or the balance was used up.
        Limited "limited",
    }

    /// Reason why a request was refused. The response is less specific.
    AuthFailure {
        Missing "missing",
        /// The key is not one of ours, or mistyped.
        Malformed "malformed",
        /// The key is well-formed but does not exist.
        Unknown "unknown",
        Expired "expired",
        Revoked "revoked",
        Scope "scope",
        /// The organization is suspended, paused or banned.
        Account "account",
        /// Sign-in with a wrong address, password or code.
        SignIn "sign_in",
    }
}

/// One counter for each label of a set, all of them shown from the start.
pub(super) struct LabelCounters<L> {
    counters: Box<[Counter]>,
    label: PhantomData<L>,
}

impl<L: Label> LabelCounters<L> {
    /// Registers a family with one label.
    pub(super) fn register(registry: &mut Registry, name: &str, help: &str, key: &'static str) -> Self {
        let family = Family::<[(&'static str, &'static str); 1], Counter>::default();
        let counters = L::ALL.iter().map(|label| family.get_or_create_owned(&[(key, label.text())])).collect();
        registry.register(name, help, family);
        Self { counters, label: PhantomData }
    }

    pub(super) fn of(&self, label: L) -> &Counter {
        &self.counters[label.index()]
    }
}
