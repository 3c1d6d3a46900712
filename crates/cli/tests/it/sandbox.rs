//! The simulated mail internet on loopback, probed through real sockets with the configuration that it prints.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::program::Place;

/// A served world, stopped at the end of the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // A server that has ended early shows in the assertions.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves the sandbox and writes its printed configuration to `probity.toml`.
fn serve(place: &Place) -> Served {
    let mut child = place
        .command(&["sandbox", "serve", "--dns", "127.0.0.1:0", "--smtp-port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut config = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        config += &line;
        config.push('\n');
        if line.starts_with("block_lists") {
            break;
        }
    }
    place.write("probity.toml", config);
    Served(child)
}

#[test]
fn what_is_printed_is_a_configuration_with_which_it_answers() {
    let place = Place::new();
    let _served = serve(&place);
    let args = ["verify", "--config", "probity.toml", "valid@sandbox.test", "nobody@sandbox.test"];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let reasons: Vec<String> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["reason"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(reasons, ["valid", "nonexistent"]);
    // No sender is configured there, which is reported once.
    assert_eq!(ran.err.matches("probe.mail_from").count(), 1, "{}", ran.err);
}

#[test]
fn the_doctor_finds_an_open_port_and_names_what_is_missing() {
    let place = Place::new();
    let _served = serve(&place);
    let ran = place.run(&["doctor", "--json", "--config", "probity.toml", "--set", "probe.helo=mx.example.com"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let outcome = |start: &str| {
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"].as_str().unwrap().starts_with(start));
        check.unwrap_or_else(|| panic!("no check {start}: {report}"))["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome("resolver"), "ok");
    assert_eq!(outcome("port"), "ok", "{report}");
    assert_eq!(outcome("HELO"), "ok");
    assert_eq!(outcome("reverse name"), "warn");
    assert_eq!(outcome("MAIL FROM"), "warn");
    assert_eq!((report["ok"].as_bool(), ran.code), (Some(true), Some(0)), "{report}");
}

#[test]
fn a_batch_that_can_reach_nobody_does_not_begin() {
    let place = Place::with("in.csv", "email\nvalid@sandbox.test\n");
    let served = serve(&place);
    let batch = |set: &[&str]| {
        let args = ["batch", "--config", "probity.toml", "in.csv", "-o", "out.csv"];
        place.run(&[&args[..], set].concat())
    };
    let refused = |set: &[&str], lack: &str| {
        let ran = batch(set);
        assert_eq!(ran.code, Some(4), "{}", ran.err);
        assert!(ran.err.contains(&format!("This server can't probe mail servers yet. {lack}")), "{}", ran.err);
        assert!(ran.err.contains("probity doctor"), "{}", ran.err);
        assert!(!place.has("out.csv") && !place.has("out.csv.probity-work"), "{}", ran.err);
    };
    // A port of this machine that has no listener.
    refused(&["--set", "probe.port=9"], "Outbound port 25 is closed.");
    let ran =
        batch(&["--set", "probe.port=9", "--keep-going", "--set", "probe.attempts=1", "--set", "probe.patience=1s"]);
    assert!(!ran.err.contains("can't probe"), "{}", ran.err);
    assert_eq!(batch(&["--fresh"]).code, Some(0));
    std::fs::remove_file(place.path("out.csv")).unwrap();
    drop(served);
    refused(&["--set", "dns.timeout=200ms", "--set", "dns.attempts=1"], "DNS lookups of mail servers fail.");
}
