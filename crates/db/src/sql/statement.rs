//! SQL statements: one text each, rendered once per database, all in one list.

use std::sync::OnceLock;

use super::dialect::SqlDialect;

/// SQL text with markers, and its rendering for each database.
#[derive(Debug)]
pub struct Statement {
    /// Path of its file's module, and its own name.
    path: &'static str,
    text: &'static str,
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
}

impl Statement {
    /// Used by [`statements!`](crate::statements).
    pub const fn new(path: &'static str, text: &'static str) -> Self {
        Self { path, text, sqlite: OnceLock::new(), postgres: OnceLock::new() }
    }

    /// Its full name within its crate: `jobs::work::ADD_PART`.
    pub fn name(&self) -> &'static str {
        self.path.split_once("::").map_or(self.path, |(_, name)| name)
    }

    pub fn text(&'static self, dialect: SqlDialect) -> &'static str {
        let rendered = match dialect {
            SqlDialect::Sqlite => &self.sqlite,
            SqlDialect::Postgres => &self.postgres,
        };
        rendered.get_or_init(|| dialect.render(self.text))
    }
}

/// Declares a module's statements, and their list with those of its parts: the function `statements`.
#[macro_export]
macro_rules! statements {
    ($($name:ident = $text:expr;)* $([$($part:ident),+ $(,)?])?) => {
        $(static $name: $crate::Statement =
            $crate::Statement::new(concat!(module_path!(), "::", stringify!($name)), $text);)*
        /// All statements of this module and its parts.
        pub(crate) fn statements() -> Vec<&'static $crate::Statement> {
            [vec![$(&$name),*], $($($part::statements()),+)?].concat()
        }
    };
}
