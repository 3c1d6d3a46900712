//! Topics: the events for which a webhook can filter.
//!
//! There are 28, by the names of the contract. A row of a batch belongs to two topics, that of its status and that of its reason,
//! so a webhook that filters by both gets the row twice, once under each name.

use std::fmt;
use std::str::FromStr;

use probity_mail::verdict::{Reason, Status};

probity_mail::named! {
    /// Change of a contact by an action of a connection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ContactChange {
        /// The address was corrected.
        Fixed = "fixed",
        /// The contact was unsubscribed.
        Unsubscribed = "unsubscribed",
        /// The contact was deleted.
        Deleted = "deleted",
        /// The contact was tagged with the verdict.
        Tagged = "tagged",
        /// The verdict was written into a field of the contact.
        Updated = "updated",
    }
}

/// Event that a webhook can filter for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Rows of a batch got a verdict with this status.
    Status(Status),
    /// Rows of a batch got a verdict with this reason.
    Reason(Reason),
    /// A contact was changed in a connected platform.
    Contact(ContactChange),
    /// A job ended.
    JobFinished,
    /// A platform refused the credentials of a connection.
    ConnectionDisconnected,
}

/// The text is not a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no event has this name")]
pub struct NoTopic;

impl Topic {
    /// Iterates over the topics, in the order of the contract.
    pub fn all() -> impl Iterator<Item = Self> {
        let statuses = Status::ALL.into_iter().map(Self::Status);
        let reasons = Reason::ALL.iter().copied().map(Self::Reason);
        let changes = ContactChange::ALL.into_iter().map(Self::Contact);
        statuses.chain(reasons).chain(changes).chain([Self::JobFinished, Self::ConnectionDisconnected])
    }

    /// Returns whether rows with this reason belong to the topic.
    pub fn has_row(self, reason: Reason) -> bool {
        match self {
            Self::Status(status) => reason.status() == status,
            Self::Reason(own) => reason == own,
            Self::Contact(_) | Self::JobFinished | Self::ConnectionDisconnected => false,
        }
    }

    /// Returns whether rows of batches can belong to the topic.
    pub fn is_of_rows(self) -> bool {
        matches!(self, Self::Status(_) | Self::Reason(_))
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status.{}", status.as_str()),
            Self::Reason(reason) => write!(f, "reason.{}", reason.as_str()),
            Self::Contact(change) => write!(f, "contact.{}", change.as_str()),
            Self::JobFinished => f.write_str("job.finished"),
            Self::ConnectionDisconnected => f.write_str("connection.disconnected"),
        }
    }
}

impl FromStr for Topic {
    type Err = NoTopic;

    fn from_str(name: &str) -> Result<Self, NoTopic> {
        match name {
            "job.finished" => return Ok(Self::JobFinished),
            "connection.disconnected" => return Ok(Self::ConnectionDisconnected),
            _ => {}
        }
        let (group, name) = name.split_once('.').ok_or(NoTopic)?;
        let found = match group {
            "status" => Status::from_name(name).map(Self::Status),
            "reason" => Reason::from_name(name).map(Self::Reason),
            "contact" => ContactChange::from_name(name).map(Self::Contact),
            _ => None,
        };
        found.ok_or(NoTopic)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_topic_has_one_name() {
        let names: BTreeSet<String> = Topic::all().map(|topic| topic.to_string()).collect();
        assert_eq!(names.len(), 28);
        for topic in Topic::all() {
            assert_eq!(topic.to_string().parse(), Ok(topic));
        }
        for name in ["", "status", "status.", "status.valid", "reason.passed", "contact.lost", "Job.finished", "x.y"] {
            assert_eq!(name.parse::<Topic>(), Err(NoTopic), "{name:?}");
        }
    }

    #[test]
    fn a_row_belongs_to_its_status_and_to_its_reason() {
        for reason in Reason::ALL.iter().copied() {
            let of: Vec<Topic> = Topic::all().filter(|topic| topic.has_row(reason)).collect();
            assert_eq!(of, [Topic::Status(reason.status()), Topic::Reason(reason)]);
            assert!(of.iter().all(|topic| topic.is_of_rows()));
        }
    }
}
