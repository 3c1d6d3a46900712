//! Classification of a response, by rules and defaults.

use serde_json::Value;

use super::{Fault, content, wait};
use crate::file::{ConnectorFile, ErrorClass, ErrorRule, QuotaEnd};
use crate::request::{Credentials, Response};
use crate::source::{Found, header, scalar};

/// Maximum length of a message, in characters.
const MESSAGE_MAX: usize = 300;

/// Common places of an error message.
const MESSAGES: &[&str] = &[
    "/message",
    "/detail",
    "/description",
    "/errors/0/message",
    "/errors/0/detail",
    "/errors/0/title",
    "/errors/0",
    "/error/message",
    "/error_description",
    "/error",
    "/title",
    "/Message",
];

/// Successful response, as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub body: Value,
}

/// Classifies the responses of one connection.
#[derive(Clone, Copy)]
pub(crate) struct AnswerJudge<'a> {
    pub file: &'a ConnectorFile,
    pub credentials: &'a Credentials,
    /// Rules that precede those of the file.
    pub first: &'a [ErrorRule],
    /// Texts that no message may contain, besides the credentials.
    pub hidden: &'a [&'a str],
}

impl AnswerJudge<'_> {
    /// Returns the body of a success, or the fault.
    pub(crate) fn judge(&self, response: &Response) -> Result<Judged, Fault> {
        // What is cut may be large, and nothing is concluded from it.
        let body = if response.is_cut { Value::Null } else { content(self.file, &response.body) };
        let found = Found { body: &body, headers: &response.headers, key: None };
        match class_of(self.file, self.first, response, found) {
            None => Ok(Judged { body }),
            Some((class, until)) => {
                let wait_ms = wait_ms(self.file, class, until, response, found);
                let message = self.message(response, found);
                Err(Fault { class, status: response.status, wait_ms, message })
            }
        }
    }

    /// Returns the platform's message, without credentials, other hidden texts and addresses.
    fn message(&self, response: &Response, found: Found<'_>) -> String {
        let by_file = self.file.http.message.iter().find_map(|source| source.text(found));
        let common = || MESSAGES.iter().find_map(|pointer| found.body.pointer(pointer).and_then(scalar));
        let text = by_file.or_else(common).filter(|text| !text.trim().is_empty());
        let text = text.unwrap_or_else(|| match response.status {
            300..400 => redirection(response),
            _ if response.is_cut => "the answer is too long".to_owned(),
            _ if is_html(self.file, response) => "the answer is a web page".to_owned(),
            _ => "no message".to_owned(),
        });
        let text = without_addresses(&self.credentials.redact(self.file, self.hidden, &text));
        format!("{} answered {}: {}", self.file.provider.name, response.status, text)
    }
}

impl ConnectorFile {
    /// Classifies a response for the whole account, by the file's rules without those of an action. Returns the error class
    /// (`None` for success) and the wait in milliseconds.
    pub fn assess(&self, response: &Response) -> (Option<ErrorClass>, Option<i64>) {
        let is_success = (200..300).contains(&response.status);
        let concerns = |rule: &ErrorRule| rule.status.is_empty() || rule.status.contains(&response.status);
        // Pages are large, and most files classify a success by its status alone.
        if response.is_cut {
            return (Some(ErrorClass::Unreadable), None);
        }
        if is_success && !self.errors.iter().any(concerns) {
            return (None, None);
        }
        let body = content(self, &response.body);
        let found = Found { body: &body, headers: &response.headers, key: None };
        match class_of(self, &[], response, found) {
            None => (None, None),
            Some((class, until)) => (Some(class), wait_ms(self, class, until, response, found)),
        }
    }
}

/// Returns the class of a response and the end of its quota; `None` for success.
fn class_of(
    file: &ConnectorFile,
    first: &[ErrorRule],
    response: &Response,
    found: Found<'_>,
) -> Option<(ErrorClass, Option<QuotaEnd>)> {
    if response.is_cut {
        return Some((ErrorClass::Unreadable, None));
    }
    if is_html(file, response) {
        return Some((html_class(response.status), None));
    }
    let mut rules = first.iter().chain(&file.errors);
    match rules.find(|rule| matches(rule, response.status, found)) {
        Some(rule) => Some((rule.class, rule.until)),
        None => default_class(response.status, found.body).map(|class| (class, None)),
    }
}

fn wait_ms(
    file: &ConnectorFile,
    class: ErrorClass,
    until: Option<QuotaEnd>,
    response: &Response,
    found: Found<'_>,
) -> Option<i64> {
    if !matches!(class, ErrorClass::Throttled | ErrorClass::Quota | ErrorClass::Transient) {
        return None;
    }
    let by_clock = until.map(|until| wait::until_ms(until, response.at));
    by_clock.or_else(|| wait::wait_ms(&file.rate.wait, found, response.at))
}

/// Returns whether the response is a web page: of a proxy, a login form, or a host that is not the platform.
fn is_html(file: &ConnectorFile, response: &Response) -> bool {
    let kind = header(&response.headers, "Content-Type").unwrap_or_default().to_ascii_lowercase();
    kind.starts_with("text/html") && !file.http.plain || response.body.trim_ascii_start().starts_with(b"<")
}

/// Returns a class that changes no contact, because a proxy's page says nothing about contacts.
fn html_class(status: u16) -> ErrorClass {
    match status {
        401 => ErrorClass::Credential,
        429 => ErrorClass::Throttled,
        403 | 408 | 500.. => ErrorClass::Transient,
        _ => ErrorClass::Unreadable,
    }
}

/// Returns the class of a response that no rule matches; `None` for success.
fn default_class(status: u16, body: &Value) -> Option<ErrorClass> {
    match status {
        200..=299 => None,
        401 => Some(ErrorClass::Credential),
        // Some platforms report overload with a bare 403; only a 403 with a message is about credentials.
        403 if body.is_object() => Some(ErrorClass::Credential),
        403 | 408 | 425 | 500.. => Some(ErrorClass::Transient),
        402 => Some(ErrorClass::Quota),
        429 => Some(ErrorClass::Throttled),
        400..=499 => Some(ErrorClass::Invalid),
        _ => Some(ErrorClass::Unreadable),
    }
}

fn matches(rule: &ErrorRule, status: u16, found: Found<'_>) -> bool {
    let by_status = rule.status.is_empty() || rule.status.contains(&status);
    let by_json = rule.json.is_none_or(|json| json != found.body.is_null());
    let by_text = rule.at.as_ref().is_none_or(|at| {
        let Some(text) = at.value(found).map(|value| scalar(&value).unwrap_or_else(|| value.to_string())) else {
            return false;
        };
        let lower = text.to_lowercase();
        let equals = rule.is.is_empty() || rule.is.contains(&text);
        equals && (rule.has.is_empty() || rule.has.iter().any(|part| lower.contains(&part.to_lowercase())))
    });
    by_status && by_json && by_text
}

/// Describes a redirect, which is never followed: credentials would be sent along.
fn redirection(response: &Response) -> String {
    let target = header(&response.headers, "location").and_then(|target| url::Url::parse(target).ok());
    match target.map(|target| target.origin()).filter(url::Origin::is_tuple) {
        Some(origin) => format!("it redirects to {}", origin.ascii_serialization()),
        None => "it redirects to another path".to_owned(),
    }
}

/// Signs of an address: an @, its compatible forms, and its forms in a URL, which platforms quote.
const AT_SIGNS: [&str; 5] = ["@", "\u{ff20}", "\u{fe6b}", "%40", "%2540"];

/// Replaces words that contain an @, removes control characters, and truncates. Messages are stored and forwarded.
fn without_addresses(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let has_address = |word: &str| AT_SIGNS.iter().any(|sign| word.contains(sign));
    let words = text.split(' ').map(|word| if has_address(word) { "(address)" } else { word });
    let text = words.collect::<Vec<_>>().join(" ");
    text.chars().take(MESSAGE_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_a_proxy_is_never_an_answer_about_a_contact() {
        for status in [200, 301, 400, 404, 409, 410, 422] {
            assert_eq!(html_class(status), ErrorClass::Unreadable, "{status}");
        }
    }

    #[test]
    fn overload_is_never_a_dead_credential() {
        assert_eq!(default_class(403, &Value::Null), Some(ErrorClass::Transient));
        assert_eq!(default_class(429, &Value::Null), Some(ErrorClass::Throttled));
        assert_eq!(default_class(503, &serde_json::json!({})), Some(ErrorClass::Transient));
        assert_eq!(default_class(401, &Value::Null), Some(ErrorClass::Credential));
        assert_eq!(default_class(204, &Value::Null), None);
        assert_eq!(default_class(302, &Value::Null), Some(ErrorClass::Unreadable));
    }

    #[test]
    fn a_redirect_is_named_without_its_path() {
        let to = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let at = probity_mail::time::Millis(0);
            redirection(&Response { status: 301, headers, body: Vec::new(), is_cut: false, at })
        };
        assert_eq!(
            to(&[("Location", "https://Admin.example.org/ghost/?k=v")]),
            "it redirects to https://admin.example.org"
        );
        assert_eq!(to(&[("location", "/ghost/#/a")]), "it redirects to another path");
        assert_eq!(to(&[("location", "mailto:ann@example.org")]), "it redirects to another path");
        assert_eq!(to(&[]), "it redirects to another path");
    }

    #[test]
    fn the_account_learns_what_an_answer_means_for_it() {
        let file = crate::Catalog::embedded().get("brevo").unwrap();
        let assess = |status, headers: &[(&str, &str)], body: &str| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let at = probity_mail::time::Millis(1_795_341_600_000);
            file.assess(&Response { status, headers, body: body.as_bytes().to_vec(), is_cut: false, at })
        };
        assert_eq!(assess(200, &[], r#"{"count": 0}"#), (None, None));
        assert_eq!(assess(204, &[], ""), (None, None));
        let throttled = Some(ErrorClass::Throttled);
        assert_eq!(assess(429, &[], "{}"), (throttled, None));
        assert_eq!(assess(429, &[("x-sib-ratelimit-reset", "12")], "{}"), (throttled, Some(12_000)));
        for (name, value) in [
            ("Retry-After", "120"),
            ("retry-after", "Sun, 22 Nov 2026 10:02:00 GMT"),
            ("RETRY-AFTER", "Sunday, 22-Nov-26 10:02:00 GMT"),
            ("Retry-After", "Sun Nov 22 10:02:00 2026"),
        ] {
            assert_eq!(assess(429, &[(name, value)], "{}"), (throttled, Some(120_000)), "{value}");
        }
        assert_eq!(assess(503, &[("Retry-After", "5")], "{}"), (Some(ErrorClass::Transient), Some(5_000)));
        assert_eq!(assess(401, &[("Retry-After", "5")], "{}"), (Some(ErrorClass::Credential), None));
        assert_eq!(assess(200, &[], "<html>").0, None, "a page of a proxy is for the machine to judge");
    }

    #[test]
    fn messages_have_no_addresses_and_an_end() {
        let text = format!("no such ann@example.org\r\n{}", "x".repeat(1000));
        let text = without_addresses(&text);
        assert!(text.starts_with("no such (address)"), "{text}");
        assert_eq!(without_addresses("\"ann@example.org\" is taken"), "(address) is taken");
        for address in ["ann%40example.org", "ann%2540example.org", "ann\u{ff20}example.org", "ann\u{fe6b}example.org"]
        {
            let text = without_addresses(&format!("no /v3/members/{address}?a=1 here"));
            assert_eq!(text, "no (address) here", "{address}");
        }
        assert_eq!(without_addresses("40% of 140"), "40% of 140");
        assert!(text.chars().count() <= MESSAGE_MAX && !text.contains('@'));
    }
}
