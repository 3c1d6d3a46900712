//! Names of address columns, in the languages and programs that export them.

/// Names of address columns, in lower case without accents or punctuation, surest first.
pub(super) const NAMES: &[&str] = &[
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

/// Words of titles above a single column of addresses, in lower case without accents.
const TITLES: &[&str] = &[
    "address",
    "addresses",
    "contact",
    "contacts",
    "customers",
    "list",
    "name",
    "newsletter",
    "recipient",
    "recipients",
    "subscriber",
    "subscribers",
    "users",
    // German
    "abonnenten",
    "adresse",
    "adressen",
    "empfanger",
    "kontakt",
    "kontakte",
    "kunden",
    "liste",
    // French, Spanish, Italian, Portuguese
    "abonnes",
    "adresses",
    "clientes",
    "clienti",
    "clients",
    "contactos",
    "contatti",
    "contatos",
    "destinataires",
    "destinatarios",
    "direcciones",
    "nom",
    "nombre",
    // Russian, Chinese, Japanese, Korean
    "адрес",
    "контакт",
    "контакты",
    "邮件",
    "邮件地址",
    "联系人",
    "アドレス",
    "メール",
    "連絡先",
    "메일",
    "연락처",
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

/// A name in lower case without accents or punctuation.
pub(super) fn simple(cell: &str) -> String {
    let plain = |c: char| ACCENTS.iter().find(|(accented, _)| accented.contains(c)).map_or(c, |(_, plain)| *plain);
    let small = cell.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    small.map(plain).collect()
}

/// Whether a cell names an address column.
pub(crate) fn is_name(cell: &str) -> bool {
    NAMES.contains(&simple(cell).as_str())
}

/// Whether a cell is the title of a single column: it has the name of an address column among other words, or what else such lists
/// are called. Any other text may be meant as an address.
pub(super) fn is_title(cell: &str) -> bool {
    let (before, behind) = cell.split_once('@').unwrap_or((cell, ""));
    let mut words = before.split(|c: char| !c.is_alphanumeric() && c != '-').map(simple);
    if behind.is_empty() {
        return words.any(|word| NAMES.contains(&word.as_str()) || TITLES.contains(&word.as_str()));
    }
    // A sentence around a sample: `Your email (e.g. name@company.com)`.
    let is_sentence = before.contains(['(', '[', '\u{ff08}']) || before.split_whitespace().count() > 2;
    is_sentence && words.any(|word| NAMES.contains(&word.as_str()))
}
