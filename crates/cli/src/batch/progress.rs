//! How far a batch is: a bar on a terminal, a line every ten seconds elsewhere, nothing where nothing is wanted.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use probity_core::time::Millis;
use probity_core::verdict::Status;

use crate::config::duration;

/// Time between two lines where there is no terminal.
const LINE_EVERY_MS: i64 = 10_000;

/// The progress of one run.
pub(crate) struct Progress {
    view: View,
    total: u64,
    done: u64,
    /// What was done before this run.
    before: u64,
    by_status: [u64; 4],
    waiting: u64,
    started: Millis,
}

enum View {
    Bar(ProgressBar),
    Lines { next: Millis },
    Nothing,
}

impl Progress {
    /// For `total` addresses, of which `before` are answered already.
    pub(crate) fn new(total: u64, before: u64, quiet: bool, now: Millis) -> Self {
        let view = if quiet {
            View::Nothing
        } else if std::io::stderr().is_terminal() {
            View::Bar(bar(total, before))
        } else {
            View::Lines { next: now + LINE_EVERY_MS }
        };
        Self { view, total, done: before, before, by_status: [0; 4], waiting: 0, started: now }
    }

    /// Counts an answer.
    pub(crate) fn settled(&mut self, status: Status) {
        self.done += 1;
        let at = Status::ALL.iter().position(|other| *other == status).expect("every status is in ALL");
        self.by_status[at] += 1;
    }

    /// How many rows wait for a later try.
    pub(crate) fn waiting(&mut self, rows: u64) {
        self.waiting = rows;
    }

    /// Answers of this run.
    pub(crate) fn settled_now(&self) -> u64 {
        self.done - self.before
    }

    /// All answers.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Shows the state where it is time.
    pub(crate) fn tick(&mut self, now: Millis) {
        match &mut self.view {
            View::Bar(bar) => {
                bar.set_position(self.done);
                bar.set_message(counts(self.by_status, self.waiting));
            }
            View::Lines { next } if now >= *next => {
                *next = now + LINE_EVERY_MS;
                crate::log::say(&self.line(now));
            }
            View::Lines { .. } | View::Nothing => {}
        }
    }

    fn line(&self, now: Millis) -> String {
        let took = now.since(self.started).max(1);
        let settled = i64::try_from(self.settled_now()).unwrap_or(i64::MAX);
        let left = i64::try_from(self.total - self.done.min(self.total)).unwrap_or(i64::MAX);
        let rest = if settled == 0 {
            String::new()
        } else {
            format!(", {} left", duration::show(left.saturating_mul(took) / settled))
        };
        let counts = counts(self.by_status, self.waiting);
        format!("{} of {} ({} a second{rest}): {counts}", self.done, self.total, settled.saturating_mul(1_000) / took)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&mut self) {
        if let View::Bar(bar) = &self.view {
            bar.finish_and_clear();
        }
    }
}

fn counts(by_status: [u64; 4], waiting: u64) -> String {
    let named = Status::ALL.iter().zip(by_status).filter(|(_, count)| *count > 0);
    let mut parts: Vec<String> = named.map(|(status, count)| format!("{count} {status}")).collect();
    if waiting > 0 {
        parts.push(format!("{waiting} put off"));
    }
    parts.join(", ")
}

fn bar(total: u64, before: u64) -> ProgressBar {
    let template = "{bar:30} {human_pos}/{human_len} {per_sec} ETA {eta} {msg}";
    let style = ProgressStyle::with_template(template).expect("the template is a constant").progress_chars("=> ");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style);
    bar.set_position(before);
    bar.reset_eta();
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_counts_rate_and_rest() {
        let mut progress = Progress::new(100, 40, true, Millis(0));
        for _ in 0..20 {
            progress.settled(Status::Passed);
        }
        progress.waiting(3);
        let line = progress.line(Millis(10_000));
        assert_eq!(line, "60 of 100 (2 a second, 20 s left): 20 passed, 3 put off");
    }
}
