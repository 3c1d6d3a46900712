//! Domains that are listed as disposable, and those that never are.

use super::*;

/// Their owners, or the services that gave the domains away, had them removed from public lists.
#[test]
fn domains_of_firms_people_and_providers_are_not_disposable() {
    for domain in [
        "stanbondsa.com.au",
        "netguide.com",
        "centraldecomunicacion.es",
        "tmxnet.com",
        "purple.dev",
        "e2estudios.com",
        "feedspot.com",
        "feedspotmailer.com",
        "foxwoods.com",
        "codingliteracy.com",
    ] {
        assert!(!lists().disposable(domain), "{domain}");
    }
    // One list and its copies have these: names of firms that a service caught when they expired.
    for domain in [
        "vizzapizzeria.com",
        "caprealty-grp.com",
        "corpuschristiopiaterehab.com",
        "findalawyerct.info",
        "donnybrook-fair-d4.com",
    ] {
        assert!(!lists().disposable(domain), "{domain}");
    }
    for domain in ["nospammail.net", "mailhaven.com", "reallyfast.info", "mac.hush.com", "ikmail.com"] {
        assert_eq!((lists().disposable(domain), lists().free(domain)), (false, true), "{domain}");
    }
    assert!(!lists().disposable_exchanger("mx.nospammail.net"));
}

#[test]
fn throw_away_domains_and_their_subdomains_are_disposable() {
    for domain in [
        "mailinator.com",
        "guerrillamail.com",
        "yopmail.com",
        "abc.mailinator.com",
        "10minutemail.com",
        "trashmail.com",
        "mail.td",
        "segamail.com",
        "tmail.ai",
    ] {
        assert!(lists().disposable(domain), "{domain}");
    }
    for domain in [
        "gmail.com",
        "cloudflare.com",
        "163.com",
        "debian.org",
        "mailinator.com.example",
        "com",
        "",
        "addy.io",
        "mozmail.com",
    ] {
        assert!(!lists().disposable(domain), "{domain}");
    }
}

#[test]
fn zones_with_customers_and_names_of_mail_providers_are_not_disposable() {
    for domain in [
        "mooo.com",
        "us.to",
        "kro.kr",
        "rf.gd",
        "epizy.com",
        "zyns.com",
        "v6.army",
        "fr.nf",
        "eu.org",
        "ddns.net",
        "birdlover.com",
        "priest.com",
        "protestant.com",
        "eml.cc",
        "fastest.cc",
        "pisem.net",
        "test.de",
        "dallas.gov",
        "tulane.edu",
        "nootopics.tulane.edu",
        "hackney.gov.uk",
        "news.hackney.gov.uk",
        "angi.com",
        "asics.com",
        "wto.com",
        "support.com",
    ] {
        assert!(!lists().disposable(domain), "{domain}");
    }
}

#[test]
fn the_guard_list_wins_over_every_disposable_entry() {
    let lists = changed(&[("disposable.txt", "debian.org\nbad.example\nlists.debian.org\nweb.de")]).unwrap();
    assert!(lists.disposable("bad.example") && lists.disposable("mx.bad.example"));
    for domain in ["debian.org", "lists.debian.org", "web.de"] {
        assert!(!lists.disposable(domain), "{domain}");
    }
    for host in ["mx.debian.org", "mx0.web.de"] {
        assert!(!lists.disposable_exchanger(host), "{host}");
    }
    for domain in files::embedded_keys("guard") {
        assert!(!super::lists().disposable(domain) && !super::lists().disposable_exchanger(domain), "{domain}");
    }
}
