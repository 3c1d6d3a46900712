//! Tables of a SQLite database, ordered so that each follows those that it references.

use crate::db::error::{Result, StoreError};
use crate::db::{ColumnType, Conn, args};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// Tables that its rows reference.
    needs: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnType,
}

impl Table {
    /// Its quoted SQL name.
    pub(super) fn quoted(&self) -> String {
        quoted(&self.name)
    }

    /// Quoted SQL names of its columns.
    pub(super) fn columns(&self) -> String {
        self.columns.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
    }

    pub(super) async fn count(&self, conn: &mut Conn) -> Result<u64> {
        let rows = conn.rows_made(format!("SELECT COUNT(*) AS n FROM {}", self.quoted()), args![]).await?;
        let n: i64 = rows.first().ok_or(StoreError::NotFound)?.get("n")?;
        Ok(u64::try_from(n).unwrap_or_default())
    }
}

/// Quoted SQL names of tables.
pub(super) fn names(tables: &[Table]) -> String {
    tables.iter().map(Table::quoted).collect::<Vec<_>>().join(", ")
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Tables about a database's processes: those of the source are gone, and their leases mean nothing elsewhere.
const OF_NODES: [&str; 2] = ["lease", "node"];

/// All tables except those about nodes, SQLite's own, and the library's, which exist in the target already.
pub(super) async fn tables(conn: &mut Conn) -> Result<Vec<Table>> {
    let text = "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' \
                AND substr(name, 1, 6) <> '_sqlx_' ORDER BY name";
    let mut tables = Vec::new();
    for row in conn.rows_made(text.into(), args![]).await? {
        let name: String = row.get("name")?;
        if !OF_NODES.contains(&name.as_str()) {
            tables.push(table(conn, name).await?);
        }
    }
    in_order(tables)
}

async fn table(conn: &mut Conn, name: String) -> Result<Table> {
    let text = "SELECT name, type FROM pragma_table_info($1) ORDER BY cid";
    let mut columns = Vec::new();
    for row in conn.rows_made(text.into(), args![name.as_str()]).await? {
        let (column, declared): (String, String) = (row.get("name")?, row.get("type")?);
        let kind = kind(&declared)
            .ok_or_else(|| StoreError::corrupt(format!("column {name}.{column} has the type {declared:?}")))?;
        columns.push(Column { name: column, kind });
    }
    let text = "SELECT DISTINCT \"table\" AS needed FROM pragma_foreign_key_list($1) WHERE \"table\" <> $1";
    let needs = conn.rows_made(text.into(), args![name.as_str()]).await?;
    let needs = needs.iter().map(|row| row.get("needed")).collect::<Result<_>>()?;
    Ok(Table { name, columns, needs })
}

fn kind(declared: &str) -> Option<ColumnType> {
    Some(match declared {
        "BIGINT" => ColumnType::Whole,
        "DOUBLE PRECISION" => ColumnType::Double,
        "TEXT" => ColumnType::Text,
        "BLOB" => ColumnType::Bytes,
        _ => return None,
    })
}

/// Sorts tables after those that they need; otherwise keeps the order.
fn in_order(mut left: Vec<Table>) -> Result<Vec<Table>> {
    let mut placed: Vec<Table> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_placed = |name: &String| placed.iter().any(|table| table.name == *name);
        let Some(next) = left.iter().position(|table| table.needs.iter().all(is_placed)) else {
            let names = names(&left);
            return Err(StoreError::corrupt(format!("tables refer to each other in a circle: {names}")));
        };
        placed.push(left.remove(next));
    }
    Ok(placed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, needs: &[&str]) -> Table {
        Table { name: name.into(), columns: vec![], needs: needs.iter().map(|&need| need.into()).collect() }
    }

    #[test]
    fn a_table_comes_behind_those_that_it_needs() {
        let tables = vec![table("a", &["c", "b"]), table("b", &["d"]), table("c", &["b"]), table("d", &[])];
        let names: Vec<_> = in_order(tables).unwrap().into_iter().map(|table| table.name).collect();
        assert_eq!(names, ["d", "b", "c", "a"]);
    }

    #[test]
    fn a_circle_is_told() {
        let circle = vec![table("a", &["b"]), table("b", &["a"]), table("c", &[])];
        let error = in_order(circle).unwrap_err();
        let told = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(told, r#"tables refer to each other in a circle: "a", "b""#);
    }
}
