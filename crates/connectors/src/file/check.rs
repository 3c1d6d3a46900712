//! Checks across the keys of a file.

use std::collections::BTreeMap;

use probity_mail::time::DAY_MS;

use super::field::NAME_MAX;
use super::walk::{Allowed, Place, Walker};
use super::{
    ActionKind, ActionRule, AuthRule, ConnectorFault, ConnectorFile, ContactScope, ContactsRule, CredentialKind,
    EnsureRule, HookRule, Origin, PageEnd, PageRule, RequestRule, SinceKind, TokenRule,
};
use crate::source::Source;
use crate::template::{PlaceholderFamily, Template};

/// Maximum page size that a file may request.
const SIZE_MAX: u32 = 10_000;
/// Maximum number of contacts per call.
const BATCH_MAX: usize = 1_000;
/// Maximum number of rate limits.
const RATES_MAX: usize = 16;
/// Maximum number of rules of one kind.
pub(super) const RULES_MAX: usize = 40;

/// Returns all faults of a file.
pub(super) fn faults(file: &ConnectorFile, name: &str) -> Vec<ConnectorFault> {
    let mut walker = Walker { file, name, faults: Vec::new() };
    walker.provider();
    walker.credentials();
    walker.http();
    if let Some(token) = &file.token {
        walker.token(token);
    }
    walker.rate();
    if let Some(lists) = &file.lists {
        let allowed = Allowed::default().paged(&lists.page);
        walker.request("lists.request", &lists.request, &allowed);
        walker.page("lists.page", &lists.page);
    }
    if let Some(contacts) = &file.contacts {
        walker.contacts(contacts);
    }
    for kind in ActionKind::ALL {
        if let Some(rule) = file.actions.rule(kind) {
            walker.action(kind, rule);
        }
    }
    for (name, rule) in &file.ensure {
        walker.ensure(name, rule);
    }
    walker.field();
    if let Some(hook) = &file.hook {
        walker.hook(hook);
    }
    walker.errors();
    walker.faults
}

impl Walker<'_> {
    fn provider(&mut self) {
        let provider = &self.file.provider;
        for slug in std::iter::once(&provider.slug).chain(&provider.aliases) {
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if slug.is_empty() || slug.len() > 40 || !slug.chars().all(fits) {
                self.fault("provider.slug", format!("{slug:?}: a slug has 1 to 40 of a-z, 0-9 and _"));
            }
        }
        if provider.checked.trim().is_empty() {
            self.fault("provider.checked", "state the date and the source of this file's facts");
        }
    }

    fn field(&mut self) {
        let rule = &self.file.field;
        if !(1..=NAME_MAX).contains(&rule.max) {
            self.fault("field.max", format!("max is 1 to {NAME_MAX}"));
        } else if let Err(what) = rule.check(&rule.usual) {
            self.fault("field.usual", format!("the name {what}"));
        }
        for name in &rule.own {
            if name.strip_suffix('*').unwrap_or(name).contains('*') {
                self.fault("field.own", format!("{name:?}: * is allowed only at the end of a name"));
            }
        }
    }

    fn credentials(&mut self) {
        let mut seen: Vec<&str> = Vec::new();
        for field in &self.file.credentials {
            let path = format!("credential.{}", field.name);
            if seen.contains(&field.name.as_str()) {
                self.fault(&path, "duplicate name");
            }
            seen.push(&field.name);
            if (field.kind == CredentialKind::Choice) == field.choices.is_empty() {
                self.fault(&path, "choices are required for kind choice, and only for it");
            }
            if field.kind != CredentialKind::Url && !field.hosts.is_empty() {
                self.fault(&path, "hosts are only for kind url");
            }
            if field.account && (field.kind == CredentialKind::Secret || field.optional) {
                self.fault(
                    &path,
                    "account is for a credential that every key of an account shares, neither secret nor optional",
                );
            }
        }
        if self.file.credentials.is_empty() {
            self.fault("credential", "a platform needs at least one credential");
        }
    }

    fn http(&mut self) {
        let file = self.file;
        let http = &file.http;
        self.api("http", &http.base, &http.headers, http.auth.as_ref());
        if let Some(other) = &http.other {
            self.api("http.other", &other.base, &other.headers, other.auth.as_ref());
        }
        self.request("test.request", &file.test.request, &Allowed::default());
    }

    /// Checks the call that gives a token, which must not need one.
    fn token(&mut self, rule: &TokenRule) {
        self.request("token.request", &rule.request, &Allowed::default());
        let file = self.file;
        let (headers, auth) = match &file.http.other {
            Some(other) if rule.request.other => (&other.headers, &other.auth),
            _ => (&file.http.headers, &file.http.auth),
        };
        let mut needs_itself = false;
        let mut visit = |template: &Template| {
            needs_itself |= template.placeholders().any(|one| one.family == PlaceholderFamily::Token);
        };
        rule.request.visit(&mut visit);
        headers.values().for_each(&mut visit);
        if let Some(AuthRule::Basic { user, password }) = auth {
            [user, password].into_iter().for_each(&mut visit);
        }
        if needs_itself {
            self.fault("token.request", "must not use {token}; send it to [http.other], whose headers do without");
        }
        if let Some(replaced) = &rule.replaces
            && file.credential(&replaced.credential).is_none_or(|field| field.kind != CredentialKind::Secret)
        {
            self.fault("token.replaces.credential", "must be the name of a credential of kind secret");
        }
        if rule.lifetime < 60_000 {
            self.fault("token.lifetime", "lifetime is at least 1m");
        }
    }

    /// Checks the URL and the headers of an API.
    fn api(&mut self, path: &str, base: &Template, headers: &BTreeMap<String, Template>, auth: Option<&AuthRule>) {
        let (file, none) = (self.file, Allowed::default());
        let begins = base.parts().first();
        let by_url = base.placeholders().next().and_then(|first| file.credential(&first.name));
        let by_url = by_url.is_some_and(|field| field.kind == CredentialKind::Url);
        // An operator's file may name a host of the operator's network. The client connects to such a host only if the
        // operator allows it.
        let plain = file.origin == Origin::Operator;
        let has_scheme = |text: &str| text.starts_with("https://") || plain && text.starts_with("http://");
        let by_scheme = matches!(begins, Some(crate::template::Part::Literal(text)) if has_scheme(text));
        if !(by_scheme || by_url) || base.literals().ends_with('/') {
            let what = "the base begins with https:// or a credential of kind url, and has no / at its end; http:// is for files \
                        of the operator";
            self.fault(&format!("{path}.base"), what);
        }
        self.template(&format!("{path}.base"), base, Place::Base, &none);
        self.headers(&format!("{path}.headers"), headers, &none);
        match auth {
            Some(AuthRule::Basic { user, password }) => {
                self.template(&format!("{path}.auth.basic.user"), user, Place::Value, &none);
                self.template(&format!("{path}.auth.basic.password"), password, Place::Value, &none);
            }
            Some(AuthRule::GhostJwt { key }) => {
                self.template(&format!("{path}.auth.ghost_jwt.key"), key, Place::Value, &none);
            }
            None => {}
        }
    }

    fn page(&mut self, path: &str, page: &PageRule) {
        if page.size().is_some_and(|size| !(1..=SIZE_MAX).contains(&size)) {
            self.fault(path, format!("size is 1 to {SIZE_MAX}"));
        }
        let (PageRule::Offset { end, .. } | PageRule::Page { end, .. } | PageRule::Keyset { end, .. }) = page else {
            return;
        };
        if matches!(page, PageRule::Offset { size: 1, again: true, .. }) {
            self.fault(path, "again requires a size of at least 2, because each page begins with a known record");
        }
        let counts = matches!(end, PageEnd::Pages(_));
        if counts && !matches!(page, PageRule::Page { .. }) {
            self.fault(path, "end.pages is for kind page; use short, empty, total or more");
        }
    }

    fn contacts(&mut self, rule: &ContactsRule) {
        let mut base = Allowed::default();
        if rule.scope == ContactScope::List {
            base = base.with(PlaceholderFamily::List);
            if self.file.lists.is_none() {
                self.fault("contacts.scope", "scope list requires [lists]");
            }
        }
        if !rule.states.is_empty() {
            base = base.with(PlaceholderFamily::State);
        }
        self.request("contacts.request", &rule.request, &base.clone().paged(&rule.page));
        self.page("contacts.page", &rule.page);
        if let Some(one) = &rule.one {
            let mut allowed = Allowed::of(&[PlaceholderFamily::Contact]);
            // Every action that looks at a contact must know its list.
            let mut rules = ActionKind::ALL.into_iter().filter_map(|kind| self.file.actions.rule(kind));
            if rules.all(|rule| rule.scope == ContactScope::List) {
                allowed = allowed.with(PlaceholderFamily::List);
            }
            self.request("contacts.one.request", &one.request, &allowed);
            if rule.fields.email == Source::Key {
                self.fault("contacts.one", "contacts.fields.email must be a place within the contact, not key");
            }
        }
        for (kind, name) in [(SinceKind::Created, "created"), (SinceKind::Updated, "updated")] {
            let Some(since) = rule.since(kind) else { continue };
            let path = format!("contacts.since.{name}");
            if rule.date(kind).is_none() {
                self.fault(&path, format!("contacts.fields.{name} is missing; the next watermark requires it"));
            }
            let page = since.page.as_ref().unwrap_or(&rule.page);
            let allowed = base.clone().paged(page).with(PlaceholderFamily::Since);
            let request = RequestRule {
                query: since.query.clone(),
                ..since.request.clone().unwrap_or_else(|| rule.request.clone())
            };
            self.request(&path, &request, &allowed);
            self.page(&format!("{path}.page"), page);
        }
    }

    fn action(&mut self, kind: ActionKind, rule: &ActionRule) {
        let path = format!("actions.{}", kind.name());
        let mut allowed = Allowed::of(&[PlaceholderFamily::Contact, PlaceholderFamily::Verdict]);
        allowed.families.extend(subjects(kind));
        if rule.scope == ContactScope::List {
            allowed = allowed.with(PlaceholderFamily::List);
        }
        for name in &rule.ensure {
            if self.file.ensure.contains_key(name) {
                allowed.ensured.push(name.clone());
            } else {
                self.fault(&format!("{path}.ensure"), format!("[ensure.{name}] is missing"));
            }
        }
        for (number, step) in rule.before.iter().enumerate() {
            self.request(&format!("{path}.before[{number}].request"), &step.request, &allowed);
        }
        if let Some(replace) = &rule.replace {
            self.request(&format!("{path}.replace.read"), &replace.read, &allowed);
            allowed.read = replace.keep.keys().cloned().collect();
            for json in [&replace.add, &replace.set].into_iter().flatten() {
                self.json(&format!("{path}.replace"), json, &allowed);
            }
            if self.file.contacts.as_ref().is_none_or(|contacts| contacts.one.is_none()) {
                let what = "replace requires [contacts.one], which says where the contact is in the response";
                self.fault(&format!("{path}.replace"), what);
            }
            if replace.add.is_some() == replace.set.is_some() {
                self.fault(&format!("{path}.replace"), "write add for an array, or set for an object");
            }
            if replace.add.is_some() && !replace.without.is_empty() {
                self.fault(&format!("{path}.replace.without"), "names members of an object; write it beside set");
            }
            allowed = allowed.with(PlaceholderFamily::Replaced);
        }
        self.batch(&path, rule, &allowed);
    }

    fn batch(&mut self, path: &str, rule: &ActionRule, allowed: &Allowed) {
        let request = format!("{path}.request");
        let Some(batch) = &rule.batch else { return self.request(&request, &rule.request, allowed) };
        self.json(&format!("{path}.batch.each"), &batch.each, allowed);
        // A call for several contacts has no single one.
        let mut common = allowed.clone();
        common.families.retain(|family| {
            !matches!(family, PlaceholderFamily::Contact | PlaceholderFamily::Verdict | PlaceholderFamily::Replaced)
        });
        self.request(&request, &rule.request, &common);
        if !(1..=BATCH_MAX).contains(&batch.max) {
            self.fault(&format!("{path}.batch.max"), format!("max is 1 to {BATCH_MAX}"));
        }
        let fits = match batch.at.split_once(':') {
            Some(("query", _)) => true,
            Some(("form", _)) => rule.request.json.is_none(),
            _ => batch.at.starts_with('/') && rule.request.json.is_some(),
        };
        if !fits {
            let what = "at must be a pointer into request.json, query:NAME, or form:NAME without request.json";
            self.fault(&format!("{path}.batch.at"), what);
        }
        if rule.replace.is_some() || !rule.before.is_empty() {
            self.fault(&format!("{path}.batch"), "a batch must not have before or replace");
        }
        if batch.partial.as_ref().is_some_and(|partial| partial.id.is_none() && partial.email.is_none()) {
            self.fault(&format!("{path}.batch.partial"), "write id or email, to identify failed contacts");
        }
    }

    /// Checks a prerequisite, which may use only the placeholders of all actions that need it.
    fn ensure(&mut self, name: &str, rule: &EnsureRule) {
        let users = |kind: &ActionKind| {
            self.file.actions.rule(*kind).is_some_and(|rule| rule.ensure.iter().any(|known| known == name))
        };
        let users: Vec<_> = ActionKind::ALL.into_iter().filter(users).collect();
        let path = format!("ensure.{name}");
        let Some(first) = users.first() else {
            return self.fault(&path, "unused; name it in the ensure of an action");
        };
        let common =
            subjects(*first).iter().copied().filter(|family| users.iter().all(|kind| subjects(*kind).contains(family)));
        let mut allowed = Allowed::of(&common.collect::<Vec<_>>());
        if users.iter().all(|kind| self.file.actions.rule(*kind).is_some_and(|rule| rule.scope == ContactScope::List)) {
            allowed = allowed.with(PlaceholderFamily::List);
        }
        if let Some(find) = &rule.find {
            self.request(&format!("{path}.find.request"), &find.request, &allowed.clone().paged(&find.page));
            self.page(&format!("{path}.find.page"), &find.page);
            self.template(&format!("{path}.find.is"), &find.is, Place::Name, &allowed);
        }
        if let Some(make) = &rule.make {
            self.request(&format!("{path}.make.request"), &make.request, &allowed);
        }
        if rule.find.is_none() && rule.make.is_none() {
            self.fault(&path, "write find, make or both");
        }
    }

    fn hook(&mut self, hook: &HookRule) {
        let mut allowed = Allowed::of(&[PlaceholderFamily::Hook]);
        if hook.scope == ContactScope::List {
            allowed = allowed.with(PlaceholderFamily::List);
        }
        self.request("hook.register.request", &hook.register.request, &allowed);
        for request in &hook.register.then {
            self.request("hook.register.then", request, &allowed);
        }
        self.request("hook.remove", &hook.remove, &allowed);
        if let Some(look) = &hook.look {
            self.request("hook.look", look, &allowed);
        }
        if hook.contact.id.is_none() && hook.contact.email.is_none() {
            self.fault("hook.contact", "write id or email, to identify the contact");
        }
        let signed = matches!(hook.proof, super::HookProof::Hmac { .. } | super::HookProof::Bearer {});
        if !signed && !hook.confirm {
            self.fault("hook.confirm", "must be true, because nothing proves the origin of a notification");
        }
        if let super::HookProof::Hmac { signed, time_part, time_header, .. } = &hook.proof {
            let timed = time_part.is_some() || time_header.is_some();
            if !signed.contains("{body}") || signed.contains("{t}") != timed {
                self.fault("hook.proof.signed", "must contain {body}, and {t} if and only if there is a time");
            }
        }
    }

    fn rate(&mut self) {
        let rate = &self.file.rate;
        if rate.limits.iter().any(|limit| limit.max == 0 || limit.per == 0) {
            self.fault("rate.limits", "max and per must be at least 1");
        }
        if rate.limits.iter().any(|limit| limit.per > DAY_MS) || rate.limits.len() > RATES_MAX {
            self.fault("rate.limits", format!("at most {RATES_MAX} limits are allowed, each per 1d at most"));
        }
        if rate.concurrency.is_some_and(|many| !(1..=100).contains(&many)) {
            self.fault("rate.concurrency", "concurrency is 1 to 100");
        }
    }
}

/// Returns the placeholders that an action has besides the contact.
fn subjects(kind: ActionKind) -> &'static [PlaceholderFamily] {
    match kind {
        ActionKind::Tag => &[PlaceholderFamily::Tag],
        ActionKind::Fields => &[PlaceholderFamily::Field],
        ActionKind::Unsubscribe | ActionKind::Delete | ActionKind::Fix => &[],
    }
}
