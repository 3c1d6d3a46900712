//! What a webhook can be told of: the names that its filter may have.
//!
//! A topic is one of 28 names of the contract. A row of a batch belongs to two of them, that of its status and that of its
//! reason, so a webhook that filters by both is told of it twice, each time under the name that it asked for.

use std::fmt;
use std::str::FromStr;

use probity_mail::verdict::{Reason, Status};

probity_mail::named! {
    /// What an action of a connected platform did with a contact.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ContactChange {
        /// Its address was corrected.
        Fixed = "fixed",
        /// It was unsubscribed.
        Unsubscribed = "unsubscribed",
        /// It was deleted.
        Deleted = "deleted",
        /// A tag with the verdict was put on it.
        Tagged = "tagged",
        /// The verdict was written into its fields.
        Updated = "updated",
    }
}

/// Something that a webhook can be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Rows of a batch got a verdict with this status.
    Status(Status),
    /// Rows of a batch got a verdict with this reason.
    Reason(Reason),
    /// A contact was changed in a connected platform.
    Contact(ContactChange),
    /// A job is over.
    JobFinished,
    /// A platform refuses the credentials of a connection.
    ConnectionDisconnected,
}

/// A text that names no topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no event has this name")]
pub struct NoTopic;

impl Topic {
    /// Every topic, in the order of the contract.
    pub fn all() -> impl Iterator<Item = Self> {
        let statuses = Status::ALL.into_iter().map(Self::Status);
        let reasons = Reason::ALL.iter().copied().map(Self::Reason);
        let changes = ContactChange::ALL.into_iter().map(Self::Contact);
        statuses.chain(reasons).chain(changes).chain([Self::JobFinished, Self::ConnectionDisconnected])
    }

    /// Whether a row whose verdict has this reason belongs to it.
    pub fn has_row(self, reason: Reason) -> bool {
        match self {
            Self::Status(status) => reason.status() == status,
            Self::Reason(own) => reason == own,
            Self::Contact(_) | Self::JobFinished | Self::ConnectionDisconnected => false,
        }
    }

    /// Whether rows of batches belong to it at all.
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
