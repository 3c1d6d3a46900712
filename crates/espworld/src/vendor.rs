//! Platforms: admission of calls, replies and refusals.
//!
//! Written from the vendors' public documentation, never from the connector files, which the worlds test. Unknown facts
//! vary by seed, so a connector must work in either case.

#![expect(clippy::unnecessary_wraps, reason = "every handler has the type of the table of calls")]
#![expect(clippy::doc_markdown, reason = "names of companies")]

mod activecampaign;
mod brevo;
mod campaign_monitor;
mod convertkit;
mod ghost;
mod hubspot;
mod klaviyo;
mod listmonk;
mod mailchimp;
mod mailerlite;
mod mailman;
mod mautic;
mod notice;
mod time;

/// Platforms that their vendors run.
mod hosted {
    pub(super) mod braze;
    pub(super) mod constant_contact;
    pub(super) mod customer_io;
    pub(super) mod drip;
    pub(super) mod getresponse;
    pub(super) mod gist;
    pub(super) mod iterable;
    pub(super) mod keap;
    pub(super) mod moosend;
    pub(super) mod ontraport;
    pub(super) mod sendlane;
}

/// Platforms that customers install.
mod installed {
    pub(super) mod keila;
    pub(super) mod mailtrain;
    pub(super) mod phplist;
    pub(super) mod sendy;
}

pub use notice::EspNotice;
pub(crate) use notice::notice;
use serde_json::Value;

use crate::account::{EspAccount, EspContact, EspState, PageOrder};
use crate::call::EspCall;
use crate::desk::Desk;
use crate::limits::{EspExcess, EspLimit};
use crate::reply::EspReply;

/// Reply to a call; an `Err` is an early return.
type EspAnswer = Result<EspReply, EspReply>;

/// Declares the platforms, by slug, with the modules of their facts.
macro_rules! vendors {
    ($($name:ident = $($module:ident)::+;)+) => {
        /// Platform.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EspVendor { $($name,)+ }

        impl EspVendor {
            /// All platforms, by slug.
            pub const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$name),+];

            pub(crate) fn sheet(self) -> &'static VendorSheet {
                match self { $(Self::$name => &$($module)::+::SHEET,)+ }
            }
        }
    };
}

vendors! {
    Activecampaign = activecampaign;
    Braze = hosted::braze;
    Brevo = brevo;
    CampaignMonitor = campaign_monitor;
    ConstantContact = hosted::constant_contact;
    Convertkit = convertkit;
    CustomerIo = hosted::customer_io;
    Drip = hosted::drip;
    Getresponse = hosted::getresponse;
    Ghost = ghost;
    Gist = hosted::gist;
    Hubspot = hubspot;
    Iterable = hosted::iterable;
    Keap = hosted::keap;
    Keila = installed::keila;
    Klaviyo = klaviyo;
    Listmonk = listmonk;
    Mailchimp = mailchimp;
    Mailerlite = mailerlite;
    Mailman = mailman;
    Mailtrain = installed::mailtrain;
    Mautic = mautic;
    Moosend = hosted::moosend;
    Ontraport = hosted::ontraport;
    Phplist = installed::phplist;
    Sendlane = hosted::sendlane;
    Sendy = installed::sendy;
}

/// Call that a platform handles. In a pattern, `*` matches one segment, which is passed to the handler.
#[derive(Debug)]
pub(crate) struct EspRoute {
    method: &'static str,
    pattern: &'static str,
    handler: fn(&mut Desk, &EspCall, &[String]) -> EspAnswer,
}

/// Creates an entry of a table of calls.
const fn on(
    method: &'static str,
    pattern: &'static str,
    handler: fn(&mut Desk, &EspCall, &[String]) -> EspAnswer,
) -> EspRoute {
    EspRoute { method, pattern, handler }
}

impl EspRoute {
    /// Returns the segments that match the stars, if a call matches.
    fn fits(&self, method: &str, segments: &[String]) -> Option<Vec<String>> {
        let pattern: Vec<&str> = self.pattern.trim_start_matches('/').split('/').collect();
        if self.method != method || pattern.len() != segments.len() {
            return None;
        }
        let pairs = || pattern.iter().zip(segments);
        let equal = pairs().all(|(part, segment)| *part == "*" && !segment.is_empty() || part == segment);
        equal.then(|| pairs().filter(|(part, _)| **part == "*").map(|(_, segment)| segment.clone()).collect())
    }
}

/// Facts about a platform.
#[derive(Debug)]
pub(crate) struct VendorSheet {
    pub slug: &'static str,
    /// Published base URL; `None` for customers' own installations.
    pub base: Option<&'static str>,
    /// Path prefix of every call.
    pub root: &'static str,
    /// States of contacts in addition to subscribed.
    pub states: &'static [EspState],
    /// Whether a contact can be in more than one list.
    pub overlaps: bool,
    /// Whether addresses are stored in lower case.
    pub is_lower: bool,
    /// Whether pages list contacts by name, so new ones appear anywhere.
    pub is_by_name: bool,
    pub limits: &'static [EspLimit],
    /// Maximum concurrent calls.
    pub concurrency: Option<usize>,
    pub routes: &'static [EspRoute],
    /// Returns the secret credential for the digits of a world.
    pub key: fn(&str) -> String,
    /// Returns the credentials that a customer enters, among them the secret one.
    pub credentials: fn(&VendorSecrets, String) -> Vec<(&'static str, String)>,
    /// Checks the credentials and headers of a call.
    pub admit: fn(&Desk, &EspCall) -> Result<(), EspReply>,
    /// Returns the reply to a call without valid credentials.
    pub refused: fn() -> EspReply,
    /// Returns the reply to a call over a limit.
    pub limited: fn(&EspExcess) -> EspReply,
    /// Returns the reply to a path that does not exist.
    pub absent: fn() -> EspReply,
    /// Returns the platform's ID of a contact, in a list or in the account.
    pub contact_id: fn(&EspContact, Option<u32>) -> String,
    pub list_id: fn(u32) -> String,
}

/// Facts that most platforms share; the rest of a sheet begins with them.
const USUAL: VendorSheet = VendorSheet {
    slug: "",
    base: None,
    root: "",
    states: &[],
    overlaps: true,
    is_lower: false,
    is_by_name: false,
    limits: &[],
    concurrency: None,
    routes: &[],
    key: str::to_owned,
    credentials: |_, key| vec![("api_key", key)],
    admit: |_, _| Ok(()),
    refused: || EspReply::empty(401),
    limited: |_| EspReply::page(429, "Too Many Requests"),
    absent: || EspReply::page(404, "Not Found"),
    contact_id: |contact, _| contact.email.clone(),
    list_id: |list| list.to_string(),
};

/// Names that the files of platforms use.
mod prelude {
    pub(super) use serde_json::{Map, Value, json};

    pub(super) use super::{
        EspAnswer, EspRoute, USUAL, VendorSecrets, VendorSheet, among, each, is_address, list_of, made, noting, ok, on,
        order_of, part, strange_params, strangers, text, time,
    };
    pub(super) use crate::account::{EspContact, EspState, PageOrder, Selection, ids};
    pub(super) use crate::call::EspCall;
    pub(super) use crate::desk::Desk;
    pub(super) use crate::limits::{EspExcess, EspLimit};
    pub(super) use crate::reply::EspReply;
}

/// Secrets and origins of a world's account.
#[derive(Clone, Debug)]
pub(crate) struct VendorSecrets {
    /// Origin of the world, as `http://127.0.0.1:4000`.
    pub origin: String,
    /// Origin of URLs in replies.
    pub public: String,
    /// 64 hexadecimal digits.
    pub key: String,
}

impl EspVendor {
    /// Returns the platforms that list their contacts.
    pub fn listing() -> Vec<Self> {
        Self::ALL.into_iter().filter(|vendor| !matches!(vendor, Self::Braze | Self::Sendy)).collect()
    }

    /// Returns the slug.
    pub fn slug(self) -> &'static str {
        self.sheet().slug
    }

    /// Returns the platform with a slug.
    pub fn of(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|vendor| vendor.slug() == slug)
    }

    /// Returns the published base URL; `None` for customers' own installations.
    pub fn published_base(self) -> Option<&'static str> {
        self.sheet().base
    }

    /// Returns the path of the published base URL.
    pub fn root(self) -> &'static str {
        self.sheet().root
    }
}

impl VendorSheet {
    /// Returns the credentials that a customer enters.
    pub(crate) fn entered(&self, secrets: &VendorSecrets) -> Vec<(&'static str, String)> {
        (self.credentials)(secrets, (self.key)(&secrets.key))
    }

    /// Handles an admitted call.
    pub(crate) fn answer(&self, desk: &mut Desk, call: &EspCall) -> EspReply {
        let Some(mut segments) = call.segments(self.root) else { return (self.absent)().blaming("no such path") };
        // A trailing slash is part of the pattern if the platform requires it.
        let ends = self.routes.iter().any(|route| route.pattern.ends_with('/'));
        if !ends && segments.last().is_some_and(String::is_empty) {
            segments.pop();
        }
        for route in self.routes {
            if let Some(stars) = route.fits(&call.method, &segments) {
                return (route.handler)(desk, call, &stars).unwrap_or_else(|reply| reply);
            }
        }
        (self.absent)().blaming("no such path or method")
    }
}

/// Answers with 200.
fn ok(body: &Value) -> EspAnswer {
    Ok(EspReply::json(200, body))
}

/// Answers with 201.
fn made(body: &Value) -> EspAnswer {
    Ok(EspReply::json(201, body))
}

/// Returns the part of some records that a page shows.
fn part<T>(all: &[T], from: usize, size: usize) -> &[T] {
    let rest = all.get(from..).unwrap_or_default();
    &rest[..size.min(rest.len())]
}

/// Returns records as a reply shows them.
fn each<T>(all: &[T], shown: impl Fn(&T) -> Value) -> Vec<Value> {
    all.iter().map(shown).collect()
}

/// Returns a member of an object as text. Numbers are converted.
fn text(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns whether a name is among the words of a text.
fn among(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

/// Returns the members of an object that a platform does not define.
fn strangers(value: &Value, known: &str) -> Vec<String> {
    let Value::Object(members) = value else { return vec!["(not an object)".to_owned()] };
    members.keys().filter(|name| !among(known, name)).cloned().collect()
}

/// Returns whether platforms accept a text as an address.
fn is_address(text: &str) -> bool {
    text.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && domain.contains('.') && !domain.starts_with('.') && !domain.ends_with('.')
    }) && !text.contains(char::is_whitespace)
}

/// Returns the number of a list from its ID.
fn list_of(account: &EspAccount, id: &str, list_id: fn(u32) -> String) -> Option<u32> {
    account.lists.iter().map(|list| list.number).find(|number| list_id(*number) == id)
}

/// Records faults in the form of a call that is handled nonetheless.
fn noting(reply: EspReply, blames: &[String]) -> EspReply {
    match blames.first() {
        Some(first) => reply.blaming(format!("unknown: {first}")),
        None => reply,
    }
}

/// Returns the parameters of a call that a platform does not define.
fn strange_params(call: &EspCall, known: &str) -> Vec<String> {
    call.params().into_iter().map(|(name, _)| name).filter(|name| !among(known, name)).collect()
}

/// Returns the order for a platform's name of a direction.
fn order_of(direction: Option<&str>, default: PageOrder) -> PageOrder {
    match direction.map(str::to_lowercase).as_deref() {
        Some("asc") => PageOrder::Oldest,
        Some("desc") => PageOrder::Newest,
        _ => default,
    }
}
