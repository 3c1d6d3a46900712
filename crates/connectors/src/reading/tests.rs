use std::borrow::Cow;

use serde_json::json;

use super::*;

fn page(text: &str) -> PageRule {
    #[derive(serde::Deserialize)]
    struct File {
        page: PageRule,
    }
    toml::from_str::<File>(&format!("page = {text}")).unwrap().page
}

/// Advances a walk by a response with these IDs.
fn step(walk: &mut PageWalk, rule: &PageRule, body: &Value, ids: &[&str]) -> Result<bool, Fault> {
    let records: Vec<_> = ids.iter().map(|id| RawRecord { key: None, value: Cow::Owned(json!({"id": id})) }).collect();
    let id = Source::Pointer("/id".into());
    let found = Found { body, headers: &[], key: None };
    let base = "https://api.example.org/v1";
    walk.advance(&Advance { page: rule, total: None, found, records: &records, id: &id, base })
}

#[test]
fn the_end_of_pages_is_recognized_in_every_way() {
    let none = json!({});
    let cases = [
        ("{ kind = 'none' }", none.clone(), vec!["1"], false),
        ("{ kind = 'offset', size = 2, end = 'short' }", none.clone(), vec!["1", "2"], true),
        ("{ kind = 'offset', size = 2, end = 'short' }", none.clone(), vec!["1"], false),
        ("{ kind = 'offset', size = 2, end = 'empty' }", none.clone(), vec!["1"], true),
        ("{ kind = 'offset', size = 2, end = { total = '/total' } }", json!({"total": "2"}), vec!["1"], true),
        ("{ kind = 'offset', size = 2, end = { total = '/total' } }", json!({"total": 1}), vec!["1"], false),
        ("{ kind = 'offset', size = 2, end = { total = '/total' } }", json!({"total": 9}), vec![], true),
        ("{ kind = 'offset', size = 2, end = { total = '/total' } }", json!({"total": 0}), vec![], false),
        ("{ kind = 'offset', size = 2, end = { total = '/total' } }", none.clone(), vec![], false),
        ("{ kind = 'page', size = 2, end = { pages = '/pages' } }", json!({"pages": 1}), vec!["1"], false),
        ("{ kind = 'page', size = 2, end = { more = '/next' } }", json!({"next": 2}), vec!["1"], true),
        ("{ kind = 'page', size = 2, end = { more = '/next' } }", json!({"next": null}), vec!["1"], false),
        ("{ kind = 'token', size = 2, at = '/t' }", json!({"t": "a"}), vec![], true),
        ("{ kind = 'token', size = 2, at = '/t' }", json!({"t": ""}), vec!["1"], false),
        ("{ kind = 'token', size = 2, at = '/t', more = '/m' }", json!({"t": "a", "m": false}), vec!["1"], false),
        ("{ kind = 'keyset', size = 2, from = '/id', first = '0', end = 'empty' }", none.clone(), vec!["1"], true),
        ("{ kind = 'keyset', size = 2, from = '/id', first = '0', end = 'empty' }", none, vec![], false),
    ];
    for (rule, body, ids, more) in cases {
        assert_eq!(step(&mut PageWalk::default(), &page(rule), &body, &ids), Ok(more), "{rule} {body}");
    }
}

#[test]
fn an_empty_page_before_the_total_is_asked_for_once_more() {
    for kind in ["offset", "page"] {
        let rule = page(&format!("{{ kind = '{kind}', size = 2, end = {{ total = '/total' }} }}"));
        let body = json!({"total": 6});
        let mut walk = PageWalk::default();
        assert_eq!(step(&mut walk, &rule, &body, &["1", "2"]), Ok(true), "{kind}");
        let place = (walk.pages, walk.seen);
        assert_eq!(step(&mut walk, &rule, &body, &[]), Ok(true), "{kind}");
        assert_eq!((walk.pages, walk.seen), place, "{kind}: the same page");
        assert!(step(&mut walk.clone(), &rule, &body, &["1", "2"]).is_err(), "{kind}: a repetition is still noticed");
        assert_eq!(step(&mut walk.clone(), &rule, &body, &[]), Ok(false), "{kind}: the total counts others, too");
        assert_eq!(step(&mut walk, &rule, &body, &["3", "4"]), Ok(true), "{kind}");
        assert_eq!(step(&mut walk, &rule, &body, &[]), Ok(true), "{kind}: once for each page");
        assert_eq!(step(&mut walk, &rule, &body, &["5", "6"]), Ok(false), "{kind}");
    }
}

#[test]
fn a_cycle_of_cursors_ends_however_long_it_is() {
    let rule = page("{ kind = 'token', size = 2, at = '/t' }");
    for length in [1_usize, 2, 3, 7, 50] {
        let mut walk = PageWalk::default();
        let fault = (0..10 * length + 10)
            .find_map(|n| step(&mut walk, &rule, &json!({"t": format!("c{}", n % length)}), &["1"]).err());
        assert_eq!(fault.map(|fault| fault.class), Some(crate::file::ErrorClass::Unreadable), "{length}");
    }
    let mut walk = PageWalk::default();
    for n in 0..2_000 {
        assert_eq!(step(&mut walk, &rule, &json!({"t": format!("c{n}")}), &["1"]), Ok(true));
    }
}

#[test]
fn a_next_page_stays_at_the_platform() {
    let rule = page("{ kind = 'next_url', size = 2, at = '/next' }");
    let next = |text: &str| step(&mut PageWalk::default(), &rule, &json!({"next": text}), &["1"]);
    for good in ["https://api.example.org/v1/a?c=1", "/v1/a?c=1", "?c=1"] {
        assert_eq!(next(good), Ok(true), "{good}");
    }
    let bad = [
        "https://api.example.org.evil.org/",
        "http://api.example.org/v1",
        "https://api.example.org:8443/v1",
        "//evil.org/v1",
        "https://user:pass@api.example.org/v1",
        "file:///etc/passwd",
        "javascript:alert(1)",
    ];
    for bad in bad {
        assert!(next(bad).is_err(), "{bad}");
    }
    assert!(next(&format!("/{}", "a".repeat(9_000))).is_err());
}

#[test]
fn another_search_starts_before_one_ends_by_itself() {
    let mut walk = PageWalk::default();
    let rule = page("{ kind = 'token', size = 2, at = '/t', restart = 4 }");
    for n in 0..2 {
        assert_eq!(step(&mut walk, &rule, &json!({"t": n}), &["1", "2"]), Ok(true));
        assert_eq!(walk.restart(4, 2, Some(Millis(500))), Ok(true));
    }
    assert_eq!((walk.restarted_at(), walk.cursor.clone()), (Some(500), None));
    for n in 0..2 {
        step(&mut walk, &rule, &json!({"t": n}), &["1", "2"]).unwrap();
    }
    // Without a newer date, the same hits would repeat forever.
    assert!(walk.restart(4, 2, Some(Millis(500))).is_err());
}

#[test]
fn a_keyset_without_a_key_is_no_end() {
    let rule = page("{ kind = 'keyset', size = 1, from = '/other', first = '0', end = 'empty' }");
    assert!(step(&mut PageWalk::default(), &rule, &json!({}), &["1"]).is_err());
}

#[test]
fn a_position_contains_no_ids() {
    let rule = page("{ kind = 'page', size = 1, end = 'empty' }");
    let mut walk = PageWalk::default();
    step(&mut walk, &rule, &json!({}), &["ann@example.org"]).unwrap();
    assert!(!serde_json::to_string(&walk).unwrap().contains("ann"));
}

/// Reads a platform with `members` in pages of 2, while members leave before the pages that `leaving` names.
fn read_while_leaving(rule: &PageRule, mut members: Vec<u32>, leaving: &[(usize, u32)]) -> Vec<u32> {
    let (mut walk, mut read) = (PageWalk::default(), Vec::new());
    for turn in 0..100 {
        for (_, who) in leaving.iter().filter(|(when, _)| *when == turn) {
            members.retain(|member| member != who);
        }
        let from = match rule {
            PageRule::Offset { .. } => usize::try_from(walk.seen).unwrap(),
            _ => walk.pages as usize * 2,
        };
        let page: Vec<u32> = members.iter().copied().skip(from).take(2).collect();
        read.extend(&page);
        let ids: Vec<String> = page.iter().map(u32::to_string).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        if !step(&mut walk, rule, &json!({"total": members.len()}), &ids).unwrap() {
            return read;
        }
    }
    panic!("the walk does not end");
}

#[test]
fn who_moves_to_a_page_that_was_read_is_read_nonetheless() {
    for kind in ["offset", "page"] {
        let rule = page(&format!("{{ kind = '{kind}', size = 2, end = {{ total = '/total' }} }}"));
        for leaving in [
            vec![(1, 1)],
            vec![(2, 1), (2, 2)],
            vec![(1, 2), (3, 4)],
            vec![(3, 1)],
            vec![(1, 5)],
            vec![(1, 1), (1, 2), (1, 3)],
        ] {
            let read = read_while_leaving(&rule, vec![1, 2, 3, 4, 5, 6], &leaving);
            let stayed = (1..=6).filter(|member| !leaving.iter().any(|(_, who)| who == member));
            let missed: Vec<u32> = stayed.filter(|member| !read.contains(member)).collect();
            assert!(missed.is_empty(), "{kind} {leaving:?}: {missed:?} of {read:?}");
        }
    }
}

#[test]
fn a_total_that_wavers_does_not_read_forever() {
    let rule = page("{ kind = 'offset', size = 2, end = { total = '/total' } }");
    let mut walk = PageWalk::default();
    let ended = (0..5_000).find(|turn| {
        let ids = [walk.seen.to_string(), format!("{}-{turn}", walk.seen + 1)];
        let body = json!({"total": 1_000 - turn % 2});
        !step(&mut walk, &rule, &body, &[&ids[0], &ids[1]]).unwrap()
    });
    assert!(ended.is_some_and(|turn| turn < 1_000));
}

#[test]
fn pages_that_never_end_are_refused_beyond_the_stated_number() {
    let (total, ids) = (Source::Pointer("/total".into()), ["1", "2"].repeat(250));
    for (text, total) in [
        ("{ kind = 'token', size = 500, at = '/t' }", Some(&total)),
        // Its number grows with each page.
        ("{ kind = 'page', size = 500, end = { total = '/total' } }", None),
    ] {
        let (rule, mut walk) = (page(text), PageWalk::default());
        let mut pages = (0_u64..).map(|number| {
            let body = json!({"t": format!("t{number}"), "total": 2_000 + 600 * number});
            let ids = ids.iter().map(|id| format!("{id} of {number}"));
            let records: Vec<_> = ids.map(|id| RawRecord { key: None, value: Cow::Owned(json!({"id": id})) }).collect();
            let (id, found) = (Source::Pointer("/id".into()), Found { body: &body, headers: &[], key: None });
            walk.advance(&Advance { page: &rule, total, found, records: &records, id: &id, base: "https://a.org" })
        });
        // A tenth and a thousand more than 2,000.
        assert!(pages.by_ref().take(6).all(|more| more == Ok(true)), "{text}");
        let fault = pages.next().unwrap().unwrap_err();
        assert_eq!(fault.message, "the platform stated 2000 records, and its pages do not end");
    }
}
