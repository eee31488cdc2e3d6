//! Tests of the mergeinfo arithmetic against a set of revisions as the model.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Mergeinfo, RangeList};

fn list(text: &str) -> RangeList {
    if text.is_empty() {
        return RangeList::default();
    }
    let parsed = Mergeinfo::parse(format!("/x:{text}").as_bytes()).unwrap();
    parsed.0.get("/x").unwrap().clone()
}

fn fails(value: &str) -> String {
    let error = Mergeinfo::parse(value.as_bytes()).unwrap_err();
    assert_eq!(error.code(), crate::ErrorCode::MERGEINFO_PARSE_ERROR);
    error.message().to_owned()
}

#[test]
fn values_round_trip_in_path_order() {
    let value = "/branches/a:3-5,7*\n/branches/a/b:9\n/branches/a b:1";
    assert_eq!(Mergeinfo::parse(value.as_bytes()).unwrap().to_value(), value);
    let odd = Mergeinfo::parse(b"trunk: 5,1-3,4\n/trunk:9*\n/a:b:1\n").unwrap();
    assert_eq!(odd.to_value(), "/a:b:1\n/trunk:1-5,9*");
    assert!(Mergeinfo::parse(b"").unwrap().is_empty());
}

#[test]
fn malformed_values_get_the_known_sentences() {
    assert_eq!(fails("/trunk"), "Pathname not terminated by ':'");
    assert_eq!(fails("/trunk:"), "Mergeinfo for '/trunk' maps to an empty revision range");
    assert_eq!(fails("/t:5-3"), "Unable to parse reversed revision range '5-3'");
    assert_eq!(
        fails("/t:3-3"),
        "Unable to parse revision range '3-3' with same start and end revisions"
    );
    assert_eq!(fails("/t:0"), "Invalid revision number '0' found in range list");
    assert_eq!(fails("/t:3x"), "Invalid character 'x' found in revision list");
    assert_eq!(fails("/t:3*x"), "Invalid character 'x' found in range list");
    assert_eq!(fails("/t:3,"), "Range list parsing ended before hitting newline");
    assert_eq!(fails("/t:x"), "Could not parse mergeinfo string '/t:x'");
    assert_eq!(
        fails("/t:1-5,3-9*"),
        "Unable to parse overlapping revision ranges '1-5' and '3-9*' with different inheritance \
         types"
    );
}

#[test]
fn a_comma_at_the_end_of_a_line_is_let_pass() {
    let two = Mergeinfo::parse(b"/a:3,\n/b:4").unwrap();
    assert_eq!(two.to_value(), "/a:3\n/b:4");
}

#[test]
fn inheritance_in_arithmetic() {
    let mut union = list("4-10*");
    union.merge(&list("6-12"));
    assert_eq!(union.to_string(), "4-5*,6-12");
    assert_eq!(RangeList::intersect(&list("90-420*"), &list("1-100"), true).to_string(), "");
    assert_eq!(RangeList::intersect(&list("90-420*"), &list("1-100"), false).to_string(), "90-100");
    assert_eq!(
        RangeList::intersect(&list("90-420*"), &list("1-100*"), true).to_string(),
        "90-100*"
    );
    assert_eq!(RangeList::remove(&list("5"), &list("1-9*"), false).to_string(), "1-4*,6-9*");
    assert_eq!(RangeList::remove(&list("5"), &list("1-9*"), true).to_string(), "1-9*");
}

fn ranges() -> impl Strategy<Value = BTreeMap<u64, bool>> {
    prop::collection::btree_map(1u64..40, any::<bool>(), 0..25)
}

fn build(model: &BTreeMap<u64, bool>) -> RangeList {
    let mut out = RangeList::default();
    for (revision, inheritable) in model {
        out.0.push(super::MergeRange {
            start: revision - 1,
            end: *revision,
            inheritable: *inheritable,
        });
    }
    out.canonicalize().unwrap();
    out
}

fn members(list: &RangeList) -> BTreeMap<u64, bool> {
    list.0.iter().flat_map(|r| (r.start + 1..=r.end).map(|n| (n, r.inheritable))).collect()
}

proptest! {
    #[test]
    fn union_is_the_union(a in ranges(), b in ranges()) {
        let mut union = build(&a);
        union.merge(&build(&b));
        let mut want = a.clone();
        for (revision, inheritable) in &b {
            *want.entry(*revision).or_default() |= *inheritable;
        }
        prop_assert_eq!(&union, &build(&want));
    }

    #[test]
    fn difference_is_the_difference(a in ranges(), b in ranges()) {
        let left = RangeList::remove(&build(&b), &build(&a), false);
        let want: Vec<u64> = a.keys().filter(|r| !b.contains_key(r)).copied().collect();
        let got: Vec<u64> = members(&left).into_keys().collect();
        prop_assert_eq!(got, want);
    }

    #[test]
    fn intersection_is_the_intersection(a in ranges(), b in ranges()) {
        let both = RangeList::intersect(&build(&a), &build(&b), false);
        let want: Vec<u64> = a.keys().filter(|r| b.contains_key(r)).copied().collect();
        let got: Vec<u64> = members(&both).into_keys().collect();
        prop_assert_eq!(got, want);
    }

    #[test]
    fn parser_takes_anything(text in "[/a:0-9,*\n -]{0,60}") {
        if let Ok(info) = Mergeinfo::parse(text.as_bytes()) {
            let again = Mergeinfo::parse(info.to_value().as_bytes()).unwrap();
            prop_assert_eq!(again, info);
        }
    }
}
