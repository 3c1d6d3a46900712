//! Patterns of a rule: reply codes and enhanced codes.

use crate::smtp::reply::Enhanced;

/// A reply code (`550`) or a class of them (`5xx`), as the range of codes that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodePattern {
    first: u16,
    last: u16,
}

impl CodePattern {
    /// All codes of a class.
    pub(super) fn class(class: u16) -> Self {
        Self { first: class * 100, last: class * 100 + 99 }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "2xx" => Some(Self::class(2)),
            "4xx" => Some(Self::class(4)),
            "5xx" => Some(Self::class(5)),
            _ => {
                let code: u16 = text.parse().ok()?;
                (200..=599).contains(&code).then_some(Self { first: code, last: code })
            }
        }
    }

    pub(super) fn fits(self, code: u16) -> bool {
        (self.first..=self.last).contains(&code)
    }

    /// Whether the pattern covers any code of a class.
    pub(super) fn touches(self, class: u16) -> bool {
        self.first / 100 == class
    }
}

/// An enhanced code: `5.1.1`, `5.7.*`, `x.2.2` (any class), `5.7.606-649`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EnhancedPattern {
    /// None is any class.
    pub(super) class: Option<u8>,
    subject: u16,
    first: u16,
    last: u16,
}

impl EnhancedPattern {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let class = match parts.next()? {
            "x" => None,
            "2" => Some(2),
            "4" => Some(4),
            "5" => Some(5),
            _ => return None,
        };
        let subject = parts.next()?.parse().ok()?;
        let detail = parts.next()?;
        let (first, last) = match detail.split_once('-') {
            _ if detail == "*" => (0, 999),
            Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
            None => (detail.parse().ok()?, detail.parse().ok()?),
        };
        (parts.next().is_none() && first <= last).then_some(Self { class, subject, first, last })
    }

    pub(super) fn fits(self, code: Enhanced) -> bool {
        self.class.is_none_or(|class| class == code.class)
            && self.subject == code.subject
            && (self.first..=self.last).contains(&code.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::{CodePattern, EnhancedPattern};
    use crate::smtp::reply::Enhanced;

    #[test]
    fn code_patterns_are_codes_or_classes() {
        let class = CodePattern::parse("5xx").expect("a class");
        assert!(class.fits(500) && class.fits(599) && !class.fits(499));
        assert!(CodePattern::parse("550").expect("a code").fits(550));
        for bad in ["", "55", "xxx", "600", "5x0"] {
            assert_eq!(CodePattern::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn enhanced_patterns_know_ranges_and_stars() {
        let fits = |pattern: &str, detail| {
            EnhancedPattern::parse(pattern).expect("a pattern").fits(Enhanced { class: 5, subject: 7, detail })
        };
        assert!(fits("5.7.606-649", 606) && fits("5.7.606-649", 649) && !fits("5.7.606-649", 650));
        assert!(fits("x.7.*", 1) && fits("5.7.1", 1) && !fits("4.7.1", 1) && !fits("5.1.1", 1));
        for bad in ["", "5.1", "5.1.1.1", "6.1.1", "5.a.1", "5.7.9-1"] {
            assert_eq!(EnhancedPattern::parse(bad), None, "{bad}");
        }
    }
}
