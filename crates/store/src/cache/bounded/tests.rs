//! What stays and what goes, by the order in which values are looked up.

use std::sync::Arc;

use super::super::key::Name;
use super::Store;
use super::shard::OVERHEAD;

fn key(n: u64) -> Name {
    Name::new(1, 0, n, 0, 0)
}

fn fill(store: &Store, n: u64, weight: usize) {
    store.put(key(n), Arc::new(n), weight);
}

/// Hits of one pass over `count` keys that puts in what it misses.
fn pass(store: &Store, from: u64, count: u64, weight: usize) -> u64 {
    let mut hits = 0;
    for n in from..from + count {
        match store.get(&key(n)) {
            Some(found) => {
                assert_eq!(found.downcast_ref(), Some(&n));
                hits += 1;
            }
            None => fill(store, n, weight),
        }
    }
    hits
}

#[test]
fn stays_within_its_budget() {
    let store = Store::new(1 << 20);
    for n in 0..100_000 {
        fill(&store, n, usize::try_from(n % 700).unwrap());
        if n % 1000 == 0 {
            assert!(store.usage().bytes <= 1 << 20);
        }
    }
    fill(&store, 1, 1 << 30);
    assert!(store.usage().bytes <= 1 << 20);
    assert!(store.usage().bytes > 900 << 10);
}

#[test]
fn a_smaller_budget_holds_at_once_and_a_larger_one_is_used() {
    let store = Store::new(8 << 20);
    pass(&store, 0, 40_000, 400);
    assert!(store.usage().bytes > 7 << 20);
    store.set_budget(2 << 20);
    assert!(store.usage().bytes <= 2 << 20 && store.usage().bytes > 1 << 20);
    store.set_budget(8 << 20);
    pass(&store, 0, 40_000, 400);
    assert!(store.usage().bytes > 7 << 20 && store.usage().bytes <= 8 << 20);
}

#[test]
fn one_filesystem_is_forgotten_and_others_are_not() {
    let store = Store::with_large(1 << 20);
    let of = |fs: u32, n: u64| Name::new(fs, 0, n, 0, 0);
    for n in 0..4000 {
        store.put(of(1 + u32::from(n % 3 == 0), n), Arc::new(n), 100);
    }
    store.put(of(2, 9999), Arc::new(()), 300 << 10);
    let held = |fs: u32| (0..10_000).filter(|n| store.get(&of(fs, *n)).is_some()).count();
    let (kept, usage) = (held(1), store.usage());
    assert!(kept > 500 && held(2) > 200 && store.get(&of(2, 9999)).is_some());
    store.forget(2);
    assert_eq!((held(1), held(2)), (kept, 0));
    let left = store.usage();
    assert_eq!((left.entries, left.bytes), (kept, kept * (100 + OVERHEAD)));
    assert!(usage.bytes > left.bytes);
    // Their room is there for others.
    for n in 10_000..14_000 {
        store.put(of(1, n), Arc::new(n), 100);
    }
    assert!(store.usage().bytes > 900 << 10 && store.usage().bytes <= 1 << 20);
}

#[test]
fn replaces_values() {
    let store = Store::new(1 << 20);
    fill(&store, 1, 100);
    fill(&store, 1, 300);
    let usage = store.usage();
    assert_eq!((usage.entries, usage.bytes), (1, 300 + OVERHEAD));
}

/// Hits of one pass as a request with a reader ahead makes it: what is brought is taken out
/// later, twice.
fn pass_ahead(store: &Store, from: u64, count: u64, weight: usize) -> u64 {
    let mut hits = 0;
    for batch in (from..from + count).step_by(16) {
        for n in batch..batch + 16 {
            hits += u64::from(store.get(&key(n)).is_some());
            if store.get(&key(n)).is_none() {
                fill(store, n, weight);
            }
        }
        for n in batch..batch + 16 {
            assert!(store.get(&key(n)).is_some() && store.get(&key(n)).is_some());
        }
    }
    hits
}

#[test]
fn repeated_passes_over_too_much_still_hit() {
    // Room for 1,000 of so many in a cycle: nearly the best possible, which is 1,000.
    for (count, expected) in [(1056, 850), (1696, 850), (2000, 850), (3200, 800)] {
        let store = Store::new(1000 * (400 + OVERHEAD));
        for _ in 0..3 {
            pass(&store, 0, count, 400);
        }
        let hits = pass(&store, 0, count, 400);
        assert!(hits > expected, "{count}: {hits}");
        let store = Store::new(1000 * (400 + OVERHEAD));
        for _ in 0..3 {
            pass_ahead(&store, 0, count, 400);
        }
        let hits = pass_ahead(&store, 0, count, 400);
        assert!(hits > expected, "{count} ahead: {hits}");
        for _ in 0..20 {
            pass_ahead(&store, 0, count, 400);
        }
        let hits = pass_ahead(&store, 0, count, 400);
        assert!(hits > expected, "{count} ahead, later: {hits}");
    }
}

#[test]
fn what_is_made_of_others_ousts_them() {
    // As a log does it: sixteen pieces of raw material for one product. Room for half of all
    // together, which is room for all products.
    let store = Store::new(1_000 * (400 + OVERHEAD));
    let mut products = 0;
    for round in 0..10 {
        for n in 0..100 {
            if store.get(&key((1 << 40) | n)).is_some() {
                products += u64::from(round > 5);
                continue;
            }
            pass_ahead(&store, n * 16, 16, 400);
            fill(&store, (1 << 40) | n, 2400);
        }
    }
    assert!(products > 4 * 95, "{products}");
}

#[test]
fn what_was_not_used_for_very_long_goes() {
    // Passes so long that no mark lasts for one: they find nothing while the clock is full of
    // what is not wanted any more.
    let store = Store::new(1000 * (400 + OVERHEAD));
    pass(&store, 1 << 40, 1000, 400);
    assert_eq!(pass(&store, 0, 10_000, 400), 0);
    assert_eq!(pass(&store, 0, 10_000, 400), 0);
    assert!(pass(&store, 0, 10_000, 400) > 300);
}

#[test]
fn what_is_used_often_stays() {
    // Three of four look-ups go to a tenth of the keys, without any order.
    let store = Store::new(1000 * (400 + OVERHEAD));
    let (mut random, mut hits) = (1u64, 0);
    for round in 0..40_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (n, rare) = ((random >> 33) % 8000, (random >> 61) < 2);
        let n = if rare { n } else { n % 800 };
        if store.get(&key(n)).is_some() {
            hits += u64::from(round >= 20_000);
        } else {
            fill(&store, n, 400);
        }
    }
    // All of the tenth would be 15,000 and some by chance.
    assert!(hits > 14_000, "{hits}");
}

#[test]
fn a_new_working_set_settles_in() {
    let store = Store::new(1000 * (400 + OVERHEAD));
    for _ in 0..5 {
        pass(&store, 0, 800, 400);
    }
    assert_eq!(pass(&store, 0, 800, 400), 800);
    for _ in 0..6 {
        pass(&store, 10_000, 800, 400);
    }
    let hits = pass(&store, 10_000, 800, 400);
    assert!(hits > 700, "{hits}");
}

#[test]
fn one_large_scan_leaves_the_working_set_alone() {
    let store = Store::new(1000 * (400 + OVERHEAD));
    for _ in 0..5 {
        pass(&store, 0, 800, 400);
    }
    pass(&store, 10_000, 5_000, 400);
    let hits = pass(&store, 0, 800, 400);
    assert!(hits > 600, "{hits}");
}
