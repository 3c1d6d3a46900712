//! `kill -9` during an upload: the file is stored completely or not at all.

use super::client::{Answer, Client, Failed, field};
use super::node::{Installation, Node};

const EMAIL: &str = "owner@example.com";
const PASSWORD: &str = "correct horse battery staple";

/// A browser session, which outlives the process.
pub(super) struct Person {
    fields: String,
}

impl Person {
    /// Signs in with the link of the first start.
    pub(super) fn of(node: &Node) -> Self {
        let line = node.printed().lines().find(|line| line.starts_with("Sign-in:")).unwrap();
        let (_, token) = line.split_once("/#/link/").unwrap();
        let token = token.split_whitespace().next().unwrap();
        let body = format!(r#"{{"email": "{EMAIL}", "password": "{PASSWORD}"}}"#);
        let answer = Client::new(node.address, "").use_link(token, &body).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = field(&answer.head, "set-cookie").and_then(|cookie| cookie.split(';').next()).unwrap();
        let csrf = answer.json()["session"]["csrf"].as_str().unwrap().to_owned();
        Self { fields: format!("Cookie: {cookie}\r\nX-CSRF-Token: {csrf}\r\nSec-Fetch-Site: same-origin\r\n") }
    }

    pub(super) fn get(&self, node: &Node, path: &str) -> Answer {
        Client::new(node.address, "").exchange("GET", path, &self.fields, "").unwrap()
    }

    fn put(&self, node: &Node, list: &str) -> Result<Answer, Failed> {
        let fields = format!("{}Content-Length: {}\r\n", self.fields, list.len());
        Client::new(node.address, "").exchange("POST", "/app/uploads?name=list.csv", &fields, list)
    }

    /// Returns the row counts of the stored files.
    fn rows(&self, node: &Node) -> Vec<u64> {
        let answer = self.get(node, "/app/uploads");
        assert_eq!(answer.status, 200, "{answer:?}");
        let files = answer.json()["data"].as_array().unwrap().clone();
        files.iter().map(|file| file["rows"].as_u64().unwrap()).collect()
    }
}

/// Points at which a process that reads a file dies, and the row counts of the files stored afterwards.
const POINTS: [(&str, &[u64]); 4] = [
    ("commit/uploads::BEGIN:after:1:kill", &[]),
    ("uploads::rows::ADD:after:2:kill", &[]),
    ("commit/uploads::CHOOSE:before:1:kill", &[]),
    ("commit/uploads::CHOOSE:after:1:kill", &[3_500]),
];

#[test]
fn a_file_is_there_as_a_whole_or_not_at_all() {
    let rows: Vec<String> = (0..3_500).map(|n| format!("{n},user{n}@sandbox.test\n")).collect();
    let list = format!("n,email\n{}", rows.concat());
    let installation = Installation::on_sqlite();
    let node = installation.start();
    let person = Person::of(&node);
    node.stop();
    for (point, left) in POINTS {
        let Ok(mut node) = installation.start_armed(point) else { panic!("{point}: it ended at its start") };
        assert!(person.put(&node, &list).is_err(), "{point}: it was to die");
        node.launched.ended();
        let node = installation.start();
        assert_eq!(person.rows(&node), left, "{point}");
        node.stop();
    }
    let node = installation.start();
    assert_eq!(person.put(&node, &list).unwrap().status, 201, "what broke off is in nobody's way");
    assert_eq!(person.rows(&node), [3_500, 3_500]);
}
