//! The service's settings: accepted, rejected and hidden values.

use std::path::Path;

use secrecy::ExposeSecret as _;

use super::super::{Layers, Overlay};
use super::place::choose_data_home;
use super::*;

const PEPPER: &str = "0123456789abcdef0123456789abcdef";

fn layers(set: &[&str]) -> Result<Layers> {
    let set: Vec<String> = set.iter().map(|pair| (*pair).to_owned()).collect();
    let environment = vec![("XDG_DATA_HOME".to_owned(), "/data".to_owned())];
    Layers::load(&Overlay { file: None, environment, set: &set })
}

fn settings(set: &[&str]) -> Result<Settings> {
    layers(set)?.settings()
}

fn refused(set: &[&str]) -> String {
    format!("{:#}", settings(set).unwrap_err())
}

#[test]
fn everything_lies_in_the_data_directory_unless_it_is_told_otherwise() {
    let serve = settings(&["server.data=/srv/mail"]).unwrap();
    assert_eq!(serve.data, Path::new("/srv/mail"));
    assert!(matches!(&serve.database, Database::Sqlite(path) if path == Path::new("/srv/mail/probity.db")));
    assert!(matches!(&serve.pepper, Pepper::File(path) if path == Path::new("/srv/mail/pepper")));

    let set = ["server.data=/srv/mail", "database.url=sqlite:///fast/p.db", &format!("secrets.pepper={PEPPER}")];
    let serve = settings(&set).unwrap();
    assert!(matches!(&serve.database, Database::Sqlite(path) if path == Path::new("/fast/p.db")));
    assert!(matches!(&serve.pepper, Pepper::Given(text) if text.expose_secret() == PEPPER));

    let url = "postgres://u:hunter2@host/name?sslmode=require";
    let serve = settings(&[&format!("database.url={url}")]).unwrap();
    assert!(matches!(&serve.database, Database::Postgres(text) if text.expose_secret() == url));
}

#[test]
fn data_lies_where_the_system_keeps_that_of_its_kind() {
    let home = |environment: &[(&str, &str)], root| {
        let environment: Vec<_> = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        choose_data_home(&environment, root)
    };
    let both = [("HOME", "/home/me"), ("XDG_DATA_HOME", "/data")];
    assert_eq!(home(&both, false), Path::new("/data"));
    assert_eq!(home(&both[..1], false), Path::new("/home/me/.local/share"));
    assert_eq!(home(&[("HOME", "/home/me"), ("XDG_DATA_HOME", "data")], false), Path::new("/home/me/.local/share"));
    assert_eq!(home(&[], false), Path::new("/var/lib"));
    assert_eq!(home(&both, true), Path::new("/var/lib"));
}

#[test]
fn what_cannot_be_is_refused_with_what_would_be_right() {
    let url = "server.public_url=https://verify.example.com";
    let table: [(&[&str], &str); 22] = [
        (&["server.listen=localhost:8080"], "--set: `server.listen`: \"localhost:8080\" is not an address"),
        (&["server.listen="], "at least one address"),
        (&["server.roles=api,work"], "`server.roles`: \"work\" is not one of api, worker, delivery, schedule"),
        (&["server.roles="], "at least one role"),
        (&["server.public_url=verify.example.com"], "https://verify.example.com"),
        (&["server.public_url=https://a b"], "server.public_url"),
        (&["server.public_url=https:///"], "server.public_url"),
        (&["server.public_url=https://example.com/verify/"], "has the path \"/verify\": the service needs a host name"),
        (&["server.brand=My_Brand"], "lower-case letters and digits"),
        (&["server.brand="], "server.brand"),
        (&["server.trusted_proxies=10.0.0.0/40"], "server.trusted_proxies"),
        (&["server.request_timeout=1999ms"], "at least 2s"),
        (&["rate.key_per_minute=30000"], "at least rate.key_per_minute, which is 30000"),
        (&["server.metrics_token=short"], "at least 16"),
        (&["admin.key=short"], "at least 32"),
        (&["admin.listen=127.0.0.1:8081"], "`admin.listen`: needs admin.key"),
        (&["admin.key=0123456789abcdef0123456789abcdef", "admin.listen=8081"], "is not an address"),
        (&["database.url=sqlite://"], "sqlite:///path/to/file"),
        (&["mail.relay=smtp://mail.example.com", "mail.from=a@example.com"], "`mail.relay`: needs server.public_url"),
        (&["mail.relay=mail.example.com", "mail.from=a@example.com", url], "`mail.relay`: must look like \"smtps://"),
        (&["mail.relay=smtp://mail.example.com", url], "`mail.from`: must be an address"),
        (&["team.invitation=0s"], "team.invitation"),
    ];
    for (set, message) in table {
        assert!(refused(set).contains(message), "{set:?}: {}", refused(set));
    }
    assert!(settings(&["server.request_timeout=2s"]).is_ok());
    assert!(settings(&["rate.key_per_minute=30000", "rate.organization_per_minute=30000"]).is_ok());
}

#[test]
fn no_secret_is_repeated() {
    let hidden = ["hunter2", PEPPER];
    for wrong in [
        "database.url=mysql://u:hunter2@h/d",
        "secrets.pepper=hunter2",
        "server.metrics_token=hunter2",
        "admin.key=hunter2",
        "mail.relay=http://u:hunter2@h",
    ] {
        assert!(!refused(&[wrong, "server.public_url=https://h"]).contains("hunter2"), "{wrong}");
    }
    let url = "database.url=postgres://u:hunter2@h/d";
    let mail = ["mail.relay=smtps://u:hunter2@h", "mail.from=a@example.com", "server.public_url=https://h"];
    let pepper = format!("secrets.pepper={PEPPER}");
    let set = [&[url, &pepper, "server.metrics_token=hunter2hunter2hunter2"][..], &mail[..]].concat();
    let layers = layers(&set).unwrap();
    for text in [layers.print(), format!("{layers:?}"), format!("{:?}", layers.settings().unwrap())] {
        assert!(!hidden.iter().any(|secret| text.contains(secret)), "{text}");
    }
    assert!(layers.print().contains("url = \"postgres://u:(set)@h/d\""));
    assert!(layers.print().contains("pepper = \"(set)\""));
}

#[test]
fn a_url_is_made_of_where_the_service_listens() {
    let serve = settings(&[]).unwrap();
    let url = |listening: &str| serve.base_url(listening.parse().unwrap());
    assert_eq!(url("127.0.0.1:8080"), "http://127.0.0.1:8080");
    assert_eq!(url("0.0.0.0:80"), "http://127.0.0.1:80");
    assert_eq!(url("[::]:80"), "http://[::1]:80");
    let serve = settings(&["server.public_url=https://verify.example.com/"]).unwrap();
    assert_eq!(serve.base_url("0.0.0.0:80".parse().unwrap()), "https://verify.example.com");
}
