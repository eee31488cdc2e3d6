//! Which server a repository belongs to: the one with the highest weight, which a hash of both names makes (rendezvous hashing).
//!
//! Invariant: all servers that have the same list say the same, in whatever order it is; when a server leaves, only its own
//! repositories move, and those to all others alike.

use crate::hex::sha256;
use crate::name::Name;

/// The weight of a server for a repository.
fn weight(repository: &str, server: &Name) -> [u8; 32] {
    // No name has a byte of zero in it.
    sha256(format!("{server}\0{repository}").as_bytes())
}

/// The servers of `among` in the order in which a repository belongs to them.
#[must_use]
pub fn owner<'n>(repository: &str, among: impl Iterator<Item = &'n Name>) -> Option<&'n Name> {
    among.max_by_key(|server| (weight(repository, server), *server))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const REPOSITORIES: usize = 400;

    fn names(count: usize, from: u16) -> Vec<Name> {
        let one = |at: usize| Name::parse(&format!("s{at}.example:{from}")).unwrap();
        (0..count).map(one).collect()
    }

    fn owners(list: &[Name]) -> Vec<&Name> {
        (0..REPOSITORIES).map(|at| owner(&format!("r{at}"), list.iter()).unwrap()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn only_what_a_server_had_moves_when_it_leaves(
            count in 2usize..12, from in 1u16..9999, gone in 0usize..12, turn in 0usize..12
        ) {
            let list = names(count, from);
            let before = owners(&list);
            let mut others = list.clone();
            let gone = others.remove(gone % count);
            others.rotate_left(turn % count.saturating_sub(1).max(1));
            let after = owners(&others);
            let mut moved = 0;
            for (old, new) in before.iter().zip(&after) {
                if **old == gone {
                    moved += 1;
                } else {
                    prop_assert_eq!(old, new);
                }
            }
            // Each has its share: five standard deviations at most from it.
            let share = REPOSITORIES / count;
            prop_assert!(share.abs_diff(moved).pow(2) < 25 * share, "{moved} of {count}");
        }
    }

    #[test]
    fn what_moves_goes_to_all_others_alike() {
        let list = names(5, 3700);
        let before = owners(&list);
        let after = owners(&list[1..]);
        let mut taken: HashMap<&Name, usize> = HashMap::new();
        for (old, new) in before.iter().zip(&after).filter(|(old, _)| ***old == list[0]) {
            assert_ne!(old, new);
            *taken.entry(new).or_default() += 1;
        }
        assert!(taken.len() == 4 && taken.values().all(|count| *count > 8), "{taken:?}");
        assert_eq!(owner("r", [].iter()), None);
    }

    /// Servers of two versions have to agree.
    #[test]
    fn the_hash_stays_as_it_is() {
        let list = names(4, 3700);
        let of = |repository: &str| owner(repository, list.iter()).unwrap().to_string();
        let all: Vec<_> = ["a", "b", "c", "d"].into_iter().map(of).collect();
        assert_eq!(all, ["s2", "s1", "s1", "s3"].map(|host| format!("{host}.example:3700")));
    }
}
