//! What became of mail that a customer sent: one class per event, and what a later score of addresses has to know besides.
//!
//! Only `hard_bounce` says that a mailbox is gone. A refusal of the sender, a full mailbox and a rejected content are
//! `soft_bounce`, which is evidence of nothing. A complaint comes from a reader: the mailbox is alive, but does not want mail.

use crate::suppression::SuppressionKind;

/// Class of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutcomeClass {
    /// The receiving server accepted the message, and no bounce followed.
    Delivered,
    /// The mailbox does not exist or is disabled.
    HardBounce,
    /// The message came back for any other reason.
    SoftBounce,
    /// The recipient reported the message as spam.
    Complaint,
    /// The recipient opened the message or followed a link in it.
    Opened,
    /// The recipient unsubscribed.
    Unsubscribed,
}

impl OutcomeClass {
    /// Every class, in the order of the contract.
    pub const ALL: [Self; 6] =
        [Self::Delivered, Self::HardBounce, Self::SoftBounce, Self::Complaint, Self::Opened, Self::Unsubscribed];

    /// The name in the contract and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::HardBounce => "hard_bounce",
            Self::SoftBounce => "soft_bounce",
            Self::Complaint => "complaint",
            Self::Opened => "opened",
            Self::Unsubscribed => "unsubscribed",
        }
    }

    /// The class of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// The suppression list that it puts the address on.
    pub fn suppresses(self) -> Option<SuppressionKind> {
        match self {
            Self::HardBounce => Some(SuppressionKind::Bounced),
            Self::Complaint => Some(SuppressionKind::Complained),
            Self::Delivered | Self::SoftBounce | Self::Opened | Self::Unsubscribed => None,
        }
    }
}

/// Who reported an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutcomeSource {
    /// `POST /v1/outcomes`.
    Api,
    /// `probity outcomes import`.
    Import,
    /// A connected platform.
    Connection,
    /// Amazon SES.
    Ses,
    /// Postmark.
    Postmark,
    /// `SendGrid`.
    SendGrid,
    /// Mailgun.
    Mailgun,
    /// `SparkPost`.
    SparkPost,
}

impl OutcomeSource {
    /// Sending services that post events to a URL of their own.
    pub const SERVICES: [Self; 5] = [Self::Postmark, Self::SendGrid, Self::Mailgun, Self::SparkPost, Self::Ses];

    /// Every source.
    const ALL: [Self; 8] = [
        Self::Api,
        Self::Import,
        Self::Connection,
        Self::Ses,
        Self::Postmark,
        Self::SendGrid,
        Self::Mailgun,
        Self::SparkPost,
    ];

    /// The source of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == name)
    }

    /// The name in the contract and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Import => "import",
            Self::Connection => "connection",
            Self::Ses => "ses",
            Self::Postmark => "postmark",
            Self::SendGrid => "sendgrid",
            Self::Mailgun => "mailgun",
            Self::SparkPost => "sparkpost",
        }
    }
}

/// Longest form that is told apart.
const FORM_MAX: usize = 8;

/// Returns the form of a local part without its letters, such as `a.a` for `ann.lee`, `i.a` for `a.lee`, `a0` for `ann7`. The
/// score compares it with the forms of a domain's other addresses. Parts after a `+` do not count.
pub fn local_form(local: &str) -> String {
    let base = local.split('+').next().unwrap_or_default();
    let mut form = String::new();
    let mut letters = 0_usize;
    for c in base.chars() {
        letters = if c.is_alphabetic() { letters + 1 } else { 0 };
        match (letters, c) {
            (1, _) => form.push('i'),
            (2, _) => {
                form.pop();
                form.push('a');
            }
            (3.., _) => {}
            (0, '.' | '_' | '-') => form.push(c),
            (0, _) if c.is_numeric() => {
                if !form.ends_with('0') {
                    form.push('0');
                }
            }
            (0, _) => form.push('x'),
        }
        if form.len() > FORM_MAX {
            return "long".into();
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_contract_and_read_back() {
        let expected = ["delivered", "hard_bounce", "soft_bounce", "complaint", "opened", "unsubscribed"];
        assert_eq!(OutcomeClass::ALL.map(OutcomeClass::as_str), expected);
        for class in OutcomeClass::ALL {
            assert_eq!(OutcomeClass::from_name(class.as_str()), Some(class));
        }
        assert_eq!(OutcomeClass::from_name("bounce"), None);
    }

    #[test]
    fn only_what_says_something_about_the_mailbox_or_its_reader_suppresses() {
        let suppressing = OutcomeClass::ALL.map(OutcomeClass::suppresses);
        let expected = [None, Some(SuppressionKind::Bounced), None, Some(SuppressionKind::Complained), None, None];
        assert_eq!(suppressing, expected);
    }

    #[test]
    fn forms_have_no_letters_of_the_address() {
        let table = [
            ("ann.lee", "a.a"),
            ("a.lee", "i.a"),
            ("alee", "a"),
            ("a", "i"),
            ("ann_lee77", "a_a0"),
            ("lee-a", "a-i"),
            ("j\u{fc}rgen.m", "a.i"),
            ("ann+news", "a"),
            ("2026", "0"),
            ("o'neil", "ixa"),
            ("a.b.c.d.e.f", "long"),
            ("", ""),
        ];
        for (local, form) in table {
            assert_eq!(local_form(local), form, "{local}");
        }
    }
}
