//! Detects the address column and the separator.

use probity_mail::address::bare_address;

use super::split::{Splitter, fields, unquote};
use crate::encoding;

/// Candidate separators, likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Records examined at the beginning.
const RECORDS: usize = 200;
/// Names of address columns, in lower case without accents or punctuation, surest first.
const NAMES: &[&str] = &[
    "email",
    "emailaddress",
    "mail",
    "mailaddress",
    "emailaddresses",
    "emails",
    // German
    "emailadresse",
    "mailadresse",
    "emailadressen",
    // French
    "adresseemail",
    "adressemail",
    "adresseelectronique",
    "adressecourriel",
    "courriel",
    "courrielelectronique",
    // Spanish and Portuguese
    "correoelectronico",
    "correo",
    "direcciondecorreoelectronico",
    "direcciondecorreo",
    "direcciondeemail",
    "direccionemail",
    "enderecodeemail",
    "correioeletronico",
    // Italian, Dutch, Polish, Czech, Nordic languages, Turkish
    "indirizzoemail",
    "postaelettronica",
    "emailadres",
    "adresemail",
    "emailovaadresa",
    "epost",
    "epostadress",
    "epostadresse",
    "sahkoposti",
    "eposta",
    // Russian, Chinese, Japanese, Korean
    "электроннаяпочта",
    "почта",
    "адресэлектроннойпочты",
    "邮箱",
    "电子邮件",
    "电子邮箱",
    "メールアドレス",
    "이메일",
    // Names that programs export.
    "email1value",
    "email1",
    "useremail",
    "contactemail",
    "customeremail",
    "subscriberemail",
    "primaryemail",
    "workemail",
    "businessemail",
    "privateemail",
];

/// Accented letters, each with its base letter.
const ACCENTS: &[(&str, char)] = &[
    ("àáâãäåą", 'a'),
    ("çćč", 'c'),
    ("èéêëęě", 'e'),
    ("ìíîïı", 'i'),
    ("ñńň", 'n'),
    ("òóôõöø", 'o'),
    ("ùúûüů", 'u'),
    ("ýÿ", 'y'),
];

/// Reason why no address column was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoColumn {
    /// No column looks like addresses. With the first row.
    Unlike(Vec<String>),
    /// The requested column does not exist. With its name and the first row.
    Missing(String, Vec<String>),
}

/// First records of an input, as fields.
#[derive(Debug)]
pub struct Sample {
    pub delimiter: u8,
    pub rows: Vec<Vec<String>>,
}

impl Sample {
    /// Reads the beginning of a CSV input with the likeliest separator.
    pub fn read(head: &[u8], end: u8) -> Self {
        let scored = DELIMITERS.iter().rev().map(|delimiter| (regularity(head, *delimiter, end), *delimiter));
        let best = scored.max().filter(|((share, _), _)| *share >= 60).map_or(b',', |(_, delimiter)| delimiter);
        Self { delimiter: best, rows: rows(head, best, end).0 }
    }

    /// Reads the beginning of a CSV input with a separator that is known.
    pub fn separated(head: &[u8], delimiter: u8, end: u8) -> Self {
        Self { delimiter, rows: rows(head, delimiter, end).0 }
    }

    /// A sample of rows already read.
    pub fn of_rows(rows: Vec<Vec<String>>) -> Self {
        Self { delimiter: b',', rows }
    }

    /// Whether most rows have several columns.
    pub fn has_columns(&self) -> bool {
        let several = self.rows.iter().filter(|row| row.len() > 1).count();
        several * 10 >= self.rows.len() * 9 && several > 0
    }

    /// Whether the first row names an address column.
    pub fn is_named(&self) -> bool {
        self.rows.first().is_some_and(|row| row.iter().any(|cell| NAMES.contains(&simple(cell).as_str())))
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
        let by_content = self.fullest();
        let header = !no_header && !first.iter().any(|cell| looks_like_address(cell));
        if header {
            let named = |name: &&str| first.iter().position(|cell| simple(cell) == *name);
            let mut found = NAMES.iter().filter_map(named);
            let fits = |column: &usize| by_content.is_none() || self.hits(*column) > 0;
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
        self.fullest().map_or(0, |column| self.hits(column))
    }

    /// Number of cells of a column that look like addresses.
    fn hits(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| looks_like_address(cell)).count()
    }

    /// The column with the most cells that look like addresses.
    fn fullest(&self) -> Option<usize> {
        let width = self.rows.iter().map(Vec::len).max()?;
        let best = (0..width).rev().max_by_key(|column| self.hits(*column))?;
        (self.hits(best) > 0).then_some(best)
    }
}

/// The requested column, by its name or its number from 1.
fn named_column(wanted: &str, first: &[String], no_header: bool) -> Result<(usize, bool), NoColumn> {
    let header = !no_header && !first.iter().any(|cell| looks_like_address(cell));
    let same = |cell: &String| cell.trim().eq_ignore_ascii_case(wanted.trim());
    if let Some(column) = first.iter().position(same).filter(|_| header) {
        return Ok((column, true));
    }
    match wanted.parse::<usize>() {
        Ok(number) if (1..=first.len()).contains(&number) => Ok((number - 1, header)),
        _ => Err(NoColumn::Missing(wanted.to_owned(), first.to_vec())),
    }
}

/// The first records as fields, and the number that no program would have written with this separator: a quote begins a field and
/// does not end it, or the other way round.
fn rows(head: &[u8], delimiter: u8, end: u8) -> (Vec<Vec<String>>, usize) {
    let mut splitter = Splitter::new(head, Some(delimiter), end);
    let (mut record, mut rows, mut torn) = (Vec::new(), Vec::new(), 0);
    // The last record of the beginning may be truncated, which is harmless here; an open quote ends the scan.
    while rows.len() < RECORDS
        && let Ok(Some(_)) = splitter.next(&mut record)
    {
        if !record.is_empty() {
            let quotes = |raw: &[u8]| raw.len() > 1 && raw.starts_with(b"\"") != raw.ends_with(b"\"");
            torn += usize::from(fields(&record, delimiter).any(quotes));
            let cells = fields(&record, delimiter).map(|raw| encoding::text(&unquote(raw)).0.into_owned());
            rows.push(cells.collect());
        }
    }
    (rows, torn)
}

/// The percentage of records with the most common number of fields, and that number; 0 for one column.
fn regularity(head: &[u8], delimiter: u8, end: u8) -> (usize, usize) {
    let (rows, torn) = rows(head, delimiter, end);
    let mut widths: Vec<usize> = rows.iter().map(Vec::len).collect();
    widths.sort_unstable();
    let runs = widths.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0]));
    match runs.max() {
        Some((count, width)) if width > 1 => (count.saturating_sub(torn) * 100 / rows.len(), width),
        _ => (0, 0),
    }
}

/// A name in lower case without accents or punctuation.
fn simple(cell: &str) -> String {
    let plain = |c: char| ACCENTS.iter().find(|(accented, _)| accented.contains(c)).map_or(c, |(_, plain)| *plain);
    let small = cell.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    small.map(plain).collect()
}

/// A rough check, only for finding columns: some text, an at sign, and text with a dot or in another script.
pub(crate) fn looks_like_address(cell: &str) -> bool {
    bare_address(cell).rsplit_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && domain.len() > 2 && (domain.contains('.') || !domain.is_ascii()) && !domain.contains(' ')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(text: &str, wanted: Option<&str>) -> Result<(u8, usize, bool), NoColumn> {
        let sample = Sample::read(text.as_bytes(), b'\n');
        sample.column(wanted, false).map(|(column, header)| (sample.delimiter, column, header))
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
        ];
        for (text, wanted, expected) in table {
            assert_eq!(column(text, *wanted).as_ref(), Ok(expected), "{text:?}");
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
