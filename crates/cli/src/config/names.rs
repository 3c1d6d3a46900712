//! Names of keys, and suggestions for wrong names.

use super::key::ConfigKey;
use super::sections::SECTIONS;

/// Keys of earlier versions. They have no effect, but do not prevent a start.
const RETIRED: &[&str] = &["credits.hold"];

/// Returns every key, in the order in which `probity config` prints them.
pub(super) fn keys() -> impl Iterator<Item = &'static ConfigKey> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// Returns the key with a name, or an explanation that there is none.
pub(super) fn key(name: &str) -> Result<&'static ConfigKey, String> {
    keys().find(|key| key.name == name).ok_or_else(|| match nearest(name, keys().map(|key| key.name)) {
        Some(near) => format!("there is no key `{name}`; did you mean `{near}`?"),
        None => format!("there is no key `{name}`; to list all keys: `probity config`"),
    })
}

/// Reports whether keys exist below this name.
pub(super) fn is_section(name: &str) -> bool {
    keys().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// Reports whether only an earlier version had this key.
pub(super) fn is_retired(name: &str) -> bool {
    RETIRED.contains(&name)
}

/// Returns suggestions for an unknown name: the most similar one, else all, joined within backticks.
pub(super) fn meant<'a>(wrong: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    nearest(wrong, names.clone()).map_or_else(|| names.collect::<Vec<_>>().join("`, `"), str::to_owned)
}

/// Returns the candidate most similar to `wrong`, if any is similar.
fn nearest<'a>(wrong: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let score = |candidate: &str| {
        let whole = strsim::levenshtein(wrong, candidate);
        // A correct name in the wrong section counts as one edit.
        if last(wrong) == last(candidate) { whole.min(1) } else { whole }
    };
    let best = candidates.map(|candidate| (score(candidate), candidate)).min()?;
    (best.0 <= 1 + wrong.len() / 4).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_answered_with_the_nearest_key() {
        let unknown = |name: &str| key(name).unwrap_err();
        assert!(unknown("probe.mailfrom").contains("`probe.mail_from`"));
        assert!(unknown("dns.nameserver").contains("`dns.nameservers`"));
        assert!(unknown("helo").contains("`probe.helo`"));
        assert!(!unknown("quite.something_else").contains("did you mean"));
    }
}
