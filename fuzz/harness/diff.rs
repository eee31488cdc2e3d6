//! Line diffs: the ranges cover both texts without gaps, and common ranges are equal lines. The two
//! texts are separated by a zero byte, the options are the first byte.

#[path = "lines.rs"]
mod shared;

use sapwood_diff::{Options, compare, compare_whole, unified};
use shared::lines;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((flags, data)) = data.split_first() else { return };
    let Some(at) = data.iter().position(|b| *b == 0) else { return };
    let (old, new) = (&data[..at], &data[at + 1..]);
    let options = Options {
        ignore_space: shared::ignore_space(*flags),
        ignore_eol_style: flags & 4 != 0,
        show_c_function: flags & 8 != 0,
        context: usize::from(flags >> 4),
    };
    let mut out = Vec::new();
    unified(&options, old, new, &mut out);
    for diff in [compare(&options, old, new), compare_whole(&options, old, new)] {
        let (mut old_line, mut new_line) = (0, 0);
        for range in &diff.ranges {
            assert_eq!((range.old_start, range.new_start), (old_line, new_line));
            assert!(!range.common || range.old_len == range.new_len);
            old_line += range.old_len;
            new_line += range.new_len;
        }
        assert_eq!((old_line, new_line), (lines(old), lines(new)));
        assert!(diff.has_changes() || flags & 7 != 0 || old == new);
    }
}
