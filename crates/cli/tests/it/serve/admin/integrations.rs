//! Connections on the command line, beside a service that executes the runs, with a simulated platform.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use probity_espworld::{EspEffectKind, EspOptions, EspState, EspVendor, EspWorld};
use probity_trialdb::postgres;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::program::Ran;
use crate::serve::bench::node::{Installation, wait_for};

/// An installation that may reach a platform on this machine.
struct Scene {
    /// Runs the platform.
    _runtime: Runtime,
    world: EspWorld,
    installation: Installation,
}

impl Scene {
    fn new() -> Self {
        Self::on(Installation::on_sqlite())
    }

    fn on(installation: Installation) -> Self {
        let runtime = Runtime::new().unwrap();
        // Their verdicts depend only on the addresses.
        let options = EspOptions {
            contacts: 60,
            lists: 1,
            domains: vec!["acme-widgets.com".to_owned()],
            is_real_time: true,
            ..EspOptions::new(7)
        };
        let world = runtime.block_on(EspWorld::open(EspVendor::Ghost, options)).unwrap();
        let allowed = format!("integrations.allow=[\"{}\"]", world.host());
        Self { _runtime: runtime, world, installation: installation.set(&[&allowed]) }
    }

    /// Writes credentials into a file, a line for each; returns its path.
    fn file(&self, name: &str, credentials: &BTreeMap<String, String>) -> String {
        let lines = credentials.iter().map(|(name, value)| format!("{name} = {value}\n"));
        self.installation.place.write(name, lines.collect::<String>());
        self.installation.place.path(name).to_str().unwrap().to_owned()
    }

    fn ask(&self, args: &[&str]) -> Value {
        self.installation.ask(&[&["integrations"], args, &["--json"]].concat())
    }

    /// Returns the objects that a command prints.
    fn all(&self, args: &[&str]) -> Vec<Value> {
        let ran = self.installation.run(&[&["integrations"], args, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the error of a refused command.
    fn refused(&self, args: &[&str]) -> String {
        let ran = self.installation.run(&[&["integrations"], args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}: {}", ran.err);
        ran.err
    }

    fn until(&self, run: [&str; 2], state: &str) -> Value {
        wait_for(state, || {
            let shown = self.ask(&["runs", "show", run[0], run[1]]);
            (shown["state"] == state).then_some(shown)
        })
    }

    /// Returns the number of contacts that the platform unsubscribed on request.
    fn unsubscribed(&self) -> usize {
        let effects = self.world.effects();
        effects.iter().filter(|effect| effect.call > 0 && is_leaving(&effect.kind)).count()
    }
}

fn is_leaving(kind: &EspEffectKind) -> bool {
    matches!(kind, EspEffectKind::Left | EspEffectKind::Moved(EspState::Unsubscribed))
}

fn id(of: &Value) -> &str {
    of["id"].as_str().unwrap()
}

#[test]
#[ignore = "thorough"]
fn a_platform_is_connected_verified_and_acted_upon_beside_a_service() {
    connected_verified_and_acted_upon(&Scene::new());
}

#[test]
#[ignore = "thorough"]
fn a_platform_is_connected_verified_and_acted_upon_beside_a_service_on_postgresql() {
    let Some(cluster) = postgres() else { return };
    connected_verified_and_acted_upon(&Scene::on(Installation::on(cluster.create_database())));
}

fn connected_verified_and_acted_upon(scene: &Scene) {
    let node = scene.installation.start();
    let file = scene.file("ghost.txt", &scene.world.credentials());
    let made = scene.ask(&["connect", "ghost", "--credentials", &file, "--name", "Newsletter"]);
    assert_eq!((&made["type"], &made["status"], &made["test"]), (&json!("ghost"), &json!("active"), &json!(false)));
    let connection = id(&made);
    let changed = scene.ask(&["change", connection, "--action", "unsubscribe", "--aggressiveness", "aggressive"]);
    assert_eq!(changed["settings"]["checks"]["inbox_full"], true, "{changed}");

    let started = scene.ask(&["run", connection, "--dry-run"]);
    assert_eq!((&started["state"], &started["dry_run"]), (&json!("reading"), &json!(true)), "{started}");
    let run = [connection, id(&started)];
    let shown = scene.until(run, "needs_confirmation");
    let planned = usize::try_from(shown["actions"]["planned"].as_u64().unwrap()).unwrap();
    assert!(planned > 2, "{shown:#}");
    assert_eq!(scene.unsubscribed(), 0);
    let waiting = scene.all(&["review", "list", connection]);
    assert_eq!(waiting.len(), planned);
    assert!(waiting.iter().all(|one| one["held_by"] == "dry_run"), "{waiting:#?}");
    let file = scene.installation.run(&["integrations", "review", "download", connection]);
    assert_eq!((file.code, file.out.lines().count()), (Some(0), 1 + planned), "{}", file.err);
    assert!(file.out.starts_with("email,action,"), "{}", file.out);
    let row = waiting[0]["index"].to_string();
    assert_eq!(scene.ask(&["review", "decide", run[0], run[1], "whitelist", &row])["decided"], 1);
    let rules = scene.all(&["rules", "list", connection, "whitelist"]);
    assert_eq!((rules.len(), &rules[0]["keyword"]), (1, &waiting[0]["email"]));

    let wrong = scene.refused(&["runs", "confirm", run[0], run[1], "--actions", &planned.to_string()]);
    assert!(wrong.contains(&format!("has {} planned actions", planned - 1)), "{wrong}");
    scene.ask(&["runs", "confirm", run[0], run[1], "--actions", &(planned - 1).to_string()]);
    let done = scene.until(run, "finished");
    assert_eq!((&done["actions"]["done"], &done["actions"]["ignored"]), (&json!(planned - 1), &json!(1)), "{done:#}");
    assert_eq!(scene.unsubscribed(), planned - 1);

    let second = scene.ask(&["run", connection]);
    scene.ask(&["runs", "cancel", connection, id(&second)]);
    let runs = scene.all(&["runs", "list", connection]);
    assert_eq!(runs.iter().map(id).collect::<Vec<_>>(), [id(&second), id(&started)]);
    node.stop();
}

#[test]
#[ignore = "thorough"]
fn connections_are_listed_tried_changed_and_deleted_without_a_service() {
    let scene = Scene::new();
    scene.installation.start().stop();
    assert!(scene.all(&["changes", "--since", "2026-11-23T00:00:00Z"]).is_empty());
    let wrong = scene.refused(&["changes", "--since", "yesterday"]);
    assert!(wrong.contains("--since") && wrong.contains("must be a time"), "{wrong}");
    let platforms = scene.all(&["platforms", "list"]);
    assert!(platforms.len() >= 12 && platforms.iter().any(|one| one["type"] == "mailman"));
    let ghost = scene.ask(&["platforms", "show", "ghost"]);
    assert_eq!(ghost["platform"]["credentials"][1]["name"], "admin_api_key", "{ghost}");
    let file = scene.file("ghost.txt", &scene.world.credentials());
    let live = scene.ask(&["connect", "ghost", "--credentials", &file]);
    let credentials = json!(scene.world.credentials()).to_string();
    let input =
        feed(&scene.installation, &["connect", "ghost", "--credentials", "-", "--test", "--json"], &credentials);
    assert_eq!(input.code, Some(0), "{}", input.err);
    let test: Value = serde_json::from_str(&input.out).unwrap();
    assert_eq!(test["test"], true);
    let (live, test) = (id(&live), id(&test));
    let listed = scene.all(&["list"]);
    let listed: Vec<_> = listed.iter().map(|one| (id(one), one["test"] == true)).collect();
    assert_eq!(listed, [(live, false), (test, true)]);

    assert_eq!(scene.ask(&["test", test])["credential_valid"], true);
    assert!(scene.all(&["lists", live]).is_empty(), "contacts of Ghost are read together");
    let chosen = scene.refused(&["change", live, "--lists", "a"]);
    assert!(chosen.contains("--lists: must be empty: all contacts of Ghost are read together"), "{chosen}");
    let changed = scene.ask(&["change", live, "--action", "update_tags", "--tag", "bad-{status}", "--checks", "spam"]);
    let settings = &changed["settings"];
    assert_eq!((&settings["tag"], &settings["aggressiveness"]), (&json!("bad-{status}"), &json!("custom")));
    assert_eq!(scene.ask(&["change", live, "--action", "none"])["settings"]["action"], Value::Null);
    let added = scene.all(&["rules", "add", live, "blacklist", "casino", "example.org", "--match", "contains"]);
    assert_eq!(added.len(), 2);
    let removed = scene.ask(&["rules", "remove", live, "blacklist", id(&added[0])]);
    assert_eq!((id(&removed), &removed["deleted"]), (id(&added[0]), &json!(true)));
    assert_eq!(scene.all(&["rules", "list", live, "blacklist"]).len(), 1);
    assert_eq!(scene.ask(&["delete", live])["status"], "disconnected");
    assert_eq!(scene.ask(&["show", live])["disconnected_reason"], "deleted");
    assert!(scene.refused(&["run", live]).contains("reconnect"));
    let again = scene.ask(&["change", live, "--credentials", &file]);
    assert_eq!(again["status"], "active", "{again}");
}

#[test]
#[ignore = "thorough"]
fn a_refusal_says_what_was_wrong_and_no_secret() {
    let scene = Scene::new();
    scene.installation.start().stop();
    let wrong = scene.world.wrong_credentials();
    let file = scene.file("wrong.txt", &wrong);
    let said = scene.refused(&["connect", "ghost", "--credentials", &file]);
    assert!(said.contains("--credentials: admin_api_key: "), "{said}");
    assert!(!said.contains(&wrong["admin_api_key"]), "{said}");
    let elsewhere = BTreeMap::from([("url", "https://192.168.0.1"), ("admin_api_key", "a:b")]);
    let elsewhere = elsewhere.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let said = scene.refused(&["connect", "ghost", "--credentials", &scene.file("private.txt", &elsewhere)]);
    assert!(said.contains("--credentials: "), "{said}");
    let file = scene.file("ghost.txt", &scene.world.credentials());
    let live = scene.ask(&["connect", "ghost", "--credentials", &file]);
    let unknown = "conn_01h455vb4pex5vsknk084sn02q";
    let run = "job_01h455vb4pex5vsknk084sn02q";
    let long = "x".repeat(300);
    for (args, why) in [
        (&["connect", "geist", "--credentials", &file][..], "there is no platform geist"),
        (&["platforms", "show", "geist"], "`probity integrations platforms list`"),
        (&["show", unknown], "there is no connection conn_"),
        (&["show", "nonsense"], "`probity integrations list`"),
        (&["runs", "show", id(&live), run], "the connection has no run job_"),
        (&["rules", "remove", id(&live), "whitelist", "rule_01h455vb4pex5vsknk084sn02q"], "has no rule rule_"),
        (&["rules", "add", id(&live), "whitelist", &long], "KEYWORD: "),
        (&["change", id(&live), "--action", "update_custom_fields"], "--action: must be one of "),
        (&["change", id(&live), "--tag", "{name}"], "--tag: "),
        (&["connect", "ghost", "--credentials", "nowhere.txt"], "cannot read nowhere.txt"),
    ] {
        let said = scene.refused(args);
        assert!(said.contains(why), "{args:?}: {said}");
    }
}

/// Runs a command with text on standard input.
fn feed(installation: &Installation, args: &[&str], input: &str) -> Ran {
    let mut command = installation.command(&[&["integrations"], args].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}
