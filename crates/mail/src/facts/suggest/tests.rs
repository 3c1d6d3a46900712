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
fn two_slips_of_a_providers_name_are_put_right() {
    for (typed, meant) in [
        ("gnaol.com", "gmail.com"),
        ("hotmsial.com", "hotmail.com"),
        ("hptmaol.com", "hotmail.com"),
        ("yaboi.com", "yahoo.com"),
        ("outlpik.com", "outlook.com"),
        ("iclpid.com", "icloud.com"),
        ("yamdrx.ru", "yandex.ru"),
        ("orabhe.fr", "orange.fr"),
        ("sezmsm.cz", "seznam.cz"),
        ("cpmcadt.net", "comcast.net"),
        ("rpgets.com", "rogers.com"),
    ] {
        assert_eq!(lists().suggest_domain(typed).as_deref(), Some(meant), "{typed}");
    }
}

/// What is suggested of a domain that takes mail: one slip away.
#[test]
fn two_slips_never_lead_away_from_a_domain_that_takes_mail() {
    let suggested = |domain: &str, takes_no_mail| {
        let meant = lists().suggest("ann", domain)?.asserted(takes_no_mail)?;
        Some(meant.strip_prefix("ann@").unwrap().to_owned())
    };
    for (typed, meant) in [
        ("rp-online.de", "t-online.de"),
        ("ingos.ru", "inbox.ru"),
        ("inetia.pl", "interia.pl"),
        ("bigpoint.com", "bigpond.com"),
        ("gnaol.com", "gmail.com"),
        ("hptmaol.com", "hotmail.com"),
        ("gmial.cm", "gmail.com"),
        ("outlook123.com", "outlook.com"),
    ] {
        assert_eq!(suggested(typed, true).as_deref(), Some(meant), "{typed}");
        assert_eq!(suggested(typed, false), None, "{typed}");
        let text = format!("Ann <ann@{typed}>");
        assert_eq!(lists().suggest_text(&text), Some(format!("ann@{typed}")), "{text}");
    }
    // One slip, a look-alike, or an ending that nobody can have.
    for (typed, meant) in [
        ("gmial.com", "gmail.com"),
        ("gmail.cm", "gmail.com"),
        ("gmail.co.uk", "gmail.com"),
        ("grnail.com", "gmail.com"),
        ("xn--gmil-moa.com", "gmail.com"),
        ("www.gmail.com", "gmail.com"),
        ("gmail.c.om", "gmail.com"),
        ("gnaol.con", "gmail.com"),
        ("gimal.com", "gmail.com"),
    ] {
        assert_eq!(suggested(typed, false).as_deref(), Some(meant), "{typed}");
    }
}

#[test]
fn an_ending_that_exists_is_corrected_only_behind_a_popular_name() {
    for (typed, meant) in [
        ("gmail.cm", Some("gmail.com")),
        ("yahoo.om", Some("yahoo.com")),
        ("hotmail.co", Some("hotmail.com")),
        ("gmial.cm", Some("gmail.com")),
        ("comcast.ne", Some("comcast.net")),
        ("comcast.et", Some("comcast.net")),
        ("gmailc.om", Some("gmail.com")),
        ("acme-widgets.con", Some("acme-widgets.com")),
        ("acme-widgets.cm", None),
        ("acme-widgets.om", None),
        ("acme-widgets.ne", None),
        ("acme-widgets.et", None),
        ("acme-widgetsc.om", None),
        ("acme-widgetsn.et", None),
        ("univ-douala.cm", None),
        ("moe.om", None),
    ] {
        assert_eq!(lists().suggest_domain(typed).as_deref(), meant, "{typed}");
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
fn throw_away_domains_stay_unless_they_are_one_slip_away_from_a_large_provider() {
    for (typed, meant) in [
        ("gmial.com", Some("gmail.com")),
        ("gmaill.com", Some("gmail.com")),
        ("gimal.com", Some("gmail.com")),
        ("hotmial.com", Some("hotmail.com")),
        ("yahooo.com", Some("yahoo.com")),
        ("yopmail.com", None),
        ("mailinator.com", None),
        ("lastmail.com", None),
        ("qmail.com", None),
        ("trashmail.com", None),
        ("tempmail.con", None),
    ] {
        let facts = lists().facts("ann", typed);
        assert!(facts.disposable, "{typed} is a case of a throw-away domain");
        let asserted = facts.suggestion.and_then(|meant| meant.asserted(false));
        let domain = asserted.as_deref().and_then(|address| address.strip_prefix("ann@"));
        assert_eq!(domain, meant, "{typed}");
    }
    // The list decides, not the name: the same slips, listed or not.
    let file = (
        "disposable.add.txt".to_owned(),
        "outlooc.com\nyahoo.con\ngrnail.com\nwbe.de\ncomcsat.net\noutlkoo.com".to_owned(),
    );
    let listed = Lists::with_files(&[file].into_iter().collect()).unwrap();
    for (typed, unlisted, meant) in [
        ("outlooc.com", Some("outlook.com"), Some("outlook.com")),
        ("yahoo.con", Some("yahoo.com"), Some("yahoo.com")),
        ("grnail.com", Some("gmail.com"), Some("gmail.com")),
        ("wbe.de", Some("web.de"), None),
        ("comcsat.net", Some("comcast.net"), Some("comcast.net")),
        ("outlkoo.com", Some("outlook.com"), Some("outlook.com")),
    ] {
        assert_eq!(lists().suggest_domain(typed).as_deref(), unlisted, "{typed}, unlisted");
        assert_eq!(listed.suggest_domain(typed).as_deref(), meant, "{typed}, listed");
    }
}

#[test]
fn a_disposable_domain_is_never_suggested() {
    for typed in
        ["mailinator.con", "mailinator.cmo", "yopmail.comm", "mailinatorcom", "mailinator.com.com", "guerrillamail.vom"]
    {
        assert_eq!(lists().suggest_domain(typed), None, "{typed}");
        assert_eq!(lists().suggest_text(&format!("ann@{typed}")), None, "{typed}");
    }
    for text in ["ann@@mailinator.com", "ann@mailinator..com", "ann@mail\u{200b}inator.com", "ann@mailinator.com."] {
        assert_eq!(lists().suggest_text(text), None, "{text:?}");
    }
    // The ending is corrected for a name that is nobody's.
    assert_eq!(lists().suggest_domain("acme-widgets.con").as_deref(), Some("acme-widgets.com"));
}

#[test]
fn the_same_name_under_com_and_net_is_two_firms_unless_the_world_uses_one() {
    for domain in
        ["telia.net", "virginmedia.net", "naver.net", "sina.net", "facebook.net", "cox.com", "centurylink.com"]
    {
        assert_eq!(lists().suggest_domain(domain), None, "{domain}");
    }
    for (typed, meant) in [
        ("aol.net", "aol.com"),
        ("outlook.net", "outlook.com"),
        ("goooglemail.net", "googlemail.com"),
        ("sbcglobal.com", "sbcglobal.net"),
        ("sbcgloabl.net", "sbcglobal.net"),
    ] {
        assert_eq!(lists().suggest_domain(typed).as_deref(), Some(meant), "{typed}");
    }
}

#[test]
fn neighbours_of_short_names_stay() {
    for domain in [
        "pcloud.com",
        "hicloud.com",
        "qmail.com",
        "kmail.com",
        "ntt.net",
        "gtt.net",
        "iq.com",
        "spy.com",
        "jive.com",
        "live800.com",
        "sky88.com",
        "123.com",
        "166.com",
        "cynet.com",
        "tekla.com",
        "hager.com",
        "haber.com",
        "tigers.com",
        "rivers.com",
        "luce.it",
    ] {
        assert_eq!(lists().suggest_domain(domain), None, "{domain}");
    }
    for (typed, meant) in [
        ("hmail.com", Some("gmail.com")),
        ("qol.com", Some("aol.com")),
        ("ahoo.com", Some("yahoo.com")),
        ("lvie.com", Some("live.com")),
        ("ivloud.com", Some("icloud.com")),
        ("outlook123.com", Some("outlook.com")),
    ] {
        assert_eq!(lists().suggest_domain(typed).as_deref(), meant, "{typed}");
    }
}

#[test]
fn a_suggestion_is_written_like_the_text_it_is_for() {
    for (typed, suggestion, written) in [
        ("ann@b\u{fc}cher,com", "ann@xn--bcher-kva.com", "ann@b\u{fc}cher.com"),
        ("'\"a b\"@b\u{fc}cher.com", "\"a b\"@xn--bcher-kva.com", "\"a b\"@b\u{fc}cher.com"),
        ("ann@XN--bcher-kva,com", "ann@xn--bcher-kva.com", "ann@xn--bcher-kva.com"),
        ("ann@gmial.com", "ann@gmail.com", "ann@gmail.com"),
    ] {
        assert_eq!(written_like(typed, suggestion.to_owned()), written, "{typed}");
    }
    // In U-labels, an address may be longer than storage and servers allow.
    let domain = vec!["\u{430}".repeat(50); 3].join(".");
    let long = format!("ann@{}.com", idna::domain_to_ascii(&domain).unwrap());
    assert!(Address::parse(&long).is_ok());
    assert_eq!(written_like(&format!("ann@{domain},com"), long.clone()), long);
}

#[test]
fn what_cannot_be_seen_makes_a_text_invalid_and_is_left_out_of_the_suggestion() {
    use crate::address::{Address, AddressReason};
    for (typed, meant) in [
        ("ann@gma\u{200b}il.com", "ann@gmail.com"),
        ("ann@gmail.com\u{200b}", "ann@gmail.com"),
        ("ann@\u{200b}acme.org", "ann@acme.org"),
        ("ann@ac\u{ad}me.org", "ann@acme.org"),
        ("ann@acme.\u{ad}org", "ann@acme.org"),
        ("ann@b\u{fc}\u{ad}cher.de", "ann@xn--bcher-kva.de"),
        ("ann@gmi\u{ad}al.com", "ann@gmail.com"),
    ] {
        assert_eq!(Address::parse(typed).unwrap_err().reason, AddressReason::FormatCharacter, "{typed:?}");
        assert_eq!(lists().suggest_text(typed).as_deref(), Some(meant), "{typed:?}");
        assert!(Address::parse(meant).is_ok(), "{meant}");
    }
}

#[test]
fn text_that_is_no_address_is_repaired() {
    for (raw, meant) in [
        ("ann@@acme.org", Some("ann@acme.org")),
        ("ann @ acme . org", Some("ann@acme.org")),
        ("ann@acme,org", Some("ann@acme.org")),
        ("ann@acme..org", Some("ann@acme.org")),
        ("ann@acme.org.", Some("ann@acme.org")),
        ("ann@acme.org;", Some("ann@acme.org")),
        ("<ann@acme.org>", Some("ann@acme.org")),
        ("<ann@acme.org", Some("ann@acme.org")),
        ("mailto:ann@acme.org", Some("ann@acme.org")),
        ("MailTo: ann@acme.org?subject=Hi%20there", Some("ann@acme.org")),
        ("email:ann@gmail.com", Some("ann@gmail.com")),
        ("SMTP:ann@acme.org", Some("ann@acme.org")),
        ("Ann Lee <ann@gmial.com>", Some("ann@gmail.com")),
        ("ann(at)gmail.com", Some("ann@gmail.com")),
        ("ann#gmail.com", Some("ann@gmail.com")),
        ("ann\"gmail.com", Some("ann@gmail.com")),
        ("ann@gmail", Some("ann@gmail.com")),
        ("ann\u{ff20}acme.org", Some("ann@acme.org")),
        ("ann@acme.org", None),
        ("Ann@ACME.org", None),
        ("ann#acme.org", None),
        ("ann@gma", None),
        ("ann@ac me.org", None),
        ("ann", None),
        ("@acme.org", None),
        ("", None),
    ] {
        assert_eq!(lists().suggest_text(raw).as_deref(), meant, "{raw:?}");
    }
}

#[test]
fn dirt_around_an_address_is_taken_away() {
    for dirty in [
        "'ann@acme.org'",
        "\"ann@acme.org\"",
        "`ann@acme.org`",
        "\u{201c}ann@acme.org\u{201d}",
        "\u{201e}ann@acme.org\u{201c}",
        "\u{2018}ann@acme.org\u{2019}",
        "\u{ab}ann@acme.org\u{bb}",
        "=\"ann@acme.org\"",
        "\"'ann@acme.org'\"",
        "\"mailto:ann@acme.org\"",
        "[ann@acme.org]",
        "(ann@acme.org)",
        "'ann@acme.org (work)'",
        "ann@acme.org (work)",
        "ann@acme.org'",
        "\"ann\"@acme..org",
        "'ann'@acme.org.",
        "\u{a0}ann\u{200b}@acme.org\u{feff}",
        "Lee, ann@acme.org",
        "Ann Lee,ann@acme.org",
        "Ann,ann@acme.org",
        "Lee\tann@acme.org",
        "'ann@acme.org*",
        "\u{201c}ann@acme.org",
        "*ann@acme.org*",
        "**ann@acme.org*",
        "\u{ff08}ann@acme.org\u{ff09}",
        "ann@acme.org\u{2122}",
        "ann@acme.org?subject=Hello",
        "http://ann@acme.org",
        "Mail: ann@acme.org Tel: 1",
        "'ann@acme..org",
        "\u{201c}ann@acme..org",
        "=ann@acme..org",
        "To: ann@acme.org",
    ] {
        assert_eq!(lists().suggest_text(dirty).as_deref(), Some("ann@acme.org"), "{dirty:?}");
    }
    assert_eq!(lists().suggest_text("'o'brien@acme.org'").as_deref(), Some("o'brien@acme.org"));
}

#[test]
fn no_suggestion_has_another_mailbox() {
    for text in [
        "ann.@acme.org",
        ".ann@acme.org",
        "ann..lee@acme.org",
        "ann.@gmial.com",
        "ume..x@docomo.ne.jp",
        "ann lee@acme.org",
        "ann\u{a0}lee@acme.org",
        "ann,lee@acme.org",
        "lee,ann@acme.org",
        "ann;lee@acme.org",
        "ann'@acme..org",
        "\"ann@acme.org",
        "ann\"@acme.org",
        "\"ann lee\"@acme..org",
        "\"ann\"gmail.com",
        "ann dot lee at gmail dot com",
        "mailto:ann%2Blists@acme.org",
        "ann@acme.org, bob@acme.org",
        "ann@acme.org bob@acme.org",
        "ann@acme.com;DE",
        "ann@acme.com,de",
        "ann@acme.org:8080.com",
        "john smith,jr@gmail.com",
        "an\u{ad}n@acme.org",
        "ann\u{ad}lee@gmial.com",
        "Ann <ann@acme.org>, Bob <bob@acme.org>",
        "Ann: ann@acme.org",
        "{ann}@acme..org, x",
        "a\u{200c}\u{6cc}\u{200c}b@acme..org",
    ] {
        assert_eq!(lists().suggest_text(text), None, "{text:?}");
    }
}

#[test]
fn a_mark_before_an_address_is_left_out_of_the_suggestion() {
    for (local, domain, meant) in [
        ("'ann", "acme.org", Some("ann@acme.org")),
        ("=ann", "acme.org", Some("ann@acme.org")),
        ("'ann", "gmial.com", Some("ann@gmail.com")),
        ("'ann", "rp-online.de", Some("ann@rp-online.de")),
        ("_ann", "acme.org", None),
        ("o'brien", "acme.org", None),
        ("ann", "acme.org", None),
    ] {
        let asserted = lists().suggest(local, domain).and_then(|meant| meant.asserted(false));
        assert_eq!(asserted.as_deref(), meant, "{local}@{domain}");
    }
}

#[test]
fn a_strange_local_part_is_written_quoted() {
    assert_eq!(lists().suggest("a \"b", "gmial.com").unwrap().email, "\"a \\\"b\"@gmail.com");
}

proptest! {
    #[test]
    fn a_suggestion_is_stable_and_never_the_text_itself(local in "[a-z]{1,8}", domain in "[a-z]{1,12}(\\.[a-z]{1,4}){1,2}") {
        if let Some(Suggestion { email: meant, .. }) = lists().suggest(&local, &domain) {
            let given = format!("{local}@{domain}");
            prop_assert!(!meant.eq_ignore_ascii_case(&given));
            let (_, meant) = meant.rsplit_once('@').unwrap();
            prop_assert_eq!(lists().suggest_domain(meant), None);
        }
    }

    #[test]
    fn no_text_breaks_the_repair(raw in "\\PC{0,60}") {
        if let Some(meant) = lists().suggest_text(&raw) {
            prop_assert!(crate::address::Address::parse(&meant).is_ok() && !meant.eq_ignore_ascii_case(raw.trim()));
        }
    }

    #[test]
    fn a_suggested_mailbox_is_a_piece_of_the_text(raw in "[ab.,;'\"<>( )\u{a0}\u{201c}:=+-]{1,12}@(gmial\\.com|acme\\.\\.org|acme\\.con)['\">)]{0,2}") {
        if let Some(meant) = lists().suggest_text(&raw) {
            let (local, _) = meant.rsplit_once('@').unwrap();
            prop_assert!(raw.contains(local), "{raw:?}: {meant}");
            let before = raw.rsplit_once(local).unwrap().0;
            prop_assert!(!before.ends_with(['a', 'b', '.', '+', '-']), "{raw:?}: {meant}");
        }
    }
}
