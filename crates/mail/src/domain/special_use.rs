//! Names that are reserved for special use and therefore take no mail from the public internet.

use std::sync::LazyLock;

/// The reserved names.
static LISTED: LazyLock<Vec<&str>> = LazyLock::new(|| {
    include_str!("../../data/special_use.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
});

/// Which special-use names are refused: all of them, less those that the configuration allows.
///
/// Tests, private installations and the sandbox have mail under such names; they allow them by suffix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialUse {
    allowed: Vec<Box<str>>,
}

impl SpecialUse {
    /// Refuses every special-use name.
    pub const fn none_allowed() -> Self {
        Self { allowed: Vec::new() }
    }

    /// Lets every special-use name through: for addresses of people of one's own, who may have their mail on a private network.
    pub fn all_allowed() -> Self {
        Self::allow(LISTED.iter())
    }

    /// Lets through these names and everything under them. Names are in A-labels; case and outer dots do not matter.
    pub fn allow<I, S>(suffixes: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        let mut allowed: Vec<Box<str>> = suffixes
            .into_iter()
            .map(|suffix| suffix.as_ref().trim_matches('.').to_ascii_lowercase().into_boxed_str())
            .filter(|suffix| !suffix.is_empty())
            .collect();
        allowed.sort_unstable();
        allowed.dedup();
        Self { allowed }
    }

    /// Whether a name in lower-case A-labels is a special-use name that is not allowed.
    pub fn refuses(&self, ascii: &str) -> bool {
        LISTED.iter().any(|suffix| is_under(ascii, suffix)) && !self.allows(ascii)
    }

    /// Whether the configuration names this domain or one above it.
    pub(crate) fn allows(&self, ascii: &str) -> bool {
        self.allowed.iter().any(|suffix| is_under(ascii, suffix))
    }
}

/// The domain of the sandbox, a simulated mail internet for trials.
pub const SANDBOX: &str = "sandbox.test";

/// Whether a text that is meant as an address stands under [`SANDBOX`]. Only the sandbox knows such names.
pub fn names_sandbox(address: &str) -> bool {
    let domain = crate::address::trimmed(address).rsplit_once('@').map_or("", |(_, domain)| domain);
    is_under(&domain.trim_end_matches('.').to_ascii_lowercase(), SANDBOX)
}

fn is_under(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix).is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::names_sandbox;

    #[test]
    fn names_of_the_sandbox_are_told_however_they_are_written() {
        for named in ["valid@sandbox.test", " Valid@Sandbox.TEST. ", "x@catchall.sandbox.test", "\"a@b\"@sandbox.test"]
        {
            assert!(names_sandbox(named), "{named}");
        }
        for other in ["valid@xsandbox.test", "valid@sandbox.test.example.com", "sandbox.test", "valid@other.test", ""] {
            assert!(!names_sandbox(other), "{other}");
        }
    }
}
