//! Has runs reported by email to the members who want that.

use probity_account::connections::RunCause;
use probity_mail::time::Millis;
use probity_store::activity::report_mail;
use probity_store::connections::runs::{ConnectionRun, RunState};
use probity_store::{StoreError, Tx};

use super::held::HeldRun;

impl HeldRun<'_> {
    /// Queues the reports of a run in the transaction that finished it or made it wait. A run without contacts has nothing to
    /// report; neither has one of a test key.
    pub(super) async fn report(&self, tx: &mut Tx, run: &ConnectionRun, now: Millis) -> Result<(), StoreError> {
        if !self.runs.sends_mail || self.test || run.rows == 0 || !is_worth_a_letter(run.cause, run.state) {
            return Ok(());
        }
        report_mail::of_run(tx, run, now).await
    }
}

/// Polls run all day: only those that wait for a person are reported.
fn is_worth_a_letter(cause: RunCause, state: RunState) -> bool {
    match state {
        RunState::NeedsConfirmation => true,
        RunState::Finished => cause != RunCause::Instafloss,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_and_waiting_runs_are_reported_and_of_polls_only_waiting_ones() {
        let reported = |cause| RunState::ALL.into_iter().filter(move |state| is_worth_a_letter(cause, *state));
        let of = |cause| reported(cause).collect::<Vec<_>>();
        for cause in [RunCause::Manual, RunCause::Autofloss, RunCause::DecayProtection] {
            assert_eq!(of(cause), [RunState::NeedsConfirmation, RunState::Finished]);
        }
        assert_eq!(of(RunCause::Instafloss), [RunState::NeedsConfirmation]);
    }
}
