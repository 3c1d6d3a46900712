//! Differences between the two databases, as markers in one SQL text.
//!
//! | Marker | SQLite | PostgreSQL |
//! |---|---|---|
//! | `{bytes}` | `BLOB` | `BYTEA` |
//! | `{each:$1}` | `json_each($1) AS each` | `jsonb_array_elements(CAST(CAST($1 AS TEXT) AS JSONB)) AS each(value)` |
//! | `{unhex:x}` | `unhex(x)` | `decode(x, 'hex')` |
//! | `{for_update}` | nothing: writers are alone | `FOR UPDATE` |
//! | `{for_share}` | nothing: writers are alone | `FOR SHARE` |
//! | `{skip_locked}` | nothing | `FOR UPDATE SKIP LOCKED` |
//! | `{now_us}` | `NULL`: the caller has the time | the server's clock, in microseconds since 1970 |
//! | `{row}` | `rowid` | `ctid`: the row's current location, within one transaction that has locked it |
//! | `{clustered}` | `WITHOUT ROWID` | nothing |
//! | `{notify:$1}` | `$1`: there are no listeners | `pg_notify('probity', $1)` |
//!
//! Read a field of an element of `{each:..}` with `CAST(each.value ->> 'name' AS BIGINT)` in both.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlDialect {
    /// SQLite, embedded in this program.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}

impl SqlDialect {
    /// Statement that begins a write transaction. SQLite locks at once: a transaction that reads first and writes later would fail
    /// instead of waiting.
    pub fn begin(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::Postgres => "BEGIN ISOLATION LEVEL READ COMMITTED",
        }
    }

    /// Statement that begins a read-only transaction on one snapshot of the database.
    pub fn begin_snapshot(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN DEFERRED",
            Self::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }

    /// Replaces the markers with this database's SQL.
    ///
    /// # Panics
    /// If a marker is unknown: all texts are constants, and a test renders every statement.
    pub fn render(self, text: &str) -> String {
        let mut rendered = String::with_capacity(text.len() + 64);
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (marker, after) = after.split_once('}').expect("a marker ends with a brace");
            rendered.push_str(before);
            rendered.push_str(&self.word(marker));
            rest = after;
        }
        rendered.push_str(rest);
        rendered
    }

    fn word(self, marker: &str) -> String {
        let (name, argument) = marker.split_once(':').unwrap_or((marker, ""));
        match (name, self) {
            ("bytes", Self::Sqlite) => "BLOB".into(),
            ("bytes", Self::Postgres) => "BYTEA".into(),
            ("each", Self::Sqlite) => format!("json_each({argument}) AS each"),
            ("each", Self::Postgres) => {
                format!("jsonb_array_elements(CAST(CAST({argument} AS TEXT) AS JSONB)) AS each(value)")
            }
            ("unhex", Self::Sqlite) => format!("unhex({argument})"),
            ("unhex", Self::Postgres) => format!("decode({argument}, 'hex')"),
            ("for_update" | "for_share" | "skip_locked", Self::Sqlite) | ("clustered", Self::Postgres) => String::new(),
            ("for_update", Self::Postgres) => "FOR UPDATE".into(),
            ("for_share", Self::Postgres) => "FOR SHARE".into(),
            ("skip_locked", Self::Postgres) => "FOR UPDATE SKIP LOCKED".into(),
            ("now_us", Self::Sqlite) => "NULL".into(),
            ("now_us", Self::Postgres) => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)".into(),
            ("row", Self::Sqlite) => "rowid".into(),
            ("row", Self::Postgres) => "ctid".into(),
            ("clustered", Self::Sqlite) => "WITHOUT ROWID".into(),
            ("notify", Self::Sqlite) => argument.into(),
            ("notify", Self::Postgres) => format!("pg_notify('probity', CAST({argument} AS TEXT))"),
            _ => panic!("no marker is called {marker:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SqlDialect;

    #[test]
    fn markers_become_words() {
        let text = "SELECT x FROM {each:$2} {for_update}";
        assert_eq!(SqlDialect::Sqlite.render(text), "SELECT x FROM json_each($2) AS each ");
        assert_eq!(
            SqlDialect::Postgres.render(text),
            "SELECT x FROM jsonb_array_elements(CAST(CAST($2 AS TEXT) AS JSONB)) AS each(value) FOR UPDATE"
        );
    }

    #[test]
    #[should_panic(expected = "no marker")]
    fn an_unknown_marker_is_a_mistake_of_ours() {
        SqlDialect::Sqlite.render("{nonsense}");
    }
}
