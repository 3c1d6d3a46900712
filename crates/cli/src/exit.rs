//! Exit codes, one for each outcome on which a script may branch, and the signals that end the program.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit codes, as `--help` and `docs/cli.md` list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Success; `verify`: every address passed.
    Done = 0,
    /// `verify`: an address is undeliverable or risky. `doctor`: a check failed. `health`: the service is not ready. `audit`,
    /// `credits audit`: there are discrepancies.
    NotPassed = 1,
    /// Usage, configuration or input is wrong; nothing was probed.
    Usage = 2,
    /// `verify`: no address failed, but at least one is unknown.
    Unknown = 3,
    /// Nothing could be probed: no network, or port 25 is closed.
    NoNetwork = 4,
    /// This machine failed: disk full, no permission, port taken.
    Local = 5,
    /// Interrupted; the work file continues the batch.
    Interrupted = 130,
}

/// An error that ends the program with a given code instead of [`Exit::Usage`].
#[derive(Debug)]
pub(crate) struct ExitsWith(pub Exit);

impl std::fmt::Display for ExitsWith {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the exit code is {}", self.0 as u8)
    }
}

impl std::error::Error for ExitsWith {}

/// Ends the program with [`Exit::Local`] because of an error.
pub(crate) fn local(error: impl Into<anyhow::Error>) -> anyhow::Error {
    error.into().context(ExitsWith(Exit::Local))
}

/// Signals that end the program.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Catches the signals from now on, so that none is lost.
    pub(crate) fn catch() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Returns the exit code of an error.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    if let Some(ExitsWith(exit)) = error.downcast_ref::<ExitsWith>() {
        return *exit;
    }
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    match io.map(std::io::Error::kind) {
        Some(
            std::io::ErrorKind::StorageFull
            | std::io::ErrorKind::QuotaExceeded
            | std::io::ErrorKind::WriteZero
            | std::io::ErrorKind::ReadOnlyFilesystem
            | std::io::ErrorKind::PermissionDenied
            | std::io::ErrorKind::AddrInUse
            | std::io::ErrorKind::BrokenPipe,
        ) => Exit::Local,
        _ => Exit::Usage,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn what_this_machine_refuses_is_not_a_usage_error() {
        let exit = |kind| of_error(&anyhow::Error::new(Error::from(kind)).context("cannot open the work file"));
        for kind in
            [ErrorKind::PermissionDenied, ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem, ErrorKind::AddrInUse]
        {
            assert_eq!(exit(kind), Exit::Local, "{kind}");
        }
        assert_eq!(exit(ErrorKind::NotFound), Exit::Usage);
    }
}
