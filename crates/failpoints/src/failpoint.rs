//! A point, when it fails and how, in code and in the environment.

use std::fmt;
use std::str::FromStr;

#[cfg(unix)]
use rustix::process;

/// Environment variable that arms failpoints.
pub const VARIABLE: &str = "PROBITY_FAILPOINT";
/// Prefix of the name of a commit's last statement.
const COMMIT: &str = "commit/";

/// Side of a statement or a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailpointSide {
    /// Before execution.
    Before,
    /// After execution; a commit that fails here has succeeded, but its caller does not know.
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailpointAction {
    /// `error`: an error, as if the connection had broken.
    Error,
    /// `race`: the same, as after a lost race: the transaction runs again.
    Race,
    /// `panic`: a panic with the message `was armed`.
    Panic,
    /// `kill`: SIGKILL to this process: no destructor runs, nothing is flushed.
    Kill,
    /// `stop`: SIGSTOP to this process; SIGCONT resumes it as if nothing had happened.
    Stop,
}

/// Place in the store's work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failpoint {
    /// A statement's full name, or `commit/` and the name of a transaction's last statement.
    pub name: String,
    /// Side of the statement or commit.
    pub when: FailpointSide,
}

/// Point with an action that runs once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmedFailpoint {
    pub point: Failpoint,
    /// Number of the pass that triggers it, from 1.
    pub nth: u32,
    pub action: FailpointAction,
}

/// Failure that a test ordered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the failpoint at {at} was armed")]
pub struct FailpointError {
    pub at: String,
    /// Whether it counts as a lost race.
    pub is_race: bool,
}

/// Part of [`VARIABLE`] that cannot be read, or names no statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableFailpoint {
    #[error("{VARIABLE} has a part that cannot be read: {0}")]
    Text(String),
    #[error("{VARIABLE}: no statement is called {0}")]
    Name(String),
}

impl Failpoint {
    /// The point of a commit whose last statement has this name.
    pub(crate) fn of_commit(last: &str) -> String {
        format!("{COMMIT}{last}")
    }

    /// The name of the statement, also that of a commit.
    pub(crate) fn statement(&self) -> &str {
        self.name.strip_prefix(COMMIT).unwrap_or(&self.name)
    }
}

impl FailpointAction {
    pub(crate) fn happen(self, at: &str) -> Result<(), FailpointError> {
        let failed = |is_race| Err(FailpointError { at: at.to_owned(), is_race });
        match self {
            Self::Error => failed(false),
            Self::Race => failed(true),
            Self::Panic => panic!("the failpoint at {at} was armed"),
            Self::Kill => {
                #[cfg(unix)]
                signal(process::Signal::KILL);
                // On systems without the signal.
                std::process::abort()
            }
            Self::Stop => {
                #[cfg(unix)]
                signal(process::Signal::STOP);
                Ok(())
            }
        }
    }
}

#[cfg(unix)]
fn signal(signal: process::Signal) {
    process::kill_process(process::getpid(), signal).expect("a process may signal itself");
}

impl fmt::Display for Failpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.when {
            FailpointSide::Before => "before",
            FailpointSide::After => "after",
        };
        write!(f, "{}:{when}", self.name)
    }
}

impl FromStr for ArmedFailpoint {
    type Err = UnreadableFailpoint;

    /// Parses `name:before|after:nth:error|race|panic|kill|stop`.
    fn from_str(text: &str) -> Result<Self, UnreadableFailpoint> {
        let wrong = || UnreadableFailpoint::Text(text.to_owned());
        let mut parts = text.rsplitn(4, ':');
        let action = match parts.next() {
            Some("error") => FailpointAction::Error,
            Some("race") => FailpointAction::Race,
            Some("panic") => FailpointAction::Panic,
            Some("kill") => FailpointAction::Kill,
            Some("stop") => FailpointAction::Stop,
            _ => return Err(wrong()),
        };
        let nth = parts.next().and_then(|nth| nth.parse().ok()).filter(|nth| *nth > 0).ok_or_else(wrong)?;
        let when = match parts.next() {
            Some("before") => FailpointSide::Before,
            Some("after") => FailpointSide::After,
            _ => return Err(wrong()),
        };
        let name = parts.next().filter(|name| !name.is_empty()).ok_or_else(wrong)?.to_owned();
        Ok(Self { point: Failpoint { name, when }, nth, action })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_environment_says_where_when_and_what() {
        let armed = |text: &str| text.parse::<ArmedFailpoint>().unwrap();
        let point = Failpoint { name: "jobs::work::ADD_PART".into(), when: FailpointSide::After };
        assert_eq!(point.to_string(), "jobs::work::ADD_PART:after");
        assert_eq!(
            armed("jobs::work::ADD_PART:after:3:kill"),
            ArmedFailpoint { point, nth: 3, action: FailpointAction::Kill }
        );
        let point = Failpoint { name: "commit/webhooks::outbox::RECORD".into(), when: FailpointSide::Before };
        assert_eq!(point.statement(), "webhooks::outbox::RECORD");
        assert_eq!(
            armed("commit/webhooks::outbox::RECORD:before:1:race"),
            ArmedFailpoint { point, nth: 1, action: FailpointAction::Race }
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "",
            ":after:1:kill",
            "jobs::work::ADD_PART",
            "jobs::work::ADD_PART:after:1",
            "jobs::work::ADD_PART:after:1:melt",
            "jobs::work::ADD_PART:after:0:kill",
            "jobs::work::ADD_PART:during:1:kill",
        ] {
            assert!(text.parse::<ArmedFailpoint>().is_err(), "{text}");
        }
    }
}
