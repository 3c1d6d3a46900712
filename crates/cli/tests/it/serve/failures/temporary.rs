//! Temporary files: stored in the data directory, since nothing else need be writable (`docker run --read-only`).

use crate::serve::bench::node::{Installation, wait_for};

#[test]
#[ignore = "thorough"]
fn workbooks_need_no_other_place_than_the_data_directory() {
    let installation = Installation::on_sqlite();
    let nowhere = installation.place.path("nowhere");
    let Ok(node) = installation.start_in(&[("TMPDIR", nowhere.as_os_str())]) else { panic!("it listens") };
    let mut customer = node.client(&node.key("Test key"));
    let list = r#"{"emails":["valid@sandbox.test"]}"#;
    let accepted = customer.post("/v1/batch-verify", "list", list).unwrap();
    assert_eq!(accepted.status, 200, "{accepted:?}");
    let place = format!("/v1/batch-verify/{}", accepted.json()["id"].as_str().unwrap());
    wait_for("the end of the job", || {
        let status = customer.get(&format!("{place}/status")).unwrap();
        (status.json()["status"] == "completed").then_some(())
    });
    let book = customer.get(&format!("{place}/download?format=xlsx")).unwrap();
    assert_eq!(book.status, 200, "{book:?}, {}", installation.log());
    assert!(book.body.starts_with("PK"), "{book:?}");
    node.stop();
    let mut left: Vec<_> = std::fs::read_dir(installation.place.path("data")).unwrap().collect();
    left.retain(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        !["pepper", "lock", "listening"].iter().any(|kept| name == *kept)
            && !name.to_string_lossy().starts_with("probity.db")
    });
    assert!(left.is_empty(), "{left:?}");
}
