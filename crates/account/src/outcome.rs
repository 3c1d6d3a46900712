//! Outcomes of mail that a customer sent: one class per event, and the facts that a score of addresses needs.
//!
//! Only `hard_bounce` means that a mailbox does not exist. Refusals of the sender, full mailboxes and rejected content are
//! `soft_bounce`, which is no evidence. A complaint comes from a reader: the mailbox is in use, but does not want the mail.

use crate::suppression::SuppressionKind;

probity_mail::named! {
    /// Class of an outcome.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum OutcomeClass {
        /// The receiving server accepted the message, and no bounce followed.
        Delivered = "delivered",
        /// The mailbox does not exist or is disabled.
        HardBounce = "hard_bounce",
        /// The message came back for any other reason.
        SoftBounce = "soft_bounce",
        /// The recipient reported the message as spam.
        Complaint = "complaint",
        /// The recipient opened the message or followed a link in it.
        Opened = "opened",
        /// The recipient unsubscribed.
        Unsubscribed = "unsubscribed",
    }
}

impl OutcomeClass {
    /// Returns the suppression list for the address.
    pub fn suppresses(self) -> Option<SuppressionKind> {
        match self {
            Self::HardBounce => Some(SuppressionKind::Bounced),
            Self::Complaint => Some(SuppressionKind::Complained),
            Self::Delivered | Self::SoftBounce | Self::Opened | Self::Unsubscribed => None,
        }
    }
}

probity_mail::named! {
    /// Source of an outcome.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum OutcomeSource {
        /// `POST /v1/outcomes`.
        Api = "api",
        /// `probity outcomes import`.
        Import = "import",
        /// A connected platform.
        Connection = "connection",
        /// Amazon SES.
        Ses = "ses",
        /// Postmark.
        Postmark = "postmark",
        /// `SendGrid`.
        SendGrid = "sendgrid",
        /// Mailgun.
        Mailgun = "mailgun",
        /// `SparkPost`.
        SparkPost = "sparkpost",
    }
}

impl OutcomeSource {
    /// Sending services that post events to a URL of their own.
    pub const SERVICES: [Self; 5] = [Self::Postmark, Self::SendGrid, Self::Mailgun, Self::SparkPost, Self::Ses];
}

/// Maximum length of a form that is distinguished.
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
