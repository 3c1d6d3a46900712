//! Domains that are disposable by their names alone.

use super::*;

#[test]
fn a_registered_name_that_says_what_it_is_for_is_disposable_without_being_listed() {
    let lists = changed(&[("disposable.txt", "bad.example")]).unwrap();
    for domain in [
        "temp-mail-4you.example",
        "mytempmail.co.uk",
        "abc.10minutemail77.example",
        "wegwerf-email.example",
        "mail-jetable.example",
        "supermailtemp.example",
        "gecicimail.com.tr",
        "linshi-youxiang.example",
        "t-e-m-p-m-a-i-l.example",
        "xyz-temp-mail.example",
        "my15minutemail.example",
        "free-temporary-email.example",
        "yopmail2.example",
        "temp-mail.ac",
    ] {
        assert!(lists.disposable(domain) && lists.facts("ann", domain).disposable, "{domain}");
    }
    for domain in [
        "temperature.example",
        "contemporary-mail.example",
        "templemail.example",
        "mailtemplates.example",
        "emailtemperature.example",
        "tempmail.acme.example",
        "vaisselle-jetable.example",
        "wegwerfgeschirr.example",
        "disposable-gloves.example",
        "minutemailer.example",
        "burnermail.io",
        "tempmail",
        "",
    ] {
        assert!(!lists.disposable(domain) && !lists.facts("ann", domain).disposable, "{domain}");
    }
    let ours = changed(&[("guard.add.txt", "tempmail-museum.example"), ("disposable_words.txt", "^brief$")]).unwrap();
    assert!(!ours.disposable("tempmail-museum.example") && !ours.disposable("tempmail4.example"));
    assert!(ours.disposable("brief.example") && !ours.disposable("briefe.example"));
}

#[test]
fn names_that_services_take_in_series_are_disposable_without_being_listed() {
    let lists = changed(&[("disposable.txt", "bad.example")]).unwrap();
    for domain in [
        "zagmail.store",
        "x.rowmail.online",
        "deep-mail.site",
        "ggemail.top",
        "upmails.club",
        "83hotmail.com",
        "83hotmail.online",
        "hatmail.online",
        "fatmail.store",
        "abc.014gmail.com",
        "9-yahoo.co.uk",
    ] {
        assert!(lists.disposable(domain) && lists.facts("ann", domain).disposable, "{domain}");
    }
    for domain in [
        "zagmail.com",
        "zagmail.de",
        "email.store",
        "amail.online",
        "webmail.site",
        "papermail.store",
        "hotmail.online",
        "x.fastmail.store",
        "bluemail.site",
        "mailing.online",
        "zagmail.online.example",
        "zag.mail.store.example",
        "gmail.com",
        "gmail83.com",
        "20minutes.fr",
        "163.com",
        "4ugmail.com",
        "1outlooks.com",
        "mail.online",
        "online",
    ] {
        assert!(!lists.disposable(domain), "{domain}");
    }
    let ours = changed(&[("guard.add.txt", "zagmail.store")]).unwrap();
    assert!(!ours.disposable("zagmail.store") && ours.disposable("zigmail.store"));
    let ours = changed(&[("free.add.txt", "zagmail.example\nzigmail.online")]).unwrap();
    assert!(!ours.disposable("zagmail.store") && ours.disposable("zigmail.store"), "but not below such an ending");
}

#[test]
fn a_word_of_throw_away_names_counts_only_where_it_is_meant() {
    for domain in [
        // Another word begins or ends inside.
        "businessmailpro.com",
        "salesmailpro.com",
        "newsmailpro.com",
        "cityoftempemail.com",
        "lastminutemail.com",
        "last-minute-mail.com",
        "woodburnermail.com",
        "contempmail.com",
        "zonetimemail.com",
        "budgetnada.com",
        "budgetairmail.com",
        "knowmymail.com",
        "guerrillamailers.com",
        "anonboxing.com",
        "last-emp-mail.com",
        "onetimemailing.com",
        "temporary-mail-forwarding.com",
        // It means another thing.
        "slaskmail.pl",
        "dolnyslaskmail.pl",
        "20minutesmail.fr",
        "20minutenmail.ch",
        "tempomail.it",
        "einwegpost.de",
        "boite-jetable.fr",
        "muelle-mail.es",
        "temp-outlook.com",
        // It is said by opponents.
        "nospam4me.net",
        "antifakemail.org",
        "anti-trash-mail.de",
        "no-temp-mail.com",
        "no10minutemail.com",
        "disposable-email-detector.com",
        // Not everybody registers there.
        "tempemail.gov",
        "tempemail.gov.uk",
        "tempmail.ac.jp",
        "tempmail.k12.ca.us",
        "tempmail.edu",
        "tempmail.mil",
    ] {
        assert!(!lists().disposable(domain), "{domain}");
    }
}
