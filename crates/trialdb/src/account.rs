//! Account of PostgreSQL's processes. PostgreSQL refuses to run as root, so tests run by root use an unprivileged account.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Accounts to use instead of root, best first. `initdb` needs a user name, so a bare number will not do.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// Account of the instance's processes and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessAccount {
    /// Account of this process.
    Own,
    /// Another account, which only root can use.
    Other {
        uid: u32,
        /// Group ID.
        gid: u32,
    },
}

impl ProcessAccount {
    /// Chooses the account for this process.
    pub(crate) fn choose() -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self::Own;
        }
        let passwd = fs::read_to_string("/etc/passwd").expect("/etc/passwd is readable");
        Self::among(&passwd)
            .unwrap_or_else(|| panic!("PostgreSQL cannot run as root, and there is none of {ACCOUNTS:?}"))
    }

    /// Returns the best account of a file in passwd(5) format.
    fn among(passwd: &str) -> Option<Self> {
        let numbers = |name: &str| {
            passwd.lines().find_map(|line| {
                let mut fields = line.split(':');
                let found = fields.next() == Some(name);
                let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
                found.then_some(Self::Other { uid, gid })
            })
        };
        ACCOUNTS.into_iter().find_map(numbers)
    }

    /// Sets the account of a command.
    pub(crate) fn run(self, command: &mut Command) {
        if let Self::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
    }

    /// Makes the account the owner of a file or directory.
    pub(crate) fn give(self, path: &Path) -> std::io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Other { uid, gid } => std::os::unix::fs::chown(path, Some(uid), Some(gid)),
        }
    }

    /// Returns a directory for temporary files that the account can reach: root's own may be closed to others.
    pub(crate) fn temporary(self) -> PathBuf {
        match self {
            Self::Own => std::env::temp_dir(),
            Self::Other { .. } => "/tmp".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_goes_before_nobody_and_odd_lines_are_passed_over() {
        let nobody = "root:x:0:0::/root:/bin/sh\n\n# odd\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(ProcessAccount::among(nobody), Some(ProcessAccount::Other { uid: 65534, gid: 65533 }));
        let both =
            format!("{nobody}postgresql:x:5:6::/:\npostgres:x:101:104:PostgreSQL:/var/lib/postgresql:/bin/bash\n");
        assert_eq!(ProcessAccount::among(&both), Some(ProcessAccount::Other { uid: 101, gid: 104 }));
        assert_eq!(ProcessAccount::among("root:x:0:0::/root:/bin/sh\n"), None);
    }
}
