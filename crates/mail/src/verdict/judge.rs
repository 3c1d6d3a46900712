//! From what was observed about a mailbox to findings.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Finding, Reason};
use crate::classify::{AboutUs, Meaning};
use crate::smtp::reply::Enhanced;

/// Whether an exchanger accepts any local part of a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchAll {
    /// A random local part was refused as missing, or the domain is known to check.
    No,
    /// Two different random local parts were accepted.
    Yes,
    /// Neither is known.
    #[default]
    Unknown,
    /// Known to check its recipients, but it has begun to accept random ones too: late acceptances mean nothing.
    Suspect,
}

/// Why no server was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotAsked {
    /// The provider accepts everything at RCPT, or forbids asking: policy `never`.
    Opaque,
    /// Our own budget at the destination is used up for now.
    Budget,
    /// The destination refused us a short time ago, and its circuit is open.
    Blocked,
    /// An exchanger's address could not be looked up.
    Dns,
}

/// How a server failed to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Silence {
    /// It did not answer in time, at any stage.
    TimedOut,
    /// Nothing listens.
    Refused,
    /// No route.
    Unreachable,
    /// It closed the connection without a word.
    Closed,
    /// It did not speak SMTP.
    Protocol,
    /// TLS failed, and asking in the clear was refused or forbidden.
    Tls,
    /// Our own machine or proxy failed.
    Local,
}

/// What asking about a mailbox came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mailbox {
    /// A reply decided.
    Replied {
        /// What it says.
        meaning: Meaning,
        /// Its code.
        code: u16,
        /// Its enhanced code.
        enhanced: Option<Enhanced>,
        /// The rule that read it.
        rule: Arc<str>,
        /// Whether the exchanger accepts any local part.
        catch_all: CatchAll,
        /// Whether the domain has accepted some address lately (decides about [`Meaning::AccessDenied`]).
        accepts_others: bool,
    },
    /// Nobody was asked.
    NotAsked(NotAsked),
    /// Nobody answered.
    Silent(Silence),
    /// The domain takes no mail: the token says why (`nxdomain`, `null_mx`, `no_mx`, `mx_unroutable`).
    Unroutable(&'static str),
}

/// The finding about a mailbox; none where it takes mail.
///
/// The rule's id travels along: every finding names what made it.
pub fn judge(mailbox: &Mailbox) -> Option<Finding> {
    match mailbox {
        Mailbox::Replied { meaning, code, enhanced, rule, catch_all, accepts_others } => {
            let (reason, meta) = replied(*meaning, *code, *enhanced, *catch_all, *accepts_others)?;
            Some(Finding { reason, meta, rule: rule.clone() })
        }
        Mailbox::NotAsked(why) => {
            let (reason, meta) = not_asked(*why);
            Some(Finding { reason, meta: Cow::Borrowed(meta), rule: Arc::from(format!("plan.{meta}")) })
        }
        Mailbox::Silent(how) => {
            let meta = silence_token(*how);
            Some(Finding {
                reason: Reason::Unverified,
                meta: Cow::Borrowed(meta),
                rule: Arc::from(format!("net.{meta}")),
            })
        }
        Mailbox::Unroutable(meta) => {
            let rule = Arc::from(format!("dns.{meta}"));
            Some(Finding { reason: Reason::Illegitimate, meta: Cow::Borrowed(meta), rule })
        }
    }
}

fn not_asked(why: NotAsked) -> (Reason, &'static str) {
    match why {
        NotAsked::Opaque => (Reason::Unverified, "provider_opaque"),
        NotAsked::Budget => (Reason::Unverified, "budget"),
        NotAsked::Blocked => (Reason::FailedExchange, "blocked"),
        NotAsked::Dns => (Reason::Unverified, "dns_temporary"),
    }
}

/// The token of a silence, as `meta` shows it.
pub fn silence_token(how: Silence) -> &'static str {
    match how {
        Silence::TimedOut => "timeout",
        Silence::Refused => "connect_refused",
        Silence::Unreachable => "unreachable",
        Silence::Closed => "closed",
        Silence::Protocol => "protocol",
        Silence::Tls => "tls_failed",
        Silence::Local => "local_failure",
    }
}

type FoundReason = Option<(Reason, Cow<'static, str>)>;

fn replied(
    meaning: Meaning,
    code: u16,
    enhanced: Option<Enhanced>,
    catch_all: CatchAll,
    accepts_others: bool,
) -> FoundReason {
    let smtp = || Cow::Owned(smtp_meta(code, enhanced));
    let permanent = code >= 500;
    match meaning {
        Meaning::Accepted => accepted(catch_all),
        // A receiving rate is counted for a mailbox, so there is one, unless every local part leads to one.
        Meaning::Exists if catch_all == CatchAll::Yes => accepted(catch_all),
        Meaning::Exists => None,
        // The class digit comes first: whatever a 4xx says, it may say something else tomorrow.
        Meaning::NoSuchUser if permanent => Some((Reason::Nonexistent, smtp())),
        Meaning::Deactivated if permanent => Some((Reason::Deactivated, smtp())),
        Meaning::InboxFull if permanent => Some((Reason::InboxFull, smtp())),
        Meaning::AccessDenied if permanent && accepts_others => Some((Reason::Nonexistent, smtp())),
        Meaning::NoSuchUser | Meaning::Deactivated | Meaning::CannotVerify | Meaning::ServerTemporary => {
            Some((Reason::Unverified, smtp()))
        }
        Meaning::InboxFull | Meaning::QuotaTemporary => Some((Reason::Unverified, "quota_temporary".into())),
        Meaning::Greylisted => Some((Reason::Unverified, "greylisted".into())),
        Meaning::InProgress => Some((Reason::Unverified, "in_progress".into())),
        Meaning::SessionLimit => Some((Reason::Unverified, "session_limit".into())),
        Meaning::Unmatched if !permanent => Some((Reason::Unverified, smtp())),
        Meaning::AccessDenied | Meaning::Restricted | Meaning::ServerPermanent | Meaning::Unmatched => {
            Some((Reason::FailedExchange, smtp()))
        }
        Meaning::NotResponsible => Some((Reason::FailedExchange, "relay_denied".into())),
        Meaning::NeedsSmtpUtf8 => Some((Reason::FailedExchange, "smtputf8_unsupported".into())),
        // A rate limit passes by itself; what else they hold against us does not.
        Meaning::AboutUs(AboutUs::RateLimited) if !permanent => Some((Reason::Unverified, "rate_limited".into())),
        Meaning::AboutUs(why) => Some((Reason::FailedExchange, about_us(why).into())),
    }
}

fn accepted(catch_all: CatchAll) -> FoundReason {
    match catch_all {
        CatchAll::No => None,
        CatchAll::Yes => Some((Reason::AcceptAll, "catch_all".into())),
        CatchAll::Unknown => Some((Reason::Unverified, "catch_all_unknown".into())),
        CatchAll::Suspect => Some((Reason::Unverified, "suspect_acceptance".into())),
    }
}

fn about_us(why: AboutUs) -> &'static str {
    match why {
        AboutUs::Blocked => "blocked",
        AboutUs::RateLimited => "rate_limited",
        AboutUs::Identity => "identity_refused",
        AboutUs::Sender => "sender_refused",
        AboutUs::TlsRequired => "tls_required",
        AboutUs::AuthRequired => "auth_required",
        AboutUs::Policy => "policy_refused",
    }
}

/// `smtp_550_5.1.1`, or `smtp_550` without an enhanced code.
fn smtp_meta(code: u16, enhanced: Option<Enhanced>) -> String {
    match enhanced {
        Some(Enhanced { class, subject, detail }) => format!("smtp_{code}_{class}.{subject}.{detail}"),
        None => format!("smtp_{code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(meaning: Meaning, code: u16, catch_all: CatchAll, accepts_others: bool) -> Reason {
        let rule = Arc::from("test");
        let mailbox = Mailbox::Replied { meaning, code, enhanced: None, rule, catch_all, accepts_others };
        judge(&mailbox).map_or(Reason::Valid, |finding| finding.reason)
    }

    fn every_case() -> impl Iterator<Item = (Meaning, u16, CatchAll, bool)> {
        let catch_alls = [CatchAll::No, CatchAll::Yes, CatchAll::Unknown, CatchAll::Suspect];
        Meaning::ALL.iter().flat_map(move |meaning| {
            [250, 450, 550].into_iter().flat_map(move |code| {
                catch_alls.into_iter().flat_map(move |c| [true, false].map(|others| (*meaning, code, c, others)))
            })
        })
    }

    #[test]
    fn only_a_permanent_answer_about_the_recipient_is_undeliverable() {
        let about_recipient = [Meaning::NoSuchUser, Meaning::Deactivated, Meaning::InboxFull, Meaning::AccessDenied];
        for (meaning, code, catch_all, others) in every_case() {
            let undeliverable =
                reason(meaning, code, catch_all, others).status() == crate::verdict::Status::Undeliverable;
            if undeliverable {
                assert!(code >= 500 && about_recipient.contains(&meaning), "{meaning:?} {code}");
            }
        }
    }

    #[test]
    fn only_an_acceptance_that_means_something_passes() {
        for (meaning, code, catch_all, others) in every_case() {
            if reason(meaning, code, catch_all, others) == Reason::Valid {
                let checks = meaning == Meaning::Accepted && catch_all == CatchAll::No;
                assert!(checks || (meaning == Meaning::Exists && catch_all != CatchAll::Yes), "{meaning:?}");
            }
        }
    }

    #[test]
    fn access_denied_needs_a_domain_that_accepts_others() {
        assert_eq!(reason(Meaning::AccessDenied, 550, CatchAll::Unknown, true), Reason::Nonexistent);
        assert_eq!(reason(Meaning::AccessDenied, 550, CatchAll::Unknown, false), Reason::FailedExchange);
    }

    #[test]
    fn metas_are_short_stable_tokens() {
        let enhanced = Some(Enhanced { class: 5, subject: 1, detail: 1 });
        assert_eq!(smtp_meta(550, enhanced), "smtp_550_5.1.1");
        assert_eq!(smtp_meta(550, None), "smtp_550");
        for (meaning, code, catch_all, others) in every_case() {
            let rule = Arc::from("test");
            let mailbox = Mailbox::Replied { meaning, code, enhanced, rule, catch_all, accepts_others: others };
            if let Some(finding) = judge(&mailbox) {
                assert!(!finding.meta.is_empty() && !finding.meta.contains(' '));
            }
        }
    }
}
