//! Location of PostgreSQL's programs, and how to run them.
//!
//! Debian keeps the server's programs outside the search path, in a directory per major version; other systems have them in the
//! path. The first directory with all of them is used.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::account::ProcessAccount;

/// Environment variable for the programs' directory; [`NONE`] simulates a machine without them.
const BIN_VARIABLE: &str = "PROBITY_PG_BIN";
/// Value that hides the programs, to show what the tests do without them.
const NONE: &str = "none";
/// Environment variable; `1` makes a missing PostgreSQL a failure.
const REQUIRE_VARIABLE: &str = "PROBITY_REQUIRE_PG";
/// Programs that a directory must contain.
const PROGRAMS: [&str; 6] = ["initdb", "postgres", "pg_ctl", "createdb", "dropdb", "psql"];
/// Debian's parent directory of all major versions.
const VERSIONS: &str = "/usr/lib/postgresql";
/// Message if no programs were found.
const MISSING: &str = "no PostgreSQL programs found (install postgresql, or set PROBITY_PG_BIN)";

/// The programs and their account.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    bin: PathBuf,
    /// Major version of the server.
    pub(crate) major: u32,
    pub(crate) account: ProcessAccount,
}

impl Installation {
    /// Finds the programs of this machine; `None` if there are none, which is reported on standard error once per process.
    pub(crate) fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Installation>> = OnceLock::new();
        let found = FOUND.get_or_init(|| {
            let found = directory().map(|bin| Self { major: major(&bin), bin, account: ProcessAccount::choose() });
            if found.is_none() {
                // Not `eprintln!`: the test harness hides its output in passing tests.
                let _ = writeln!(std::io::stderr(), "\nSKIPPED: {MISSING}");
            }
            found
        });
        let required = env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1");
        assert!(found.is_some() || !required, "{REQUIRE_VARIABLE}=1, but {MISSING}");
        found.as_ref()
    }

    /// Returns a command that runs under the account.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = self.client(program);
        self.account.run(&mut command);
        command
    }

    /// Returns a command that runs under the account of this process, which costs less: a large process is not copied first.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        // English messages, and none of this user's settings of clients.
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"PG") {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C").env("TZ", "UTC").stdin(Stdio::null()).current_dir("/");
        command
    }

    pub(crate) fn path(&self, program: &str) -> PathBuf {
        self.bin.join(program)
    }
}

/// Runs a command to completion; returns its standard output, or all output if it failed.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!("{name}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr)))
}

fn directory() -> Option<PathBuf> {
    if let Some(bin) = env::var_os(BIN_VARIABLE).filter(|bin| !bin.is_empty()) {
        if bin == NONE {
            return None;
        }
        let bin = PathBuf::from(bin);
        // A wrong setting does not mean a machine without PostgreSQL.
        assert!(is_complete(&bin), "{BIN_VARIABLE}={} does not hold all of {PROGRAMS:?}", bin.display());
        return Some(bin);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    in_path(&path).or_else(configured).or_else(|| newest(Path::new(VERSIONS)))
}

/// Searches the path, following links to the directory of the other programs.
fn in_path(path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path)
        .filter_map(|directory| fs::canonicalize(directory.join("initdb")).ok())
        .filter_map(|initdb| initdb.parent().map(Path::to_owned))
        .find(|bin| is_complete(bin))
}

/// Asks `pg_config`.
fn configured() -> Option<PathBuf> {
    let said = run(Command::new("pg_config").arg("--bindir")).ok()?;
    Some(PathBuf::from(said.trim_end())).filter(|bin| is_complete(bin))
}

/// Returns the newest version in Debian's directory.
fn newest(versions: &Path) -> Option<PathBuf> {
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<f32>().ok();
    let mut found: Vec<(f32, PathBuf)> = fs::read_dir(versions)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter_map(|version| Some((number(&version)?, version.join("bin"))))
        .filter(|(_, bin)| is_complete(bin))
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.pop().map(|(_, bin)| bin)
}

/// Returns the server's major version.
fn major(bin: &Path) -> u32 {
    let said = run(Command::new(bin.join("postgres")).arg("--version")).unwrap_or_else(|error| panic!("{error}"));
    parse_major(&said).unwrap_or_else(|| panic!("not a version of PostgreSQL: {said}"))
}

/// Parses the major version of `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`; of a version to come, as in `18beta1`, too.
fn parse_major(said: &str) -> Option<u32> {
    let (_, version) = said.split_once("(PostgreSQL) ")?;
    version.split(|end: char| !end.is_ascii_digit()).next()?.parse().ok()
}

fn is_complete(bin: &Path) -> bool {
    PROGRAMS.iter().all(|program| bin.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(bin: &Path, programs: &[&str]) {
        fs::create_dir_all(bin).unwrap();
        for program in programs {
            fs::write(bin.join(program), "").unwrap();
        }
    }

    #[test]
    fn the_newest_complete_version_is_taken() {
        let versions = tempfile::tempdir().unwrap();
        let bin = |version: &str| versions.path().join(version).join("bin");
        assert_eq!(newest(versions.path()), None);
        assert_eq!(newest(&versions.path().join("missing")), None);
        install(&bin("9.6"), &PROGRAMS);
        install(&bin("15"), &PROGRAMS);
        install(&bin("17"), &["psql", "createdb", "dropdb"]);
        install(&bin("old"), &PROGRAMS);
        assert_eq!(newest(versions.path()), Some(bin("15")));
        install(&bin("17"), &PROGRAMS);
        assert_eq!(newest(versions.path()), Some(bin("17")));
    }

    #[test]
    fn the_major_version_is_read() {
        let cases = [
            ("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n", Some(15)),
            ("postgres (PostgreSQL) 18beta1\n", Some(18)),
            ("postgres (PostgreSQL) 9.6.24\n", Some(9)),
            ("sh: 15", None),
        ];
        for (said, major) in cases {
            assert_eq!(parse_major(said), major, "{said}");
        }
    }

    #[test]
    fn a_link_in_the_path_leads_to_the_programs() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).map(|path| (path, root)).unwrap();
        let (bin, links, clients) = (root.0.join("bin"), root.0.join("links"), root.0.join("clients"));
        install(&bin, &PROGRAMS);
        install(&clients, &["psql", "initdb"]);
        fs::create_dir(&links).unwrap();
        std::os::unix::fs::symlink(bin.join("initdb"), links.join("initdb")).unwrap();
        let path = |list: &[&Path]| env::join_paths(list).unwrap();
        assert_eq!(in_path(&path(&[&clients, &links])), Some(bin.clone()));
        assert_eq!(in_path(&path(&[&bin])), Some(bin));
        assert_eq!(in_path(&path(&[&clients])), None);
    }
}
