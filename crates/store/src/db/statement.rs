//! SQL statements: one text each, rendered once per database, all in one list.

use std::sync::OnceLock;

use super::dialect::Dialect;

/// SQL text with markers, and its rendering for each database.
#[derive(Debug)]
pub(crate) struct Statement {
    /// Path of its file's module, and its own name.
    #[cfg_attr(not(any(test, debug_assertions)), expect(dead_code, reason = "read by tests and failpoints"))]
    path: &'static str,
    text: &'static str,
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
}

impl Statement {
    /// Used by [`statements!`].
    pub(crate) const fn new(path: &'static str, text: &'static str) -> Self {
        Self { path, text, sqlite: OnceLock::new(), postgres: OnceLock::new() }
    }

    /// Its full name within this crate: `jobs::work::ADD_PART`.
    #[cfg(any(test, debug_assertions))]
    pub(crate) fn name(&self) -> &'static str {
        self.path.split_once("::").map_or(self.path, |(_, name)| name)
    }

    pub(crate) fn text(&'static self, dialect: Dialect) -> &'static str {
        let rendered = match dialect {
            Dialect::Sqlite => &self.sqlite,
            Dialect::Postgres => &self.postgres,
        };
        rendered.get_or_init(|| dialect.render(self.text))
    }
}

/// Declares a file's statements and puts them into its list, `STATEMENTS`, which `crate::statements` joins with the others.
macro_rules! statements {
    ($($name:ident = $text:expr;)+) => {
        $(static $name: $crate::db::Statement =
            $crate::db::Statement::new(concat!(module_path!(), "::", stringify!($name)), $text);)+
        /// All statements of this file.
        pub(crate) static STATEMENTS: &[&$crate::db::Statement] = &[$(&$name),+];
    };
}
pub(crate) use statements;
