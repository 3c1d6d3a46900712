//! Writes records of CSV (RFC 4180).

/// Characters with which a spreadsheet begins a formula (OWASP: CSV injection), full-width forms included.
const FORMULA: [char; 12] = ['=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠'];

/// Reports whether a spreadsheet would run a cell as a formula.
pub fn is_formula(cell: &str) -> bool {
    cell.starts_with(FORMULA)
}

/// Writes the cells of a record, formulas included, without a line end.
pub fn write_record<'a>(cells: impl IntoIterator<Item = &'a str>, delimiter: u8, out: &mut Vec<u8>) {
    for (column, cell) in cells.into_iter().enumerate() {
        if column > 0 {
            out.push(delimiter);
        }
        write_cell(cell, delimiter, out);
    }
}

/// Writes a cell, in quotes if it needs them.
pub fn write_cell(cell: &str, delimiter: u8, out: &mut Vec<u8>) {
    if cell.bytes().any(|byte| byte == delimiter || b"\"\r\n".contains(&byte)) {
        write_quoted("", cell, out);
    } else {
        out.extend_from_slice(cell.as_bytes());
    }
}

/// Writes a cell in quotes, with a mark before its text.
pub fn write_quoted(mark: &str, cell: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(mark.as_bytes());
    for byte in cell.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}
