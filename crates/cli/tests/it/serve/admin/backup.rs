//! Backups and restores as processes: beside a writing service, refused if harmful, and killed at any moment.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use probity_mail::rng::Rng;
use probity_trialdb::postgres;

use crate::program::Ran;
use crate::serve::bench::account::audit;
use crate::serve::bench::client::Client;
use crate::serve::bench::node::{Installation, Node, from_environment, wait_for};

const CANARY: &str = "kanarie.7h2k@catchall.sandbox.test";
/// Number of kills of backup and restore.
const ROUNDS: u64 = 8;

/// Submits a list; returns the job's ID.
fn submitted(client: &mut Client, emails: &[String]) -> String {
    let body = serde_json::json!({ "emails": emails }).to_string();
    let answer = client.post("/v1/batch-verify", &emails.len().to_string(), &body).unwrap();
    answer.json()["id"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

fn over(client: &mut Client, job: &str) {
    wait_for("the end of the job", || {
        let status = client.get(&format!("/v1/batch-verify/{job}/status")).unwrap().json();
        (status["processed"] == true).then_some(())
    });
}

fn done(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Starts a service with a verified list; returns it with its live key.
fn serving(installation: &Installation) -> (Node, String) {
    let node = installation.start();
    let key = node.key("Live key");
    let mut client = node.client(&key);
    let job = submitted(&mut client, &[CANARY.to_owned(), "valid@sandbox.test".to_owned()]);
    over(&mut client, &job);
    (node, key)
}

fn data(installation: &Installation) -> PathBuf {
    installation.place.path("data")
}

#[test]
#[ignore = "thorough"]
fn a_backup_beside_a_service_that_writes_is_whole_and_comes_back() {
    let installation = Installation::on_sqlite();
    let (node, key) = serving(&installation);
    let mut client = node.client(&key);
    let emails: Vec<String> = (0..20_000).map(|n| format!("nobody{n}@d{}.sandbox.test", n % 50)).collect();
    let job = submitted(&mut client, &emails);
    for n in 0..3 {
        let ran = installation.run(&["backup", &format!("backup-{n}")]);
        done(&ran);
        assert!(ran.out.contains("audit passed"), "{ran:?}");
    }
    let taken = installation.run(&["backup", "backup-0"]);
    assert!(taken.code == Some(2) && taken.err.contains("already exists"), "{taken:?}");
    let refused = installation.run(&["restore", "backup-2", "--replace"]);
    assert!(refused.code == Some(5) && refused.err.contains("stop the service"), "{refused:?}");
    node.stop();
    let kept = installation.run(&["restore", "backup-2"]);
    assert!(kept.code == Some(2) && kept.err.contains("--replace"), "{kept:?}");

    std::fs::rename(data(&installation), installation.place.path("lost")).unwrap();
    done(&installation.run(&["restore", "backup-2"]));
    audit(&installation);
    let node = installation.start();
    assert!(!node.printed().contains("Live key"), "it is no first start");
    let mut client = node.client(&key);
    over(&mut client, &job);
    node.stop();
    audit(&installation);
    let files = |name: &str| std::fs::read_dir(installation.place.path(name)).unwrap().count();
    assert_eq!(files("backup-2"), 3, "database, pepper, manifest");
}

#[test]
#[ignore = "thorough"]
fn what_was_erased_after_a_backup_is_erased_before_it_comes_back() {
    let installation = Installation::on_sqlite();
    let (node, key) = serving(&installation);
    done(&installation.run(&["backup", "before"]));
    let mut client = node.client(&key);
    let asked = format!(r#"{{"emails":["{CANARY}"]}}"#);
    client.post("/v1/erasures", "erase", &asked).unwrap();
    wait_for("the erasure", || {
        let listed = client.get("/v1/erasures").unwrap().json()["data"].clone();
        (listed[0]["status"] == "completed").then_some(())
    });
    node.stop();
    let holds =
        |path: PathBuf| std::fs::read(path).unwrap().windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
    assert!(holds(installation.place.path("before/probity.db")), "else this test would show nothing");
    let ran = installation.run(&["restore", "before", "--replace"]);
    done(&ran);
    assert!(ran.err.contains("Repeated 1 erasures"), "{ran:?}");
    let entries = std::fs::read_dir(data(&installation)).unwrap().map(|entry| entry.unwrap().path());
    assert!(!entries.into_iter().any(holds), "no file has it before anything is served");
    audit(&installation);
    let node = installation.start();
    assert_eq!(node.client(&key).get("/v1/erasures").unwrap().json()["data"][0]["status"], "completed");
    node.stop();
}

#[test]
#[ignore = "thorough"]
fn what_is_no_backup_of_this_installation_is_refused() {
    let installation = Installation::on_sqlite();
    serving(&installation).0.stop();
    done(&installation.run(&["backup", "good"]));
    let refused = |args: &[&str], word: &str| {
        let ran = installation.run(&[&["restore"], args].concat());
        assert!(ran.code != Some(0) && ran.err.contains(word), "{args:?}: {ran:?}");
        assert!(
            std::fs::read_dir(data(&installation))
                .unwrap()
                .all(|entry| { !entry.unwrap().file_name().to_string_lossy().contains("restoring") })
        );
    };
    refused(&["data", "--replace"], "is not a backup");
    let database = installation.place.path("good/probity.db");
    let bytes = std::fs::read(&database).unwrap();
    let mut changed = bytes.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    std::fs::write(&database, changed).unwrap();
    refused(&["good", "--replace"], "was changed or is damaged");
    std::fs::write(&database, bytes).unwrap();
    std::fs::write(installation.place.path("good/pepper"), "another pepper that is long enough for one\n").unwrap();
    refused(&["good", "--replace"], "pepper of another installation");
    std::fs::remove_file(data(&installation).join("pepper")).unwrap();
    refused(&["good", "--replace"], "wrong pepper");
    assert!(!data(&installation).join("pepper").exists());
}

#[test]
#[ignore = "thorough"]
fn without_its_pepper_a_backup_needs_the_one_that_is_there() {
    let installation = Installation::on_sqlite();
    serving(&installation).0.stop();
    let ran = installation.run(&["backup", "bare", "--without-pepper"]);
    done(&ran);
    assert!(ran.err.contains("no pepper") && !installation.place.has("bare/pepper"), "{ran:?}");
    done(&installation.run(&["restore", "bare", "--replace"]));
    audit(&installation);
    std::fs::rename(data(&installation), installation.place.path("lost")).unwrap();
    let ran = installation.run(&["restore", "bare"]);
    assert!(ran.code == Some(2) && ran.err.contains("the backup has no pepper"), "{ran:?}");
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Identity of a file, independent of its name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[test]
#[ignore = "thorough"]
fn a_database_that_was_replaced_stays_until_somebody_deletes_it() {
    let installation = Installation::on_sqlite();
    serving(&installation).0.stop();
    done(&installation.run(&["backup", "good"]));
    let (database, replaced) =
        (data(&installation).join("probity.db"), data(&installation).join("probity.db.replaced"));
    // State after a restore that was killed while the database had both names.
    std::fs::hard_link(&database, &replaced).unwrap();
    let original = identity(&database);
    done(&installation.run(&["restore", "good", "--replace"]));
    assert_eq!(identity(&replaced), original);
    let restored = identity(&database);
    let refused = installation.run(&["restore", "good", "--replace"]);
    assert!(refused.code == Some(2) && refused.err.contains("probity.db.replaced is a database"), "{refused:?}");
    assert_eq!((identity(&replaced), identity(&database)), (original, restored));
    std::fs::rename(&replaced, installation.place.path("original.db")).unwrap();
    done(&installation.run(&["restore", "good", "--replace"]));
    assert_eq!(identity(&replaced), restored);
    audit(&installation);
}

#[test]
#[ignore = "thorough"]
fn a_restored_database_is_its_owners_alone_and_a_copy_that_fails_leaves_nothing() {
    let installation = Installation::on_sqlite();
    serving(&installation).0.stop();
    done(&installation.run(&["backup", "good"]));
    let (kept, database) = (installation.place.path("good/probity.db"), data(&installation).join("probity.db"));
    assert_eq!((mode(&installation.place.path("good")), mode(&kept)), (0o700, 0o600));
    for of_backup in [0o644, 0o400] {
        std::fs::set_permissions(&kept, std::fs::Permissions::from_mode(of_backup)).unwrap();
        done(&installation.run(&["restore", "good", "--replace"]));
        assert_eq!(mode(&database), 0o600, "{of_backup:o}");
        std::fs::remove_file(data(&installation).join("probity.db.replaced")).unwrap();
    }
    audit(&installation);
    // An unreadable source.
    std::fs::remove_file(&kept).unwrap();
    std::fs::create_dir(&kept).unwrap();
    let before = identity(&database);
    let ran = installation.run(&["restore", "good", "--replace"]);
    assert!(ran.code != Some(0) && ran.err.contains("cannot copy"), "{ran:?}");
    assert!(!data(&installation).join("probity.db.restoring").exists());
    assert_eq!(identity(&database), before);
}

#[test]
#[ignore = "thorough"]
fn a_backup_is_written_only_where_nobody_else_can_write() {
    let installation = Installation::on_sqlite();
    serving(&installation).0.stop();
    let (part, elsewhere) = (installation.place.path("next.part"), installation.place.path("elsewhere"));
    let refused = |what: &str| {
        let ran = installation.run(&["backup", "next"]);
        assert!(ran.code == Some(2) && ran.err.contains("next.part exists and is not"), "{what}: {ran:?}");
        assert!(!installation.place.has("next"), "{what}");
    };
    let directory = |mode: u32| std::fs::DirBuilder::new().mode(mode).create(&part).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::set_permissions(&elsewhere, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &part).unwrap();
    refused("a link");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    std::fs::remove_file(&part).unwrap();
    std::fs::write(&part, "a file").unwrap();
    refused("a file");
    std::fs::remove_file(&part).unwrap();
    for open in [0o755, 0o770, 0o703] {
        directory(0o700);
        std::fs::set_permissions(&part, std::fs::Permissions::from_mode(open)).unwrap();
        refused("a directory that others can use");
        std::fs::remove_dir(&part).unwrap();
    }
    if rustix::process::geteuid().is_root() {
        directory(0o700);
        std::os::unix::fs::chown(&part, Some(65_534), None).unwrap();
        refused("a directory of another user");
        std::fs::remove_dir(&part).unwrap();
    }
    // State after a killed backup.
    directory(0o700);
    std::fs::write(part.join("probity.db"), "half of a database").unwrap();
    done(&installation.run(&["backup", "next"]));
    assert!(!part.exists());
}

#[test]
#[ignore = "thorough"]
fn a_backup_that_fails_leaves_nothing() {
    let installation = Installation::on_sqlite();
    serving(&installation).0.stop();
    // The restore detects the wrong pepper in the copy.
    std::fs::write(data(&installation).join("pepper"), "another pepper that is long enough for one\n").unwrap();
    let ran = installation.run(&["backup", "next"]);
    assert!(ran.code != Some(0) && ran.err.contains("next.part/probity.db"), "{ran:?}");
    assert!(!installation.place.has("next") && !installation.place.has("next.part"));
}

#[test]
#[ignore = "thorough"]
fn postgresql_is_left_to_its_own_tools() {
    let Some(cluster) = postgres() else { return };
    let installation = Installation::on(cluster.create_database());
    for (args, tool) in [(["backup", "here"], "pg_dump"), (["restore", "here"], "pg_restore")] {
        let ran = installation.run(&args);
        assert!(ran.code == Some(2) && ran.err.contains(tool), "{ran:?}");
    }
}

/// Counts the organizations.
fn organizations(installation: &Installation) -> usize {
    let ran = installation.run(&["orgs", "list", "--json"]);
    done(&ran);
    ran.out.lines().count()
}

#[test]
#[ignore = "thorough"]
fn killed_at_any_moment_backups_and_restores_leave_what_was_there() {
    let rounds = from_environment("PROBITY_CRASH_ROUNDS", ROUNDS);
    let mut moments = Rng::new(from_environment("PROBITY_CRASH_SEED", 1));
    let installation = Installation::on_sqlite();
    serving(&installation).0.stop();
    let begun = Instant::now();
    done(&installation.run(&["backup", "first"]));
    let takes = u64::try_from(begun.elapsed().as_micros()).unwrap();
    let mut killed = |args: &[&str]| {
        let mut child = installation.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let moment = Instant::now() + Duration::from_micros(moments.next_u64() % takes);
        while Instant::now() < moment {
            std::thread::yield_now();
        }
        // The child may have ended already, which is as good a moment as any.
        let _ = child.kill();
        child.wait().unwrap();
    };
    let (database, replaced) =
        (data(&installation).join("probity.db"), data(&installation).join("probity.db.replaced"));
    let delete_replaced = || {
        // If the restore was killed before its last step, this is the database itself.
        if identity(&replaced).is_some_and(|found| Some(found) != identity(&database)) {
            std::fs::remove_file(&replaced).unwrap();
        }
    };
    for round in 0..rounds {
        killed(&["backup", "again"]);
        if installation.place.has("again") {
            assert!(installation.place.has("again/manifest.json"), "{round}: it has its name when it is whole");
            std::fs::remove_dir_all(installation.place.path("again")).unwrap();
        }
        if organizations(&installation) == 1 {
            done(&installation.run(&["orgs", "create", "Second"]));
        }
        killed(&["restore", "first", "--replace"]);
        assert!((1..=2).contains(&organizations(&installation)), "{round}");
        audit(&installation);
        delete_replaced();
    }
    done(&installation.run(&["backup", "again"]));
    done(&installation.run(&["restore", "first", "--replace"]));
    assert_eq!(organizations(&installation), 1);
    audit(&installation);
}
