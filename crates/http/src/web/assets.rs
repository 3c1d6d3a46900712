//! Files of `web/` in memory, ready to send.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::OnceLock;

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{Context, SHA256};
use rust_embed::RustEmbed;

use crate::web::preload;

/// Page of the dashboard; the placeholders in double braces are filled in.
const PAGE: &str = "index.html";
const WIDGET: &str = "widget/widget.js";
/// Entry module of the page.
const MAIN: &str = "app/main.js";
/// Screens that most users see first: signed out, and signed in.
const FIRST: [&str; 2] = ["app/screens/sign-in.js", "app/screens/overview.js"];

#[derive(RustEmbed)]
#[folder = "../../web"]
#[include = "index.html"]
#[include = "icon.svg"]
#[include = "app/*"]
#[include = "messages/*"]
#[include = "style/*"]
#[include = "widget/*"]
#[include = "docs/*"]
#[include = "vendor/*.js"]
#[include = "vendor/*.css"]
struct Files;

/// File contents by path.
type Texts = BTreeMap<String, Vec<u8>>;

pub(super) struct Asset {
    pub(super) kind: HeaderValue,
    pub(super) tag: HeaderValue,
    pub(super) body: Packable,
}

impl Asset {
    fn new(path: &str, plain: Vec<u8>) -> Self {
        let tag = format!("\"{}\"", hash([&*plain]));
        let tag = HeaderValue::try_from(tag).expect("base64 is plain text");
        Self { kind: kind(path), tag, body: Packable::new(plain) }
    }
}

pub(super) struct Assets {
    build: String,
    page: Asset,
    files: BTreeMap<String, Asset>,
}

impl Assets {
    /// Loads the files from the program, in debug builds from disk.
    ///
    /// # Panics
    /// Panics if the page is missing or not UTF-8. This is a programming error that every test of a page reveals.
    pub(super) fn load() -> Self {
        Self::of(texts())
    }

    /// Returns the current files if they differ from these, as after an edit in a debug build.
    pub(super) fn changed(&self) -> Option<Self> {
        let texts = texts();
        (build(&texts) != self.build).then(|| Self::of(texts))
    }

    fn of(mut texts: Texts) -> Self {
        let build = build(&texts);
        let page = texts.remove(PAGE).expect("the page is among the files");
        let page = String::from_utf8(page).expect("the page is UTF-8");
        let page = page
            .replace("{{preload}}", &preload::links(&texts, [MAIN].into_iter().chain(FIRST)))
            .replace("{{build}}", &build);
        let files = texts.into_iter().map(|(path, text)| {
            let asset = Asset::new(&path, text);
            (path, asset)
        });
        Self { page: Asset::new(PAGE, page.into_bytes()), files: files.collect(), build }
    }

    /// Returns the hash of all files, which is part of their paths.
    pub(super) fn build(&self) -> &str {
        &self.build
    }

    pub(super) fn page(&self) -> &Asset {
        &self.page
    }

    /// Returns the script that other websites load.
    ///
    /// # Panics
    /// Panics if the script is missing. This is a programming error that the first test of the widget reveals.
    pub(super) fn widget(&self) -> &Asset {
        self.file(WIDGET).expect("the widget is among the files")
    }

    pub(super) fn file(&self, path: &str) -> Option<&Asset> {
        self.files.get(path)
    }
}

fn texts() -> Texts {
    let files = Files::iter().filter_map(|path| Some((path.to_string(), Files::get(&path)?.data.into_owned())));
    files.collect()
}

fn build(texts: &Texts) -> String {
    hash(texts.iter().flat_map(|(path, text)| [path.as_bytes(), &[0], text, &[0]]))
}

fn kind(path: &str) -> HeaderValue {
    HeaderValue::from_static(match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    })
}

/// Body with its gzip form, which is made when the first client asks for it: a start waits for none.
#[derive(Debug)]
pub(crate) struct Packable {
    plain: Bytes,
    /// `None` if it is not smaller.
    packed: OnceLock<Option<Bytes>>,
}

impl Packable {
    pub(crate) fn new(plain: impl Into<Bytes>) -> Self {
        Self { plain: plain.into(), packed: OnceLock::new() }
    }

    /// Returns the bytes for a client, and whether they are gzip.
    pub(crate) fn for_client(&self, takes_gzip: bool) -> (Bytes, bool) {
        let packed = takes_gzip.then(|| self.packed.get_or_init(|| gzip(&self.plain)).clone()).flatten();
        packed.map_or_else(|| (self.plain.clone(), false), |packed| (packed, true))
    }
}

fn gzip(plain: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(plain).and_then(|()| encoder.finish()).expect("memory takes all");
    (packed.len() < plain.len()).then(|| packed.into())
}

/// Returns 16 bytes of SHA-256 in base64url, for use in a path.
fn hash<'t>(parts: impl IntoIterator<Item = &'t [u8]>) -> String {
    let mut context = Context::new(&SHA256);
    parts.into_iter().for_each(|part| context.update(part));
    BASE64_URL_SAFE_NO_PAD.encode(&context.finish().as_ref()[..16])
}
