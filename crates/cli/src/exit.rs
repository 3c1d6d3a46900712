//! Exit codes, one for each outcome on which a script may branch.

/// The exit codes, as `--help` and `docs/cli.md` list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Success; `verify`: every address passed.
    Done,
    /// `verify`: an address is undeliverable or risky. `doctor`: a check failed. `health`: the service is not ready. `audit`,
    /// `credits audit`: there are discrepancies.
    NotPassed,
    /// Usage, configuration or input is wrong; nothing was probed.
    Usage,
    /// `verify`: no address failed, but at least one is unknown.
    Unknown,
    /// Nothing could be probed: no network, or port 25 is closed.
    NoNetwork,
    /// This machine failed: disk full, no permission, port taken.
    Local,
    /// Interrupted; the work file continues the batch.
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NotPassed => 1,
            Self::Usage => 2,
            Self::Unknown => 3,
            Self::NoNetwork => 4,
            Self::Local => 5,
            Self::Interrupted => 130,
        }
    }
}

/// An error that ends the program with a given code instead of [`Exit::Usage`].
#[derive(Debug)]
pub(crate) struct ExitsWith(pub Exit);

impl std::fmt::Display for ExitsWith {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Exit::Local => "this machine failed",
            Exit::NoNetwork => "nothing could be probed",
            Exit::Interrupted => "interrupted",
            Exit::Done | Exit::NotPassed | Exit::Unknown | Exit::Usage => "stopped",
        })
    }
}

impl std::error::Error for ExitsWith {}

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
