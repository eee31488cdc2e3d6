//! The counts of Digest authentication: each count of a nonce is accepted once, so that a recorded header cannot
//! be used again.
//!
//! Counts may arrive out of order, over several connections of a client; the last [`WINDOW`] of a nonce are
//! kept. Invariant: the table has a limited size, and a count that cannot be kept is treated as used.

use std::collections::HashMap;

use parking_lot::Mutex;
use sapwood_core::exact::Exact as _;

/// So many counts below the highest one may still arrive.
const WINDOW: u32 = 64;
/// The limit of nonces in the table. Each was used by a client with a right password.
const MOST: usize = 64 << 10;

/// The counts of all nonces in use.
#[derive(Debug, Default)]
pub(super) struct NonceUses(Mutex<HashMap<String, Counts>>);

#[derive(Clone, Copy, Debug)]
struct Counts {
    /// When the nonce ends, in seconds since 1970.
    ends: u64,
    highest: u32,
    /// A bit for each count, from the highest one on downwards.
    seen: u64,
}

impl Counts {
    /// Whether a count is new; records it.
    fn spend(&mut self, count: u32) -> bool {
        if let Some(more) = count.checked_sub(self.highest).filter(|more| *more > 0) {
            self.seen = self.seen.checked_shl(more).unwrap_or(0) | 1;
            self.highest = count;
            return true;
        }
        let below = self.highest.minus(count);
        let Some(bit) = 1u64.checked_shl(below).filter(|_| below < WINDOW) else { return false };
        let is_new = self.seen & bit == 0;
        self.seen |= bit;
        is_new
    }
}

/// The number in `nc=`: eight hexadecimal digits.
pub(super) fn count(text: &str) -> Option<u32> {
    let is_plain = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_plain.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

impl NonceUses {
    /// Whether a count is used for the first time with a nonce that expires at a time; records it.
    pub(super) fn spend(&self, nonce: &str, count: u32, ends: u64, now: u64) -> bool {
        let mut all = self.0.lock();
        if all.len() >= MOST {
            all.retain(|_, counts| counts.ends >= now);
        }
        if all.len() >= MOST && !all.contains_key(nonce) {
            return false;
        }
        let fresh = Counts { ends, highest: 0, seen: 0 };
        all.entry(nonce.to_owned()).or_insert(fresh).spend(count)
    }

    /// Whether a nonce was used with a count, or may have been.
    pub(super) fn is_spent(&self, nonce: &str, count: u32) -> bool {
        let known = self.0.lock().get(nonce).copied();
        known.is_some_and(|mut counts| !counts.spend(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_counts_once_in_any_order() {
        let uses = NonceUses::default();
        let spend = |count| uses.spend("n", count, 100, 0);
        assert!(!uses.is_spent("n", 1));
        assert!(spend(1) && spend(3) && spend(2) && spend(70) && spend(8));
        assert!(!spend(1) && !spend(3) && !spend(2) && !spend(70) && !spend(8));
        assert!(uses.is_spent("n", 8) && !uses.is_spent("n", 9));
        assert!(!spend(6), "too far below");
        assert!(spend(u32::MAX) && !spend(u32::MAX) && !spend(71));
        assert!(uses.spend("other", 1, 100, 0));
    }

    #[test]
    fn what_is_kept_is_bounded_and_old_ones_make_room() {
        let uses = NonceUses::default();
        for number in 0..MOST {
            assert!(uses.spend(&number.to_string(), 1, 100, 0));
        }
        assert!(!uses.spend("more", 1, 100, 50));
        assert!(uses.spend("0", 2, 100, 50), "those that are known go on");
        assert!(uses.spend("more", 1, 200, 101));
        assert_eq!(uses.0.lock().len(), 1);
    }

    #[test]
    fn counts_are_eight_digits() {
        assert_eq!(count("0000001f"), Some(31));
        for bad in ["", "zz", "1", "000000001", "+0000001", "0000000g"] {
            assert_eq!(count(bad), None, "{bad}");
        }
    }
}
