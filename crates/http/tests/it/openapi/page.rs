//! The page for people: whole, and with nothing in it that a browser would run or fetch from elsewhere.

use html5gum::{Token, Tokenizer};
use probity_http::openapi::{Published, operations};

use super::{described, fetch};

/// What a browser sees: the elements with their attributes, and the text.
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
    for field in ["evidence.domain.mx[].preference", "credits.subscription", "data[].last4", "pagination.next_cursor"] {
        assert!(page.text.contains(field), "{field}");
    }
}

#[tokio::test]
async fn the_page_runs_nothing_and_leads_nowhere_else() {
    let (response, html) = fetch("/docs", None).await;
    let policy = response.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'self';") && !policy.contains("unsafe"), "{policy}");
    let page = parse(&html);
    let forbidden = ["script", "style", "iframe", "object", "embed", "img", "form", "base"];
    for (name, attributes) in &page.elements {
        assert!(!forbidden.contains(&name.as_str()), "<{name}>");
        for (attribute, value) in attributes {
            assert!(!attribute.starts_with("on") && attribute != "style" && attribute != "src", "{attribute}={value}");
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
    let (style, css) = fetch("/docs/style.css", None).await;
    assert_eq!(style.headers()["content-type"], "text/css; charset=utf-8");
    assert!(!css.contains("url(") && !css.contains("@import"));
}

#[tokio::test]
async fn text_of_the_document_stays_text() {
    use axum::body::Body;
    use axum::http::Request;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

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
    let router = Published::new(&document).router::<()>();
    let response = router.oneshot(Request::get("/docs").body(Body::empty()).unwrap()).await.unwrap();
    let html = response.into_body().collect().await.unwrap().to_bytes();
    let page = parse(std::str::from_utf8(&html).unwrap());
    assert!(page.text.contains("<script>alert(1)</script>"), "the text is shown");
    assert!(page.elements.iter().all(|(name, _)| name != "script" && name != "img" && name != "svg"));
    assert!(page.attributes().all(|(name, _)| !name.starts_with("on")));
}
