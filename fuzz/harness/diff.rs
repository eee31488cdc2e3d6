//! Line diffs: the ranges cover both texts without gaps, and common ranges are equal lines. The two
//! texts are separated by a zero byte, the options are the first byte.

use sapwood_diff::{IgnoreSpace, Options, compare, compare_whole, unified};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((flags, data)) = data.split_first() else { return };
    let Some(at) = data.iter().position(|b| *b == 0) else { return };
    let (old, new) = (&data[..at], &data[at + 1..]);
    let options = Options {
        ignore_space: match flags & 3 {
            0 | 3 => IgnoreSpace::None,
            1 => IgnoreSpace::Change,
            _ => IgnoreSpace::All,
        },
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

fn lines(text: &[u8]) -> usize {
    let mut count = 0;
    let mut before = b'\n';
    for (at, byte) in text.iter().enumerate() {
        let starts = at == 0 || before == b'\n' || (before == b'\r' && *byte != b'\n');
        count += usize::from(starts);
        before = *byte;
    }
    count
}
