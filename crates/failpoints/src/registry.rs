//! The failpoints of one store: which are armed, and which were passed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::failpoint::{ArmedFailpoint, Failpoint, FailpointError, FailpointSide, UnreadableFailpoint, VARIABLE};

pub struct Failpoints {
    /// Whether a statement has this name.
    is_statement: fn(&str) -> bool,
    state: Mutex<RegistryState>,
    callers_clock: AtomicBool,
}

#[derive(Debug, Default)]
struct RegistryState {
    armed: Vec<ArmedFailpoint>,
    fired: usize,
    traced: Option<BTreeMap<Failpoint, u32>>,
}

impl fmt::Debug for Failpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Failpoints").field(&*self.state()).finish()
    }
}

impl Failpoints {
    /// Failpoints of the statements with these names, none of them armed.
    pub fn new(is_statement: fn(&str) -> bool) -> Self {
        Self { is_statement, state: Mutex::default(), callers_clock: AtomicBool::new(false) }
    }

    /// Failpoints armed by the environment.
    pub fn of_environment(is_statement: fn(&str) -> bool) -> Result<Self, UnreadableFailpoint> {
        Self::of_text(&std::env::var(VARIABLE).unwrap_or_default(), is_statement)
    }

    fn of_text(text: &str, is_statement: fn(&str) -> bool) -> Result<Self, UnreadableFailpoint> {
        let all = Self::new(is_statement);
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let armed: ArmedFailpoint = part.parse()?;
            if !is_statement(armed.point.statement()) {
                return Err(UnreadableFailpoint::Name(armed.point.statement().to_owned()));
            }
            all.arm(armed);
        }
        Ok(all)
    }

    /// Uses the callers' time instead of a server's: for tests that control time.
    pub fn go_by_callers_clock(&self) {
        self.callers_clock.store(true, Ordering::Relaxed);
    }

    pub fn has_callers_clock(&self) -> bool {
        self.callers_clock.load(Ordering::Relaxed)
    }

    /// Arms a point.
    ///
    /// # Panics
    /// Panics if no statement has its name.
    pub fn arm(&self, armed: ArmedFailpoint) {
        assert!((self.is_statement)(armed.point.statement()), "no statement is called {}", armed.point.statement());
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
    pub fn traced(&self) -> BTreeMap<Failpoint, u32> {
        self.state().traced.take().unwrap_or_default()
    }

    /// Passes a statement's point.
    pub fn pass(&self, name: &str, when: FailpointSide) -> Result<(), FailpointError> {
        let mut state = self.state();
        if state.traced.is_none() && state.armed.is_empty() {
            return Ok(());
        }
        let point = Failpoint { name: name.to_owned(), when };
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

    /// Passes the point of a commit whose last statement has this name.
    pub fn pass_commit(&self, last: &str, when: FailpointSide) -> Result<(), FailpointError> {
        self.pass(&Failpoint::of_commit(last), when)
    }

    fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_statement(name: &str) -> bool {
        name == "webhooks::outbox::PUT"
    }

    #[test]
    fn a_point_fails_at_its_pass_and_only_then() {
        let failpoints = Failpoints::new(is_statement);
        failpoints.arm("webhooks::outbox::PUT:before:2:error".parse().unwrap());
        failpoints.trace();
        let pass = |when| failpoints.pass("webhooks::outbox::PUT", when).is_ok();
        let passed =
            [FailpointSide::Before, FailpointSide::After, FailpointSide::Before, FailpointSide::Before].map(pass);
        assert_eq!(passed, [true, true, false, true]);
        assert!(failpoints.has_passed("webhooks::outbox::PUT") && !failpoints.has_passed("webhooks::outbox::GET"));
        let traced: Vec<_> = failpoints.traced().iter().map(|(point, n)| format!("{point} {n}")).collect();
        assert_eq!(traced, ["webhooks::outbox::PUT:before 3", "webhooks::outbox::PUT:after 1"]);
        assert_eq!((failpoints.disarm(), failpoints.disarm()), (1, 0));
    }

    #[test]
    fn only_statements_are_armed() {
        let armed = |text| Failpoints::of_text(text, is_statement).map(|all| all.state().armed.len());
        assert_eq!(armed(""), Ok(0));
        assert_eq!(armed("webhooks::outbox::PUT:after:1:kill,commit/webhooks::outbox::PUT:before:1:stop"), Ok(2));
        for (text, name) in [
            ("webhooks::outbox::NO_SUCH:after:1:kill", "webhooks::outbox::NO_SUCH"),
            ("commit/PUT:after:1:kill", "PUT"),
        ] {
            assert_eq!(armed(text), Err(UnreadableFailpoint::Name(name.to_owned())), "{text}");
        }
        assert!(armed("webhooks::outbox::PUT").is_err());
    }
}
