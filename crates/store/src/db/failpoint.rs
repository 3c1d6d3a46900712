//! Failpoints: places where a test can make a statement or a commit fail, or end the process. Only debug builds have them.
//!
//! Each statement has two, before and after it, under its full name such as `jobs::work::ADD_PART`. Each commit of a
//! transaction has two, named after the transaction's last statement: `commit/jobs::close::CLOSE`. A test in this process arms
//! those of a store ([`Store::failpoints`]), or traces the points passed. The environment arms a whole process:
//!
//! ```text
//! PROBITY_FAILPOINT=jobs::work::ADD_PART:after:3:kill,commit/outbox::RECORD:before:1:stop
//! ```
//!
//! The fields are name, moment, number of the pass, and [`Action`]. It applies to each [`Store`] that the process
//! opens. An unknown statement name is rejected, so that renaming a statement does not silently disarm a test.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(unix)]
use rustix::process;

use super::Store;
use crate::error::{Result, StoreError};

/// Environment variable that arms failpoints.
pub const VARIABLE: &str = "PROBITY_FAILPOINT";
/// Prefix of the name of a commit's last statement.
const COMMIT: &str = "commit/";

/// Side of a statement or a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Before execution.
    Before,
    /// After execution; a commit that fails here has succeeded, but its caller does not know.
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `error`: [`StoreError::Unavailable`], as if the connection had broken.
    Error,
    /// `race`: the same, as after a lost race: [`Store::write`] runs the transaction again.
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
pub struct Point {
    /// A statement's full name, or `commit/` and the name of a transaction's last statement.
    pub name: String,
    /// Side of the statement or commit.
    pub when: When,
}

/// Point with an action that runs once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Armed {
    pub point: Point,
    /// Number of the pass that triggers it, from 1.
    pub nth: u32,
    pub action: Action,
}

#[derive(Debug, Default)]
pub struct Failpoints {
    state: Mutex<State>,
    callers_clock: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    armed: Vec<Armed>,
    fired: usize,
    traced: Option<BTreeMap<Point, u32>>,
}

impl Store {
    pub fn failpoints(&self) -> &Failpoints {
        &self.inner.failpoints
    }
}

impl Failpoints {
    /// Uses the callers' time instead of a server's: for tests that control time.
    pub fn go_by_callers_clock(&self) {
        self.callers_clock.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_callers_clock(&self) -> bool {
        self.callers_clock.load(Ordering::Relaxed)
    }

    /// Failpoints armed by the environment.
    pub(super) fn of_environment() -> Result<Self> {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        let armed = text.split(',').filter(|part| !part.is_empty()).map(str::parse).collect::<Result<_>>()?;
        Ok(Self { state: Mutex::new(State { armed, ..State::default() }), ..Self::default() })
    }

    /// Arms a point.
    pub fn arm(&self, armed: Armed) {
        self.state().armed.push(armed);
    }

    /// Disarms all pending points; returns the number triggered since the last call.
    pub fn disarm(&self) -> usize {
        let mut state = self.state();
        state.armed.clear();
        std::mem::take(&mut state.fired)
    }

    /// Starts recording the points passed.
    pub fn trace(&self) {
        self.state().traced = Some(BTreeMap::new());
    }

    /// Whether a statement was run, or is about to be, since [`Failpoints::trace`]; recording continues.
    pub fn has_passed(&self, statement: &str) -> bool {
        let state = self.state();
        state.traced.as_ref().is_some_and(|traced| traced.keys().any(|point| point.name == statement))
    }

    /// Points passed since [`Failpoints::trace`], with their counts; stops recording.
    pub fn traced(&self) -> BTreeMap<Point, u32> {
        self.state().traced.take().unwrap_or_default()
    }

    /// Passes a statement's point.
    pub(super) fn pass(&self, name: &str, when: When) -> Result<()> {
        let mut state = self.state();
        if state.traced.is_none() && state.armed.is_empty() {
            return Ok(());
        }
        let point = Point { name: name.to_owned(), when };
        let mut due = None;
        for (place, armed) in state.armed.iter_mut().enumerate().filter(|(_, armed)| armed.point == point) {
            armed.nth = armed.nth.saturating_sub(1);
            due = due.or((armed.nth == 0).then_some(place));
        }
        if let Some(traced) = &mut state.traced {
            *traced.entry(point).or_default() += 1;
        }
        let Some(place) = due else { return Ok(()) };
        let action = state.armed.remove(place).action;
        state.fired += 1;
        drop(state);
        action.happen(name)
    }

    /// Passes a commit's point.
    pub(super) fn pass_commit(&self, last: &str, when: When) -> Result<()> {
        self.pass(&format!("{COMMIT}{last}"), when)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Action {
    fn happen(self, name: &str) -> Result<()> {
        let unavailable = |contended| {
            Err(StoreError::Unavailable { source: format!("the failpoint at {name} was armed").into(), contended })
        };
        match self {
            Self::Error => unavailable(false),
            Self::Race => unavailable(true),
            Self::Panic => panic!("the failpoint at {name} was armed"),
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

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.when {
            When::Before => "before",
            When::After => "after",
        };
        write!(f, "{}:{when}", self.name)
    }
}

impl FromStr for Armed {
    type Err = StoreError;

    /// Parses `name:before|after:nth:error|race|panic|kill|stop`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || StoreError::corrupt(format!("{VARIABLE} has a part that cannot be read: {text}"));
        let mut parts = text.rsplitn(4, ':');
        let action = match parts.next() {
            Some("error") => Action::Error,
            Some("race") => Action::Race,
            Some("panic") => Action::Panic,
            Some("kill") => Action::Kill,
            Some("stop") => Action::Stop,
            _ => return Err(wrong()),
        };
        let nth = parts.next().and_then(|nth| nth.parse().ok()).filter(|nth| *nth > 0).ok_or_else(wrong)?;
        let when = match parts.next() {
            Some("before") => When::Before,
            Some("after") => When::After,
            _ => return Err(wrong()),
        };
        let name = parts.next().ok_or_else(wrong)?.to_owned();
        let statement = name.strip_prefix(COMMIT).unwrap_or(&name);
        if !crate::statements().iter().any(|known| known.name() == statement) {
            return Err(StoreError::corrupt(format!("{VARIABLE}: no statement is called {statement}")));
        }
        Ok(Self { point: Point { name, when }, nth, action })
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Armed, Failpoints, Point, When};

    fn armed(text: &str) -> Armed {
        text.parse().unwrap()
    }

    #[test]
    fn a_part_of_the_environment_says_where_when_and_what() {
        let point = Point { name: "jobs::work::ADD_PART".into(), when: When::After };
        assert_eq!(point.to_string(), "jobs::work::ADD_PART:after");
        assert_eq!(armed("jobs::work::ADD_PART:after:3:kill"), Armed { point, nth: 3, action: Action::Kill });
        let point = Point { name: "commit/outbox::RECORD".into(), when: When::Before };
        assert_eq!(armed("commit/outbox::RECORD:before:1:race"), Armed { point, nth: 1, action: Action::Race });
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "jobs::work::ADD_PART",
            "jobs::work::ADD_PART:after:1",
            "jobs::work::ADD_PART:after:1:melt",
            "jobs::work::ADD_PART:after:0:kill",
            "jobs::work::ADD_PART:during:1:kill",
            "jobs::work::NO_SUCH:after:1:kill",
            "INSERT:after:1:kill",
        ] {
            assert!(text.parse::<Armed>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_point_fails_at_its_pass_and_only_then() {
        let failpoints = Failpoints::default();
        failpoints.arm(armed("outbox::PUT:before:2:error"));
        failpoints.trace();
        let pass = |when| failpoints.pass("outbox::PUT", when).is_ok();
        let passed = [When::Before, When::After, When::Before, When::Before].map(pass);
        assert_eq!(passed, [true, true, false, true]);
        let traced: Vec<_> = failpoints.traced().iter().map(|(point, n)| format!("{point} {n}")).collect();
        assert_eq!(traced, ["outbox::PUT:before 3", "outbox::PUT:after 1"]);
        assert_eq!((failpoints.disarm(), failpoints.disarm()), (1, 0));
    }
}
