//! The configuration and its documentation.

use crate::program::Place;

#[test]
fn wrong_configurations_stop_everything_and_say_why() {
    let long_helo = format!("[probe]\nhelo = \"{}\"", "x".repeat(256));
    let table = [
        ("[probe]\nhello = \"x\"", "`probe.helo`"),
        ("[probe]\nport = \"smtp\"", "a whole number from 1 to 65535"),
        ("[dns]\ntimeout = \"soon\"", "\"20s\""),
        ("[limits\n", "not TOML"),
        ("[allow]\nnetworks = [\"here\"]", "allow.networks"),
        ("[probe]\nhelo = \"a b\"", "HELO"),
        (long_helo.as_str(), "at most 255"),
        ("[timeouts.live]\nconnect = \"0s\"", "longer than 0"),
    ];
    for (text, message) in table {
        let place = Place::with("probity.toml", text);
        let ran = place.run(&["verify", "--offline", "--config", "probity.toml", "a@example.com"]);
        assert_eq!(ran.code, Some(2), "{text}");
        assert!(ran.err.contains(message) && ran.out.is_empty(), "{text}: {}", ran.err);
    }
}

#[test]
fn the_environment_is_read_and_checked() {
    let place = Place::new();
    let set = |name: &str, value: &str| {
        let output = place.command(&["config"]).env(name, value).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (code, text) = set("PROBITY_PROBE__HELO", "mx.example.com");
    assert_eq!(code, Some(0));
    assert!(text.contains("helo = \"mx.example.com\""));
    let (code, text) = set("PROBITY_PROBE__PORT", "many");
    assert_eq!(code, Some(2));
    assert!(text.contains("PROBITY_PROBE__PORT"));
    let (code, text) = set("PROBITY_CONFIG", "missing.toml");
    assert_eq!(code, Some(2));
    assert!(text.contains("missing.toml"));
}

#[test]
fn a_configuration_is_found_in_its_customary_place() {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".config/probity")).unwrap();
    place.write(".config/probity/probity.toml", "[probe]\nattempts = 7\n");
    assert!(place.run(&["config"]).out.contains("attempts = 7\n"));
    assert!(place.run(&["config", "--set", "probe.attempts=8"]).out.contains("attempts = 8\n"));
    let both = place.run(&["--set", "probe.attempts=8", "config", "--set", "dns.attempts=9"]).out;
    assert!(both.contains("attempts = 8\n") && both.contains("attempts = 9\n"), "{both}");
}

#[test]
fn a_proxy_password_is_never_printed() {
    let text = "[[source]]\nhelo = \"mx.example.com\"\nproxy = \"socks5://u:hunter2@192.0.2.1:1080\"\n";
    let place = Place::with("p.toml", text);
    let ran = place.run(&["config", "--config", "p.toml"]);
    assert!(ran.out.contains("socks5://u:") && !ran.out.contains("hunter2"), "{}", ran.out);
}

/// The example installed by packages is a valid configuration.
#[test]
fn the_packaged_example_is_valid() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/probity.toml");
    let ran = Place::new().run(&["config", "--config", example]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("data = \"/var/lib/probity\""));
}
