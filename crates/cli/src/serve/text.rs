//! Text that `probity serve` prints at its start.

use std::net::SocketAddr;

use probity_service::admin::FirstKeys;
use probity_service::links;
use secrecy::ExposeSecret as _;

use crate::config::serve::{Database, Pepper, ServeSettings};

/// Formats the data's locations, both keys, the owner's link, and a command to paste for each key.
pub(super) fn first_start(serve: &ServeSettings, listening: &[SocketAddr], keys: &FirstKeys, sandbox: bool) -> String {
    let base = listening.first().map_or_else(String::new, |address| serve.base_url(*address));
    let (live, test) = (keys.live.expose_secret(), keys.test.expose_secret());
    let link = links::url(Some(&base), keys.link.expose_secret());
    let curl =
        |key: &str, email: &str| format!("    curl -H 'Authorization: Bearer {key}' '{base}/v1/verify?email={email}'");
    let (asked, example) = if sandbox {
        ("The live key uses the sandbox too, and spends credits:", "nobody@sandbox.test")
    } else {
        ("Probe real mail servers with the live key; insert an address of yours:", "postmaster@example.com")
    };
    format!(
        "Probity is set up. Save these credentials; they are shown once.\n\n\
         {}\
         Live key:  {live}\n\
         Test key:  {test}\n\
         Sign-in:   {link} (set your password; works once, for a day)\n\n\
         Try the sandbox with the test key, free of charge:\n\n{}\n\n\
         {asked}\n\n{}\n\n",
        places(serve),
        curl(test, "valid@sandbox.test"),
        curl(live, example),
    )
}

/// Formats the locations to back up: the database, and the pepper that its API keys need.
fn places(serve: &ServeSettings) -> String {
    let database = match &serve.database.place {
        Database::Sqlite(path) => path.display().to_string(),
        Database::Postgres(_) => "PostgreSQL (database.url)".to_owned(),
    };
    let pepper = match &serve.pepper {
        Pepper::File(path) => path.display().to_string(),
        Pepper::Given(_) => "secrets.pepper".to_owned(),
    };
    format!("Database:  {database}\nPepper:    {pepper} (keep a copy apart from the database: API keys need it)\n")
}

/// Formats the listening addresses.
pub(super) fn listening(listening: &[SocketAddr], sandbox: bool) -> String {
    let urls: Vec<String> = listening.iter().map(|address| format!("http://{address}")).collect();
    let sandbox = if sandbox { " (live keys use the sandbox)" } else { "" };
    format!("Listening on {}{sandbox}\n", urls.join(", "))
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;
    use crate::config::{Layers, Overlay};

    fn printed(set: &[&str], sandbox: bool) -> String {
        let set: Vec<String> = set.iter().map(|pair| (*pair).to_owned()).collect();
        let serve =
            Layers::load(&Overlay { file: None, environment: vec![], set: &set }).unwrap().settings().unwrap().serve;
        let [link, live, test] = ["L1NK", "probity_live_L", "probity_test_T"].map(SecretString::from);
        let keys = FirstKeys { link, live, test };
        first_start(&serve, &serve.listen, &keys, sandbox)
    }

    #[test]
    fn the_first_start_says_all_that_is_needed() {
        let expected = "\
Probity is set up. Save these credentials; they are shown once.

Database:  /srv/probity/probity.db
Pepper:    /srv/probity/pepper (keep a copy apart from the database: API keys need it)
Live key:  probity_live_L
Test key:  probity_test_T
Sign-in:   http://127.0.0.1:8080/#/link/L1NK (set your password; works once, for a day)

Try the sandbox with the test key, free of charge:

    curl -H 'Authorization: Bearer probity_test_T' 'http://127.0.0.1:8080/v1/verify?email=valid@sandbox.test'

Probe real mail servers with the live key; insert an address of yours:

    curl -H 'Authorization: Bearer probity_live_L' 'http://127.0.0.1:8080/v1/verify?email=postmaster@example.com'

";
        assert_eq!(printed(&["server.data=/srv/probity"], false), expected);
    }

    #[test]
    fn with_the_sandbox_no_real_server_is_promised() {
        let text = printed(&["server.data=/srv/probity"], true);
        assert!(!text.contains("real mail servers"), "{text}");
        assert!(
            text.contains("Bearer probity_live_L' 'http://127.0.0.1:8080/v1/verify?email=nobody@sandbox.test'"),
            "{text}"
        );
    }

    #[test]
    fn no_other_secret_is_printed() {
        let set = [
            "database.url=postgres://u:hunter2@h/d",
            "secrets.pepper=hunter2hunter2hunter2hunter2hunter2",
            "server.public_url=https://verify.example.com",
        ];
        let text = printed(&set, false);
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("'https://verify.example.com/v1/verify?"), "{text}");
    }

    #[test]
    fn a_later_start_says_where_it_listens() {
        let addresses = ["127.0.0.1:8080".parse().unwrap(), "[::1]:80".parse().unwrap()];
        assert_eq!(listening(&addresses, false), "Listening on http://127.0.0.1:8080, http://[::1]:80\n");
        assert!(listening(&addresses[..1], true).ends_with("(live keys use the sandbox)\n"));
    }
}
