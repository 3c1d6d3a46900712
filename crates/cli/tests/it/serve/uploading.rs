//! `kill -9` during an upload: the file is stored completely or not at all.

use probity_trialdb::postgres;

use crate::serve::bench::client::{Answer, Client, Failed, field};
use crate::serve::bench::node::{Installation, Node, wait_for};

const EMAIL: &str = "owner@example.com";
const PASSWORD: &str = "correct horse battery staple";

/// A browser session, which outlives the process.
pub(super) struct Person {
    fields: String,
}

impl Person {
    /// Signs in with the link of the first start.
    pub(super) fn of(node: &Node) -> Self {
        let (_, token) = node.printed().split_once("/#/link/").unwrap();
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
        self.put_as(node, "name=list.csv", list)
    }

    fn put_as(&self, node: &Node, query: &str, list: &str) -> Result<Answer, Failed> {
        let fields = format!("{}Content-Length: {}\r\n", self.fields, list.len());
        Client::new(node.address, "").exchange("POST", &format!("/app/uploads?{query}"), &fields, list)
    }

    fn delete(&self, node: &Node, id: &str) {
        let answer = Client::new(node.address, "").exchange("DELETE", &format!("/app/uploads/{id}"), &self.fields, "");
        assert_eq!(answer.unwrap().status, 200);
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
#[ignore = "thorough"]
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

/// Points at which a process dies that replaces a file of two rows by one of three, and the rows of the file that is left.
const REPLACING: [(&str, u64); 3] = [
    ("uploads::purge::REPLACE:after:1:kill", 2),
    ("commit/uploads::CHOOSE:before:1:kill", 2),
    ("commit/uploads::CHOOSE:after:1:kill", 3),
];

#[test]
#[ignore = "thorough"]
fn a_replaced_file_is_there_or_the_one_that_replaces_it() {
    let installations = [Some(Installation::on_sqlite()), postgres().map(|at| Installation::on(at.create_database()))];
    for (installation, has_sql) in installations.into_iter().zip([false, true]) {
        let Some(installation) = installation else { continue };
        let node = installation.start();
        let person = Person::of(&node);
        node.stop();
        for (point, left) in REPLACING {
            let node = installation.start();
            let first = person.put(&node, "a@sandbox.test\nb@sandbox.test\n").unwrap().json();
            node.stop();
            let Ok(mut node) = installation.start_armed(point) else { panic!("{point}: it ended at its start") };
            let query = format!("name=list.csv&replaces={}", first["id"].as_str().unwrap());
            let list = "a@sandbox.test\nb@sandbox.test\nc@sandbox.test\n";
            assert!(person.put_as(&node, &query, list).is_err(), "{point}: it was to die");
            node.launched.ended();
            let node = installation.start();
            assert_eq!(person.rows(&node), [left], "{point}");
            let blocks =
                "SELECT COUNT(*) FROM upload_block b JOIN upload u USING (org_no, upload_no) WHERE state = 'gone'";
            if has_sql && left == 3 {
                wait_for("the end of the rows", || (installation.sql(blocks) == "0").then_some(()));
            }
            let all = person.get(&node, "/app/uploads").json();
            person.delete(&node, all["data"][0]["id"].as_str().unwrap());
            node.stop();
        }
    }
}
