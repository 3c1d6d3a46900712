//! The first start, later starts, and what prevents a start.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use probity_trialdb::postgres;

use crate::serve::bench::client::Client;
use crate::serve::bench::node::{Installation, Node};

fn mode(installation: &Installation, name: &str) -> u32 {
    std::fs::metadata(installation.place.path(name)).unwrap().permissions().mode() & 0o777
}

/// Sends the printed example request, as a shell and curl would.
fn asked_as_printed(node: &Node) -> u16 {
    let lines: Vec<&str> = node.printed().lines().collect();
    let at = lines.iter().position(|line| line.starts_with("  key=")).unwrap();
    let key = lines[at].strip_prefix("  key=").unwrap();
    assert_eq!(lines[at + 1], r#"  curl -H "Authorization: Bearer $key" \"#);
    let ["    ", url, ""] = lines[at + 2].split('\'').collect::<Vec<_>>()[..] else { panic!("{:?}", lines[at + 2]) };
    let path = url.strip_prefix(&format!("http://{}", node.address)).unwrap_or_else(|| panic!("{url} leads elsewhere"));
    Client::new(node.address, key).get(path).unwrap().status
}

/// Opens the printed link as its page does; returns the token.
fn signs_in_as_printed(node: &Node) -> String {
    let url = node.printed().split_whitespace().find(|word| word.contains("/#/link/")).unwrap();
    let token = url.strip_prefix(&format!("http://{}/#/link/", node.address)).unwrap_or_else(|| panic!("{url}"));
    let body = r#"{"email": "owner@example.com", "password": "correct horse battery staple"}"#;
    let mut page = Client::new(node.address, "");
    let answer = page.use_link(token, body).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["session"]["user"]["email"], "owner@example.com");
    assert_eq!(page.use_link(token, body).unwrap().status, 404, "it works once");
    token.to_owned()
}

fn starts_twice(installation: &Installation) {
    let first = installation.start();
    let (live, test) = (first.key("Live key"), first.key("Test key"));
    assert!(live.starts_with("probity_live_") && test.starts_with("probity_test_"), "{live} {test}");
    assert_eq!(first.printed().matches(live.as_str()).count(), 1);
    assert_eq!(first.printed().matches(test.as_str()).count(), 2, "once alone, once in a command to paste");
    assert_eq!(asked_as_printed(&first), 200);
    assert!(!first.printed().contains('\x1b'), "a log has no colors");
    let link = signs_in_as_printed(&first);
    assert_eq!((mode(installation, "data"), mode(installation, "data/pepper")), (0o700, 0o600));
    first.stop();
    let second = installation.start();
    assert_eq!(second.printed().lines().count(), 1, "{}", second.printed());
    assert!(!second.printed().contains("probity_"), "{}", second.printed());
    assert_eq!(second.client(&live).verify("valid@sandbox.test").unwrap().status, 200);
    let log = installation.log();
    let pepper = installation.place.read("data/pepper");
    for secret in [&live, &test, link.as_str(), pepper.trim()] {
        assert!(!log.contains(secret), "{log}");
    }
    second.stop();
    let ran = installation.run(&["users", "reset-link", "owner@example.com"]);
    assert!(ran.code == Some(0) && ran.out.contains("/#/link/") && !ran.out.contains(&link), "{ran:?}");
    let ran = installation.run(&["link"]);
    assert!(ran.code == Some(0) && ran.out.contains("/#/link/") && !ran.out.contains(&link), "{ran:?}");
    let ran = installation.run(&["users", "reset-link", "nobody@example.com"]);
    assert!(ran.code == Some(2) && ran.err.contains("there is no member"), "{ran:?}");
}

/// Makes a start that must fail. Returns exit code and error, and checks that no keys were printed.
fn refused(installation: &Installation, listen: &str) -> (Option<i32>, String) {
    let before = if installation.place.has("log") { installation.log() } else { String::new() };
    let (status, printed) = installation.launch_at(listen).ended();
    assert_eq!(printed, "");
    (status.code(), installation.log()[before.len()..].to_owned())
}

fn another_pepper_is_refused(installation: &Installation) {
    installation.start().stop();
    let pepper = installation.place.path("data/pepper");
    std::fs::write(&pepper, "another pepper, which is long enough\n").unwrap();
    let (code, said) = refused(installation, "127.0.0.1:0");
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("restore this database's pepper"), "{said}");
    let ran = installation.run(&["keys", "list"]);
    assert!(ran.code == Some(5) && ran.err.contains("wrong pepper"), "{ran:?}");
}

#[test]
#[ignore = "thorough"]
fn the_keys_are_printed_once_in_sqlite() {
    let installation = Installation::on_sqlite();
    starts_twice(&installation);
    assert_eq!(mode(&installation, "data/probity.db") & 0o077, 0, "nobody else reads the database");
}

#[test]
#[ignore = "thorough"]
fn the_keys_are_printed_once_in_postgresql() {
    let Some(cluster) = postgres() else { return };
    starts_twice(&Installation::on(cluster.create_database()));
}

#[test]
#[ignore = "thorough"]
fn a_wrong_pepper_is_refused() {
    another_pepper_is_refused(&Installation::on_sqlite());
    let Some(cluster) = postgres() else { return };
    another_pepper_is_refused(&Installation::on(cluster.create_database()));
}

#[test]
#[ignore = "thorough"]
fn tables_of_a_newer_program_are_refused() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let installation = Installation::on(database);
    installation.start().stop();
    installation.sql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
              VALUES (999, 'of a newer program', TRUE, decode('00', 'hex'), 0)",
    );
    let (code, said) = refused(&installation, "127.0.0.1:0");
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("changed by a newer version of this program"), "{said}");
}

#[test]
#[ignore = "thorough"]
fn a_port_in_use_makes_no_keys() {
    let installation = Installation::on_sqlite();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, said) = refused(&installation, &address);
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains(&format!("cannot listen on {address}")) && said.contains("in use"), "{said}");
    let ran = installation.run(&["orgs", "list", "--json"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    // The keys come with the first successful start.
    drop(taken);
    assert!(installation.start().key("Live key").starts_with("probity_live_"));
}

#[test]
#[ignore = "thorough"]
fn two_first_starts_at_once_make_one_pair_of_keys() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let pepper = "secrets.pepper=the same pepper on both of the nodes";
    let one = Installation::on(database).set(&[pepper]);
    let (a, b) = std::thread::scope(|scope| {
        let starting = [(); 2].map(|()| scope.spawn(|| one.start()));
        let [a, b] = starting.map(|thread| thread.join().unwrap());
        (a, b)
    });
    let printed = [a.printed(), b.printed()].map(|text| text.matches("Live key:").count());
    assert_eq!(printed.iter().sum::<usize>(), 1, "{printed:?}");
    assert_eq!(one.run(&["orgs", "list", "--json"]).out.lines().count(), 1);
    assert_eq!(one.run(&["keys", "list", "--json"]).out.lines().count(), 2);
    let key = if printed[0] == 1 { a.key("Live key") } else { b.key("Live key") };
    for node in [&a, &b] {
        assert_eq!(node.client(&key).verify("valid@sandbox.test").unwrap().status, 200);
    }
}

#[test]
#[ignore = "thorough"]
fn a_mistyped_place_is_told_and_not_made() {
    let installation = Installation::on_sqlite();
    let commands: [&[&str]; 7] = [
        &["orgs", "list"],
        &["orgs", "create", "Example Ltd"],
        &["keys", "list"],
        &["keys", "create"],
        &["credits", "show"],
        &["credits", "audit"],
        &["deliveries", "list"],
    ];
    for command in commands {
        let ran = installation.run(command);
        assert_eq!(ran.code, Some(2), "{command:?}: {ran:?}");
        assert!(ran.err.contains("there is no database data/probity.db"), "{command:?}: {ran:?}");
    }
    assert!(!installation.place.has("data"), "nothing was made");
    assert_eq!(installation.run(&["migrate"]).code, Some(0));
    assert_eq!(installation.run(&["orgs", "create", "Example Ltd"]).code, Some(0));
    std::fs::remove_file(installation.place.path("data/pepper")).unwrap();
    let ran = installation.run(&["keys", "list"]);
    assert!(ran.code == Some(2) && ran.err.contains("cannot read the pepper data/pepper"), "{ran:?}");
    assert!(!installation.place.has("data/pepper"));
}
