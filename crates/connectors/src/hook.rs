//! Notifications of new contacts: registration, proof of origin, and content.
//!
//! A notification is a hint, not a fact: the contact that it names is read afterwards. The proof is checked on the raw
//! bytes, before anything is parsed.

mod notice;
mod proof;

use std::collections::BTreeMap;

use probity_mail::time::Millis;

pub use notice::{HookHint, hints};
pub use proof::{ProofFault, prove};

use crate::answer::{AnswerJudge, Fault};
use crate::file::{ConnectorFile, HookRule, RequestRule};
use crate::request::{Credentials, Rendering, Request, Response, Values};
use crate::source::Found;
use crate::template::PlaceholderFamily;

/// Registration at the platform.
#[derive(Clone, PartialEq, Eq)]
pub struct HookRegistration {
    /// ID at the platform, needed to remove the registration.
    pub id: String,
    /// Secret for proofs: the platform's if it sends one, otherwise ours.
    pub secret: String,
}

/// Shows the ID only.
impl std::fmt::Debug for HookRegistration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookRegistration").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Our endpoint for a connection or a list.
#[derive(Clone)]
pub struct HookEndpoint {
    /// URL with its secret path.
    pub url: String,
    /// Secret that we propose for proofs.
    pub secret: String,
    /// List to which the registration applies, if it applies to one.
    pub list: Option<String>,
}

/// Next step of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookStep {
    Send(Request),
    Done(HookRegistration),
}

/// Registers our endpoint: one call, and the calls that the platform requires after it.
#[derive(Clone)]
pub struct Registering<'a> {
    file: &'a ConnectorFile,
    rule: &'a HookRule,
    credentials: &'a Credentials,
    endpoint: HookEndpoint,
    registration: Option<HookRegistration>,
    after: usize,
}

impl<'a> Registering<'a> {
    pub fn new(file: &'a ConnectorFile, credentials: &'a Credentials, endpoint: HookEndpoint) -> Result<Self, Fault> {
        let rule = file.hook.as_ref();
        let rule = rule.ok_or_else(|| Fault::invalid(format!("{} has no webhooks", file.provider.name)))?;
        Ok(Self { file, rule, credentials, endpoint, registration: None, after: 0 })
    }

    /// Returns the registration once the platform has it. Store it immediately; without its ID it cannot be removed.
    pub fn registration(&self) -> Option<&HookRegistration> {
        self.registration.as_ref()
    }

    pub fn next(&self, now: Millis) -> Result<HookStep, Fault> {
        let rule = match &self.registration {
            None => &self.rule.register.request,
            Some(registration) => match self.rule.register.then.get(self.after) {
                Some(rule) => rule,
                None => return Ok(HookStep::Done(registration.clone())),
            },
        };
        let values = values(self.credentials, &self.endpoint, self.registration.as_ref());
        let rendering = Rendering { file: self.file, now };
        Ok(HookStep::Send(rendering.request(rule, &BTreeMap::new(), &values)?))
    }

    pub fn answer(&mut self, response: &Response) -> Result<(), Fault> {
        let hidden = self.secrets();
        let judge = AnswerJudge { file: self.file, credentials: self.credentials, first: &[], hidden: &hidden };
        let body = judge.judge(response)?.body;
        if self.registration.is_some() {
            self.after += 1;
            return Ok(());
        }
        let found = Found { body: &body, headers: &response.headers, key: None };
        let id = self.rule.register.id.text(found);
        let id = id.ok_or_else(|| Fault::unreadable("the registration has no ID"))?;
        let secret = self.rule.register.secret.as_ref().and_then(|at| at.text(found));
        let secret = secret.unwrap_or_else(|| self.endpoint.secret.clone());
        self.registration = Some(HookRegistration { id, secret });
        Ok(())
    }

    /// Returns what proves notifications: the last part of our URL, and the secrets. A platform may quote them when it refuses a
    /// call, and faults are stored and shown.
    fn secrets(&self) -> [&str; 3] {
        let HookEndpoint { url, secret, .. } = &self.endpoint;
        let path = url.rsplit('/').next().unwrap_or_default();
        let given = self.registration.as_ref().map_or("", |registration| registration.secret.as_str());
        [path, secret.as_str(), given]
    }
}

/// Returns the call that removes a registration. A response of class `gone`, or 404, means that it is removed.
pub fn removal(
    file: &ConnectorFile,
    credentials: &Credentials,
    of: (&HookEndpoint, &HookRegistration),
    now: Millis,
) -> Result<Request, Fault> {
    let rule = file.hook.as_ref().ok_or_else(|| Fault::invalid(format!("{} has no webhooks", file.provider.name)))?;
    about(file, credentials, &rule.remove, (of, now))
}

/// Returns the call that shows whether a registration stands; `None` if the platform has none.
pub fn look(
    file: &ConnectorFile,
    credentials: &Credentials,
    of: (&HookEndpoint, &HookRegistration),
    now: Millis,
) -> Option<Result<Request, Fault>> {
    let rule = file.hook.as_ref()?.look.as_ref()?;
    Some(about(file, credentials, rule, (of, now)))
}

/// Returns a call about a registration.
fn about(
    file: &ConnectorFile,
    credentials: &Credentials,
    rule: &RequestRule,
    ((endpoint, registration), now): ((&HookEndpoint, &HookRegistration), Millis),
) -> Result<Request, Fault> {
    let values = values(credentials, endpoint, Some(registration));
    Ok(Rendering { file, now }.request(rule, &BTreeMap::new(), &values)?)
}

fn values<'a>(
    credentials: &'a Credentials,
    endpoint: &HookEndpoint,
    registration: Option<&HookRegistration>,
) -> Values<'a> {
    let mut values = Values::new(credentials);
    values.set(PlaceholderFamily::Hook, "url", endpoint.url.as_str());
    values.set(PlaceholderFamily::Hook, "secret", endpoint.secret.as_str());
    if let Some(list) = &endpoint.list {
        values.set(PlaceholderFamily::List, "id", list.as_str());
    }
    if let Some(registration) = registration {
        values.set(PlaceholderFamily::Hook, "id", registration.id.as_str());
    }
    values
}

#[cfg(test)]
mod tests;
