//! What the names of exchangers tell: provider, disposable, parked.

use super::*;

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
        "mx.sendgrid.net",
        "inbound.postmarkapp.com",
        "in1-smtp.messagingengine.com",
        "mail.tutanota.de",
        "aspmx1.migadu.com",
        "mx1.emailsrvr.com",
        "mx10.mailspamprotection.com",
        "fwd1.porkbun.com",
        "mx1.alias.proton.me",
        "mx1-hosting.jellyfish.systems",
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
