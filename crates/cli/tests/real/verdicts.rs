//! Probity's verdicts on the servers' replies: the program, and a table of addresses with one verdict each.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::world::{Host, PORT, World};

/// An address and its verdict: status, reason, and the start of the meta (`""` means an empty meta).
type Expected = (&'static str, &'static str, &'static str, &'static str);

#[test]
#[ignore = "thorough"]
fn single_addresses_get_their_verdicts() {
    let Some(world) = World::start() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let config = configuration(&world, directory.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
    command.args(["verify", "--json", "--explain", "--config"]).arg(config);
    let output = command.args(LIVE.iter().map(|(address, ..)| *address)).output().expect("the program");
    let answers: BTreeMap<String, Value> = lines(&output).into_iter().map(|value| (email(&value), value)).collect();
    compare(LIVE, &answers, &output, &world);
    // Some are undeliverable, and scripts can branch on that.
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    encryption(&answers);
    hosts(&answers);
}

#[test]
#[ignore = "thorough"]
fn a_batch_waits_where_servers_ask_it_to() {
    let Some(world) = World::start() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let config = configuration(&world, directory.path());
    let list = directory.path().join("list.txt");
    let text: String = BATCH.iter().flat_map(|(address, ..)| [*address, "\n"]).collect();
    std::fs::File::create(&list).and_then(|mut file| file.write_all(text.as_bytes())).expect("a list");
    let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
    command.args(["batch", "--quiet", "--output-format", "jsonl", "--config"]).arg(config).arg(&list);
    let output = command.output().expect("the program");
    let lines = lines(&output);
    let order: Vec<String> = lines.iter().map(email).collect();
    assert_eq!(order, BATCH.map(|(address, ..)| address), "{output:?}");
    let answers = lines.into_iter().map(|mut value| (email(&value), value["probity"].take())).collect();
    compare(&BATCH, &answers, &output, &world);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Immediate verdicts of `probity verify`, which does not wait: greylisting and checks in progress are reported as such.
const LIVE: &[Expected] = &[
    ("ann@postfix.test", "passed", "valid", ""),
    ("nobody@postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("full@postfix.test", "undeliverable", "inbox_full", "smtp_552_5.2.2"),
    ("fulltoday@postfix.test", "unknown", "unverified", "quota_temporary"),
    ("closed@postfix.test", "undeliverable", "deactivated", "smtp_550_5.2.1"),
    ("jörg@postfix.test", "passed", "valid", ""),
    ("jürgen@postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("jörg@bücher.test", "passed", "valid", ""),
    ("ann@bücher.test", "passed", "valid", ""),
    ("any@catchall.postfix.test", "unknown", "accept_all", "catch_all"),
    ("ann@starttls.postfix.test", "passed", "valid", ""),
    ("ann@tlsonly.postfix.test", "passed", "valid", ""),
    ("bob@tlsonly.postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("ann@lockstep.postfix.test", "passed", "valid", ""),
    ("bob@lockstep.postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("ann@grey.postfix.test", "unknown", "unverified", "greylisted"),
    ("ann@verifying.postfix.test", "unknown", "unverified", "in_progress"),
    ("ann@blocked.postfix.test", "unknown", "failed_exchange", "blocked"),
    ("ann@exim.test", "passed", "valid", ""),
    ("nobody@exim.test", "undeliverable", "nonexistent", "smtp_550"),
    ("full@exim.test", "undeliverable", "inbox_full", "smtp_552_5.2.2"),
    ("closed@exim.test", "undeliverable", "deactivated", "smtp_550_5.2.1"),
    ("busy@exim.test", "unknown", "unverified", "smtp_451"),
    // Exim rejects the character for every mailbox, which says nothing about the recipient.
    ("a%b@exim.test", "unknown", "failed_exchange", ""),
    ("any@catchall.exim.test", "unknown", "accept_all", "catch_all"),
    ("ann@brokentls.exim.test", "passed", "valid", ""),
    ("ann@opensmtpd.test", "passed", "valid", ""),
    ("nobody@opensmtpd.test", "undeliverable", "nonexistent", "smtp_524_5.2.4"),
    ("full@opensmtpd.test", "undeliverable", "inbox_full", "smtp_552_5.2.2"),
    ("closed@opensmtpd.test", "undeliverable", "deactivated", "smtp_550_5.2.1"),
    ("ann@listed.opensmtpd.test", "passed", "valid", ""),
    ("bob@listed.opensmtpd.test", "undeliverable", "nonexistent", "smtp_550"),
    ("any@catchall.opensmtpd.test", "unknown", "accept_all", "catch_all"),
    // OpenSMTPD does not offer SMTPUTF8, so the address cannot be probed.
    ("jörg@opensmtpd.test", "unknown", "failed_exchange", "smtputf8_unsupported"),
    ("ann@misdirected.test", "unknown", "failed_exchange", "relay_denied"),
    ("ann@misdirected.exim.test", "unknown", "failed_exchange", "relay_denied"),
    // OpenSMTPD's reply is the same for a domain it does not serve and a missing mailbox.
    ("ann@misdirected.opensmtpd.test", "undeliverable", "nonexistent", "smtp_550"),
    ("ann@failover.test", "passed", "valid", ""),
    ("bob@failover.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    // The only host that answers is of another domain.
    ("bob@stranger.test", "unknown", "unverified", "timeout"),
    ("ann@dead.test", "unknown", "unverified", "connect_refused"),
    ("ann@implicit.test", "passed", "valid", ""),
    ("ann@alias.test", "passed", "valid", ""),
    ("ann@nullmx.test", "undeliverable", "illegitimate", "null_mx"),
    ("ann@nowhere.test", "undeliverable", "illegitimate", "nxdomain"),
    ("ann@nomail.test", "undeliverable", "illegitimate", "no_mx"),
    ("ann@lost.test", "undeliverable", "illegitimate", "mx_"),
    ("ann@loop.test", "unknown", "unverified", "dns_"),
    ("ann@broken.test", "unknown", "unverified", "dns_"),
    ("ann@silent.test", "unknown", "unverified", "dns_"),
];

/// Verdicts of `probity batch` after retries: after greylisting, after an address verification, and in new sessions after one with
/// too many errors.
const BATCH: [Expected; 12] = [
    ("ann@grey.postfix.test", "passed", "valid", ""),
    ("bob@grey.postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("ann@verifying.postfix.test", "passed", "valid", ""),
    ("bob@verifying.postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("ada@strict.postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("bea@strict.postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("cem@strict.postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("dan@strict.postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("eva@strict.postfix.test", "undeliverable", "nonexistent", "smtp_550_5.1.1"),
    ("ann@strict.postfix.test", "passed", "valid", ""),
    ("ann@blocked.postfix.test", "unknown", "failed_exchange", "blocked"),
    ("ann@nullmx.test", "undeliverable", "illegitimate", "null_mx"),
];

/// Writes a configuration that probes this world instead of the real one.
fn configuration(world: &World, directory: &Path) -> std::path::PathBuf {
    let path = directory.join("probity.toml");
    let text = format!(
        r#"[probe]
mail_from = "probe@sender.test"
helo = "probe.sender.test"
profile = "open"
port = {PORT}
patience = "2m"

[dns]
nameservers = ["{}"]
timeout = "1s"

[allow]
networks = ["127.0.0.0/8"]
special_use = ["test"]

[doctor]
probe_domains = []
"#,
        world.resolver()
    );
    std::fs::write(&path, text).expect("a configuration");
    path
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{output:?}"));
    text.lines().map(parse).collect()
}

fn email(value: &Value) -> String {
    value["email"].as_str().expect("an address").to_owned()
}

/// Compares the whole table before failing, so that one run shows all differences.
fn compare(table: &[Expected], answers: &BTreeMap<String, Value>, output: &Output, world: &World) {
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(address, status, reason, meta)| {
            let answer = answers.get(*address).unwrap_or(&Value::Null);
            let is = |key: &str| answer[key].as_str().unwrap_or("(absent)");
            let meta_fits = if *status == "passed" { is("meta").is_empty() } else { is("meta").starts_with(meta) };
            let fits = is("status") == *status && is("reason") == *reason && meta_fits;
            (!fits).then(|| format!("{address}: expected {status} {reason} {meta}, got {answer}"))
        })
        .collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(wrong.is_empty(), "{}\n--- probity\n{errors}\n{}", wrong.join("\n"), world.logs());
}

/// Checks that TLS is used if offered, used if required, and no obstacle if broken.
///
/// OpenSMTPD is not in this table: Debian's 6.8.0p2 offers STARTTLS and then breaks every handshake, whatever the key (its engine
/// does not support OpenSSL 3). Each of its verdicts above follows a failed handshake and a cleartext session; a later release may
/// use TLS.
fn encryption(answers: &BTreeMap<String, Value>) {
    let tls = [
        ("ann@postfix.test", false),
        ("ann@starttls.postfix.test", true),
        ("ann@tlsonly.postfix.test", true),
        ("ann@exim.test", true),
        ("ann@brokentls.exim.test", false),
    ];
    for (address, expected) in tls {
        let probe = &answers[address]["evidence"]["probe"];
        assert_eq!(probe["tls"], expected, "{address}: {probe}");
    }
}

/// Checks that the evidence names the MX host that replied.
fn hosts(answers: &BTreeMap<String, Value>) {
    let asked = [
        ("ann@failover.test", "mx2.failover.test".to_owned()),
        ("ann@exim.test", format!("{}.test", Host::Exim.label())),
        ("ann@implicit.test", "implicit.test".to_owned()),
    ];
    for (address, expected) in asked {
        let probe = &answers[address]["evidence"]["probe"];
        assert_eq!(probe["host"], expected, "{address}: {probe}");
    }
}
