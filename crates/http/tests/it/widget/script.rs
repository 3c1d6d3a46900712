//! Tests of `/widget.js` as a browser loads it.

use crate::test_app::{Call, TestApp};

/// Maximum transfer size of the script, in bytes.
const BYTES_MAX: usize = 8_000;

#[tokio::test]
async fn pages_of_every_origin_may_load_the_script_and_it_is_small() {
    let app = TestApp::start().await;
    let packed = app.send(Call::get("/widget.js").header("accept-encoding", "gzip")).await;
    packed.assert_status(200);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < BYTES_MAX, "{} bytes", packed.body.len());
    let plain = app.send(Call::get("/widget.js")).await;
    assert_eq!(plain.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(plain.header("cross-origin-resource-policy"), Some("cross-origin"));
    assert_eq!(plain.header("access-control-allow-origin"), Some("*"));
    assert_eq!(plain.header("cache-control"), Some("public, max-age=3600"));
    let tag = plain.header("etag").unwrap().to_owned();
    let known = app.send(Call::get("/widget.js").header("if-none-match", tag)).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    assert_eq!(known.header("cross-origin-resource-policy"), Some("cross-origin"));
    // The script contacts only its server and stores nothing.
    for word in ["cookie", "Storage", "indexedDB", "innerHTML", "eval(", "userAgent", "sendBeacon", "http://"] {
        assert!(!plain.text().contains(word), "{word}");
    }
    // The page and its other files are restricted to their own origin.
    let page = app.send(Call::get("/")).await;
    assert_eq!(page.header("cross-origin-resource-policy"), Some("same-origin"));
    app.stop().await;
}
