//! Local parts that are functions, and people whose names look like one.

use super::*;

#[test]
fn roles_are_functions() {
    for role in [
        "info",
        "INFO",
        "postmaster",
        "no-reply",
        "sales-team",
        "info.de",
        "support2",
        "info+web",
        "buchhaltung",
        "vertrieb",
        "comptabilite",
        "ventas",
        "atencionalcliente",
        "segreteria",
        "amministrazione",
        "atendimento",
        "biuro",
        "ksiegowosc",
        "klantenservice",
        "team.sales",
        "customer_service",
        "hr",
        "de.info",
        "post.nl",
        "sales.e.marketing",
        "mailer-daemon",
        "kontakt-at",
    ] {
        assert!(lists().role(role), "{role}");
    }
}

#[test]
fn people_are_no_roles() {
    for person in [
        "alexa",
        "dean",
        "paris",
        "sydney",
        "grace",
        "john.sales.smith",
        "info.smith",
        "mark",
        "bill",
        "it77x",
        "hr1",
        "john.de",
        "anna",
        "j.team",
        "art",
        "hope",
        "infoman",
        "",
        "+info",
        "salesman1984",
        "chris.info.jones",
        "dane",
        "jiwon",
        "insa",
        "lekha",
        "somu",
        "jing.li",
        "mali",
        "lon",
        "ira",
        "page",
        "i.post",
        "y.press",
        "i.post+news",
        "anna.post",
        "press_y",
        "e.info",
    ] {
        assert!(!lists().role(person), "{person}");
    }
}

/// Văn Phong, Cai Wu, Jae-mu, Kadri: a function in one tongue, a person in the same or another.
#[test]
fn words_of_offices_that_are_names_too_are_people() {
    let people = "vanphong tuvan kassa keiri vanthu baogia dingdan yewu caiwu renshi wuliu yunwei yunying zhaosheng xingzheng \
                  jiaowu xuexiao qiantai shangwu jaemu chaeyong gyeongri kyungri kadri kita basin chuna rodo priem";
    for person in people.split(' ') {
        assert!(!lists().role(person), "{person}");
    }
}

#[test]
fn roles_of_firms_that_write_their_language_in_latin_letters() {
    for role in [
        "kefu",
        "xiaoshou",
        "caiwubu",
        "renshibu",
        "eigyo",
        "soumu",
        "jinji",
        "yeongeop",
        "mabiaat",
        "poshtibani",
        "mechirot",
        "prodazhi",
        "otdel-kadrov",
        "buhgalteria",
        "zamovlennya",
        "sekretariat",
        "rechnung",
        "muhasebe",
        "satis",
        "vanzari",
        "poliseis",
        "racunovodstvo",
        "ugyfelszolgalat",
        "laskutus",
        "raamatupidamine",
        "pardavimai",
        "penjualan",
        "ketoan",
    ] {
        assert!(lists().role(role), "{role}");
    }
}
