//! Endings of domains: which are real, and which real one a wrong one was meant to be.
//!
//! An ending is the public suffix (`com`, `co.uk`). Whether one exists is asked of the public suffix list. A wrong one is
//! put right only when one slip leads to an ending that many people use. One that exists is somebody's, even if it is more often a
//! slip (`cm`, `om`, `ne`, `et`): it is put right only behind the name of a popular domain.

use super::cost::{FAR, ONE_EDIT, slip};

/// Endings that slips are put right to, the most used first: at equal price the earlier one wins.
const COMMON: [&str; 40] = [
    "com", "net", "org", "de", "co.uk", "fr", "it", "com.br", "co.jp", "edu", "ru", "es", "nl", "pl", "com.au", "ca",
    "in", "info", "co.in", "ch", "be", "at", "se", "dk", "no", "cz", "jp", "eu", "gov", "com.mx", "com.ar", "co.nz",
    "co.za", "com.tr", "co.kr", "biz", "org.uk", "ac.uk", "net.au", "com.tw",
];
/// Real endings that are mostly slips of another one, with the price of reading them so.
const DOUBTFUL: [(&str, &str, u32); 12] = [
    ("co", "com", 50),
    ("cm", "com", 30),
    ("om", "com", 40),
    ("net", "com", 100),
    ("org", "com", 100),
    ("ne", "net", 40),
    ("et", "net", 40),
    ("com", "net", 100),
    ("org", "net", 100),
    ("uk", "co.uk", 50),
    ("net", "org", 100),
    ("com", "org", 100),
];
/// Second-level words that belong to the ending of a country's domain.
const SECOND_LEVEL: [&str; 8] = ["co", "com", "net", "org", "ac", "gov", "edu", "or"];
/// Endings of two parts that slips are put right to.
const TWO_PARTS: [&str; 33] = [
    "co.uk", "com.br", "com.au", "co.jp", "co.in", "com.mx", "com.ar", "co.nz", "co.za", "com.tr", "co.kr", "com.tw",
    "com.co", "com.cn", "com.hk", "com.sg", "com.my", "co.id", "co.th", "com.ph", "com.vn", "com.pe", "com.ve",
    "com.ua", "co.il", "com.eg", "com.sa", "com.pk", "com.ng", "co.ke", "com.ec", "com.uy", "com.pl",
];
/// The two parts without their dot that are no end of a word (`bitcoin`).
const JOINED: [(&str, &str); 9] = [
    ("couk", "co.uk"),
    ("combr", "com.br"),
    ("comau", "com.au"),
    ("cojp", "co.jp"),
    ("commx", "com.mx"),
    ("conz", "co.nz"),
    ("coza", "co.za"),
    ("comtr", "com.tr"),
    ("comtw", "com.tw"),
];
/// What an ending that was cut off after its first letter was most likely meant to be, behind any name.
const CUT_OFF: [(&str, &str); 3] = [("c", "com"), ("n", "net"), ("o", "org")];
/// Price of an ending that was cut off; `.com` is the likeliest.
const CUT_OFF_COM: u32 = 40;
const CUT_OFF_OTHER: u32 = 60;
/// What the first of two parts may cost: a key beside, a swap, a letter too few.
const FIRST_PART_EDIT: u32 = 80;
/// A swap or neighbouring key: what a two-letter ending is worth, where one edit leads to many countries.
const SMALL_EDIT: u32 = 70;

/// A domain cut before its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut<'d> {
    /// Everything before the ending; has a dot if there is a subdomain.
    pub(super) name: &'d str,
    /// The ending.
    pub(super) ending: &'d str,
    /// The public suffix list has it.
    pub(super) real: bool,
}

/// Cuts a domain; `None` without a dot or without a name.
pub(super) fn cut(domain: &str) -> Option<Cut<'_>> {
    let suffix = psl::suffix(domain.as_bytes())?;
    let real = suffix.is_known();
    let mut ending = std::str::from_utf8(suffix.as_bytes()).ok()?;
    if !real {
        ending = wrong_ending(domain, ending);
    }
    let name = domain.strip_suffix(ending)?.strip_suffix('.')?;
    (!name.is_empty()).then_some(Cut { name, ending, real })
}

/// With an unknown last label, `co.` before it belongs to the ending (`example.co.lp`).
fn wrong_ending<'d>(domain: &'d str, last: &'d str) -> &'d str {
    let Some(rest) = domain.strip_suffix(last).and_then(|rest| rest.strip_suffix('.')) else {
        return last;
    };
    let second = rest.rsplit('.').next().unwrap_or(rest);
    if second.len() < rest.len() && SECOND_LEVEL.contains(&second) && last.len() <= 3 {
        &domain[rest.len() - second.len()..]
    } else {
        last
    }
}

/// Whether one ending is `.com`, `.net` or `.org` and the other another of them.
pub(super) fn is_other_kind(typed: &str, meant: &str) -> bool {
    const KINDS: [&str; 3] = ["com", "net", "org"];
    typed != meant && KINDS.contains(&typed) && KINDS.contains(&meant)
}

/// Real endings that may be slips of another.
pub(super) fn doubtful_endings() -> impl Iterator<Item = &'static str> {
    DOUBTFUL.iter().map(|slip| slip.0)
}

/// Price of reading a typed ending as `meant`; [`FAR`] for a real one that is no usual slip.
pub(super) fn price(typed: &str, real: bool, meant: &str) -> u32 {
    if typed == meant {
        return 0;
    }
    if real {
        return DOUBTFUL.iter().find(|(from, to, _)| *from == typed && *to == meant).map_or(FAR, |slip| slip.2);
    }
    let bare = typed.trim_end_matches(|c: char| c.is_ascii_digit());
    if !bare.is_empty() && bare != typed {
        return slip(bare.as_bytes(), meant.as_bytes()).saturating_add(30);
    }
    if is_joined(typed, meant) {
        return 50;
    }
    if typed.len() == 1 && meant.starts_with(typed) {
        return if meant == "com" { CUT_OFF_COM } else { CUT_OFF_OTHER };
    }
    slip(typed.as_bytes(), meant.as_bytes())
}

/// `couk` for `co.uk`.
fn is_joined(typed: &str, meant: &str) -> bool {
    meant.len() == typed.len() + 1
        && meant.split_once('.').is_some_and(|(second, country)| typed.strip_prefix(second) == Some(country))
}

/// The domain with a wrong ending put right, for a name that no list knows.
pub(super) fn corrected_ending(domain: &str, cut: Cut<'_>) -> Option<String> {
    if let Some(fixed) =
        moved_dot(domain).or_else(|| repeated(domain)).or_else(|| second_level(domain)).or_else(|| first_part(domain))
    {
        return Some(fixed);
    }
    // With a subdomain the name may be anything; nothing is guessed.
    if cut.real || cut.name.contains('.') {
        return None;
    }
    Some(format!("{}.{}", cut.name, nearest(cut.ending)?))
}

fn nearest(ending: &str) -> Option<&'static str> {
    if let Some((_, meant)) = CUT_OFF.iter().find(|(cut_off, _)| *cut_off == ending) {
        return Some(meant);
    }
    if let Some(meant) = joined_country(ending) {
        return Some(meant);
    }
    let mut best: Option<(u32, &'static str)> = None;
    let mut ambiguous = false;
    for meant in COMMON {
        let price = price(ending, false, meant);
        let limit = if meant.len() == 2 { SMALL_EDIT } else { ONE_EDIT };
        if price > limit {
            continue;
        }
        match best {
            Some((lowest, other)) if price == lowest => {
                ambiguous |= meant.len() == 2 && other.len() == 2;
            }
            Some((lowest, _)) if price > lowest => {}
            _ => {
                best = Some((price, meant));
                ambiguous = false;
            }
        }
    }
    best.filter(|_| !ambiguous).map(|(_, meant)| meant)
}

/// `cojp` and `cobr`: the second level and the country without their dot; the country decides between `co` and `com`.
fn joined_country(ending: &str) -> Option<&'static str> {
    let country = SECOND_LEVEL.iter().find_map(|second| ending.strip_prefix(second)).filter(|c| c.len() == 2)?;
    let of_country = |meant: &&&str| meant.split_once('.').is_some_and(|(_, last)| last == country);
    let exact = COMMON.iter().filter(of_country).find(|meant| is_joined(ending, meant));
    exact.or_else(|| COMMON.iter().filter(of_country).find(|meant| meant.starts_with("co"))).copied()
}

/// `exampleo.rg`: the dot slipped one letter to the right. There is no `.rg`, while `.om` and `.et` are countries.
fn moved_dot(domain: &str) -> Option<String> {
    let name = domain.strip_suffix("o.rg")?;
    (name.len() >= 3 && !name.contains('.')).then(|| format!("{name}.org"))
}

/// `example.com.com`.
fn repeated(domain: &str) -> Option<String> {
    let (rest, last) = domain.rsplit_once('.')?;
    let (name, second) = rest.rsplit_once('.')?;
    (second == last && COMMON.contains(&last) && !name.contains('.')).then(|| rest.to_owned())
}

/// `example.co.br`: this country's second level is called otherwise.
fn second_level(domain: &str) -> Option<String> {
    let (rest, country) = domain.rsplit_once('.')?;
    let (name, second) = rest.rsplit_once('.')?;
    let other = match second {
        "co" => "com",
        "com" => "co",
        _ => return None,
    };
    let wrong = !is_ending(&format!("{second}.{country}")) && is_ending(&format!("{other}.{country}"));
    // France has com.fr, and nobody means it.
    (country.len() == 2 && country != "fr" && wrong && !name.contains('.')).then(|| format!("{name}.{other}.{country}"))
}

/// `example.con.br` and `example.coo.uk`: a slip in the first of two parts.
fn first_part(domain: &str) -> Option<String> {
    let (rest, country) = domain.rsplit_once('.')?;
    let (name, first) = rest.rsplit_once('.')?;
    if country.len() != 2 || name.contains('.') || is_ending(&format!("{first}.{country}")) {
        return None;
    }
    let is_slip_of = |meant: &&&str| {
        meant
            .split_once('.')
            .is_some_and(|(right, of)| of == country && slip(first.as_bytes(), right.as_bytes()) <= FIRST_PART_EDIT)
    };
    TWO_PARTS.iter().find(is_slip_of).map(|meant| format!("{name}.{meant}"))
}

/// A public suffix of a registry (not of a company) as a whole?
pub(super) fn is_ending(text: &str) -> bool {
    psl::suffix(text.as_bytes())
        .is_some_and(|suffix| suffix.typ() == Some(psl::Type::Icann) && suffix.as_bytes() == text.as_bytes())
}

/// `exampleorg`: a domain without any dot whose last letters are a common ending.
pub(super) fn missing_dot(domain: &str) -> Option<String> {
    const ENDINGS: [&str; 4] = ["com", "net", "org", "edu"];
    if domain.contains('.') {
        return None;
    }
    let joined = JOINED.iter().map(|(joined, ending)| (*joined, *ending));
    let mut all = joined.chain(ENDINGS.iter().map(|ending| (*ending, *ending)));
    let (name, ending) = all.find_map(|(joined, ending)| Some((domain.strip_suffix(joined)?, ending)))?;
    (name.len() >= 3).then(|| format!("{name}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corrected_ending(domain: &str) -> Option<String> {
        super::corrected_ending(domain, cut(domain)?)
    }

    #[test]
    fn wrong_endings_are_put_right() {
        for (typed, meant) in [
            ("acme.con", "acme.com"),
            ("acme.cmo", "acme.com"),
            ("acme.comm", "acme.com"),
            ("acme.com2", "acme.com"),
            ("acme.nte", "acme.net"),
            ("acme.ogr", "acme.org"),
            ("acme.co.ik", "acme.co.uk"),
            ("acme.couk", "acme.co.uk"),
            ("acme.comau", "acme.com.au"),
            ("acme.co.mx", "acme.com.mx"),
            ("acmeo.rg", "acme.org"),
            ("acme.com.com", "acme.com"),
            ("acme.ifno", "acme.info"),
            ("acme.con.br", "acme.com.br"),
            ("acme.coo.uk", "acme.co.uk"),
            ("acme.con.au", "acme.com.au"),
            ("acme.cmo.tr", "acme.com.tr"),
            ("acme.cm.br", "acme.com.br"),
            ("acme.c", "acme.com"),
            ("acme.n", "acme.net"),
        ] {
            assert_eq!(corrected_ending(typed).as_deref(), Some(meant), "{typed}");
        }
    }

    #[test]
    fn real_and_doubtful_endings_stay() {
        for typed in [
            "acme.com",
            "acme.co",
            "acme.cm",
            "acme.om",
            "acme.ne",
            "acme.et",
            "acmec.om",
            "acmen.et",
            "acme.io",
            "acme.cn",
            "acme.co.uk",
            "acme.com.co",
            "mail.acme.cmo",
            "acme.museum",
            "acme.ne.jp",
            "mail.acme.con.br",
            "shop.acme.br",
            "acme.qqqq",
            "shop.acme.cm",
            "acme",
            "acme.dev",
            "acme.co.nz",
            "xn--acme.xn--p1ai",
        ] {
            assert_eq!(corrected_ending(typed), None, "{typed}");
        }
    }

    #[test]
    fn a_cut_knows_long_endings() {
        let cut = cut("shop.acme.co.uk").unwrap();
        assert_eq!((cut.name, cut.ending, cut.real), ("shop.acme", "co.uk", true));
        assert!(super::cut("com").is_none() && super::cut("").is_none());
    }

    #[test]
    fn a_missing_dot_is_put_before_the_ending() {
        assert_eq!(missing_dot("acmeorg").as_deref(), Some("acme.org"));
        assert_eq!(missing_dot("acmecouk").as_deref(), Some("acme.co.uk"));
        for text in ["bitcoin", "acme", "com", "ancom", "acme.com"] {
            assert_eq!(missing_dot(text), None, "{text}");
        }
    }
}
