//! The closed sets of labels, and counters for each of them.

use std::marker::PhantomData;

use probity_mail::verdict::{Reason, Status};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// A value of a closed set that labels a series.
pub(super) trait Label: Copy + PartialEq + 'static {
    /// Every value.
    const ALL: &'static [Self];
    /// The value as the label has it.
    fn text(self) -> &'static str;
    /// Its place in [`Label::ALL`].
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
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl Label for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];
            fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}
pub(crate) use labels;

labels! {
    /// Where a verdict was given.
    Origin {
        /// To somebody who waited for it.
        Live "live",
        /// To a test key.
        Sandbox "sandbox",
        /// In a batch.
        Batch "batch",
    }
}

labels! {
    /// What becomes of credits of live calls.
    CreditMove {
        /// Spent.
        Captured "captured",
        /// Asked for and not there.
        Refused "refused",
    }
}

labels! {
    /// What became of a request with an Idempotency-Key.
    Idempotent {
        /// It ran, and its answer was kept.
        Kept "kept",
        /// It ran without success; the key is free again.
        Freed "freed",
        /// An earlier answer was repeated.
        Replayed "replayed",
        /// Its twin was under way (409).
        InProgress "in_progress",
        /// The key had come with another body (422).
        Reused "reused",
        /// The key was malformed (400).
        Malformed "malformed",
    }
}

labels! {
    /// What an attempt to deliver a message came to.
    Delivered {
        /// The receiver took it.
        Delivered "delivered",
        /// It is tried again.
        Failed "failed",
        /// It is not tried again.
        Exhausted "exhausted",
    }
}

labels! {
    /// What an attempt to hand a mail to the relay came to.
    Mailed {
        /// The relay took it.
        Sent "sent",
        /// It waits for another attempt.
        Failed "failed",
        /// It is not tried again.
        Exhausted "exhausted",
    }
}

labels! {
    /// Which rate limit was exceeded.
    LimitedBy {
        /// The key's.
        Key "key",
        /// The organization's.
        Organization "organization",
        /// That of an address without a valid key.
        Address "address",
        /// That of a visitor of a page with the widget.
        Visitor "visitor",
    }
}

labels! {
    /// What came of a check of the widget.
    WidgetOutcome {
        /// Nothing speaks against the address.
        Ok "ok",
        /// Another address may have been meant.
        Fix "fix",
        /// The address takes no mail.
        Reject "reject",
        /// The nonce was used, too old, or another's.
        Stale "stale",
        /// A limit, the key's day or the account was used up.
        Limited "limited",
    }
}

labels! {
    /// Why a request was not let in. The client is told less.
    AuthFailure {
        /// No key was given.
        Missing "missing",
        /// Not a key of ours, or mistyped.
        Malformed "malformed",
        /// Well-formed, and nobody's.
        Unknown "unknown",
        /// Its time is over.
        Expired "expired",
        /// Somebody revoked it.
        Revoked "revoked",
        /// The key lacks the scope.
        Scope "scope",
        /// The account is suspended, paused or banned.
        Account "account",
        /// Somebody signed in with a wrong address, password or code.
        SignIn "sign_in",
    }
}

/// One counter for each value of a set, all of them shown from the start.
pub(super) struct Counters<L> {
    counters: Box<[Counter]>,
    label: PhantomData<L>,
}

impl<L: Label> Counters<L> {
    /// Registers a family with one label.
    pub(super) fn register(registry: &mut Registry, name: &str, help: &str, key: &'static str) -> Self {
        let family = Family::<[(&'static str, &'static str); 1], Counter>::default();
        let counters = L::ALL.iter().map(|label| family.get_or_create_owned(&[(key, label.text())])).collect();
        registry.register(name, help, family);
        Self { counters, label: PhantomData }
    }

    /// The counter of a value.
    pub(super) fn of(&self, label: L) -> &Counter {
        &self.counters[label.index()]
    }
}
