//! Slips that are put right, domains that must be left alone, and that a suggestion is an address that is not suggested upon.
use super::*;
use proptest::prelude::*;

fn lists() -> &'static Lists {
    Lists::embedded()
}

#[test]
fn slips_of_popular_domains_are_put_right() {
    for (typed, meant) in [
        ("gmail.ocm", "gmail.com"),
        ("gamil.com", "gmail.com"),
        ("gmailcom.com", "gmailcom.com"),
        ("hotmial.com", "hotmail.com"),
        ("hotmail.vom", "hotmail.com"),
        ("yahoo.cim", "yahoo.com"),
        ("yaho.co.uk", "yahoo.co.uk"),
        ("outlok.com", "outlook.com"),
        ("outloook.com", "outlook.com"),
        ("icloud.om", "icloud.com"),
        ("gmail.co.uk", "gmail.com"),
        ("gmail123.com", "gmail.com"),
        ("www.gmail.com", "gmail.com"),
        ("gmail.com.com", "gmail.com"),
        ("wbe.de", "web.de"),
        ("grnail.com", "gmail.com"),
        ("gmai1.com", "gmail.com"),
        ("0utlook.com", "outlook.com"),
        ("gmail", "gmail.com"),
        ("gmailcom", "gmail.com"),
        ("webde", "web.de"),
        ("wanadoof.r", "wanadoo.fr"),
        ("gmail.c.om", "gmail.com"),
    ] {
        let got = lists().suggest_domain(typed).unwrap_or_else(|| typed.to_owned());
        assert_eq!(got, meant, "{typed}");
    }
}

#[test]
fn look_alikes_in_other_scripts_are_put_right() {
    for typed in ["gmaıl.com", "gmаil.com", "gmaïl.com"] {
        let ascii = idna::domain_to_ascii(typed).unwrap();
        assert_eq!(lists().suggest_domain(&ascii).as_deref(), Some("gmail.com"), "{typed} {ascii}");
    }
}

#[test]
fn real_domains_stay_as_they_are() {
    for domain in [
        "gmail.com",
        "ymail.com",
        "gmx.de",
        "gmx.fr",
        "mail.com",
        "email.com",
        "me.com",
        "live.co.uk",
        "hotmail.co.uk",
        "yahoo.com.br",
        "aon.com",
        "gm.com",
        "rocketmail.com",
        "mail.ru",
        "bk.ru",
        "ya.ru",
        "att.net",
        "msn.com",
        "web.de",
        "debian.org",
        "cloudflare.com",
        "163.com",
        "126.com",
        "t-online.de",
        "o2.pl",
        "wp.pl",
        "duck.com",
        "ozon.ru",
        "support.comcast.com",
        "mx.gmail.com",
        "example.io",
        "acme-widgets.com",
        "zeitung.de",
        "gm",
        "",
    ] {
        assert_eq!(lists().suggest_domain(domain), None, "{domain}");
    }
}

#[test]
fn text_that_is_no_address_is_repaired() {
    for (raw, meant) in [
        ("ann.@acme.org", Some("ann@acme.org")),
        (".ann@acme.org", Some("ann@acme.org")),
        ("ann..lee@acme.org", Some("ann.lee@acme.org")),
        ("ann@@acme.org", Some("ann@acme.org")),
        ("ann @ acme . org", Some("ann@acme.org")),
        ("ann@acme,org", Some("ann@acme.org")),
        ("ann@acme..org", Some("ann@acme.org")),
        ("ann@acme.org.", Some("ann@acme.org")),
        ("<ann@acme.org>", Some("ann@acme.org")),
        ("mailto:ann@acme.org", Some("ann@acme.org")),
        ("Ann Lee <ann@gmial.com>", Some("ann@gmail.com")),
        ("ann(at)gmail.com", Some("ann@gmail.com")),
        ("ann#gmail.com", Some("ann@gmail.com")),
        ("ann@gmail", Some("ann@gmail.com")),
        ("ann\u{200b}@gmail.com", Some("ann@gmail.com")),
        ("ann@acme.org", None),
        ("Ann@ACME.org", None),
        ("ann#acme.org", None),
        ("ann@gma", None),
        ("ann", None),
        ("@acme.org", None),
        ("", None),
    ] {
        assert_eq!(lists().suggest_text(raw).as_deref(), meant, "{raw:?}");
    }
}

#[test]
fn a_strange_local_part_is_written_quoted() {
    assert_eq!(lists().suggest("a \"b", "gmial.com").as_deref(), Some("\"a \\\"b\"@gmail.com"));
}

proptest! {
    #[test]
    fn a_suggestion_is_stable_and_never_the_text_itself(local in "[a-z]{1,8}", domain in "[a-z]{1,12}(\\.[a-z]{1,4}){1,2}") {
        if let Some(meant) = lists().suggest(&local, &domain) {
            let given = format!("{local}@{domain}");
            prop_assert!(!meant.eq_ignore_ascii_case(&given));
            let (_, meant) = meant.rsplit_once('@').unwrap();
            prop_assert_eq!(lists().suggest_domain(meant), None);
        }
    }

    #[test]
    fn no_text_breaks_the_repair(raw in "\\PC{0,60}") {
        if let Some(meant) = lists().suggest_text(&raw) {
            prop_assert!(meant.contains('@') && !meant.eq_ignore_ascii_case(raw.trim()));
        }
    }
}
