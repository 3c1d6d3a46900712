//! The embedded lists as they are shipped: each is read whole, they do not contradict each other, and what must never be called
//! disposable or a role is not.
use super::*;

fn lists() -> &'static Lists {
    Lists::embedded()
}

fn changed(files: &[(&str, &str)]) -> Result<Lists, ListError> {
    Lists::with_files(&files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
}

#[test]
fn every_embedded_list_is_read_sorted_and_not_empty() {
    for (name, count) in lists().counts() {
        assert!(count > 20, "{name} {count}");
    }
    for name in FILES.iter().filter(|name| **name != "gibberish") {
        let keys: Vec<&str> = files::embedded_keys(name).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{name}: {:?}", keys.windows(2).find(|w| w[0] >= w[1]));
    }
}

#[test]
fn domains_of_mailbox_providers_have_an_exchanger_whose_provider_is_known() {
    let found =
        |domain: &str| lists().exchanger_of(domain).and_then(|host| lists().provider(host)).map(|of| of.id.as_str());
    let cases = [
        ("gmail.com", Some("google")),
        ("hotmail.co.uk", Some("outlook")),
        ("yahoo.fr", Some("yahoo")),
        ("web.de", Some("gmx")),
        ("doglover.com", Some("gmx")),
        ("eml.cc", Some("fastmail")),
        ("posteo.at", Some("posteo")),
        ("icloud.com", Some("icloud")),
        ("example.org", None),
        ("mail.gmail.com", None),
    ];
    for (domain, provider) in cases {
        assert_eq!(found(domain), provider, "{domain}");
    }
    for domain in files::embedded_keys("mailboxes") {
        assert!(found(domain).is_some(), "{domain}");
    }
}

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
    for domain in ["nospammail.net", "mailhaven.com", "reallyfast.info", "mac.hush.com", "ikmail.com"] {
        assert_eq!((lists().disposable(domain), lists().free(domain)), (false, true), "{domain}");
    }
    assert!(!lists().disposable_exchanger("mx.nospammail.net"));
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
        assert!(!self::lists().disposable(domain) && !self::lists().disposable_exchanger(domain), "{domain}");
    }
}

#[test]
fn exchangers_tell_provider_throw_away_and_parked() {
    for (host, id) in [
        ("gmail-smtp-in.l.google.com", "google"),
        ("aspmx.l.google.com", "google"),
        ("smtp.google.com", "google"),
        ("acme-com.mail.protection.outlook.com", "microsoft365"),
        ("acme.p-v1.mx.microsoft", "microsoft365"),
        ("outlook-com.olc.protection.outlook.com", "outlook"),
        ("mta7.am0.yahoodns.net", "yahoo"),
        ("mx01.mail.icloud.com", "icloud"),
        ("mxa-001.pphosted.com", "proofpoint"),
        ("eu-smtp-inbound-1.mimecast.com", "mimecast"),
        ("mx1.hc1.eu.iphmx.com", "cisco"),
        ("mx00.emig.gmx.net", "gmx"),
        ("mx00.ionos.de", "ionos"),
        ("mx1.qq.com", "qq"),
        ("mxbiz1.qq.com", "tencent"),
        ("in1-smtp.messagingengine.com", "fastmail"),
        ("mail.protonmail.ch", "proton"),
        ("route1.mx.cloudflare.net", "cloudflare"),
    ] {
        assert_eq!(lists().provider(host).map(|p| p.id.as_str()), Some(id), "{host}");
    }
    assert_eq!(lists().provider("mx.acme.example"), None);
    assert!(
        lists().disposable_exchanger("mail.mailinator.com") && lists().disposable_exchanger("mx2.guerrillamail.com")
    );
    assert!(!lists().disposable_exchanger("aspmx.l.google.com"));
    assert!(lists().parked_exchanger("mail.h-email.net") && !lists().parked_exchanger("mx.acme.example"));
}

#[test]
fn exchangers_inside_listed_domains_are_throw_away_unless_others_use_them() {
    let lists = changed(&[
        ("disposable.add.txt", "bad.example\nhoster.example\nalias.example\nreal.example"),
        ("providers.add.txt", "hoster.example\thoster\tHoster"),
        ("relay.add.txt", "alias.example"),
        ("guard.add.txt", "real.example"),
        ("disposable_exchangers.add.txt", "only.hoster.example"),
    ])
    .unwrap();
    for host in ["bad.example", "mx.bad.example", "a.b.bad.example", "only.hoster.example", "mx1.only.hoster.example"] {
        assert!(lists.disposable_exchanger(host), "{host}");
    }
    for host in ["mx.hoster.example", "mx.alias.example", "mx.real.example", "xbad.example", "mx.acme.example", ""] {
        assert!(!lists.disposable_exchanger(host), "{host}");
    }
}

#[test]
fn throw_away_services_are_known_by_their_exchangers() {
    for host in [
        "mail.wabblywabble.com",
        "prd-smtp.10minutemail.com",
        "recv101.erinn.biz",
        "in.mail.tm",
        "mx2.den.yt",
        "smtp.yopmail.com",
        "mx.emltmp.com",
        "mxf.tempamail.com",
        "loti3.papierkorb.me",
        "email.chatgpt.org.uk",
    ] {
        assert!(lists().disposable_exchanger(host), "{host}");
    }
}

#[test]
fn shared_hosters_and_mail_routing_never_tell_of_a_throw_away_domain() {
    for host in [
        "aspmx.l.google.com",
        "acme-com.mail.protection.outlook.com",
        "route1.mx.cloudflare.net",
        "mx.yandex.net",
        "emx.mail.ru",
        "mx1.improvmx.com",
        "mx1.forwardemail.net",
        "mxa.mailgun.org",
        "mx.zoho.eu",
        "mx1.hostinger.com",
        "mx1.privateemail.com",
        "eforward1.registrar-servers.com",
        "smtp.secureserver.net",
        "mx1.mail.ovh.net",
        "mx00.kundenserver.de",
        "publicms1.mail2world.com",
        "mx1.timeweb.ru",
        "mx1.beget.com",
        "mx.stackmail.com",
        "mail.mxlogin.com",
        "blizzard.mxrouting.net",
        "inbound-smtp.us-east-1.amazonaws.com",
        "mail.protonmail.ch",
        "mail.anonaddy.me",
        "mx1.simplelogin.co",
        "mx01.mail.com",
        "mail.chatgpt.org.uk",
        "fwd.regery.net",
        "us2.mx1.mailhostbox.com",
    ] {
        assert!(!lists().disposable_exchanger(host), "{host}");
    }
}

#[test]
fn no_provider_is_a_throw_away_or_parked_exchanger() {
    for (suffix, _) in lists().provider_suffixes.iter() {
        assert!(!lists().disposable_exchanger(suffix) && !lists().parked_exchanger(suffix), "{suffix}");
    }
}

#[test]
fn sites_without_a_providers_entry_are_not_free() {
    for site in
        ["about.com", "angelfire.com", "berlin.de", "casino.com", "china.com", "icq.com", "medscape.com", "xoom.com"]
    {
        assert!(!lists().free(site) && lists().guarded(site), "{site}");
        let facts = lists().facts("ann", site);
        assert!(!facts.free && !facts.disposable && facts.suggestion.is_none(), "{site}");
    }
    for provider in ["gmail.com", "gmx.de", "fastmail.com", "vk.com", "terra.com.br"] {
        assert!(lists().free(provider), "{provider}");
    }
}

#[test]
fn relay_free_and_known_refusers() {
    for domain in [
        "duck.com",
        "alice.33mail.com",
        "privaterelay.appleid.com",
        "mozmail.com",
        "addy.io",
        "passmail.net",
        "hideaddress.net",
        "members.ebay.de",
        "marketplace.amazon.fr",
    ] {
        assert!(lists().relay(domain), "{domain}");
    }
    assert!(!lists().relay("gmail.com") && !lists().relay("appleid.com"));
    for domain in
        ["gmail.com", "gmx.de", "doglover.com", "fastmail.uk", "posteo.at", "netc.fr", "vip.126.com", "fromru.com"]
    {
        assert!(lists().free(domain), "{domain}");
    }
    for domain in ["acme.example", "facebook.com", "clerk.com"] {
        assert!(!lists().free(domain), "{domain}");
    }
    assert!(lists().known_not_catch_all("outlook.com") && !lists().known_not_catch_all("acme.example"));
}

#[test]
fn files_replace_add_and_remove_lines() {
    let lists = changed(&[
        ("role.txt", "# ours\nboss"),
        ("disposable.add.txt", "throwaway.example"),
        ("free.remove.txt", "gmail.com"),
    ])
    .unwrap();
    assert!(lists.role("boss") && !lists.role("info"));
    assert!(lists.disposable("throwaway.example") && lists.disposable("mailinator.com"));
    assert!(!lists.free("gmail.com") && lists.free("gmx.de"));
}

#[test]
fn a_broken_file_is_refused_by_name_and_line() {
    for (file, text, line) in [
        ("role.txt", "ok\nNot Ok", 2),
        ("disposable.add.txt", "ok.example\ntwo words", 2),
        ("providers.txt", "host.example", 0),
        ("popular.txt", "gmail.com\tnine", 0),
        ("gibberish.txt", "nonsense", 1),
        ("unknown.txt", "x", 0),
        ("role.csv", "x", 0),
    ] {
        let error = changed(&[(file, text)]).unwrap_err();
        assert_eq!((error.file.as_str(), error.line), (file, line), "{error}");
    }
}
