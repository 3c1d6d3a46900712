//! Tests that the HTML page is complete, and contains nothing that a browser would run or fetch from elsewhere.

use std::io::Read;

use axum::body::Body;
use axum::http::Request;
use flate2::read::GzDecoder;
use html5gum::{Token, Tokenizer};
use http_body_util::BodyExt;
use probity_http::openapi::{operations, routes};
use tower::ServiceExt;

use super::{described, fetch};
use crate::test_app::{Call, TestApp};

/// Page as a browser sees it: elements with their attributes, and the text.
struct Page {
    elements: Vec<(String, Vec<(String, String)>)>,
    text: String,
}

fn parse(html: &str) -> Page {
    let mut page = Page { elements: Vec::new(), text: String::new() };
    let owned = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    for token in Tokenizer::new(html) {
        match token.unwrap() {
            Token::StartTag(tag) => {
                let attributes = tag.attributes.iter().map(|(name, value)| (owned(name), owned(value)));
                page.elements.push((owned(&tag.name), attributes.collect()));
            }
            Token::String(text) => page.text.push_str(&owned(&text)),
            Token::Error(error) => panic!("broken HTML: {error:?}"),
            _ => {}
        }
    }
    page
}

impl Page {
    fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.elements.iter().flat_map(|(_, attributes)| attributes);
        all.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[tokio::test]
async fn the_page_shows_every_operation() {
    let (response, html) = fetch("/docs", None).await;
    assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
    let page = parse(&html);
    let document = described();
    for (path, method, operation) in operations(&document) {
        assert!(page.text.contains(&format!("{method} {path}")), "{method} {path}");
        let id = operation.operation_id.as_deref().unwrap();
        assert!(page.attributes().any(|attribute| attribute == ("id", id)), "{id} has no place");
        assert!(
            page.attributes().any(|attribute| attribute == ("href", &format!("#{id}"))),
            "{id} is not in the sidebar"
        );
        for parameter in operation.parameters.iter().flatten() {
            let utoipa::openapi::RefOr::T(parameter) = parameter else { continue };
            assert!(page.text.contains(&parameter.name), "{id}: {}", parameter.name);
        }
    }
    assert!(page.text.contains("\"error\": {") && !html.contains("<code>null</code>"), "examples are composed");
    for field in ["evidence.domain.mx[].preference", "credits.subscription", "data[].last4", "pagination.next_cursor"] {
        assert!(page.text.contains(field), "{field}");
    }
}

/// The terms of docs/style.md, also where the page frames the document's own texts.
#[tokio::test]
async fn the_page_speaks_as_other_texts_do() {
    let page = parse(&fetch("/docs", None).await.1);
    for expected in ["Skip to content", "Responses", "Requires an API key with the scope verify."] {
        assert!(page.text.contains(expected), "{expected}");
    }
    for other in ["Skip to the text", "Answers", "Needs a key", "Meaning"] {
        assert!(!page.text.contains(other), "{other}");
    }
}

#[tokio::test]
async fn the_page_runs_nothing_and_leads_nowhere_else() {
    let (response, html) = fetch("/docs", None).await;
    let policy = response.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe") && policy.contains("trusted-types 'none'"), "{policy}");
    let page = parse(&html);
    let forbidden = ["style", "iframe", "object", "embed", "form", "base"];
    for (name, attributes) in &page.elements {
        assert!(!forbidden.contains(&name.as_str()), "<{name}>");
        for (attribute, value) in attributes {
            assert!(!attribute.starts_with("on") && attribute != "style", "{attribute}={value}");
            if attribute == "src" {
                assert!(value.starts_with("/docs/") && !value.contains(".."), "{value} is loaded from elsewhere");
            }
            if attribute == "href" {
                let ours = value.starts_with('#') || (value.starts_with('/') && !value.starts_with("//"));
                assert!(ours, "{value} leads elsewhere");
            }
        }
    }
    let anchors = page.attributes().filter_map(|(name, value)| (name == "href").then(|| value.strip_prefix('#'))?);
    for anchor in anchors {
        assert!(page.attributes().any(|attribute| attribute == ("id", anchor)), "#{anchor} leads nowhere");
    }
}

/// Files that the page loads exist, and load nothing from elsewhere either.
#[tokio::test]
async fn the_files_of_the_page_are_there() {
    let app = TestApp::start().await;
    let page = parse(&fetch("/docs", None).await.1);
    let files = page.attributes().filter(|(_, value)| value.starts_with("/docs/") && !value.contains('#'));
    let mut files: Vec<&str> = files.map(|(_, value)| value).collect();
    files.dedup();
    assert!(files.len() >= 5, "{files:?}");
    for path in files {
        let file = app.send(Call::get(path)).await;
        assert_eq!((file.status, file.header("cache-control")), (200, Some("no-cache")), "{path}");
        let text = file.text();
        assert!(!text.contains("url(") && !text.contains("@import"), "{path}");
    }
    for path in ["/docs/none.js", "/docs/main.js", "/docs/index.html"] {
        assert_eq!(app.send(Call::get(path)).await.status, 404, "{path}");
    }
    app.stop().await;
}

/// Most readers look for the verification of one address.
#[tokio::test]
async fn the_first_operation_verifies_an_address() {
    let page = parse(&fetch("/docs", None).await.1);
    let articles = page.elements.iter().filter(|(name, _)| name == "article");
    let ids: Vec<&str> = articles.flat_map(|(_, attributes)| attributes).map(|(_, value)| value.as_str()).collect();
    assert_eq!(ids[..2], ["verify_email", "submit_batch"]);
}

#[tokio::test]
async fn the_page_is_sent_compressed_to_those_who_take_it() {
    let router = routes::<()>(described);
    let request = Request::get("/docs").header("Accept-Encoding", "gzip").body(Body::empty()).unwrap();
    let response = router.oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_eq!(response.headers()["vary"], "accept-encoding");
    let sent = response.into_body().collect().await.unwrap().to_bytes();
    let mut read = String::new();
    GzDecoder::new(&*sent).read_to_string(&mut read).unwrap();
    assert_eq!(read, fetch("/docs", None).await.1);
}

#[tokio::test]
async fn text_of_the_document_stays_text() {
    let mut document = described();
    let attack = "\"><script>alert(1)</script><img src=x onerror=alert(1)>`</code><svg onload=1>";
    document.info.title = attack.to_owned();
    for item in document.paths.paths.values_mut() {
        for operation in [&mut item.get, &mut item.post, &mut item.delete].into_iter().flatten() {
            operation.summary = Some(attack.to_owned());
            operation.description = Some(attack.to_owned());
            operation.operation_id = Some(attack.to_owned());
        }
    }
    let router = routes::<()>(move || document.clone());
    let response = router.oneshot(Request::get("/docs").body(Body::empty()).unwrap()).await.unwrap();
    let html = response.into_body().collect().await.unwrap().to_bytes();
    let page = parse(std::str::from_utf8(&html).unwrap());
    assert!(page.text.contains("<script>alert(1)</script>"), "the text is shown");
    // Only the page's own scripts and its icon, and none from a text.
    let count = |wanted: &str| page.elements.iter().filter(|(name, _)| name == wanted).count();
    assert_eq!((count("script"), count("img"), count("svg")), (2, 1, 0));
    assert!(page.attributes().all(|(name, _)| !name.starts_with("on")));
}
