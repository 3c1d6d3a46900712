//! Names of the field into which verdicts are written.

use serde::Deserialize;

/// Letters that the platform preserves in field names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldLetters {
    #[default]
    Any,
    /// Upper case: the platform stores other letters as upper case, so the field would not be found again.
    Upper,
    /// Lower case, for the same reason.
    Lower,
}

/// Valid field names. A name starts with a letter and continues with letters, digits and underscores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FieldNameRule {
    /// Default name.
    pub usual: String,
    pub letters: FieldLetters,
    /// Maximum length, in characters.
    pub max: usize,
    /// Fields of the platform itself, such as the first name: a verdict must not replace their values. `hs_*` stands for all
    /// names that begin so.
    pub own: Vec<String>,
}

/// Maximum length of a name, in characters.
pub(super) const NAME_MAX: usize = 40;

impl Default for FieldNameRule {
    fn default() -> Self {
        Self { usual: "probity".to_owned(), letters: FieldLetters::Any, max: NAME_MAX, own: Vec::new() }
    }
}

impl FieldNameRule {
    /// Checks a name. The error is worded to follow the name of a setting.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let is_letter = |c: char| match self.letters {
            FieldLetters::Any => c.is_ascii_alphabetic(),
            FieldLetters::Upper => c.is_ascii_uppercase(),
            FieldLetters::Lower => c.is_ascii_lowercase(),
        };
        let is_good = name.starts_with(is_letter)
            && name.len() <= self.max
            && name.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '_');
        if is_good && self.is_own(name) {
            return Err(format!(
                "must not be one of the platform's own fields: choose another name, such as {}",
                self.usual
            ));
        }
        if is_good {
            return Ok(());
        }
        let letters = match self.letters {
            FieldLetters::Any => "letters",
            FieldLetters::Upper => "upper-case letters",
            FieldLetters::Lower => "lower-case letters",
        };
        Err(format!("must have 1 to {} {letters}, digits and underscores, and begin with a letter", self.max))
    }

    /// Returns whether the platform has a field of this name. Case is ignored, as platforms do.
    fn is_own(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.own.iter().map(|own| own.to_ascii_lowercase()).any(|own| match own.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == own,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_platform() {
        let rule = |letters, max| FieldNameRule { letters, max, ..FieldNameRule::default() };
        let any = rule(FieldLetters::Any, NAME_MAX);
        for (rule, name, fits) in [
            (&any, "Probity_2", true),
            (&any, "", false),
            (&any, "2probity", false),
            (&any, "_probity", false),
            (&any, "pro bity", false),
            (&any, "größe", false),
            (&rule(FieldLetters::Upper, 10), "PROBITY_12", true),
            (&rule(FieldLetters::Upper, 10), "PROBITY_123", false),
            (&rule(FieldLetters::Upper, 10), "Probity", false),
            (&rule(FieldLetters::Lower, 10), "probity", true),
            (&rule(FieldLetters::Lower, 10), "PROBITY", false),
        ] {
            assert_eq!(rule.check(name).is_ok(), fits, "{name}");
        }
        let why = rule(FieldLetters::Upper, 10).check("x").unwrap_err();
        assert_eq!(why, "must have 1 to 10 upper-case letters, digits and underscores, and begin with a letter");
    }

    #[test]
    fn fields_of_the_platform_are_not_written() {
        let own = ["first_name", "hs_*"].map(str::to_owned).to_vec();
        let rule = FieldNameRule { own, ..FieldNameRule::default() };
        for (name, fits) in [
            ("first_name", false),
            ("First_Name", false),
            ("hs_lead_status", false),
            ("hs_", false),
            ("first_name_2", true),
            ("ahs_x", true),
            ("probity", true),
        ] {
            assert_eq!(rule.check(name).is_ok(), fits, "{name}");
        }
        let why = rule.check("first_name").unwrap_err();
        assert_eq!(why, "must not be one of the platform's own fields: choose another name, such as probity");
    }
}
