//! Property lists behave like maps, at a cost that grows with them and no faster.

use super::*;
use std::collections::BTreeMap;

#[test]
fn behaves_like_a_map() {
    let mut list = PropList::new();
    let mut map: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut seed = 1u32;
    for _ in 0..2000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let name = format!("n{}", (seed >> 8) % 23);
        let value = vec![b'v'; usize::try_from(seed >> 27).unwrap()];
        if seed & 64 == 0 {
            assert_eq!(list.set(&name, &value), map.insert(name, value));
        } else {
            assert_eq!(list.remove(&name), map.remove(&name));
        }
        assert_eq!(list.len(), map.len());
        assert_eq!(list.is_empty(), map.is_empty());
        assert!(list.iter().eq(map.iter().map(|(n, v)| (n.as_str(), v.as_slice()))));
        assert_eq!(map.clone().into_iter().collect::<PropList>(), list);
    }
    assert!(list.clone().into_iter().eq(map));
}

/// Names in rising, falling and mixed order.
fn orders(count: usize) -> [Vec<String>; 3] {
    let rising: Vec<String> = (0..count).map(|n| format!("name{n:06}")).collect();
    let falling = rising.iter().rev().cloned().collect();
    let mixed = (0..count).map(|n| rising[n * 7919 % count].clone()).collect();
    [rising, falling, mixed]
}

#[test]
fn long_lists_behave_like_maps_too() {
    for names in orders(1000) {
        let mut list = PropList::new();
        let mut map = BTreeMap::new();
        for (at, name) in names.iter().enumerate() {
            let value = vec![b'x'; at % 40];
            assert_eq!(list.set(name, &value), map.insert(name.clone(), value));
            assert!(at > 100 || list.iter().eq(map.iter().map(|(n, v)| (&**n, &**v))));
        }
        let same: PropList = map.clone().into_iter().collect();
        assert_eq!(list, same);
        let half: PropList = map.iter().skip(500).collect();
        assert_eq!(list.diff_to(&half).len(), 500);
        assert!(half.diff_to(&list).iter().all(|(_, value)| value.is_some()));
        for name in &names[..995] {
            assert_eq!(list.remove(name), map.remove(name));
        }
        assert_eq!(list.remove("absent"), None);
        let short: PropList = map.clone().into_iter().collect();
        assert_eq!((&list, list.len()), (&short, 5), "both forms are equal");
        assert_eq!((list == half, half == list), (false, false));
        assert!(list.into_iter().eq(map));
    }
}

#[test]
fn large_values_are_not_moved_again_and_again() {
    let mut list = PropList::new();
    list.set("z", vec![b'z'; SHORT_MOVE + 1]);
    assert!(matches!(list.form, Form::Short(_)));
    list.set("a", "1");
    assert!(matches!(list.form, Form::Long(_)));
    let mut list: PropList =
        [("a", vec![]), ("z", vec![b'z'; SHORT_MOVE + 1])].into_iter().collect();
    assert!(matches!(list.form, Form::Short(_)));
    assert_eq!(list.remove("a"), Some(Vec::new()));
    assert!(matches!(list.form, Form::Long(_)));
}

/// Making a list, reading it and comparing it cost in proportion to its length: properties
/// walked over are counted, at n and at 4n.
#[test]
fn cost_grows_with_the_list_and_no_faster() {
    let cost = |names: &[String]| {
        steps::of(|| {
            let mut list: PropList = names.iter().map(|name| (name, "value")).collect();
            let other = list.clone();
            for name in names {
                assert!(list.get(name).is_some());
                list.set(name, "other");
            }
            assert_eq!(list.diff_to(&other).len(), names.len());
            for name in names {
                list.remove(name);
            }
        })
    };
    for (few, many) in orders(500).iter().zip(orders(2000)) {
        let (few, many) = (cost(few), cost(&many));
        assert!(many <= few * 5, "{few} steps for 500 properties, {many} for 2000");
    }
}

#[test]
fn differences() {
    let old: PropList = [("a", "1"), ("b", "2"), ("c", "3")].into_iter().collect();
    let new: PropList = [("b", "2"), ("c", "4"), ("d", "")].into_iter().collect();
    let want = [("a", None), ("c", Some("4")), ("d", Some(""))];
    let want = want.map(|(n, v)| (n.to_owned(), v.map(|v| v.as_bytes().to_vec())));
    assert_eq!(old.diff_to(&new), want);
    assert!(old.diff_to(&old).is_empty());
    assert_eq!(new.get_str("c"), Some("4"));
    assert_eq!(new.get("a"), None);
}

#[test]
fn binary_types() {
    for (kind, want) in [
        ("text/plain", false),
        ("image/x-xbitmap; a=b", false),
        ("image/png", true),
        ("application/octet-stream", true),
    ] {
        assert_eq!(is_binary_mime_type(kind.as_bytes()), want, "{kind}");
    }
}
