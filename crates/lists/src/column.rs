//! Detects the address column and the separator.

mod names;
mod others;
mod shape;

use std::cmp::Reverse;

use probity_mail::address::{bare_address, is_blank};

use self::names::{NAMES, is_title, simple};
use self::shape::unwrapped;
use super::split::{Dialect, Eol, Splitter, ends_half, fields, is_torn, literal_fields, unquote};

pub(crate) use self::names::is_name;
pub use self::others::OtherAddresses;
pub use self::shape::{TITLES_MAX, titles};

/// Candidate separators, likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Records examined at the beginning, and cells of them.
const RECORDS: usize = 200;
const CELLS: usize = 1 << 16;
/// Cells read of a record, as many as a spreadsheet program allows: a hostile record has a million.
const ROW_CELLS: usize = 1 << 14;

/// Reason why no address column was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoColumn {
    /// No column looks like addresses. With the first row.
    Unlike(Vec<String>),
    /// The requested column does not exist. With its name and the first row.
    Missing(String, Vec<String>),
}

/// First records of an input, as fields.
#[expect(clippy::struct_excessive_bools, reason = "each is a finding about the records")]
#[derive(Debug)]
pub struct Sample {
    pub dialect: Dialect,
    /// Rows that are not blank, without titles.
    pub rows: Vec<Vec<String>>,
    /// Number of titles above the header.
    pub titles: usize,
    /// Whether each record is one quoted cell that has a whole row, as in a spreadsheet saved twice.
    pub is_wrapped: bool,
    /// Whether these rows have different numbers of cells, so that nobody can say which is which.
    pub(crate) is_uneven: bool,
    /// Whether every field is in quotes.
    pub is_quoted: bool,
    /// Whether some rows are all in quotes, and no quote is part of a text.
    pub has_quotes: bool,
}

impl Sample {
    /// Reads the beginning of a CSV input with the likeliest separator.
    pub fn read(head: &[u8]) -> Self {
        let escapes = memchr::memmem::find(head, b"\\\"").is_some();
        let dialects = DELIMITERS
            .iter()
            .flat_map(|delimiter| [false, true].map(|backslash| Dialect { delimiter: *delimiter, backslash }));
        let read =
            dialects.filter(|dialect| escapes || !dialect.backslash).map(|dialect| DialectTrial::of(head, dialect));
        // Of equals, the last one counts.
        let best = read.rev().max_by_key(DialectTrial::rank).filter(DialectTrial::has_columns);
        best.map_or_else(|| unwrapped(head).unwrap_or_else(|| Self::separated(head, b',')), Self::of_trial)
    }

    /// Reads the beginning of a CSV input with a separator that is known.
    pub fn separated(head: &[u8], delimiter: u8) -> Self {
        Self::of_trial(DialectTrial::of(head, Dialect::separated(delimiter)))
    }

    fn of_trial(trial: DialectTrial) -> Self {
        let DialectTrial { dialect, mut rows, quoted, torn, .. } = trial;
        let titles = titles(&rows);
        rows.drain(..titles);
        let is_quoted = quoted[titles..].iter().all(|quoted| *quoted);
        let has_quotes = torn == 0 && quoted.contains(&true);
        Self { dialect, titles, is_quoted, has_quotes, ..Self::of_rows(rows) }
    }

    /// A sample of rows already read.
    pub fn of_rows(rows: Vec<Vec<String>>) -> Self {
        let dialect = Dialect::separated(b',');
        let (is_wrapped, is_uneven, is_quoted, has_quotes) = (false, false, false, false);
        Self { dialect, rows, titles: 0, is_wrapped, is_uneven, is_quoted, has_quotes }
    }

    /// Separators that most rows have; `None` if there are no rows.
    pub(crate) fn separators(&self) -> Option<usize> {
        if self.is_wrapped {
            return Some(0);
        }
        commonest_width(&self.rows).map(|(_, width)| width.saturating_sub(1))
    }

    /// Whether most rows have several columns.
    pub fn has_columns(&self) -> bool {
        let several = self.rows.iter().filter(|row| row.len() > 1).count();
        several * 10 >= self.rows.len() * 9 && several > 0
    }

    /// Whether the first row names an address column, or is the title of a single one.
    pub fn is_named(&self) -> bool {
        let Some((first, rows)) = self.rows.split_first() else { return false };
        let heads = |cell: &String| is_title(cell) && rows.iter().flatten().any(|cell| is_address(cell));
        first.iter().any(|cell| is_name(cell)) || matches!(&first[..], [cell] if heads(cell))
    }

    /// The address column, counted from 0, and whether the first row is a header. A name decides if its column
    /// has addresses, or if no column has any.
    ///
    /// # Errors
    /// [`NoColumn`] if no column qualifies.
    pub fn column(&self, wanted: Option<&str>, no_header: bool) -> Result<(usize, bool), NoColumn> {
        let Some(first) = self.rows.first() else { return Ok((0, false)) };
        if let Some(wanted) = wanted {
            return named_column(wanted, first, no_header);
        }
        let by_content = self.fullest(looks_like_address).or_else(|| self.fullest(|cell| cell.contains('@')));
        let header = !no_header && is_header(first) && (first.len() > 1 || self.is_named());
        if header {
            let named = |name: &&str| first.iter().position(|cell| simple(cell) == *name);
            let mut found = NAMES.iter().filter_map(named);
            let fits = |column: &usize| by_content.is_none() || self.hits(*column, looks_like_address) > 0;
            if let Some(column) = found.find(fits) {
                return Ok((column, true));
            }
        }
        if let Some(column) = by_content {
            return Ok((column, header));
        }
        if first.len() == 1 {
            return Ok((0, false));
        }
        Err(NoColumn::Unlike(first.clone()))
    }

    /// Number of addresses in the column that has the most.
    pub fn addresses(&self) -> usize {
        self.fullest(looks_like_address).map_or(0, |column| self.hits(column, looks_like_address))
    }

    /// Number of cells of a column that look like something.
    fn hits(&self, column: usize, like: impl Fn(&str) -> bool) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| like(cell)).count()
    }

    /// The column with the most cells that look like something.
    fn fullest(&self, like: impl Fn(&str) -> bool) -> Option<usize> {
        let width = self.rows.iter().map(Vec::len).max()?.min(CELLS);
        let best = (0..width).rev().max_by_key(|column| self.hits(*column, &like))?;
        (self.hits(best, &like) > 0).then_some(best)
    }
}

/// The requested column, by its name or its number from 1.
fn named_column(wanted: &str, first: &[String], no_header: bool) -> Result<(usize, bool), NoColumn> {
    let header = !no_header && is_header(first);
    let same = |cell: &String| trimmed(cell).eq_ignore_ascii_case(trimmed(wanted));
    if let Some(column) = first.iter().position(same).filter(|_| header) {
        return Ok((column, true));
    }
    match wanted.parse::<usize>() {
        Ok(number) if (1..=first.len()).contains(&number) => Ok((number - 1, header)),
        _ => Err(NoColumn::Missing(wanted.to_owned(), first.to_vec())),
    }
}

/// First records, read in one dialect.
struct DialectTrial {
    dialect: Dialect,
    rows: Vec<Vec<String>>,
    /// Rows of which a cell is exactly an address or the name of an address column.
    telling: usize,
    /// Records that no program would have written in this dialect: a quote begins a field and does not end it, or the other way
    /// round.
    torn: usize,
    /// Whether each field of a row is in quotes, by rows.
    quoted: Vec<bool>,
}

impl DialectTrial {
    /// Reads the beginning, and again where the first row, which may be a title, has other separators than most.
    fn of(head: &[u8], dialect: Dialect) -> Self {
        let trial = Self::read(head, Splitter::new(Some(dialect)), dialect);
        match commonest_width(&trial.rows) {
            Some((_, width)) if trial.rows[0].len() != width => {
                Self::read(head, Splitter::of_rows(Some(dialect), Some(width - 1)), dialect)
            }
            _ => trial,
        }
    }

    fn read(head: &[u8], mut splitter: Splitter, dialect: Dialect) -> Self {
        splitter.text().extend_from_slice(head);
        splitter.end();
        let mut trial = Self { dialect, rows: Vec::new(), telling: 0, torn: 0, quoted: Vec::new() };
        // The last record of the beginning may be truncated, which is harmless here; an open quote ends the scan.
        let mut count = 0;
        while trial.rows.len() < RECORDS
            && count < CELLS
            && let Ok(Some(record)) = splitter.next_record()
        {
            let bytes = splitter.bytes(&record);
            let cells = cells(bytes, dialect, record.stray);
            if cells.iter().all(|cell| trimmed(cell).is_empty()) {
                continue;
            }
            let is_torn = is_torn(bytes, dialect) || fields(bytes, dialect).any(ends_half);
            count += cells.len();
            // The last record of the beginning may end behind a separator.
            let is_cut = record.end == Eol::End && !trial.quoted.is_empty();
            trial.quoted.push(is_cut || fields(bytes, dialect).take(ROW_CELLS).all(|field| field.starts_with(b"\"")));
            let is_first = trial.rows.is_empty();
            let tells = cells.iter().any(|cell| is_address(cell) || (is_first && is_name(cell)));
            trial.telling += usize::from(tells && !is_torn);
            trial.torn += usize::from(is_torn);
            trial.rows.push(cells);
        }
        trial
    }

    /// Likelihood. A separator with which every row is regular is one, whatever cells another one would make.
    fn rank(&self) -> (bool, usize, (usize, usize), Reverse<usize>) {
        let regularity = self.regularity();
        (regularity.0 == 100, self.told(), regularity, Reverse(self.torn))
    }

    /// Rows that tell of the separator: none if most rows are neither cut alike nor those of a table, as then it is within cells.
    fn told(&self) -> usize {
        if self.regularity().0 > 50 || self.is_table() { self.telling } else { 0 }
    }

    /// Whether rows of any length have columns: the first one names them, or nine of ten have one address, in the same place.
    fn is_table(&self) -> bool {
        let Some((first, rows)) = self.rows.split_first() else { return false };
        let named = first.len() > 1 && is_header(first);
        if named && first.iter().any(|cell| is_name(cell)) {
            return true;
        }
        let rows = if named { rows } else { &self.rows };
        let place = |row: &Vec<String>| {
            let mut places = (0..row.len()).filter(|at| is_address(&row[*at]));
            places.next().filter(|_| places.next().is_none() && row.len() > 1)
        };
        let mut places: Vec<usize> = rows.iter().filter_map(place).collect();
        places.sort_unstable();
        let most = places.chunk_by(|a, b| a == b).map(<[usize]>::len).max().unwrap_or(0);
        most > 1 && most * 10 >= rows.len() * 9
    }

    /// The percentage of records with the most common number of fields, and that number; 0 for one column.
    fn regularity(&self) -> (usize, usize) {
        match commonest_width(&self.rows) {
            Some((count, width)) if width > 1 => (count.saturating_sub(self.torn) * 100 / self.rows.len(), width),
            _ => (0, 0),
        }
    }

    /// Whether the separator is none by chance.
    fn has_columns(&self) -> bool {
        self.told() > 0 || self.regularity().0 >= 60
    }
}

/// How many rows have the most common number of cells, and that number.
fn commonest_width(rows: &[Vec<String>]) -> Option<(usize, usize)> {
    let mut widths: Vec<usize> = rows.iter().map(Vec::len).collect();
    widths.sort_unstable();
    widths.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).max()
}

/// Texts of a record's fields.
pub(crate) fn cells(record: &[u8], dialect: Dialect, stray: bool) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if stray {
        return literal_fields(record, dialect.delimiter, ROW_CELLS).map(text).collect();
    }
    fields(record, dialect).take(ROW_CELLS).map(|raw| text(&unquote(raw, dialect))).collect()
}

/// Whether a row names columns: no cell is an address. A sentence around a sample is none: `Your email (e.g. name@company.com)`.
fn is_header(row: &[String]) -> bool {
    let samples = |cell: &str| {
        let before = cell.split('@').next().unwrap_or_default();
        let words = before.split(|c: char| !c.is_alphanumeric() && c != '-');
        words.map(simple).any(|word| NAMES.contains(&word.as_str()))
    };
    !row.iter().any(|cell| is_address(cell) || (looks_like_address(cell) && !samples(cell)))
}

/// A text without blanks, invisible characters and control characters at its ends: files end with some.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_control() || is_blank(c))
}

/// A rough check, only for finding columns: some text, an at sign, and text with a dot or in another script.
pub(crate) fn looks_like_address(cell: &str) -> bool {
    bare_address(trimmed(cell)).rsplit_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && domain.len() > 2 && (domain.contains('.') || !domain.is_ascii()) && !domain.contains(' ')
    })
}

/// Whether a cell is exactly one address, perhaps behind a name, and no separator is left in it.
pub(crate) fn is_address(cell: &str) -> bool {
    let cell = bare_address(trimmed(cell));
    let inside = cell.strip_prefix('@').is_none() && cell.strip_suffix('@').is_none();
    inside && cell.matches('@').count() == 1 && !cell.contains([' ', ',', ';', '\t', '|', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(text: &str, wanted: Option<&str>) -> Result<(u8, usize, bool), NoColumn> {
        let sample = Sample::read(text.as_bytes());
        sample.column(wanted, false).map(|(column, header)| (sample.dialect.delimiter, column, header))
    }

    #[test]
    fn columns_are_found_by_name_and_by_content() {
        type Case = (&'static str, Option<&'static str>, (u8, usize, bool));
        let table: &[Case] = &[
            ("email\na@x.org\n", None, (b',', 0, true)),
            ("id,E-Mail,name\n1,a@x.org,A\n", None, (b',', 1, true)),
            ("id;name;Email Address\n1;A, B;a@x.org\n2;C;b@x.org\n", None, (b';', 2, true)),
            ("id\tmail\n1\ta@x.org\n", None, (b'\t', 1, true)),
            ("id|who\n1|a@x.org\n2|b@x.org\n", None, (b'|', 1, true)),
            ("1,a@x.org\n2,b@x.org\n", None, (b',', 1, false)),
            ("a@x.org\nb@x.org\n", None, (b',', 0, false)),
            ("Postal address,Contact\n1 Road,a@x.org\n2 Road,b@x.org\n", None, (b',', 1, true)),
            ("email,backup\na@x.org,b@x.org\n", Some("backup"), (b',', 1, true)),
            ("email,backup\na@x.org,b@x.org\n", Some("2"), (b',', 1, true)),
            ("\"email\",\"a;b;c\"\n\"a@x.org\",\"d;e;f\"\n", None, (b',', 0, true)),
            ("nonsense\nmore\n", None, (b',', 0, false)),
            ("Kunde;E-Mail-Adresse;Ort\nA;a@x.org;Köln\n", None, (b';', 1, true)),
            ("Nom;Prénom;Adresse électronique\nA;B;a@x.fr\n", None, (b';', 2, true)),
            ("Nombre;Dirección de correo electrónico\nA;a@x.es\n", None, (b';', 1, true)),
            ("имя,Электронная почта\nА,a@x.org\n", None, (b',', 1, true)),
            ("First Name,E-mail 1 - Value\nA,a@x.org\n", None, (b',', 1, true)),
            // A misleading name: whether mail is permitted, and where it goes.
            ("email,contact\nyes,a@x.org\nno,b@x.org\n", None, (b',', 1, true)),
            ("email,name\n,A\n", None, (b',', 0, true)),
            // A sample of an address in a header, and separators in other cells.
            ("When,Your email (e.g. name@company.com),Size\n1,a@x.org,M\n", None, (b',', 1, true)),
            ("a@x.org;Smith, Anna, Dr\n", None, (b';', 0, false)),
            ("Ann,ann@localhost\nBob,b@x.org\n", None, (b',', 1, false)),
            // A title above the header, and one above a single column.
            ("May\nemail\na@x.org\n", None, (b',', 0, true)),
            ("May 2024, all\nid;name;email\n1;Ann;a@x.org\n", None, (b';', 2, true)),
            // A spreadsheet saved twice.
            ("\"Name,Email\"\n\"Ann,a@x.org\"\n\"Bob Roe,b@x.org\"\n", None, (b',', 1, true)),
            ("\"1;\"\"Ann; B\"\";a@x.org\"\n\"2;\"\"Cid\"\";c@x.org\"\n", None, (b';', 2, false)),
            ("Contacts of May;;\r\n;;\r\nName;Email;City\r\nAnn;a@x.org;Bonn\r\n", None, (b';', 1, true)),
            // Separators within cells.
            ("email\na|b@x.org\nc@x.org\n", None, (b',', 0, true)),
            ("email\na@x.org;b@x.org\nc@x.org\n", None, (b',', 0, true)),
            ("id,email\n1,a@x.org;b@x.org\n2,c@x.org\n", None, (b',', 1, true)),
            ("id,email\n1,a@x.org;b@x.org\n2,c@x.org;d@x.org\n", None, (b',', 1, true)),
            ("email;amount\na@x.org;1,5\nb@x.org;2,5\n", None, (b';', 0, true)),
            // Rows of different lengths.
            ("Name;E-Mail;X\nAnn;a@x.org\nBob;b@x.org;1\nCid;c@x.org;1;2\n", None, (b';', 1, true)),
            ("1|a@x.org|x\n2|b@x.org|y|z\n3|c@x.org|x|y|z\n", None, (b'|', 1, false)),
            // Titles above a single column.
            ("Kontakt\na@x.org\n", None, (b',', 0, true)),
            ("E-Mail 2\na@x.org\n", None, (b',', 0, true)),
            ("Email Address (required)\na@x.org\n", None, (b',', 0, true)),
            ("hans\na@x.org\n", None, (b',', 0, false)),
            ("Your email (e.g. name@company.com)\na@x.org\n", None, (b',', 0, true)),
            ("\"Ihre E-Mail-Adresse, z. B. name@firma.de\"\na@x.org\n", None, (b',', 0, true)),
            ("Email (name@company.com)\na@x.org\n", None, (b',', 0, true)),
            ("Mail b@x.org\na@x.org\n", None, (b',', 0, false)),
            // A title with an address.
            ("Export for a@x.org, 2024-05-01\nName,Email\nAnn,a@x.org\n", None, (b',', 1, true)),
            // Quotes with backslashes, and a header behind two marks.
            ("name,email\n\"Ann \\\"A, B\\\" Roe\",a@x.org\n", None, (b',', 1, true)),
            ("\u{feff}email,n\na@x.org,1\n", Some("email"), (b',', 0, true)),
        ];
        for (text, wanted, expected) in table {
            assert_eq!(column(text, *wanted).as_ref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn a_record_of_separators_has_few_cells() {
        let record = b",".repeat(1 << 20);
        for stray in [false, true] {
            assert_eq!(cells(&record, Dialect::separated(b','), stray).len(), ROW_CELLS);
        }
    }

    #[test]
    fn a_missing_column_is_answered_with_the_first_row() {
        let first = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(column("id,name\n1,A\n2,B\n", None), Err(NoColumn::Unlike(first("id,name"))));
        for wanted in ["mails", "3", "0"] {
            let missing = NoColumn::Missing(wanted.to_owned(), first("id,email"));
            assert_eq!(column("id,email\n1,a@x.org\n", Some(wanted)), Err(missing));
        }
    }
}
