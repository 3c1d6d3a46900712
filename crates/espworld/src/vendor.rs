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

/// Platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EspVendor {
    Activecampaign,
    Braze,
    Brevo,
    CampaignMonitor,
    ConstantContact,
    Convertkit,
    CustomerIo,
    Drip,
    Getresponse,
    Ghost,
    Gist,
    Hubspot,
    Iterable,
    Keap,
    Keila,
    Klaviyo,
    Listmonk,
    Mailchimp,
    Mailerlite,
    Mailman,
    Mailtrain,
    Mautic,
    Moosend,
    Ontraport,
    Phplist,
    Sendlane,
    Sendy,
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
    /// Returns the credentials that a customer enters.
    pub credentials: fn(&VendorSecrets) -> Vec<(&'static str, String)>,
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
    /// All platforms, by slug.
    pub const ALL: [Self; 27] = [
        Self::Activecampaign,
        Self::Braze,
        Self::Brevo,
        Self::CampaignMonitor,
        Self::ConstantContact,
        Self::Convertkit,
        Self::CustomerIo,
        Self::Drip,
        Self::Getresponse,
        Self::Ghost,
        Self::Gist,
        Self::Hubspot,
        Self::Iterable,
        Self::Keap,
        Self::Keila,
        Self::Klaviyo,
        Self::Listmonk,
        Self::Mailchimp,
        Self::Mailerlite,
        Self::Mailman,
        Self::Mailtrain,
        Self::Mautic,
        Self::Moosend,
        Self::Ontraport,
        Self::Phplist,
        Self::Sendlane,
        Self::Sendy,
    ];

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

    pub(crate) fn sheet(self) -> &'static VendorSheet {
        match self {
            Self::Activecampaign => &activecampaign::SHEET,
            Self::Braze => &hosted::braze::SHEET,
            Self::Brevo => &brevo::SHEET,
            Self::CampaignMonitor => &campaign_monitor::SHEET,
            Self::ConstantContact => &hosted::constant_contact::SHEET,
            Self::Convertkit => &convertkit::SHEET,
            Self::CustomerIo => &hosted::customer_io::SHEET,
            Self::Drip => &hosted::drip::SHEET,
            Self::Getresponse => &hosted::getresponse::SHEET,
            Self::Ghost => &ghost::SHEET,
            Self::Gist => &hosted::gist::SHEET,
            Self::Hubspot => &hubspot::SHEET,
            Self::Iterable => &hosted::iterable::SHEET,
            Self::Keap => &hosted::keap::SHEET,
            Self::Keila => &installed::keila::SHEET,
            Self::Klaviyo => &klaviyo::SHEET,
            Self::Listmonk => &listmonk::SHEET,
            Self::Mailchimp => &mailchimp::SHEET,
            Self::Mailerlite => &mailerlite::SHEET,
            Self::Mailman => &mailman::SHEET,
            Self::Mailtrain => &installed::mailtrain::SHEET,
            Self::Mautic => &mautic::SHEET,
            Self::Moosend => &hosted::moosend::SHEET,
            Self::Ontraport => &hosted::ontraport::SHEET,
            Self::Phplist => &installed::phplist::SHEET,
            Self::Sendlane => &hosted::sendlane::SHEET,
            Self::Sendy => &installed::sendy::SHEET,
        }
    }
}

impl VendorSheet {
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

/// Returns a member of an object as text. Numbers are converted.
fn text(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the members of an object that a platform does not define.
fn strangers(value: &Value, known: &[&str]) -> Vec<String> {
    let Value::Object(members) = value else { return vec!["(not an object)".to_owned()] };
    members.keys().filter(|name| !known.contains(&name.as_str())).cloned().collect()
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
fn strange_params(call: &EspCall, known: &[&str]) -> Vec<String> {
    call.params().into_iter().map(|(name, _)| name).filter(|name| !known.contains(&name.as_str())).collect()
}

/// Returns the order for a platform's name of a direction.
fn order_of(direction: Option<&str>, default: PageOrder) -> PageOrder {
    match direction.map(str::to_lowercase).as_deref() {
        Some("asc") => PageOrder::Oldest,
        Some("desc") => PageOrder::Newest,
        _ => default,
    }
}
