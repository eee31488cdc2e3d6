//! What the targets of line diffs share: how lines are counted, and white space by the first byte.

use sapwood_diff::IgnoreSpace;

/// What the lowest two bits say of white space.
pub fn ignore_space(flags: u8) -> IgnoreSpace {
    match flags & 3 {
        0 | 3 => IgnoreSpace::None,
        1 => IgnoreSpace::Change,
        _ => IgnoreSpace::All,
    }
}

/// How many lines a text has.
pub fn lines(text: &[u8]) -> usize {
    let mut count = 0;
    let mut before = b'\n';
    for (at, byte) in text.iter().enumerate() {
        let starts = at == 0 || before == b'\n' || (before == b'\r' && *byte != b'\n');
        count += usize::from(starts);
        before = *byte;
    }
    count
}
