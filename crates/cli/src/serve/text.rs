//! What `probity serve` prints when it starts.

use std::net::SocketAddr;

use secrecy::ExposeSecret as _;

use crate::config::serve::{Database, Pepper, ServeSettings};
use probity_server::admin::FirstKeys;
use probity_server::links;

/// Where the data lies, both keys, the owner's link, and a line to paste for each key.
pub(super) fn first_start(serve: &ServeSettings, listening: &[SocketAddr], keys: &FirstKeys, sandbox: bool) -> String {
    let base = listening.first().map_or_else(String::new, |address| serve.base_url(*address));
    let (live, test) = (keys.live.expose_secret(), keys.test.expose_secret());
    let link = links::url(Some(&base), keys.link.expose_secret());
    let curl =
        |key: &str, email: &str| format!("    curl -H 'Authorization: Bearer {key}' '{base}/v1/verify?email={email}'");
    let (asked, example) = if sandbox {
        ("With the live key the sandbox is asked too, and credits are spent:", "nobody@sandbox.test")
    } else {
        ("With the live key real mail servers are asked; put in an address of yours:", "postmaster@example.com")
    };
    format!(
        "Probity is set up. The keys and the link are shown only now.\n\n\
         {}\
         Live key:  {live}\n\
         Test key:  {test}\n\
         Sign-in:   {link} (set your password; works once, for a day)\n\n\
         With the test key nobody is asked and nothing is spent:\n\n{}\n\n\
         {asked}\n\n{}\n\n",
        places(serve),
        curl(test, "valid@sandbox.test"),
        curl(live, example),
    )
}

/// What must be kept: the database, and the pepper without which its keys are worthless.
fn places(serve: &ServeSettings) -> String {
    let database = match &serve.database.place {
        Database::Sqlite(path) => path.display().to_string(),
        Database::Postgres(_) => "PostgreSQL, as database.url says".to_owned(),
    };
    let pepper = match &serve.pepper {
        Pepper::File(path) => path.display().to_string(),
        Pepper::Given(_) => "as secrets.pepper says".to_owned(),
    };
    format!(
        "Database:  {database}\nPepper:    {pepper} (keep a copy apart from the database: without it no key works)\n"
    )
}

/// Where the service listens.
pub(super) fn listening(listening: &[SocketAddr], sandbox: bool) -> String {
    let urls: Vec<String> = listening.iter().map(|address| format!("http://{address}")).collect();
    let sandbox = if sandbox { " (live keys are answered from the sandbox)" } else { "" };
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
Probity is set up. The keys and the link are shown only now.

Database:  /srv/probity/probity.db
Pepper:    /srv/probity/pepper (keep a copy apart from the database: without it no key works)
Live key:  probity_live_L
Test key:  probity_test_T
Sign-in:   http://127.0.0.1:8080/#/link/L1NK (set your password; works once, for a day)

With the test key nobody is asked and nothing is spent:

    curl -H 'Authorization: Bearer probity_test_T' 'http://127.0.0.1:8080/v1/verify?email=valid@sandbox.test'

With the live key real mail servers are asked; put in an address of yours:

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
        assert!(listening(&addresses[..1], true).ends_with("(live keys are answered from the sandbox)\n"));
    }
}
