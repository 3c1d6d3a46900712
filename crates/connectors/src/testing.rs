//! Live test of credentials: one cheap call, and the meaning of its response.

use std::collections::BTreeMap;

use probity_mail::time::Millis;

use crate::answer::{AnswerJudge, Fault, Judged};
use crate::file::{ConnectorFile, CredentialKind, ErrorClass};
use crate::request::{Credentials, Rendering, Request, Response, Values};
use crate::source::Found;

/// Maximum length of an account's name, in characters.
const ACCOUNT_MAX: usize = 200;

/// Result of a test of credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestOutcome {
    /// Accepted by the platform.
    Valid { account: Option<String> },
    /// Refused by the platform; `fields` names the credentials to check.
    Wrong { fields: Vec<String>, message: String },
    /// Inconclusive: overload, an outage or a fault.
    Failed(Fault),
}

/// Whether a platform has accepted the credentials before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialAge {
    /// Entered just now, perhaps with a mistake.
    Entered,
    /// Accepted when the customer connected.
    Stored,
}

/// Tests the credentials of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Testing<'a> {
    file: &'a ConnectorFile,
    credentials: &'a Credentials,
    age: CredentialAge,
}

impl<'a> Testing<'a> {
    /// Tests credentials that a customer enters.
    pub fn new(file: &'a ConnectorFile, credentials: &'a Credentials) -> Self {
        Self::of(file, credentials, CredentialAge::Entered)
    }

    /// Tests credentials of an age. A host that was the platform once and does not answer as one now has an outage.
    pub fn of(file: &'a ConnectorFile, credentials: &'a Credentials, age: CredentialAge) -> Self {
        Self { file, credentials, age }
    }

    /// Returns the call.
    pub fn request(&self, now: Millis) -> Result<Request, Fault> {
        let rendering = Rendering { file: self.file, now };
        Ok(rendering.request(&self.file.test.request, &BTreeMap::new(), &Values::new(self.credentials))?)
    }

    /// Evaluates the response.
    pub fn answer(&self, response: &Response) -> TestOutcome {
        let judge = AnswerJudge { file: self.file, credentials: self.credentials, first: &[], hidden: &[] };
        match judge.judge(response) {
            Ok(judged) if !self.is_of_platform(&judged, response) => {
                self.refused(Fault::unreadable("the response is not one of the platform"))
            }
            Ok(judged) => {
                let found = Found { body: &judged.body, headers: &response.headers, key: None };
                let account = self.file.test.account.iter().find_map(|at| at.text(found));
                let account = account.map(|name| name.chars().filter(|c| !c.is_control()).take(ACCOUNT_MAX).collect());
                TestOutcome::Valid { account }
            }
            Err(fault) => self.refused(fault),
        }
    }

    /// Returns whether a successful response is one of the platform, and not of a host that answers every path.
    fn is_of_platform(&self, judged: &Judged, response: &Response) -> bool {
        let found = Found { body: &judged.body, headers: &response.headers, key: None };
        let is_empty = judged.body.as_object().is_some_and(serde_json::Map::is_empty);
        !judged.body.is_null() && !is_empty && self.file.test.has.value(found).is_some()
    }

    /// Returns the outcome of a failed connection: if the customer has just entered the URL, it is wrong.
    pub fn unreached(&self, fault: Fault) -> TestOutcome {
        outcome(self.entered_urls(), fault)
    }

    /// Returns the outcome of a refused call, of the test or of the exchange of credentials for a token.
    pub fn refused(&self, fault: Fault) -> TestOutcome {
        let is_address = |kind| kind == CredentialKind::Url;
        let fields = match fault.class {
            ErrorClass::Credential => self.fields(|kind| !is_address(kind)),
            // The host responds, but is not the platform: if the customer has just entered the URL, it is wrong.
            ErrorClass::Unreadable => self.entered_urls(),
            // A path that is not there is one of another host, or of another version. With another status, the platform responds
            // and knows the path, but not a name in the call.
            ErrorClass::Invalid | ErrorClass::Gone if !self.fields(is_address).is_empty() => {
                let names = if is_path_missing(fault.status) { Vec::new() } else { self.entered_names() };
                if names.is_empty() { self.entered_urls() } else { names }
            }
            // The platform responds, but does not know the name in the path.
            ErrorClass::Invalid | ErrorClass::Gone => self.fields(|kind| kind == CredentialKind::Text),
            _ => Vec::new(),
        };
        outcome(fields, fault)
    }

    /// Returns the URLs that may be mistyped.
    fn entered_urls(&self) -> Vec<String> {
        match self.age {
            CredentialAge::Entered => self.fields(|kind| kind == CredentialKind::Url),
            CredentialAge::Stored => Vec::new(),
        }
    }

    /// Returns the names in the test call that may be mistyped.
    fn entered_names(&self) -> Vec<String> {
        let mut sent = Vec::new();
        self.file.test.request.visit(&mut |template| {
            sent.extend(template.placeholders().map(|placeholder| placeholder.name.clone()));
        });
        let mut names = self.fields(|kind| kind == CredentialKind::Text);
        names.retain(|name| self.age == CredentialAge::Entered && sent.contains(name));
        names
    }

    fn fields(&self, wanted: impl Fn(CredentialKind) -> bool) -> Vec<String> {
        let fields = self.file.credentials.iter().filter(|field| wanted(field.kind));
        fields.map(|field| field.name.clone()).collect()
    }
}

/// Returns whether a fault may mean that the path does not exist; 0 is a fault without a response.
fn is_path_missing(status: u16) -> bool {
    matches!(status, 0 | 404 | 405)
}

fn outcome(fields: Vec<String>, fault: Fault) -> TestOutcome {
    if fields.is_empty() { TestOutcome::Failed(fault) } else { TestOutcome::Wrong { fields, message: fault.message } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Origin;
    use crate::request::HostAllowance;

    #[test]
    fn a_host_that_answers_everything_is_not_the_platform() {
        let text = include_str!("../tests/small.toml");
        let of_place = format!("{text}has = \"/account\"\n");
        for (text, is_enough) in [(text, true), (&of_place, false)] {
            let file = ConnectorFile::parse("small.toml", text, Origin::Operator).unwrap();
            let entered = [("url", "https://mail.example.org"), ("key", "hush-hush")];
            let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            let credentials = Credentials::new(&file, &entered, &HostAllowance::default()).unwrap();
            let answer = |body: &str| {
                let body = body.as_bytes().to_vec();
                let response = Response { status: 200, headers: Vec::new(), body, is_cut: false, at: Millis(0) };
                Testing::new(&file, &credentials).answer(&response)
            };
            let is_valid = |body: &str| matches!(answer(body), TestOutcome::Valid { .. });
            for body in ["", "{}", "{\"account\":"] {
                let wrong = matches!(answer(body), TestOutcome::Wrong { fields, .. } if fields == ["url"]);
                assert!(wrong, "{body}");
            }
            assert_eq!(is_valid("{\"ok\": true}"), is_enough);
            assert!(is_valid("{\"account\": {}}"));
        }
    }

    #[test]
    fn a_url_is_doubted_only_while_connecting() {
        let file = ConnectorFile::parse("small.toml", include_str!("../tests/small.toml"), Origin::Operator).unwrap();
        let entered = [("url", "https://mail.example.org"), ("key", "hush-hush")];
        let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let credentials = Credentials::new(&file, &entered, &HostAllowance::default()).unwrap();
        let fault = |class| Fault { class, status: 0, wait_ms: None, message: "Small is gone".to_owned() };
        let wrong =
            |field: &str| TestOutcome::Wrong { fields: vec![field.to_owned()], message: "Small is gone".to_owned() };
        let (new, stored) =
            (Testing::new(&file, &credentials), Testing::of(&file, &credentials, CredentialAge::Stored));
        assert_eq!(new.unreached(fault(ErrorClass::Transient)), wrong("url"));
        assert_eq!(stored.unreached(fault(ErrorClass::Transient)), TestOutcome::Failed(fault(ErrorClass::Transient)));
        for class in [ErrorClass::Unreadable, ErrorClass::Invalid, ErrorClass::Gone] {
            assert_eq!(new.refused(fault(class)), wrong("url"));
            assert_eq!(stored.refused(fault(class)), TestOutcome::Failed(fault(class)));
        }
        for testing in [new, stored] {
            assert_eq!(testing.refused(fault(ErrorClass::Credential)), wrong("key"));
        }
    }
}
