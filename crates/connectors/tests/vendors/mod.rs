//! Every platform's requests and answers against the description that its vendor publishes.
//!
//! `tests/data/vendors/SLUG.json` has the operations that our requests use, with their parameters and the schemas of their bodies.
//! What a description does not name is a fault. Where a description is known to be wrong or incomplete, `exceptions` says so,
//! with the reason and its source. The golden file of a platform without a description says why it has none, in `undescribed`.

mod description;
pub(crate) mod judge;
mod situations;
mod wrong;

use std::collections::BTreeSet;

use description::VendorDescription;
use judge::{exception, judge_answer, judge_request, operation_name, unexcused};
use probity_connectors::{Catalog, ConnectorFile};
use serde_json::Value;

/// Returns each judged platform with its golden file and its description.
fn judged(catalog: &'static Catalog) -> impl Iterator<Item = (&'static ConnectorFile, Value, VendorDescription)> {
    catalog.iter().filter_map(|file| {
        let slug = &file.provider.slug;
        Some((file, crate::golden(slug), VendorDescription::of(slug)?))
    })
}

/// Returns the exchanges of all cases.
fn exchanges(golden: &Value) -> impl Iterator<Item = &Value> {
    let cases = golden["cases"].as_array().expect("cases").iter();
    cases.flat_map(|case| case["exchanges"].as_array().expect("exchanges"))
}

#[test]
fn every_request_is_one_that_its_vendor_describes() {
    let mut wrong = BTreeSet::new();
    for (file, golden, description) in judged(Catalog::embedded()) {
        let cases = exchanges(&golden).map(|exchange| exchange["request"].clone());
        let situations = situations::requests(file, &golden, &description);
        for request in cases.chain(situations) {
            wrong.extend(unexcused(&description, judge_request(&description, &request)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn golden_answers_are_ones_that_vendors_describe() {
    let mut wrong = BTreeSet::new();
    for (_, golden, description) in judged(Catalog::embedded()) {
        for exchange in exchanges(&golden) {
            let faults = judge_answer(&description, &exchange["request"], &exchange["answer"]);
            wrong.extend(unexcused(&description, faults));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn descriptions_name_their_source_and_nothing_unused() {
    for (file, golden, description) in judged(Catalog::embedded()) {
        let slug = &file.provider.slug;
        for key in ["kind", "name", "version", "date", "licence"] {
            assert!(description.source()[key].is_string(), "{slug}: source.{key}");
        }
        let mut requests: Vec<Value> = exchanges(&golden).map(|exchange| exchange["request"].clone()).collect();
        requests.extend(situations::requests(file, &golden, &description));
        let called: BTreeSet<String> = requests.iter().filter_map(|one| operation_name(&description, one)).collect();
        let unused: Vec<_> = description.operations().filter(|name| !called.contains(*name)).collect();
        assert!(unused.is_empty(), "{slug}: operations that no request calls: {unused:?}");

        let mut faults: Vec<_> = requests.iter().flat_map(|one| judge_request(&description, one)).collect();
        faults.extend(exchanges(&golden).flat_map(|one| judge_answer(&description, &one["request"], &one["answer"])));
        for one in description.exceptions() {
            let is_used = faults.iter().any(|fault| exception(&description, fault) == Some(one));
            assert!(is_used, "{slug}: an exception that nothing needs: {one}");
            assert!(one["reason"].is_string() && one["source"].is_string(), "{slug}: {one}");
        }
    }
}

#[test]
fn every_platform_has_a_judge_or_says_why_it_has_none() {
    for file in crate::catalog().iter() {
        let slug = &file.provider.slug;
        let says_why = crate::golden(slug)["undescribed"].is_string();
        let what =
            "write tests/data/vendors/SLUG.json, or `undescribed` with the reason in the golden file, and not both";
        assert_ne!(VendorDescription::of(slug).is_some(), says_why, "{slug}: {what}");
    }
}
