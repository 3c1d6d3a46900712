//! All connectors: the embedded ones, and those of the operator.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::file::{ConnectorFault, ConnectorFile, FILE_MAX, Origin};

/// Maximum number of operator files.
const FILES_MAX: usize = 200;

/// Names and texts of the files in `data`, which `build.rs` finds.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Connectors, by slug and alias.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    files: BTreeMap<String, ConnectorFile>,
    aliases: BTreeMap<String, String>,
}

impl Catalog {
    /// Returns the embedded connectors.
    pub fn embedded() -> &'static Arc<Self> {
        static CATALOG: OnceLock<Arc<Catalog>> = OnceLock::new();
        CATALOG.get_or_init(|| {
            let mut catalog = Self::default();
            for (name, text) in EMBEDDED {
                let file = ConnectorFile::parse(name, text, Origin::Embedded).and_then(|file| catalog.add(name, file));
                file.expect("a test checks that the embedded connectors are valid");
            }
            Arc::new(catalog)
        })
    }

    /// Returns the names and texts of the embedded files.
    pub fn texts() -> &'static [(&'static str, &'static str)] {
        EMBEDDED
    }

    /// Adds an operator's files, given as names and texts. A file with the slug of an embedded connector replaces it and
    /// keeps its aliases. No two files may have the same name, because connections refer to it.
    pub fn with_texts<'t>(
        &self,
        texts: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Self, Vec<ConnectorFault>> {
        let mut catalog = self.clone();
        let mut faults = Vec::new();
        for (number, (name, text)) in texts.into_iter().enumerate() {
            if number == FILES_MAX {
                faults.push(fault(name, format!("too many files; the maximum is {FILES_MAX}")));
                break;
            }
            let added = ConnectorFile::parse(name, text, Origin::Operator).and_then(|file| catalog.add(name, file));
            faults.extend(added.err().unwrap_or_default());
        }
        if faults.is_empty() { Ok(catalog) } else { Err(faults) }
    }

    /// Adds the files `*.toml` of a directory, in name order.
    pub fn with_directory(&self, directory: &Path) -> Result<Self, Vec<ConnectorFault>> {
        let place = directory.display().to_string();
        let broken = |what: &std::io::Error| vec![fault(&place, format!("cannot be read: {what}"))];
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(|error| broken(&error))? {
            let path = entry.map_err(|error| broken(&error))?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut texts = Vec::new();
        for path in paths {
            let name = path.display().to_string();
            let text = read(&path).map_err(|error| vec![fault(&name, format!("cannot be read: {error}"))])?;
            texts.push((name, text));
        }
        self.with_texts(texts.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }

    /// Returns the connector with a slug or an alias.
    pub fn get(&self, name: &str) -> Option<&ConnectorFile> {
        self.files.get(name).or_else(|| self.files.get(self.aliases.get(name)?))
    }

    /// Returns all connectors, by slug.
    pub fn iter(&self) -> impl Iterator<Item = &ConnectorFile> {
        self.files.values()
    }

    fn add(&mut self, name: &str, file: ConnectorFile) -> Result<(), Vec<ConnectorFault>> {
        let slug = &file.provider.slug;
        let replaces = |known: &ConnectorFile| {
            known.provider.slug == *slug && known.origin == Origin::Embedded && file.origin == Origin::Operator
        };
        let is_free = |name: &String| self.get(name).is_none_or(replaces);
        let mut names = std::iter::once(("provider.slug", slug));
        let aliases = file.provider.aliases.iter().map(|alias| ("provider.aliases", alias));
        if let Some((path, taken)) = names.by_ref().chain(aliases).find(|(_, name)| !is_free(name)) {
            let what = format!("{taken:?} is already the name of another connector; choose another");
            return Err(vec![ConnectorFault { path: path.to_owned(), ..fault(name, what) }]);
        }
        for alias in &file.provider.aliases {
            self.aliases.insert(alias.clone(), file.provider.slug.clone());
        }
        self.files.insert(file.provider.slug.clone(), file);
        Ok(())
    }
}

/// Reads a file up to the maximum size and one byte more, so that the loader can refuse larger files.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(FILE_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

fn fault(file: &str, what: String) -> ConnectorFault {
    ConnectorFault { file: file.to_owned(), path: String::new(), line: None, what }
}
