//! Tests of the dashboard's files as a browser loads them.

use crate::test_app::{Call, TestApp};

fn build(page: &str) -> &str {
    page.split("data-build=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap()
}

#[tokio::test]
async fn the_page_names_the_files_of_its_build_and_lets_nothing_else_run() {
    let app = TestApp::start().await;
    let page = app.send(Call::get("/")).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let text = page.text();
    assert!(!text.contains("{{"), "{text}");
    let build = build(text);
    let linked = text.split("href=\"/").chain(text.split("src=\"/")).skip(1).filter_map(|rest| rest.split('"').next());
    let linked: Vec<&str> = linked.filter(|path| path.starts_with("assets/")).collect();
    assert!(linked.len() > 10, "{linked:?}");
    for path in linked {
        assert!(path.starts_with(&format!("assets/{build}/")), "{path}");
        let file = app.send(Call::get(format!("/{path}"))).await;
        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"), "{path}");
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
    app.stop().await;
}

#[tokio::test]
async fn files_of_another_build_and_others_of_the_folder_are_not_there() {
    let app = TestApp::start().await;
    let page = app.send(Call::get("/")).await;
    let text = page.text();
    let build = build(text);
    let paths = [
        "/assets/another/app/main.js".to_owned(),
        format!("/assets/{build}/app/none.js"),
        format!("/assets/{build}/index.html"),
        format!("/assets/{build}/vendor/README.md"),
        format!("/assets/{build}/../Cargo.toml"),
        format!("/assets/{build}/%2e%2e/Cargo.toml"),
    ];
    for path in paths {
        let answer = app.send(Call::get(&path)).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.json()["error"]["code"], "not_found", "{path}");
    }
    app.stop().await;
}
