//! Overridden verdicts, by the tables of the contract: ignored findings, and matches of words.
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::words::folded;
use super::*;

fn raw(reasons: &[Reason]) -> Verdict {
    let finding = |reason: &Reason| Finding {
        reason: *reason,
        meta: format!("{reason}_meta").into(),
        rule: format!("{reason}.rule").into(),
    };
    Verdict::of(reasons.iter().map(finding).collect(), &"proved".into())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn gates(names: &[&str]) -> Vec<IgnorableReason> {
    names.iter().map(|name| IgnorableReason::from_name(name).unwrap()).collect()
}

fn applied(wishes: &Wishes, found: &[Reason], email: &str) -> Reason {
    Overrides::new(wishes).apply(&raw(found), email).reason
}

#[test]
fn gates_are_those_of_the_contract() {
    let names = "nonexistent deactivated inbox_full spam complainers bounced disposable banned_words role_based accept_all \
        failed_exchange unverified";
    assert_eq!(IgnorableReason::ALL.map(IgnorableReason::as_str), *names.split_whitespace().collect::<Vec<_>>());
    assert_eq!(IgnorableReason::from_name("complainers").unwrap().reason(), Reason::Complained);
    for none in ["valid", "invalid", "illegitimate", "blacklisted", "available", "complained", "SPAM", ""] {
        assert_eq!(IgnorableReason::from_name(none), None, "{none}");
    }
    assert!(IgnorableReason::ALL.map(IgnorableReason::reason).is_sorted());
}

/// Ignored reasons, ignored statuses, findings, and remaining findings.
type Case = (&'static [&'static str], &'static [Status], &'static [Reason], Reason);

#[test]
fn what_is_ignored_lets_the_next_finding_stand() {
    use Reason::{
        AcceptAll, Available, Blacklisted, Disposable, Illegitimate, InboxFull, Invalid, Nonexistent, RoleBased,
        Unverified, Valid,
    };
    let table: [Case; 13] = [
        (&[], &[], &[InboxFull, RoleBased], InboxFull),
        (&["inbox_full"], &[], &[InboxFull, RoleBased], RoleBased),
        (&["inbox_full", "role_based"], &[], &[InboxFull, RoleBased], Valid),
        (&["role_based"], &[], &[InboxFull, RoleBased], InboxFull),
        (&["nonexistent"], &[], &[Nonexistent], Valid),
        (&["disposable"], &[], &[Disposable, RoleBased, AcceptAll], RoleBased),
        (&[], &[Status::Risky], &[Disposable, RoleBased, AcceptAll], AcceptAll),
        (&[], &[Status::Unknown], &[Disposable, Unverified], Disposable),
        (&[], &[Status::Unknown, Status::Risky], &[Disposable, Unverified], Valid),
        (&[], &[Status::Risky], &[Blacklisted], Valid),
        (&["disposable"], &[], &[Available], Available),
        (&[], &[Status::Undeliverable], &[Illegitimate], Valid),
        (&["unverified"], &[Status::Undeliverable], &[Invalid, Unverified], Valid),
    ];
    for (reasons, statuses, found, stands) in table {
        let wishes =
            Wishes { ignored_reasons: gates(reasons), ignored_statuses: statuses.to_vec(), ..Wishes::default() };
        assert_eq!(applied(&wishes, found, "ann@example.com"), stands, "{reasons:?} {statuses:?} {found:?}");
    }
}

#[test]
fn a_verdict_says_what_decided_it() {
    let wishes = Wishes { ignored_reasons: gates(&["inbox_full"]), ..Wishes::default() };
    let overrides = Overrides::new(&wishes);
    let said = |verdict: Verdict| (verdict.reason, verdict.meta.into_owned(), verdict.rule.to_string());
    let of = |found: &[Reason], email: &str| said(overrides.apply(&raw(found), email));
    assert_eq!(
        of(&[Reason::InboxFull, Reason::RoleBased], "a@b.com"),
        (Reason::RoleBased, "role_based_meta".into(), "role_based.rule".into())
    );
    assert_eq!(of(&[Reason::InboxFull], "a@b.com"), (Reason::Valid, String::new(), "settings.ignored".into()));
    assert_eq!(of(&[], "a@b.com"), (Reason::Valid, String::new(), "proved".into()));
    let worded = Wishes { banned_words: words(&["casino"]), role_words: words(&["frontdesk"]), ..Wishes::default() };
    let overrides = Overrides::new(&worded);
    let of = |found: &[Reason], email: &str| said(overrides.apply(&raw(found), email));
    assert_eq!(of(&[], "casino@b.com"), (Reason::BannedWords, "banned_word".into(), "settings.banned_words".into()));
    assert_eq!(of(&[], "frontdesk@b.com"), (Reason::RoleBased, "role".into(), "settings.role_words".into()));
    // Findings of the engine keep their own rule.
    assert_eq!(of(&[Reason::RoleBased], "frontdesk@b.com").2, "role_based.rule");
    assert_eq!(of(&[Reason::Nonexistent], "casino@b.com").0, Reason::Nonexistent, "the order is that of the reasons");
}

#[test]
fn words_can_be_ignored_again() {
    let wishes = Wishes {
        ignored_reasons: gates(&["banned_words"]),
        banned_words: words(&["casino"]),
        role_words: words(&["casino"]),
        ..Wishes::default()
    };
    assert_eq!(applied(&wishes, &[], "casino@example.com"), Reason::RoleBased);
}

#[test]
fn banned_words_are_found_where_they_are_meant() {
    let table = [
        ("casino", "casino", true),
        ("casino", "best.casino", true),
        ("casino", "bestcasino77", true),
        ("casino", "ann+casino", true),
        ("CaSiNo", "CASINO", true),
        ("casino", "cas.ino", false),
        ("casino", "ｃａｓｉｎｏ", true),
        ("ﬁsch", "fisch", true),
        ("straße", "hauptSTRASSE", true),
        ("STRAẞE", "strasse", true),
        ("ΟΔΟΣ", "οδος", true),
        ("οδοσ", "my-οδος", true),
        ("café", "cafe\u{301}", true),
        ("cafe", "cafe\u{301}", false),
        ("kafe", "kafe\u{308}", false),
        ("ass", "cassandra", false),
        ("ass", "ass", true),
        ("ass", "big_ass", true),
        ("ass", "ass.ann", true),
        ("ass", "ass99", true),
        ("ass", "99ass", true),
        ("ass", "assassin", false),
        ("cunt", "scunthorpe", false),
        ("tit", "titan-tit", true),
        ("4u", "casino4u", true),
        ("u", "u", true),
        ("no-reply", "no-reply2", true),
        ("a-b", "xa-by", false),
        ("a.b", "a-b", false),
        ("賭博", "賭博", true),
        ("賭博", "大賭博", false),
        ("  casino ", "casino", true),
        ("*", "a*b", true),
    ];
    for (word, local, found) in table {
        let wishes = Wishes { banned_words: words(&[word]), ..Wishes::default() };
        let reason = applied(&wishes, &[], &format!("{local}@example.com"));
        assert_eq!(reason == Reason::BannedWords, found, "{word:?} in {local:?}");
    }
}

#[test]
fn words_are_looked_for_in_the_local_part_only() {
    let wishes =
        Wishes { banned_words: words(&["casino", "a"]), role_words: words(&["casino.com"]), ..Wishes::default() };
    for email in ["ann@casino.com", "casino", "@casino.com", "a", ""] {
        assert_eq!(applied(&wishes, &[], email), Reason::Valid, "{email}");
    }
    assert_eq!(applied(&wishes, &[], "\"x@casino\"@example.com"), Reason::BannedWords);
}

#[test]
fn a_short_word_does_not_hide_a_long_one() {
    let wishes = Wishes { banned_words: words(&["cas", "asi", "casinos", "sin"]), ..Wishes::default() };
    assert_eq!(applied(&wishes, &[], "thecasinoshow@example.com"), Reason::BannedWords);
    assert_eq!(applied(&wishes, &[], "thecasinoxshow@example.com"), Reason::Valid);
}

#[test]
fn role_words_are_whole_mailboxes() {
    let table = [
        ("frontdesk", true),
        ("FrontDesk", true),
        ("frontdesk+ann", true),
        ("frontdesk2", true),
        ("frontdesk-12", true),
        ("frontdesk123", false),
        ("frontdesk.ann", false),
        ("ann.frontdesk", false),
        ("frontdesks", false),
        ("ｆrontdesk", true),
        ("frontdesk-", false),
    ];
    for (local, is_role) in table {
        let wishes = Wishes { role_words: words(&["Frontdesk"]), ..Wishes::default() };
        let reason = applied(&wishes, &[], &format!("{local}@example.com"));
        assert_eq!(reason == Reason::RoleBased, is_role, "{local:?}");
    }
}

#[test]
fn as_many_and_as_long_words_as_there_may_be_are_taken() {
    let banned: Vec<String> = (0..1_000).map(|number| format!("{number:04}{}", "賭".repeat(60))).collect();
    let wishes = Wishes { banned_words: banned, ..Wishes::default() };
    let overrides = Overrides::new(&wishes);
    let hit = format!("0999{}@example.com", "賭".repeat(60));
    assert_eq!(overrides.apply(&raw(&[]), &hit).reason, Reason::BannedWords);
    assert_eq!(overrides.apply(&raw(&[]), "0999@example.com").reason, Reason::Valid);
}

#[test]
fn every_letter_is_folded_whatever_its_case() {
    for character in ('\0'..=char::MAX).filter(|c| c.is_uppercase() || c.is_lowercase()) {
        let text = character.to_string();
        let once = folded(&text);
        assert_eq!(folded(&once), once, "{character:?}");
        assert_eq!(folded(&text.to_uppercase()), once, "{character:?}");
        assert_eq!(folded(&text.to_lowercase()), once, "{character:?}");
    }
}

fn findings() -> impl Strategy<Value = Vec<Reason>> {
    subsequence(Reason::ALL[1..].to_vec(), 0..=4)
}

proptest! {
    #[test]
    fn nothing_wished_changes_nothing(found in findings(), email in any::<String>()) {
        let raw = raw(&found);
        prop_assert_eq!(Overrides::new(&Wishes::default()).apply(&raw, &email), raw);
    }

    #[test]
    fn what_is_reported_is_never_ignored(
        found in findings(),
        ignored in subsequence(IgnorableReason::ALL.to_vec(), 0..=12),
        statuses in subsequence(IGNORABLE.to_vec(), 0..=3),
        local in "[a-c.]{0,4}",
    ) {
        let wishes = Wishes {
            ignored_reasons: ignored.clone(),
            ignored_statuses: statuses.clone(),
            banned_words: words(&["a"]),
            role_words: words(&["b"]),
        };
        let verdict = Overrides::new(&wishes).apply(&raw(&found), &format!("{local}@example.com"));
        prop_assert!(ignored.iter().all(|gate| gate.reason() != verdict.reason));
        prop_assert!(!statuses.contains(&verdict.status()));
        // Remaining findings come from the engine or from a word.
        let words = [Reason::BannedWords, Reason::RoleBased];
        prop_assert!(verdict.findings.iter().all(|it| found.contains(&it.reason) || words.contains(&it.reason)));
        // Nothing else was dropped.
        let kept = |reason: &&Reason| ignored.iter().all(|it| it.reason() != **reason) && !statuses.contains(&reason.status());
        prop_assert!(found.iter().filter(kept).all(|reason| verdict.findings.iter().any(|it| it.reason == *reason)));
    }

    #[test]
    fn folding_twice_is_folding_once(text in any::<String>()) {
        let once = folded(&text);
        prop_assert_eq!(folded(&once), once);
    }

    #[test]
    fn case_never_matters(text in "[a-zA-Zß-öø-ÿΑ-Ωα-ωА-Яа-я]{1,8}", upper in select(vec![true, false])) {
        let other = if upper { text.to_uppercase() } else { text.to_lowercase() };
        let wishes = Wishes { banned_words: vec![text], ..Wishes::default() };
        prop_assert_eq!(applied(&wishes, &[], &format!("{other}@example.com")), Reason::BannedWords);
    }
}
