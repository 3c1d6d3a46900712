//! Checks requests: methods, paths, and placeholders without a value at their place.

use super::{ConnectorFault, ConnectorFile, CredentialKind, PageRule, RequestRule};
use crate::template::{Filter, JsonTemplate, Placeholder, PlaceholderFamily, Template};

/// Place of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Base,
    Path,
    Value,
    /// Text that is compared, not sent.
    Name,
}

/// Placeholders that have a value at a place. Credentials always have one.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowed {
    pub families: Vec<PlaceholderFamily>,
    pub page: &'static [&'static str],
    pub ensured: Vec<String>,
    pub read: Vec<String>,
}

impl Allowed {
    pub(super) fn of(families: &[PlaceholderFamily]) -> Self {
        Self { families: families.to_vec(), ..Self::default() }
    }

    pub(super) fn paged(mut self, page: &PageRule) -> Self {
        self.page = page.names();
        self
    }

    pub(super) fn with(mut self, family: PlaceholderFamily) -> Self {
        self.families.push(family);
        self
    }

    /// Lists the valid placeholders, for messages.
    fn names(&self) -> String {
        let mut names: Vec<String> = vec!["credential".to_owned()];
        names.extend(self.families.iter().map(|family| family.name().to_owned()));
        names.extend(self.page.iter().map(|name| format!("page.{name}")));
        names.extend(self.ensured.iter().map(|name| format!("ensured.{name}")));
        names.extend(self.read.iter().map(|name| format!("read.{name}")));
        names.join(", ")
    }

    fn has(&self, placeholder: &Placeholder) -> bool {
        match placeholder.family {
            // Checked with the place.
            PlaceholderFamily::Credential | PlaceholderFamily::Token => true,
            PlaceholderFamily::Page => self.page.contains(&placeholder.name.as_str()),
            PlaceholderFamily::Ensured => self.ensured.contains(&placeholder.name),
            PlaceholderFamily::Read => self.read.contains(&placeholder.name),
            family => self.families.contains(&family),
        }
    }
}

/// Collects the faults of a file.
pub(super) struct Walker<'a> {
    pub file: &'a ConnectorFile,
    pub name: &'a str,
    pub faults: Vec<ConnectorFault>,
}

impl Walker<'_> {
    pub(super) fn fault(&mut self, path: &str, what: impl Into<String>) {
        let fault = ConnectorFault { file: self.name.to_owned(), path: path.to_owned(), line: None, what: what.into() };
        self.faults.push(fault);
    }

    /// Checks a request. `path` is the key of its table.
    pub(super) fn request(&mut self, path: &str, rule: &RequestRule, allowed: &Allowed) {
        let methods = [
            ("get", &rule.get),
            ("post", &rule.post),
            ("put", &rule.put),
            ("patch", &rule.patch),
            ("delete", &rule.delete),
        ];
        let named: Vec<_> = methods.iter().filter_map(|(name, template)| Some((*name, template.as_ref()?))).collect();
        match named.as_slice() {
            [(name, template)] => {
                self.path(&format!("{path}.{name}"), template, allowed);
                if *name == "get" && (rule.json.is_some() || rule.form.is_some()) {
                    self.fault(path, "a get has no body; use query, or another method");
                }
            }
            _ => self.fault(path, "write exactly one of get, post, put, patch, delete, with the path"),
        }
        if rule.other && self.file.http.other.is_none() {
            self.fault(path, "other requires [http.other]");
        }
        if rule.json.is_some() && rule.form.is_some() {
            self.fault(path, "write json or form, not both");
        }
        for (name, template) in rule.query.iter().chain(rule.form.iter().flatten()) {
            self.template(&format!("{path}.{name}"), template, Place::Value, allowed);
        }
        self.headers(&format!("{path}.headers"), &rule.headers, allowed);
        if let Some(json) = &rule.json {
            self.json(&format!("{path}.json"), json, allowed);
        }
        self.changed_secrets(path, rule);
    }

    /// Refuses secrets that a filter changes: messages are cleaned of those that requests send unchanged, and of those in the
    /// headers of all requests. A part behind a mark, as of a data center, is no secret.
    fn changed_secrets(&mut self, path: &str, rule: &RequestRule) {
        let mut changed = Vec::new();
        rule.visit(&mut |template| {
            let is_changed = |filter: &Filter| !matches!(filter, Filter::AfterLast(_) | Filter::Text);
            let secrets = template.placeholders().filter(|placeholder| self.file.is_secret(placeholder));
            changed.extend(secrets.filter(|secret| secret.filters.iter().any(is_changed)).cloned());
        });
        for placeholder in changed {
            self.fault(path, format!("{placeholder} is secret, and filters may change it in http.headers only"));
        }
    }

    pub(super) fn headers(
        &mut self,
        path: &str,
        headers: &std::collections::BTreeMap<String, Template>,
        allowed: &Allowed,
    ) {
        for (name, template) in headers {
            let path = format!("{path}.{name}");
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            {
                self.fault(&path, "a header name may have only letters, digits and hyphens");
            }
            if template.literals().chars().any(|c| c.is_control() || !c.is_ascii()) {
                self.fault(&path, "a header value must be printable ASCII");
            }
            self.template(&path, template, Place::Value, allowed);
        }
    }

    pub(super) fn json(&mut self, path: &str, json: &JsonTemplate, allowed: &Allowed) {
        let mut templates = Vec::new();
        json.visit(&mut |template| templates.push(template.clone()));
        for template in templates {
            self.template(path, &template, Place::Value, allowed);
        }
    }

    fn path(&mut self, path: &str, template: &Template, allowed: &Allowed) {
        let outline = template.outline();
        let starts =
            matches!(template.parts().first(), Some(crate::template::Part::Literal(text)) if text.starts_with('/'));
        if !starts {
            self.fault(path, "a path begins with /, and is added to http.base");
        }
        let odd = |c: char| !c.is_ascii_graphic() || matches!(c, '?' | '#' | '\\' | '%' | '"' | '<' | '>');
        if outline.contains(odd) || outline.contains("//") || outline.contains("/..") {
            self.fault(path, "a path has no query, fragment, %, // or ..; write parameters below query");
        }
        self.template(path, template, Place::Path, allowed);
    }

    /// Checks that every placeholder has a value here, in a suitable form.
    pub(super) fn template(&mut self, path: &str, template: &Template, place: Place, allowed: &Allowed) {
        for placeholder in template.placeholders() {
            self.token_place(path, placeholder, place);
            if !allowed.has(placeholder) {
                self.fault(path, format!("{placeholder} has no value here; there are {}", allowed.names()));
            }
            self.credential(path, placeholder, place);
            self.time(path, placeholder);
            // Query languages of platforms have their own escapes, which this crate does not know.
            let quoted = template.single().is_none() && template.literals().contains(['"', '\'', '(', '`']);
            if place == Place::Value && quoted && placeholder.family.is_foreign() {
                let what = "stands within quotes or parentheses: this would be a query of the platform's own, and the value \
                            could change it; send the value as a parameter by itself";
                self.fault(path, format!("{placeholder} {what}"));
            }
        }
    }

    fn token_place(&mut self, path: &str, placeholder: &Placeholder, place: Place) {
        if placeholder.family != PlaceholderFamily::Token {
            return;
        }
        if self.file.token.is_none() {
            self.fault(path, "{token} requires [token]");
        } else if place != Place::Value {
            self.fault(path, "{token} is secret, and addresses are logged by proxies; send it in a header");
        }
    }

    fn credential(&mut self, path: &str, placeholder: &Placeholder, place: Place) {
        if placeholder.family != PlaceholderFamily::Credential {
            return;
        }
        let Some(field) = self.file.credential(&placeholder.name) else {
            let names: Vec<_> = self.file.credentials.iter().map(|field| field.name.as_str()).collect();
            return self.fault(path, format!("{placeholder} is not a credential; there are {}", names.join(", ")));
        };
        let is_part = placeholder.filters.iter().any(|filter| matches!(filter, Filter::AfterLast(_)));
        if field.kind == CredentialKind::Secret && matches!(place, Place::Base | Place::Path) && !is_part {
            self.fault(
                path,
                format!("{placeholder} is secret, and addresses are logged by proxies; send it in a header"),
            );
        }
        if field.kind == CredentialKind::Url && place != Place::Base {
            self.fault(path, format!("{placeholder} is a URL; use it in http.base"));
        }
    }

    fn time(&mut self, path: &str, placeholder: &Placeholder) {
        let is_time = match placeholder.family {
            PlaceholderFamily::Since => true,
            PlaceholderFamily::Verdict => placeholder.name == "at",
            _ => false,
        };
        let writes = placeholder.filters.iter().any(Filter::writes_time);
        if is_time && !placeholder.filters.first().is_some_and(Filter::writes_time) {
            self.fault(path, format!("{placeholder} is a time: add rfc3339, rfc3339_ms, date, unix, unix_ms or sql"));
        }
        if !is_time && writes {
            self.fault(path, format!("{placeholder} is not a time; remove the filter for times"));
        }
    }
}
