//! Checks of the rules that give errors a meaning.

use super::check::RULES_MAX;
use super::walk::Walker;
use crate::file::{ActionKind, ErrorClass, ErrorRule};

impl Walker<'_> {
    pub(super) fn errors(&mut self) {
        let file = self.file;
        if file.errors.len() > RULES_MAX {
            self.fault("error", format!("at most {RULES_MAX} rules for errors are allowed"));
        }
        self.rules("error", &file.errors);
        for kind in ActionKind::ALL {
            let Some(rule) = file.actions.rule(kind) else { continue };
            let path = format!("actions.{}", kind.name());
            self.rules(&format!("{path}.errors"), &rule.errors);
            for step in &rule.before {
                self.rules(&format!("{path}.before.errors"), &step.errors);
            }
        }
        if let Some(one) = file.contacts.as_ref().and_then(|rule| rule.one.as_ref()) {
            self.rules("contacts.one.errors", &one.errors);
        }
        if let Some(token) = &file.token {
            self.rules("token.errors", &token.errors);
        }
    }

    fn rules(&mut self, path: &str, rules: &[ErrorRule]) {
        for rule in rules {
            if rule.status.is_empty() && rule.at.is_none() {
                self.fault(path, "a rule has status, at or both: it would match every answer");
            }
            if rule.at.is_none() && !(rule.is.is_empty() && rule.has.is_empty()) {
                self.fault(path, "is and has require a place; write at");
            }
            let only_success = !rule.status.is_empty() && rule.status.iter().all(|status| (200..300).contains(status));
            if only_success && rule.at.is_none() {
                self.fault(path, "a rule for success alone would refuse every response; write at");
            }
            if rule.class == ErrorClass::Gone && rule.status.contains(&404) && rule.at.is_none() {
                let what = "a path that does not exist is answered with 404, too; write at, with is or has for what the \
                            platform says about a missing contact";
                self.fault(path, what);
            }
        }
    }
}
