//! Files of `web/` in memory, ready to send.

use std::collections::BTreeMap;

use rust_embed::RustEmbed;

use crate::web::preload;
use crate::web::tagged::{TaggedBody, hash};

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

pub(super) struct Assets {
    build: String,
    page: TaggedBody,
    files: BTreeMap<String, TaggedBody>,
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
            let asset = TaggedBody::new(kind(&path), text);
            (path, asset)
        });
        Self { page: TaggedBody::new(kind(PAGE), page), files: files.collect(), build }
    }

    /// Returns the hash of all files, which is part of their paths.
    pub(super) fn build(&self) -> &str {
        &self.build
    }

    pub(super) fn page(&self) -> &TaggedBody {
        &self.page
    }

    /// Returns the script that other websites load.
    ///
    /// # Panics
    /// Panics if the script is missing. This is a programming error that the first test of the widget reveals.
    pub(super) fn widget(&self) -> &TaggedBody {
        self.file(WIDGET).expect("the widget is among the files")
    }

    pub(super) fn file(&self, path: &str) -> Option<&TaggedBody> {
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

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
