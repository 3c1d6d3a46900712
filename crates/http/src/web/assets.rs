//! The files of `web/` in memory, ready to be sent.

use std::collections::BTreeMap;
use std::io::Write as _;

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{Context, SHA256};
use rust_embed::RustEmbed;

use crate::web::preload;

/// The page that everything begins with; the words in double braces are filled in.
const PAGE: &str = "index.html";
/// The script of the widget.
const WIDGET: &str = "widget/widget.js";
/// The module that the page runs.
const MAIN: &str = "app/main.js";
/// The screens that most readers see first: that of strangers, and that of those who are signed in.
const FIRST: [&str; 2] = ["app/screens/sign-in.js", "app/screens/overview.js"];

#[derive(RustEmbed)]
#[folder = "../../web"]
#[include = "index.html"]
#[include = "icon.svg"]
#[include = "app/*"]
#[include = "messages/*"]
#[include = "style/*"]
#[include = "widget/*"]
#[include = "vendor/*.js"]
#[include = "vendor/*.css"]
struct Files;

/// Contents by path.
type Texts = BTreeMap<String, Vec<u8>>;

/// One file.
pub(super) struct Asset {
    pub(super) kind: HeaderValue,
    pub(super) tag: HeaderValue,
    pub(super) plain: Bytes,
    /// Compressed, where that is smaller.
    pub(super) packed: Option<Bytes>,
}

impl Asset {
    fn new(path: &str, plain: Vec<u8>) -> Self {
        let packed = gzip(&plain);
        let packed = (packed.len() < plain.len()).then(|| packed.into());
        let tag = format!("\"{}\"", hash([&*plain]));
        let tag = HeaderValue::try_from(tag).expect("base64 is plain text");
        Self { kind: kind(path), tag, plain: plain.into(), packed }
    }
}

/// All files of a build.
pub(super) struct Assets {
    build: String,
    page: Asset,
    files: BTreeMap<String, Asset>,
}

impl Assets {
    /// Takes them from the program, in debug builds from the disk.
    ///
    /// # Panics
    /// When the page is missing or is no UTF-8: a mistake in the program, found by every test that starts a service.
    pub(super) fn load() -> Self {
        Self::of(texts())
    }

    /// The files as they are now, where these are others: a debug build's may have been edited since.
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

    /// The part of the path that changes with any file.
    pub(super) fn build(&self) -> &str {
        &self.build
    }

    pub(super) fn page(&self) -> &Asset {
        &self.page
    }

    /// The script that other websites load.
    ///
    /// # Panics
    /// When it is missing: a mistake in the program, found by the first test that asks for it.
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

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).and_then(|()| encoder.finish()).expect("memory takes all")
}

/// 16 bytes of SHA-256, as a path can carry them.
fn hash<'t>(parts: impl IntoIterator<Item = &'t [u8]>) -> String {
    let mut context = Context::new(&SHA256);
    parts.into_iter().for_each(|part| context.update(part));
    BASE64_URL_SAFE_NO_PAD.encode(&context.finish().as_ref()[..16])
}
