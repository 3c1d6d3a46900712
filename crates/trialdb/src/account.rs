//! As whom PostgreSQL runs: it refuses root, so root's tests lend it an account without rights.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Accounts to run as instead of root, the best first. `initdb` wants a name for its user, so a bare number will not do.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// The account of the instance's processes and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    /// That of this process.
    Own,
    /// Another one, which only root can take.
    Other {
        /// The user's number.
        uid: u32,
        /// Its group's number.
        gid: u32,
    },
}

impl Account {
    /// The one to use by this process.
    pub(crate) fn choose() -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self::Own;
        }
        let passwd = fs::read_to_string("/etc/passwd").expect("/etc/passwd is readable");
        Self::among(&passwd)
            .unwrap_or_else(|| panic!("PostgreSQL cannot run as root, and there is none of {ACCOUNTS:?}"))
    }

    /// The best account of a file in the form of passwd(5).
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

    /// Lets the command run under this account.
    pub(crate) fn run(self, command: &mut Command) {
        if let Self::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
    }

    /// Gives it a file or directory.
    pub(crate) fn give(self, path: &Path) -> std::io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Other { uid, gid } => std::os::unix::fs::chown(path, Some(uid), Some(gid)),
        }
    }

    /// A directory for temporary files that it can reach: root's own may be closed to everybody else.
    pub(crate) fn temporary(self) -> std::path::PathBuf {
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
        assert_eq!(Account::among(nobody), Some(Account::Other { uid: 65534, gid: 65533 }));
        let both =
            format!("{nobody}postgresql:x:5:6::/:\npostgres:x:101:104:PostgreSQL:/var/lib/postgresql:/bin/bash\n");
        assert_eq!(Account::among(&both), Some(Account::Other { uid: 101, gid: 104 }));
        assert_eq!(Account::among("root:x:0:0::/root:/bin/sh\n"), None);
    }
}
