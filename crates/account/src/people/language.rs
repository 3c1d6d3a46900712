//! Languages in which the service writes to people: those of the dashboard.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Language of the dashboard, of mail and of headings in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageLanguage {
    /// English, for those whose language is not known.
    #[default]
    En,
    /// German.
    De,
    /// French.
    Fr,
    /// Spanish.
    Es,
}

impl PageLanguage {
    /// All languages.
    pub const ALL: [Self; 4] = [Self::En, Self::De, Self::Fr, Self::Es];

    /// Returns the tag (BCP 47), as `de`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Fr => "fr",
            Self::Es => "es",
        }
    }

    /// Returns the language with this tag.
    pub fn from_tag(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.tag() == tag)
    }
}

impl fmt::Display for PageLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

impl FromStr for PageLanguage {
    type Err = ();

    fn from_str(tag: &str) -> Result<Self, ()> {
        Self::from_tag(tag).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_the_contract() {
        for language in PageLanguage::ALL {
            assert_eq!(PageLanguage::from_tag(language.tag()), Some(language));
            assert_eq!(serde_json::to_value(language).unwrap(), language.tag());
        }
        for other in ["", "DE", "de-AT", "it"] {
            assert_eq!(PageLanguage::from_tag(other), None, "{other:?}");
        }
    }
}
